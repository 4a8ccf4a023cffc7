//! Immutable linked lists with shared tails: recording a whole stack is one reference.
//!
//! A list is named by its top node; two equal names are the same dynamic stack, not merely one with equal values.
//! Names are counted by hand rather than by a guard type, because records hold many of them and copy few.
//! Nothing recurses: a program's stack may be deeper than ours.

/// Names a list. Whoever stores one owns a reference: [`Lists::keep`] adds one, [`Lists::release`] gives one up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List(u32);

impl List {
    pub const EMPTY: List = List(u32::MAX);

    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == List::EMPTY
    }
}

impl Default for List {
    fn default() -> List {
        List::EMPTY
    }
}

/// The arena of all lists with values of one type.
#[derive(Debug)]
pub struct Lists<T> {
    nodes: Vec<Node<T>>,
    /// The first unused node; the rest follow through `below`.
    unused: List,
    live: usize,
}

#[derive(Debug)]
struct Node<T> {
    value: T,
    below: List,
    depth: u32,
    references: u32,
}

/// Where two lists part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting<T> {
    /// How many values from the bottom are the same invocations.
    pub depth: u32,
    /// The last of them.
    pub last: Option<T>,
    /// The values right above it in either list.
    pub above: (Option<T>, Option<T>),
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { nodes: Vec::new(), unused: List::EMPTY, live: 0 }
    }
}

impl<T: Copy> Lists<T> {
    /// Puts `value` on top. Takes over the caller's reference to `below`.
    #[inline]
    pub fn push(&mut self, below: List, value: T) -> List {
        let node = Node { value, below, depth: self.depth(below) + 1, references: 1 };
        self.live += 1;
        if self.unused.is_empty() {
            self.nodes.push(node);
            List(self.nodes.len() as u32 - 1)
        } else {
            let list = self.unused;
            self.unused = self.nodes[list.0 as usize].below;
            self.nodes[list.0 as usize] = node;
            list
        }
    }

    /// Takes the top off. The caller's reference moves to the list below, which is returned.
    #[inline]
    pub fn pop(&mut self, list: List) -> List {
        let node = &mut self.nodes[list.0 as usize];
        let below = node.below;
        node.references -= 1;
        if node.references == 0 {
            self.recycle(list);
            below
        } else {
            self.keep(below)
        }
    }

    /// One more reference to `list`.
    #[inline]
    pub fn keep(&mut self, list: List) -> List {
        if !list.is_empty() {
            self.nodes[list.0 as usize].references += 1;
        }
        list
    }

    /// One reference less; frees what nobody refers to.
    #[inline]
    pub fn release(&mut self, mut list: List) {
        while !list.is_empty() {
            let node = &mut self.nodes[list.0 as usize];
            node.references -= 1;
            if node.references > 0 {
                return;
            }
            let below = node.below;
            self.recycle(list);
            list = below;
        }
    }

    #[inline]
    fn recycle(&mut self, list: List) {
        self.nodes[list.0 as usize].below = self.unused;
        self.unused = list;
        self.live -= 1;
    }

    /// Number of values.
    #[inline]
    #[must_use]
    pub fn depth(&self, list: List) -> u32 {
        if list.is_empty() { 0 } else { self.nodes[list.0 as usize].depth }
    }

    /// The value on top.
    #[inline]
    #[must_use]
    pub fn top(&self, list: List) -> Option<T> {
        if list.is_empty() { None } else { Some(self.nodes[list.0 as usize].value) }
    }

    /// The lowest common ancestor of two lists, by identity.
    #[inline]
    #[must_use]
    pub fn meet(&self, a: List, b: List) -> Meeting<T> {
        let (mut a, mut b) = (a, b);
        let mut above = (None, None);
        while a != b {
            let (depth_a, depth_b) = (self.depth(a), self.depth(b));
            if depth_a >= depth_b {
                let node = &self.nodes[a.0 as usize];
                above.0 = Some(node.value);
                a = node.below;
            }
            if depth_b >= depth_a {
                let node = &self.nodes[b.0 as usize];
                above.1 = Some(node.value);
                b = node.below;
            }
        }
        Meeting { depth: self.depth(a), last: self.top(a), above }
    }

    /// The values from the top down.
    pub fn iter(&self, mut list: List) -> impl Iterator<Item = T> {
        std::iter::from_fn(move || {
            let value = self.top(list)?;
            list = self.nodes[list.0 as usize].below;
            Some(value)
        })
    }

    /// The values from the bottom up.
    #[must_use]
    pub fn to_vec(&self, list: List) -> Vec<T> {
        let mut values: Vec<T> = self.iter(list).collect();
        values.reverse();
        values
    }

    /// Nodes in use.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_meet_by_identity_not_by_value() {
        let mut lists = Lists::default();
        let a = lists.push(List::EMPTY, 'a');
        let below = lists.keep(a);
        let ab = lists.push(below, 'b');
        let again = lists.push(a, 'b');
        let abc = lists.push(again, 'c');
        assert_eq!(lists.meet(ab, abc), Meeting { depth: 1, last: Some('a'), above: (Some('b'), Some('b')) });
        assert_eq!(lists.meet(abc, abc), Meeting { depth: 3, last: Some('c'), above: (None, None) });
        assert_eq!(lists.meet(List::EMPTY, ab), Meeting { depth: 0, last: None, above: (None, Some('a')) });
        assert_eq!(lists.to_vec(abc), ['a', 'b', 'c']);
    }

    #[test]
    fn a_popped_list_lives_as_long_as_it_is_kept() {
        let mut lists = Lists::default();
        let bottom = lists.push(List::EMPTY, 1);
        let top = lists.push(bottom, 2);
        let recorded = lists.keep(top);
        let current = lists.pop(top);
        assert_eq!(current, bottom);
        let other = lists.push(current, 3);
        assert_eq!(lists.to_vec(recorded), [1, 2]);
        lists.release(recorded);
        assert_eq!(lists.live(), 2);
        lists.release(other);
        assert_eq!(lists.live(), 0);
    }

    #[test]
    fn a_very_deep_stack_is_released_without_recursion() {
        let mut lists = Lists::default();
        let deep = (0..100_000).fold(List::EMPTY, |list, i| lists.push(list, i));
        assert_eq!(lists.depth(deep), 100_000);
        lists.release(deep);
        assert_eq!(lists.live(), 0);
        lists.push(List::EMPTY, 0);
        assert_eq!(lists.nodes.len(), 100_000, "freed nodes are used again");
    }
}
