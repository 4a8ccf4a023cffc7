//! A schedule: whose turn it is, and what the thread does in it.
//!
//! ```text
//! avmon schedule 1
//! # lost update of `balance` in transfer: free text for people
//! program teller 8f3c01 0
//! module 0 teller 8f3c01
//! place 0 0+11d2 lock balance_of teller.c:15
//! place 1 0+11f0 unlock balance_of teller.c:17
//! turn 0 4 4
//! turn 1 5 0!first 1
//! pause 250
//! turn 2 5 0!culprit 1*3
//! ```
//!
//! A thread is known by its number: 0 ran `main`, the others count in the order in which they are created. A turn is what one thread does
//! before the next turn begins: places, each with how often it comes there in a row. The gate stops threads only at the places that are listed; everything
//! else goes on freely, and so does everything after the last turn. Four steps have a role in the violation. A pause is a turn of nobody: so many
//! milliseconds pass before the next turn, in which all threads of the schedule are held.

use std::fmt;
use std::num::NonZeroU32;

use crate::event::{Event, Kind, ThreadId};

/// The first line.
const MAGIC: &str = "avmon schedule 1";

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $($(#[$variant_doc])* $variant,)* }

        impl $type {
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($type::$variant => $word,)* }
            }

            fn from_word(word: &str) -> Option<$type> {
                match word { $($word => Some($type::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// What a thread is about to do when the gate sees it. What is known only afterwards is not told apart: a lock that is refused, an exchange that
    /// fails.
    Act {
        Lock = "lock",
        Unlock = "unlock",
        Signal = "signal",
        Await = "await",
        Fork = "fork",
        Start = "start",
        End = "end",
        Join = "join",
        Atomic = "atomic",
        Read = "read",
        Write = "write",
        Free = "free",
    }
}

impl Act {
    /// At which stop of the gate an event was recorded, if there is one. What has no code location is told late and by itself.
    #[must_use]
    pub fn of(event: &Event) -> Option<Act> {
        let act = match event.kind()? {
            Kind::Acquire | Kind::Refused => Act::Lock,
            Kind::Release => Act::Unlock,
            Kind::Signal => Act::Signal,
            Kind::Await => Act::Await,
            Kind::Fork => Act::Fork,
            Kind::Start => Act::Start,
            Kind::End => return Some(Act::End),
            Kind::Join => Act::Join,
            Kind::AtomicLoad | Kind::AtomicStore | Kind::AtomicUpdate => Act::Atomic,
            Kind::Read => Act::Read,
            Kind::Write => Act::Write,
            Kind::Free => Act::Free,
            Kind::Enter
            | Kind::Leave
            | Kind::BlockBegin
            | Kind::BlockEnd
            | Kind::LockInit
            | Kind::LockDestroy
            | Kind::Interfere
            | Kind::Lost
            | Kind::Fence
            | Kind::Allocate
            | Kind::Extent
            | Kind::Value
            | Kind::Branches
            | Kind::Name
            | Kind::Time => return None,
        };
        (event.pc != 0).then_some(act)
    }
}

words! {
    /// What a step is in the violation: the culprit's come between the first and the second.
    Role {
        First = "first",
        Culprit = "culprit",
        /// The culprit's access of the second's variable, if that is not the first's.
        CulpritToo = "culprit_too",
        Second = "second",
        /// The second, if it is of another variable than the culprit's: it uses what the first read.
        Use = "use",
    }
}

impl Role {
    /// Whether it is the last one of the block.
    #[must_use]
    pub const fn is_second(self) -> bool {
        matches!(self, Role::Second | Role::Use)
    }
}

/// A file with code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    /// The last part of its path.
    pub name: String,
    /// Hexadecimal; empty if it has none.
    pub build_id: String,
}

/// Where the gate stops a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of the module and distance from its first byte, of the return address. None for the end of a thread, which has no code.
    pub code: Option<(u32, u64)>,
    pub act: Act,
    /// For people: function and line.
    pub name: String,
}

/// One or more steps of a thread at the same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Number of the place.
    pub place: u32,
    pub times: u32,
    /// Only of a single step.
    pub role: Option<Role>,
}

/// What a thread does before the next turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    /// For so many milliseconds before it, it is nobody's turn.
    pub pause: u32,
    pub thread: ThreadId,
    pub steps: Vec<Step>,
}

