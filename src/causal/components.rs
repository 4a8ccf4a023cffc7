//! Strongly connected parts of a graph.

/// Groups of nodes that reach each other, what they lead to first.
#[must_use]
pub fn components(successors: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut order = vec![NEW; successors.len()];
    let mut lowest = vec![0; successors.len()];
    let mut is_open = vec![false; successors.len()];
    let mut open = Vec::new();
    let mut groups = Vec::new();
    let mut next = 0;
    for root in 0..successors.len() as u32 {
        if order[root as usize] != NEW {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, at)) = path.last_mut() {
            let index = *node as usize;
            if *at == 0 {
                (order[index], lowest[index], is_open[index]) = (next, next, true);
                open.push(*node);
                next += 1;
            }
            if let Some(&to) = successors[index].get(*at) {
                *at += 1;
                if order[to as usize] == NEW {
                    path.push((to, 0));
                } else if is_open[to as usize] {
                    lowest[index] = lowest[index].min(order[to as usize]);
                }
                continue;
            }
            if lowest[index] == order[index] {
                let begin = open.iter().rposition(|it| it == node).unwrap_or_default();
                let group = open.split_off(begin);
                for &it in &group {
                    is_open[it as usize] = false;
                }
                groups.push(group);
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                lowest[*parent as usize] = lowest[*parent as usize].min(lowest[index]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reach_each_other_are_together_and_come_after_what_they_lead_to() {
        // 0 -> 1 <-> 2 -> 3, 4 alone
        let mut groups = components(&[vec![1], vec![2], vec![1, 3], vec![], vec![]]);
        for group in &mut groups {
            group.sort_unstable();
        }
        assert_eq!(groups, [vec![3], vec![1, 2], vec![0], vec![4]]);
    }
}
