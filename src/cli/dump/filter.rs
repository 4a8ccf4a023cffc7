//! Which events are wanted.

use super::line::{self, Subject};
use crate::cli::names::Names;
use crate::cli::report::pattern;
use crate::event::{Event, Kind, ThreadId};
use crate::report::template::Template;
use clap::Args;
use std::ops::Range;

/// What must hold for an event. Nothing asked for is nothing left out.
#[derive(Args, Debug, Default)]
pub struct Filter {
    /// Only events of this thread; may be given several times
    #[arg(long, value_name = "THREAD", value_parser = thread)]
    thread: Vec<ThreadId>,

    /// Only events about this address, or about objects with a name like this
    #[arg(long, value_name = "ADDRESS|PATTERN", value_parser = object)]
    object: Option<Object>,

    /// Only events in functions like this
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    function: Option<Template>,

    /// Only events of these kinds
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = kind_names())]
    kind: Vec<String>,

    /// Only events with these numbers: A..B, A.. or ..B, without B
    #[arg(long, value_name = "A..B", value_parser = range)]
    events: Option<Range<u64>>,

    /// Only events about memory in this range: LO..HI, without HI
    #[arg(long, value_name = "LO..HI", value_parser = range)]
    address: Option<Range<u64>>,
}

#[derive(Clone, Debug)]
enum Object {
    Address(u64),
    Name(Template),
}

fn kind_names() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).collect()
}

pub fn thread(text: &str) -> Result<ThreadId, String> {
    let number = text.strip_prefix('T').unwrap_or(text);
    number.parse().map_err(|_| format!("'{text}' is no thread; write T1 or 1"))
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is no number; write 123 or 0x7b"))
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (begin, end) =
        text.split_once("..").ok_or_else(|| format!("'{text}' is no range; write 10..20, 10.. or ..20"))?;
    let or = |text: &str, missing| if text.is_empty() { Ok(missing) } else { number(text) };
    let range = or(begin, 0)?..or(end, u64::MAX)?;
    if range.is_empty() { Err(format!("the range '{text}' is empty")) } else { Ok(range) }
}

fn object(text: &str) -> Result<Object, String> {
    if text.starts_with("0x") { number(text).map(Object::Address) } else { pattern(text).map(Object::Name) }
}

impl Filter {
    pub fn wants_thread(&self, thread: ThreadId) -> bool {
        self.thread.is_empty() || self.thread.contains(&thread)
    }

    /// The number of the first event that can be wanted.
    pub fn first_event(&self) -> u64 {
        self.events.as_ref().map_or(0, |events| events.start)
    }

    /// Whether neither this event nor a later one is wanted.
    pub fn is_behind(&self, number: u64) -> bool {
        self.events.as_ref().is_some_and(|events| number >= events.end)
    }

    pub fn wants(&self, number: u64, thread: ThreadId, event: &Event, names: &mut Names) -> bool {
        if number < self.first_event() || !self.wants_thread(thread) {
            return false;
        }
        let Some(kind) = event.kind() else { return self.wants_unknown() };
        (self.kind.is_empty() || self.kind.iter().any(|name| name == kind.name()))
            && self.address.as_ref().is_none_or(|range| touches(kind, event, range))
            && self.object.as_ref().is_none_or(|object| is_about(kind, event, object, names))
            && self.function.as_ref().is_none_or(|function| is_in(kind, event, function, names))
    }

    /// Whether an event of a kind that is not known would pass: it is about nothing.
    fn wants_unknown(&self) -> bool {
        self.kind.is_empty() && self.address.is_none() && self.object.is_none() && self.function.is_none()
    }
}

fn touches(kind: Kind, event: &Event, range: &Range<u64>) -> bool {
    let Subject::Memory(address) = line::subject(kind, event) else { return false };
    address < range.end && address.saturating_add(event.size().max(1)) > range.start
}

fn is_about(kind: Kind, event: &Event, object: &Object, names: &mut Names) -> bool {
    match object {
        Object::Address(address) => touches(kind, event, &(*address..address.saturating_add(1))),
        Object::Name(template) => template.matches(&line::subject_name(kind, event, names)),
    }
}

fn is_in(kind: Kind, event: &Event, function: &Template, names: &mut Names) -> bool {
    if kind == Kind::Enter && function.matches(&names.function(event.object)) {
        return true;
    }
    let Some(pc) = line::location(kind, event) else { return false };
    names.frames(pc).iter().filter_map(|frame| frame.function.as_ref()).any(|name| function.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::report::modules::ModuleMap;
    use crate::report::symbols::Symbols;

    fn wants(filter: &Filter, number: u64, thread: ThreadId, event: &Event) -> bool {
        let mut names = Names::new(Symbols::new(&Options::default(), ModuleMap::parse("")), true);
        filter.wants(number, thread, event, &mut names)
    }

    #[test]
    fn ranges_may_be_open() {
        assert_eq!(range("10..0x20"), Ok(10..32));
        assert_eq!((range("5.."), range("..7")), (Ok(5..u64::MAX), Ok(0..7)));
        for wrong in ["5", "a..b", "7..7", "9..3", "1...2"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        assert_eq!((thread("T12"), thread("3")), (Ok(12), Ok(3)));
        assert!(thread("main").is_err());
    }

    #[test]
    fn an_access_is_about_every_byte_of_it() {
        let write = Event::access(Kind::Write, 0, 8, 0, 0x100, 0x10);
        for (text, wanted) in [("0x100", true), ("0x107", true), ("0x108", false), ("0xff", false), ("100$", true)] {
            let filter = Filter { object: Some(object(text).unwrap()), ..Filter::default() };
            assert_eq!(wants(&filter, 0, 0, &write), wanted, "{text}");
        }
        let filter = Filter { address: Some(0x104..0x200), ..Filter::default() };
        assert!(wants(&filter, 0, 0, &write));
        assert!(!wants(&filter, 0, 0, &Event::new(Kind::Fork, 0, 0, 0x104, 0)), "a thread is no memory");
    }

    #[test]
    fn numbers_threads_and_kinds_must_all_fit() {
        let event = Event::new(Kind::Acquire, 0, 0, 0x100, 0x10);
        let filter = Filter {
            thread: vec![1, 2],
            kind: vec!["acquire".into(), "release".into()],
            events: Some(5..9),
            ..Filter::default()
        };
        assert!(wants(&filter, 5, 2, &event));
        assert!(!wants(&filter, 4, 2, &event) && !wants(&filter, 5, 3, &event));
        assert!(!wants(&filter, 5, 2, &Event::new(Kind::Signal, 0, 0, 0x100, 0x10)));
        assert!(!filter.is_behind(8) && filter.is_behind(9));
    }
}
