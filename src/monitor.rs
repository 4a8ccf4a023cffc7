//! The online rules over one order of events, with their reports: run by the worker while the program runs, and by
//! `avmon check` over the trace of that run. Both give the same findings because both are this.

use crate::analysis::Analysis;
use crate::analysis::sidetrack::{Config, SideTrack};
use crate::event::{Event, Kind, ThreadId};
use crate::options::Options;
use crate::predict::history::History;
use crate::predict::prediction::Prediction;
use crate::report::finding;
use crate::report::merge::Entry;
use crate::report::reporter::{Process, Reporter, Totals, Verdict};
use crate::report::threads::{ThreadInfo, Threads};

/// Where the memory map of the process comes from.
pub trait Modules {
    /// Hands over each map that is newer than the last one, when `events` events have been seen.
    fn news(&mut self, events: u64, take: &mut dyn FnMut(&str));
}

/// The analysis, and who is told of what it finds.
pub struct Monitor {
    analysis: SideTrack,
    reporter: Reporter,
    threads: OfProcess,
    events: u64,
}

struct OfProcess {
    pid: u32,
    threads: Threads,
}

impl Process for OfProcess {
    fn thread(&self, id: ThreadId) -> ThreadInfo {
        self.threads.get(id)
    }

    fn pid(&self) -> u32 {
        self.pid
    }
}

impl Monitor {
    /// A monitor of process `pid`. `early_locks` are those that were initialised before the first thread, and where.
    #[must_use]
    pub fn new(options: &Options, pid: u32, reporter: Reporter, early_locks: &[(u64, u64)]) -> Monitor {
        Monitor::with(false, options, pid, reporter, early_locks)
    }

    /// One that also takes what is only [worth a try](finding::Finding::is_only_worth_a_try).
    #[must_use]
    pub fn for_trials(options: &Options, pid: u32, reporter: Reporter, early_locks: &[(u64, u64)]) -> Monitor {
        Monitor::with(true, options, pid, reporter, early_locks)
    }

    fn with(rechecks: bool, options: &Options, pid: u32, reporter: Reporter, early_locks: &[(u64, u64)]) -> Monitor {
        let mut analysis = SideTrack::new(Config {
            paper: options.paper,
            strict_waits: options.strict_waits,
            functions: options.functions,
            sections: options.sections,
            rechecks,
        });
        for &(lock, pc) in early_locks {
            analysis.step(0, &Event::new(Kind::LockInit, 0, 0, lock, pc), &mut |_| {});
        }
        Monitor { analysis, reporter, threads: OfProcess { pid, threads: Threads::default() }, events: 0 }
    }

    /// Takes the next event for what it tells of the threads only.
    pub fn meet(&mut self, thread: ThreadId, event: &Event) {
        self.threads.threads.step(thread, event);
    }

    /// Takes the next event. True if it brought a strong finding that is new.
    #[inline]
    pub fn step(&mut self, thread: ThreadId, event: &Event, modules: &mut dyn Modules) -> bool {
        let Monitor { analysis, reporter, threads, events } = self;
        threads.threads.step(thread, event);
        let before = *events;
        *events += 1;
        let mut strong = false;
        analysis.step(thread, event, &mut |violation| {
            // Modules come and go; looking now gives the best chance that those of this violation are still there.
            modules.news(before, &mut |map| reporter.replace_modules(map));
            strong |= reporter.violation(&violation, threads) == Verdict::New { strong: true };
        });
        strong
    }

    /// Takes what was predicted for the same events, if the reporter collects: see [`Reporter::merged`].
    pub fn merged<'p>(
        &mut self,
        predictions: impl IntoIterator<Item = (finding::Analysis, &'p Prediction)>,
        history: &History,
        is_complete: bool,
    ) -> Vec<Entry> {
        self.reporter.merged(predictions, history, is_complete, &self.threads)
    }

    /// Tells what was merged.
    pub fn publish(&mut self, entries: Vec<Entry>) {
        self.reporter.publish(entries, &self.threads);
    }

    /// Who is told, for what else it knows.
    pub fn reporter(&mut self) -> &mut Reporter {
        &mut self.reporter
    }

    /// Looks at the memory map of the process now.
    pub fn look_at_modules(&mut self, modules: &mut dyn Modules) {
        modules.news(self.events, &mut |map| self.reporter.replace_modules(map));
    }

    /// Events that were taken.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Findings that count for the exit code.
    #[must_use]
    pub fn strong(&self) -> usize {
        self.reporter.strong()
    }

    /// What the rules and the events tell of the whole; the rest of `totals` is the caller's.
    #[must_use]
    pub fn totals(&self, totals: Totals) -> Totals {
        Totals {
            events: self.events,
            threads: self.threads.threads.count(),
            locks: self.analysis.footprint().locks as u64,
            ..totals
        }
    }

    /// Writes the summary.
    pub fn finish(&mut self, totals: &Totals) {
        self.reporter.finish(totals, &mut self.analysis.counts().iter().map(|(&key, &count)| (key, count)));
    }
}
