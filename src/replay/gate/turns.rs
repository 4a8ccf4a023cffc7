//! Following a schedule, and finding the way back to it.
//!
//! Each thread has its own sequence of places. What comes next in it may be done in its turn only. A thread that does something else is looked for a
//! little further on in its sequence: if it is there, what lies between did not come; if not, the step is one too many.

use rustc_hash::FxHashMap;

use super::super::journal::{Entry, Figures, Why};
use super::super::schedule::{Role, Schedule};
use super::{News, Standing, Stop};
use crate::event::ThreadId;

/// How far a thread is looked for in its sequence.
const NEAR: usize = 64;
/// After so many steps in a row that the schedule does not have, a thread is not held any more.
const MOST_EXTRA: u32 = 10_000;
/// After so many turns that were given up, nothing is left of the schedule.
const MOST_SKIPPED: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Expected {
    place: u32,
    turn: u32,
    role: Option<Role>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Sequence {
    steps: Vec<Expected>,
    next: usize,
    /// The thread stands at its next step, and not at one too many.
    is_matched: bool,
    extra_in_a_row: u32,
    /// It goes its own ways.
    is_lost: bool,
    has_ended: bool,
}

/// A turn: whose, and which step of its sequence is the first that is not in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    thread: ThreadId,
    end: usize,
    /// What has to pass before it, in milliseconds.
    pause: u32,
}

/// A schedule, and how far it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    all: Vec<Turn>,
    current: usize,
    sequences: FxHashMap<ThreadId, Sequence>,
    figures: Figures,
    is_difference_told: bool,
    is_over: bool,
    /// How many steps have a role, and how many of them are done.
    roles: usize,
    played: usize,
    is_second_played: bool,
}