/// All of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Lines for people.
    pub head: Vec<String>,
    /// The program that is steered, and which of its processes: they count as they create their first thread.
    pub program: Module,
    pub process: u32,
    /// The recorded run went that way already.
    pub was_observed: bool,
    pub modules: Vec<Module>,
    pub places: Vec<Place>,
    pub turns: Vec<Turn>,
}

impl Turn {
    /// A turn that comes at once.
    #[must_use]
    pub fn new(thread: ThreadId, steps: Vec<Step>) -> Turn {
        Turn { pause: 0, thread, steps }
    }

    /// Adds a step, to the last one if that is at the same place.
    pub fn push(&mut self, place: u32, role: Option<Role>) {
        match self.steps.last_mut() {
            Some(last) if last.place == place && last.role.is_none() && role.is_none() && last.times < u32::MAX => {
                last.times += 1;
            }
            _ => self.steps.push(Step { place, times: 1, role }),
        }
    }
}

impl Schedule {
    /// How often another thread goes on than the one before.
    #[must_use]
    pub fn switches(&self) -> usize {
        let mut threads: Vec<ThreadId> =
            self.turns.iter().filter(|turn| !turn.steps.is_empty()).map(|turn| turn.thread).collect();
        threads.dedup();
        threads.len().saturating_sub(1)
    }
}

