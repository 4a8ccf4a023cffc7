//! One run of a scenario: in the written order, in a given one, or in one that looks random.

use super::machine::{Effect, Machine, State, Taken};
use super::program::Place;
use super::tree::ThreadIndex;

/// A run is cut here: loops in loops could make one that nobody can wait for.
pub const MOST_STEPS: usize = 20_000;

/// What happened in one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Who took each step.
    pub order: Vec<ThreadIndex>,
    /// What the steps did; a step may do several things.
    pub log: Vec<Taken>,
    /// Where each thread stands that cannot go on, though it is not over: a deadlock.
    pub stuck: Vec<Place>,
}

impl Run {
    /// Whether every thread came to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stuck.is_empty() && !self.log.iter().any(|taken| matches!(taken.effect, Effect::Stopped(_)))
    }
}

/// The step that an order asks for cannot be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// How many steps were taken before.
    pub after: usize,
    pub thread: ThreadIndex,
    /// Where the thread stands, if it has begun and is not over.
    pub at: Option<Place>,
}

impl Machine<'_> {
    fn able(&self, state: &State) -> Vec<ThreadIndex> {
        (0..self.program.threads.len()).filter(|&thread| self.can_step(state, thread)).collect()
    }

    /// Where the threads stand that are not over.
    #[must_use]
    pub fn standing(&self, state: &State) -> Vec<Place> {
        (0..self.program.threads.len()).filter_map(|thread| self.next(state, thread)).collect()
    }

    /// Runs until nobody can take a step; `pick` chooses among those who can.
    pub fn run(&self, mut pick: impl FnMut(&State, &[ThreadIndex]) -> ThreadIndex) -> Run {
        let mut log = Vec::new();
        let mut state = self.start(&mut log);
        let mut order = Vec::new();
        loop {
            let able = self.able(&state);
            if able.is_empty() || order.len() == MOST_STEPS {
                return Run { order, log, stuck: self.standing(&state) };
            }
            let thread = pick(&state, &able);
            self.step(&mut state, thread, &mut log);
            order.push(thread);
        }
    }

    /// The thread whose next step stands first in the text, of those who can take it.
    fn first_written(&self, state: &State, able: &[ThreadIndex]) -> ThreadIndex {
        let turn = |&thread: &ThreadIndex| self.next(state, thread).map(|place| self.program.at(place).turn);
        able.iter().copied().min_by_key(turn).unwrap_or(0)
    }

    /// Runs in the written order. A thread that cannot go on is overtaken, and goes on as soon as it can.
    #[must_use]
    pub fn run_as_written(&self) -> Run {
        self.run(|state, able| self.first_written(state, able))
    }

    /// Runs in the given order, and as written when that is at its end.
    ///
    /// # Errors
    /// Tells which step cannot be taken.
    pub fn run_in_order(&self, given: &[ThreadIndex]) -> Result<Run, Blocked> {
        let mut blocked = None;
        let mut taken = 0;
        let run = self.run(|state, able| match given.get(taken) {
            Some(thread) if able.contains(thread) && blocked.is_none() => {
                taken += 1;
                *thread
            }
            Some(&thread) => {
                blocked.get_or_insert(Blocked { after: taken, thread, at: self.next(state, thread) });
                able[0]
            }
            None => self.first_written(state, able),
        });
        match (blocked, given.get(run.order.len())) {
            (Some(blocked), _) => Err(blocked),
            (None, Some(&thread)) => {
                let at = run.stuck.iter().copied().find(|place| place.thread as usize == thread);
                Err(Blocked { after: run.order.len(), thread, at })
            }
            (None, None) => Ok(run),
        }
    }

    /// Runs in an order that depends on the seed only. Threads like to go on: one that is interrupted after every step would hardly
    /// ever show two steps of a block side by side.
    #[must_use]
    pub fn run_at_random(&self, seed: u64) -> Run {
        let mut random = Random(seed);
        let mut last = usize::MAX;
        self.run(|_, able| {
            if !able.contains(&last) || random.below(10) >= 7 {
                last = able[random.below(able.len())];
            }
            last
        })
    }
}

/// A small generator of numbers that look random: splitmix64.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `most`, which is not 0.
    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }
}