impl Turns {
    #[must_use]
    pub fn new(schedule: &Schedule) -> Turns {
        let mut sequences: FxHashMap<ThreadId, Sequence> = FxHashMap::default();
        let mut turns = Vec::with_capacity(schedule.turns.len());
        let mut roles = 0;
        for (number, turn) in schedule.turns.iter().enumerate() {
            let sequence = sequences.entry(turn.thread).or_default();
            for step in &turn.steps {
                let expected = Expected { place: step.place, turn: number as u32, role: step.role };
                sequence.steps.extend(std::iter::repeat_n(expected, step.times as usize));
                roles += usize::from(step.role.is_some());
            }
            turns.push(Turn { thread: turn.thread, end: sequence.steps.len(), pause: turn.pause });
        }
        let mut turns = Turns {
            all: turns,
            current: 0,
            sequences,
            figures: Figures::default(),
            is_difference_told: false,
            is_over: false,
            roles,
            played: 0,
            is_second_played: false,
        };
        // Turns may be empty.
        turns.advance(&mut Vec::new());
        turns
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The thread that all wait for.
    pub fn whose(&self) -> Option<ThreadId> {
        self.all.get(self.current).filter(|_| !self.is_over).map(|turn| turn.thread)
    }

    /// Whose turn it is, and which step is still to come in it.
    pub fn awaited(&self) -> Option<Entry> {
        let thread = self.whose()?;
        let sequence = self.sequences.get(&thread)?;
        let expected = sequence.steps.get(sequence.next)?.place;
        Some(Entry::Awaited { turn: self.current as u32, thread, expected })
    }

    /// Which turn has to wait until some time has passed, and for how many milliseconds.
    pub fn pause(&self) -> Option<(u32, u32)> {
        let turn = self.all.get(self.current).filter(|turn| !self.is_over && turn.pause > 0)?;
        Some((self.current as u32, turn.pause))
    }

    /// It has passed.
    pub fn pause_is_over(&mut self, news: &mut Vec<News>) {
        if let Some(turn) = self.all.get_mut(self.current) {
            turn.pause = 0;
        }
        self.advance(news);
    }

    /// How much of the schedule is behind: done, or given up.
    pub fn reached(&self) -> u64 {
        self.figures.steps + self.figures.missing + self.current as u64
    }

    /// Finds the thread's place in its sequence. True if others may go on because of that.
    pub fn arrived(&mut self, thread: ThreadId, stop: &Stop, news: &mut Vec<News>) -> bool {
        let turn = self.current as u32;
        let Some(sequence) = self.sequences.get_mut(&thread) else { return false };
        if self.is_over || sequence.is_lost || sequence.next >= sequence.steps.len() {
            return false;
        }
        let expected = sequence.steps[sequence.next].place;
        let ahead = sequence.steps[sequence.next..].iter().take(NEAR);
        let found = ahead.map(|step| Some(step.place)).position(|place| place == stop.place);
        sequence.is_matched = found.is_some();
        match found {
            Some(0) => {
                sequence.extra_in_a_row = 0;
                return false;
            }
            Some(missing) => {
                self.figures.missing += missing as u64;
                sequence.next += missing;
                sequence.extra_in_a_row = 0;
            }
            None => {
                self.figures.extra += 1;
                sequence.extra_in_a_row += 1;
                sequence.is_lost = sequence.extra_in_a_row > MOST_EXTRA;
            }
        }
        if !std::mem::replace(&mut self.is_difference_told, true) {
            let Stop { act, code, .. } = *stop;
            news.push(News::Difference { thread, turn, expected: Some(expected), act, code });
        }
        self.advance(news)
    }

    /// Who has done its part waits for the others; who has none is not held.
    pub fn may_go(&self, thread: ThreadId) -> bool {
        let Some(sequence) = self.sequences.get(&thread) else { return true };
        self.is_over
            || sequence.is_lost
            || self.pause().is_none()
                && sequence.steps.get(sequence.next).is_some_and(|step| step.turn as usize == self.current)
    }

    pub fn ends_turn(&self, thread: ThreadId) -> bool {
        let sequence = self.sequences.get(&thread);
        let is_last = |turn: &Turn| sequence.is_some_and(|it| it.is_matched && it.next + 1 == turn.end);
        self.all.get(self.current).is_some_and(|turn| turn.thread == thread && is_last(turn))
    }

    /// True if others may go on because of that.
    pub fn done(&mut self, thread: ThreadId, stop: &Stop, news: &mut Vec<News>) -> bool {
        let turn = self.current as u32;
        let Some(sequence) = self.sequences.get_mut(&thread) else { return false };
        if !std::mem::take(&mut sequence.is_matched) {
            return false;
        }
        let Some(step) = sequence.steps.get(sequence.next) else { return false };
        sequence.next += 1;
        self.figures.steps += 1;
        if let Some(role) = step.role {
            self.played += 1;
            self.is_second_played |= role.is_second();
            news.push(News::Entry(Entry::Role { role, thread, object: stop.object, size: stop.size, turn, at_ms: 0 }));
        }
        self.advance(news)
    }

    /// A thread that has ended takes no turn.
    pub fn ended(&mut self, thread: ThreadId, news: &mut Vec<News>) {
        if let Some(sequence) = self.sequences.get_mut(&thread) {
            sequence.has_ended = true;
            self.advance(news);
        }
    }

    /// The thread whose turn it is cannot go on, or does not come: its turn is given up, unless others may help it.
    pub fn stalled(&mut self, standing: impl Fn(ThreadId) -> Option<Standing>, news: &mut Vec<News>) {
        if self.pause().is_some() {
            return;
        }
        let Some(&Turn { thread, .. }) = self.all.get(self.current).filter(|_| !self.is_over) else { return };
        let why = match standing(thread) {
            None | Some(Standing::Coming) => Why::Unborn,
            Some(Standing::Blocked(_) | Standing::Asleep(_)) => Why::Blocked,
            Some(Standing::Running | Standing::Waiting | Standing::Outside) => Why::Late,
        };
        // Who is blocked waits for something that the gate knows.
        if why != Why::Blocked && self.let_bystanders_go(&standing) {
            return;
        }
        self.skip(why, news);
        self.advance(news);
    }

    /// Who has done its part, or has none, is held so as not to be ahead. But it may be the one for whom the thread whose turn it is waits where the gate does
    /// not see it: a client for whom a server waits. True if there is such a one.
    fn let_bystanders_go(&mut self, standing: &impl Fn(ThreadId) -> Option<Standing>) -> bool {
        let is_held = |thread: ThreadId| matches!(standing(thread), Some(Standing::Waiting));
        let through = self.sequences.iter_mut().filter(|(_, it)| !it.is_lost && it.next >= it.steps.len());
        let held = through.filter(|(thread, _)| is_held(**thread)).map(|(_, sequence)| sequence.is_lost = true);
        held.count() > 0
    }

    /// In which turn the thread does its next step; a very late one if it has none.
    pub fn next_turn(&self, thread: ThreadId) -> u32 {
        let sequence = self.sequences.get(&thread);
        sequence.and_then(|sequence| sequence.steps.get(sequence.next)).map_or(u32::MAX, |step| step.turn)
    }

    /// Whether the violation is complete, and there are turns after it.
    pub fn goes_on(&self) -> bool {
        self.is_second_played && !self.is_over
    }

    /// Whether all that is left for the thread is to wait for the end of the turns.
    pub fn is_through(&self, thread: ThreadId) -> bool {
        !self.is_over && self.sequences.get(&thread).is_some_and(|it| !it.is_lost && it.next >= it.steps.len())
    }

    pub fn due(&self, thread: ThreadId) -> Option<Role> {
        let sequence = self.sequences.get(&thread).filter(|sequence| sequence.is_matched)?;
        let role = sequence.steps.get(sequence.next)?.role;
        role.filter(|_| self.played + 1 == self.roles)
    }

    fn skip(&mut self, why: Why, news: &mut Vec<News>) {
        let Some(&Turn { thread, end, .. }) = self.all.get(self.current) else { return };
        let Some(sequence) = self.sequences.get_mut(&thread) else { return };
        let expected = sequence.steps.get(sequence.next).map_or(0, |step| step.place);
        self.figures.missing += end.saturating_sub(sequence.next) as u64;
        self.figures.skipped_turns += 1;
        sequence.next = end;
        // It may be in the middle of a step, which is then one too many.
        sequence.is_matched = false;
        news.push(News::Entry(Entry::Skipped { turn: self.current as u32, thread, expected, why }));
    }

    /// Goes to the next turn in which there is something to do. True if that is another one than before.
    fn advance(&mut self, news: &mut Vec<News>) -> bool {
        if self.is_over {
            return false;
        }
        let before = self.current;
        while let Some(&Turn { thread, end, pause: 0 }) = self.all.get(self.current) {
            let Some(sequence) = self.sequences.get(&thread) else { break };
            if sequence.next < end && sequence.has_ended {
                self.skip(Why::Ended, news);
            } else if sequence.next < end && !sequence.is_lost {
                break;
            }
            self.current += 1;
        }
        if self.current == self.all.len() || self.figures.skipped_turns >= MOST_SKIPPED {
            self.is_over = true;
            news.push(News::Entry(Entry::Free { turn: self.current as u32, figures: self.figures }));
        }
        self.is_over || self.current != before
    }
}