/// What is wrong with a text, and in which line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSchedule {
    pub line: usize,
    pub reason: String,
}

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadSchedule {}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name with spaces must stay one word.
        let name: String = self.name.chars().map(|c| if c.is_whitespace() { '?' } else { c }).collect();
        write!(f, "{name} {}", if self.build_id.is_empty() { "-" } else { &self.build_id })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC}")?;
        for line in &self.head {
            writeln!(f, "{}", format!("# {line}").trim_end())?;
        }
        writeln!(f, "program {} {}", self.program, self.process)?;
        if self.was_observed {
            writeln!(f, "observed")?;
        }
        for (number, module) in self.modules.iter().enumerate() {
            writeln!(f, "module {number} {module}")?;
        }
        for (number, place) in self.places.iter().enumerate() {
            write!(f, "place {number} ")?;
            match place.code {
                Some((module, offset)) => write!(f, "{module}+{offset:x}")?,
                None => write!(f, "-")?,
            }
            writeln!(f, "{}", format!(" {} {}", place.act.word(), place.name.replace('\n', " ")).trim_end())?;
        }
        for turn in &self.turns {
            if turn.pause > 0 {
                writeln!(f, "pause {}", turn.pause)?;
            }
            write!(f, "turn {}", turn.thread)?;
            for step in &turn.steps {
                write!(f, " {}", step.place)?;
                if step.times != 1 {
                    write!(f, "*{}", step.times)?;
                }
                if let Some(role) = step.role {
                    write!(f, "!{}", role.word())?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Schedule, BadSchedule> {
        let mut schedule = Schedule::default();
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        match lines.next() {
            Some((_, MAGIC)) => {}
            Some((line, other)) if other.starts_with("avmon schedule ") => {
                let reason = "a schedule of another version: make it anew with this 'avmon confirm'".to_owned();
                return Err(BadSchedule { line, reason });
            }
            _ => return Err(BadSchedule { line: 1, reason: format!("no schedule: the first line is not '{MAGIC}'") }),
        }
        let mut pause = None;
        for (line, text) in lines {
            schedule.read_line(text, &mut pause).map_err(|reason| BadSchedule { line, reason })?;
        }
        if pause.is_some() {
            let reason = "no turn comes after the last pause: leave that out".to_owned();
            return Err(BadSchedule { line: text.lines().count(), reason });
        }
        if schedule.turns.is_empty() {
            let line = text.lines().count();
            return Err(BadSchedule { line, reason: "there is no turn; the end of the text is missing".to_owned() });
        }
        Ok(schedule)
    }
}

impl Schedule {
    /// Takes a line. The next turn comes after the `pause`.
    fn read_line(&mut self, line: &str, pause: &mut Option<u32>) -> Result<(), String> {
        if let Some(text) = line.strip_prefix('#') {
            self.head.push(text.strip_prefix(' ').unwrap_or(text).to_owned());
            return Ok(());
        }
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        match words.next() {
            None => {}
            Some("program") => {
                self.program = module(&mut words)?;
                self.process = number(words.next(), "the number of the process")?;
            }
            Some("observed") => self.was_observed = true,
            Some("module") => {
                expect_number(words.next(), self.modules.len())?;
                self.modules.push(module(&mut words)?);
            }
            Some("place") => {
                expect_number(words.next(), self.places.len())?;
                let place = self.place(&mut words)?;
                self.places.push(place);
            }
            Some("pause") => {
                let length: NonZeroU32 = number(words.next(), "a number of milliseconds from 1 on")?;
                if pause.replace(length.get()).is_some() {
                    return Err("two pauses without a turn between: make them one".to_owned());
                }
            }
            Some("turn") => {
                let thread = number(words.next(), "a thread")?;
                let steps = words.map(|word| self.step(word)).collect::<Result<_, _>>()?;
                self.turns.push(Turn { pause: pause.take().unwrap_or(0), thread, steps });
            }
            Some(word) => return Err(format!("'{word}' is none of program, observed, module, place, turn, pause")),
        }
        Ok(())
    }

    fn place<'a>(&self, words: &mut impl Iterator<Item = &'a str>) -> Result<Place, String> {
        let code = match words.next() {
            Some("-") => None,
            Some(code) => {
                let (module, offset) = code.split_once('+').ok_or_else(|| format!("'{code}' is not MODULE+OFFSET"))?;
                let module: u32 = number(Some(module), "a module")?;
                if module as usize >= self.modules.len() {
                    return Err(format!("there is no module {module}"));
                }
                let offset = u64::from_str_radix(offset, 16).map_err(|_| format!("'{offset}' is no offset"))?;
                Some((module, offset))
            }
            None => return Err("MODULE+OFFSET is missing".to_owned()),
        };
        let act = words.next().unwrap_or_default();
        let act = Act::from_word(act).ok_or_else(|| format!("'{act}' is nothing that a thread does"))?;
        Ok(Place { code, act, name: words.collect::<Vec<_>>().join(" ") })
    }

    fn step(&self, word: &str) -> Result<Step, String> {
        let (word, role) = match word.split_once('!') {
            Some((word, role)) => {
                (word, Some(Role::from_word(role).ok_or_else(|| format!("'{role}' is no role in a violation"))?))
            }
            None => (word, None),
        };
        let (place, times) = match word.split_once('*') {
            Some((place, times)) => (place, number(Some(times), "a number of times")?),
            None => (word, 1),
        };
        let place: u32 = number(Some(place), "a place")?;
        if place as usize >= self.places.len() {
            return Err(format!("there is no place {place}"));
        }
        if times == 0 || role.is_some() && times != 1 {
            return Err(format!("a step that happens {times} times"));
        }
        Ok(Step { place, times, role })
    }
}

fn module<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Module, String> {
    let (Some(name), Some(build_id)) = (words.next(), words.next()) else {
        return Err("a file's name and build id are missing".to_owned());
    };
    let build_id = if build_id == "-" { String::new() } else { build_id.to_owned() };
    Ok(Module { name: name.to_owned(), build_id })
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    word.parse().map_err(|_| format!("'{word}' is not {what}"))
}

fn expect_number(word: Option<&str>, expected: usize) -> Result<(), String> {
    let found: usize = number(word, "a number")?;
    if found == expected { Ok(()) } else { Err(format!("number {found} where {expected} comes next")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
avmon schedule 1
# lost update of `balance`
#
# T2 writes between
program teller 8f3c01 2
module 0 teller 8f3c01
module 1 libc.so.6 -
place 0 0+11d2 lock balance_of teller.c:15
place 1 - end
place 2 1+ff00 read
turn 0 0*3 1
turn 1 0!first 2 0!second
pause 250
turn 12 2!culprit
";

    #[test]
    fn a_text_is_read_and_printed() {
        let schedule: Schedule = TEXT.parse().unwrap();
        assert_eq!(schedule.to_string(), TEXT);
        assert_eq!((schedule.process, schedule.switches()), (2, 2));
        let observed = TEXT.replace("8f3c01 2\n", "8f3c01 2\nobserved\n");
        let observed: Schedule = observed.parse().unwrap();
        assert!(observed.was_observed && !schedule.was_observed);
        assert_eq!(observed.to_string().parse(), Ok(observed));
        assert_eq!(schedule.turns[0].steps[0], Step { place: 0, times: 3, role: None });
        assert_eq!(schedule.turns[1].steps[0].role, Some(Role::First));
        assert_eq!(schedule.places[2].code, Some((1, 0xff00)));
    }

    #[test]
    fn repeated_steps_are_one() {
        let mut turn = Turn::new(1, Vec::new());
        for (place, role) in [(4, None), (4, None), (4, Some(Role::First)), (4, None), (5, None)] {
            turn.push(place, role);
        }
        let steps: Vec<(u32, u32)> = turn.steps.iter().map(|step| (step.place, step.times)).collect();
        assert_eq!(steps, [(4, 2), (4, 1), (4, 1), (5, 1)]);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let after = |lines: &str| format!("{TEXT}{lines}\n").parse::<Schedule>().unwrap_err();
        assert_eq!(after("turn 1 9").to_string(), "line 15: there is no place 9");
        assert_eq!(after("turn x").reason, "'x' is not a thread");
        assert_eq!(after("turn 1 0*0").reason, "a step that happens 0 times");
        assert_eq!(after("turn 1 0*2!first").reason, "a step that happens 2 times");
        assert_eq!(after("turn 1 0!victim").reason, "'victim' is no role in a violation");
        assert_eq!(after("place 4 0+1 lock").reason, "number 4 where 3 comes next");
        assert_eq!(after("place 3 7+1 lock").reason, "there is no module 7");
        assert_eq!(after("place 3 0+1 sing").reason, "'sing' is nothing that a thread does");
        assert_eq!(after("tern 1").reason, "'tern' is none of program, observed, module, place, turn, pause");
        assert_eq!(after("pause 0").reason, "'0' is not a number of milliseconds from 1 on");
        assert_eq!(after("pause 3\npause 4").to_string(), "line 16: two pauses without a turn between: make them one");
        assert_eq!(after("pause 3").to_string(), "line 15: no turn comes after the last pause: leave that out");
        let begins = |text: &str| text.parse::<Schedule>().unwrap_err().reason;
        assert!(begins("").contains("no schedule"));
        assert!(begins("avmon schedule 7\n").contains("another version"));
        assert!(begins("avmon schedule 1\n").contains("no turn"));
    }

    fn any_turn() -> impl Strategy<Value = Turn> {
        let step = (0..3_u32, 1..5_u32, prop::option::of(prop::sample::select(Role::ALL)));
        let step =
            step.prop_map(|(place, times, role)| Step { place, times: if role.is_some() { 1 } else { times }, role });
        let pause = prop_oneof![Just(0), 1..=u32::MAX];
        let turn = (pause, any::<ThreadId>(), prop::collection::vec(step, 0..5));
        turn.prop_map(|(pause, thread, steps)| Turn { pause, thread, steps })
    }

    proptest! {
        #[test]
        fn whatever_the_turns_are_they_are_read_as_they_were_printed(turns in prop::collection::vec(any_turn(), 1..8)) {
            let schedule = Schedule { turns, ..TEXT.parse().unwrap() };
            prop_assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }
}
