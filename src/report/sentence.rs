//! What could happen, in one sentence.

use crate::report::finding::{Dependency, DependencyKind, Finding, Kind, Lock, Operation, Variable};

/// The sentence of a finding, from all its other parts.
#[must_use]
pub fn sentence(finding: &Finding) -> String {
    let what = match (&finding.variables[..], &finding.culprit_too) {
        ([variable], _) => about_one(finding, variable),
        ([one, other, ..], Some(culprit_too)) => about_two(finding, [one, other], culprit_too),
        ([one, other, ..], None) => about_stale(finding, [one, other]),
        _ => about_lock(finding),
    };
    format!("{} is not atomic: {what}.", finding.block.subject())
}

fn about_lock(finding: &Finding) -> String {
    let Finding { first, second, culprit, lock, .. } = finding;
    let (first, second) = (first.location.short(), second.location.short());
    let places = if first == second { format!("at {first}") } else { format!("({first} and {second})") };
    let could = if finding.kind == Kind::In { "ran" } else { "can run" };
    let lock = lock.as_ref().map_or_else(|| "a lock".to_owned(), Lock::label);
    format!(
        "between its two acquires of {lock} {places}, thread {} {could} the section at {}",
        finding.thread_label(culprit.thread),
        culprit.location.short()
    )
}

fn about_one(finding: &Finding, variable: &Variable) -> String {
    let Finding { first, second, culprit, .. } = finding;
    let second_time = if first.action == second.action {
        format!("again at {}", second.location.short())
    } else {
        format!("{} it at {}", second.action.does(), second.location.short())
    };
    format!(
        "it {} {} at {} and {second_time}, and thread {} {} it in between at {}",
        first.action.does(),
        variable.label(),
        first.location.short(),
        finding.thread_label(culprit.thread),
        could(finding, culprit),
        culprit.location.short(),
    )
}

fn about_two(finding: &Finding, [one, other]: [&Variable; 2], culprit_too: &Operation) -> String {
    let Finding { first, second, culprit, .. } = finding;
    let (one, other) = (one.label(), other.label_beside(one));
    let verb = if first.action == second.action { String::new() } else { format!("{} ", second.action.does()) };
    let block = format!(
        "it {} {one} at {} and {verb}{other} at {}",
        first.action.does(),
        first.location.short(),
        second.location.short(),
    );
    let thread = format!("thread {}", finding.thread_label(culprit.thread));
    let places = format!("({} and {})", culprit.location.short(), culprit_too.location.short());
    let all = |test: fn(&Operation) -> bool| (test(first) && test(second), test(culprit) && test(culprit_too));
    let (block_writes, culprit_writes) = all(|operation| operation.action.writes());
    let (block_reads, culprit_reads) = all(|operation| operation.action.reads());
    if block_reads && culprit_writes {
        let outcome = format!("it can see {one} as it was before and {other} as it is after");
        format!("{block}, and {thread} can write both {places}: {outcome}")
    } else if block_writes && culprit_reads {
        let outcome = format!("that one can see {one} as it is after and {other} as it was before");
        format!("{block}, and {thread} can read both {places}: {outcome}")
    } else if block_writes && culprit_writes {
        format!("{block}, and {thread} can write both {places}, {other} in another order than {one}")
    } else {
        format!(
            "{block}, and {thread} can {} {one} after it at {} and {} {other} before it at {}",
            culprit.action.can(),
            culprit.location.short(),
            culprit_too.action.can(),
            culprit_too.location.short(),
        )
    }
}

fn about_stale(finding: &Finding, [one, other]: [&Variable; 2]) -> String {
    let Finding { first, second, culprit, dependency, .. } = finding;
    let follows = match dependency {
        Some(Dependency { kind: DependencyKind::Proven, .. }) => "what follows from it",
        _ => "what may follow from it",
    };
    format!(
        "it {} {} at {} and {} {follows} to {} at {}, and thread {} {} {} in between at {}",
        first.action.does(),
        one.label(),
        first.location.short(),
        second.action.does(),
        other.label_beside(one),
        second.location.short(),
        finding.thread_label(culprit.thread),
        could(finding, culprit),
        one.label(),
        culprit.location.short(),
    )
}

fn could(finding: &Finding, culprit: &Operation) -> String {
    if finding.kind == Kind::In { culprit.action.did().to_owned() } else { format!("can {}", culprit.action.can()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::{Action, samples};

    #[test]
    fn a_stale_value() {
        let mut finding = samples::stale();
        assert_eq!(
            sentence(&finding),
            "append() is not atomic: it reads 'length' at a.c:13 and writes what follows from it to 'list' at a.c:20, and \
             thread 'worker' (another one) can write 'length' in between at b.c:41."
        );
        let mut alike = finding.clone();
        alike.variables[1].name = Some("length".into());
        alike.variables[1].address = "0x7010".into();
        assert!(sentence(&alike).contains("writes what follows from it to 'length' of another object at a.c:20"));
        finding.dependency = Some(Dependency::assumed());
        assert!(sentence(&finding).contains("writes what may follow from it to 'list'"));
    }

    #[test]
    fn one_variable() {
        let mut finding = samples::length();
        assert_eq!(
            sentence(&finding),
            "append() is not atomic: it reads 'length' at a.c:13 and writes it at a.c:20, and thread T2 'updater' can write it \
             in between at b.c:41."
        );
        finding.second.action = Action::Read;
        finding.kind = Kind::In;
        assert_eq!(
            sentence(&finding),
            "append() is not atomic: it reads 'length' at a.c:13 and again at a.c:20, and thread T2 'updater' wrote it \
             in between at b.c:41."
        );
    }

    #[test]
    fn two_variables() {
        let read = samples::pair();
        assert_eq!(
            sentence(&read),
            "show() is not atomic: it reads 'total' at a.c:72 and offset 16 of the memory allocated at a.c:30 at a.c:75, and \
             thread T2 'updater' can write both (b.c:40 and b.c:44): it can see 'total' as it was before and offset 16 of the \
             memory allocated at a.c:30 as it is after."
        );
        let with = |[first, culprit, culprit_too, second]: [Action; 4]| {
            let mut finding = samples::pair();
            finding.variables[1].name = Some("count".into());
            (finding.first.action, finding.second.action, finding.culprit.action) = (first, second, culprit);
            finding.culprit_too.as_mut().unwrap().action = culprit_too;
            let sentence = sentence(&finding);
            sentence.strip_prefix("show() is not atomic: it ").unwrap().to_owned()
        };
        let (read, write) = (Action::Read, Action::Write);
        assert_eq!(
            with([write, read, read, write]),
            "writes 'total' at a.c:72 and 'count' at a.c:75, and thread T2 'updater' can read both (b.c:40 and b.c:44): that one \
             can see 'total' as it is after and 'count' as it was before."
        );
        assert_eq!(
            with([write; 4]),
            "writes 'total' at a.c:72 and 'count' at a.c:75, and thread T2 'updater' can write both (b.c:40 and b.c:44), \
             'count' in another order than 'total'."
        );
        assert_eq!(
            with([read, write, read, write]),
            "reads 'total' at a.c:72 and writes 'count' at a.c:75, and thread T2 'updater' can write 'total' after it at b.c:40 \
             and read 'count' before it at b.c:44."
        );
    }
}
