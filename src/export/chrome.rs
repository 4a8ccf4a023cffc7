//! A timeline in the JSON array format of `chrome://tracing` and Perfetto: a track for each thread, with spans for marked blocks,
//! critical sections, waits, and function calls if wanted.
//!
//! The trace tells the time now and then; what lies between two such moments is spread evenly over them. Within a thread no two
//! spans begin or end at the same time, so that viewers nest them as they were.

use std::io::{self, Write};

use serde_json::json;

use crate::event::{Event, Kind, Mode, ThreadId};

/// What a span stands for; it is named only when it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// A call of the function at this address, by the depth of its frame.
    Function { inside: u64, depth: u32 },
    /// A marked block, by the address of its label.
    Block { label: u64 },
    /// A critical section.
    Section { lock: u64, mode: Mode },
    /// A wait for other threads.
    Wait,
}

impl Span {
    const fn category(self) -> &'static str {
        match self {
            Span::Function { .. } => "function",
            Span::Block { .. } => "block",
            Span::Section { .. } => "section",
            Span::Wait => "wait",
        }
    }
}

/// Writes the text.
pub struct Timeline<W> {
    out: W,
    pid: u32,
    is_empty: bool,
}

impl<W: Write> Timeline<W> {
    /// Begins the text.
    pub fn new(mut out: W, pid: u32, program: &str) -> io::Result<Timeline<W>> {
        out.write_all(b"[")?;
        let mut timeline = Timeline { out, pid, is_empty: true };
        timeline.record(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": program}}))?;
        Ok(timeline)
    }

    /// Ends the text.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Says what a thread is called. The last name counts.
    pub fn name_thread(&mut self, thread: ThreadId, name: &str) -> io::Result<()> {
        let (pid, tid) = (self.pid, track(thread));
        self.record(&json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}))?;
        self.record(
            &json!({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": thread}}),
        )
    }

    fn record(&mut self, record: &serde_json::Value) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_empty) { "\n" } else { ",\n" };
        write!(self.out, "{separator}{record}")
    }

    fn span(&mut self, thread: ThreadId, nanoseconds: u64, begin: Option<(Span, String)>) -> io::Result<()> {
        let (pid, tid, ts) = (self.pid, track(thread), microseconds(nanoseconds));
        match begin {
            Some((span, name)) => {
                self.record(&json!({"ph": "B", "name": name, "cat": span.category(), "pid": pid, "tid": tid, "ts": ts}))
            }
            None => self.record(&json!({"ph": "E", "pid": pid, "tid": tid, "ts": ts})),
        }
    }
}

/// The unit of the format.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds are kept exactly for a hundred days")]
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Viewers take 0 for the idle thread of the kernel.
fn track(thread: ThreadId) -> u64 {
    u64::from(thread) + 1
}

/// When something happened: known, or between which events of its thread.
#[derive(Clone, Copy)]
enum Moment {
    Known(u64),
    Position(u64),
}

enum Change {
    Begin(Span),
    End,
}

/// Changes that wait for the next moment that the trace tells; beyond this they are written with a guess.
const MOST_PENDING: usize = 1 << 16;

/// The track of one thread, made from its events in program order.
pub struct Track<'a, W> {
    timeline: &'a mut Timeline<W>,
    name: &'a mut dyn FnMut(Span) -> String,
    thread: ThreadId,
    with_functions: bool,
    position: u64,
    /// The last moment that the trace told: position and nanoseconds.
    told: Option<(u64, u64)>,
    /// No change is earlier.
    earliest: u64,
    pending: Vec<(Moment, Change)>,
    open: Vec<(Span, u32)>,
    /// The last event that was not part of a wait.
    busy: Option<Moment>,
}

impl<'a, W: Write> Track<'a, W> {
    pub fn new(
        timeline: &'a mut Timeline<W>,
        thread: ThreadId,
        with_functions: bool,
        name: &'a mut dyn FnMut(Span) -> String,
    ) -> Track<'a, W> {
        Track {
            timeline,
            name,
            thread,
            with_functions,
            position: 0,
            told: None,
            earliest: 0,
            pending: Vec::new(),
            open: Vec::new(),
            busy: None,
        }
    }

    /// Takes the thread's next event.
    pub fn step(&mut self, event: &Event) -> io::Result<()> {
        let now = Moment::Position(self.position);
        let Some(kind) = event.kind() else { return Ok(()) };
        match kind {
            Kind::Time => self.flush(Some(event.number()))?,
            Kind::Enter if self.with_functions => {
                self.leave_functions(event.depth());
                self.begin(Span::Function { inside: event.object, depth: event.depth() });
            }
            Kind::Leave if self.with_functions => self.leave_functions(event.depth()),
            Kind::BlockBegin => self.begin(Span::Block { label: event.object }),
            Kind::BlockEnd => {
                if let Some(index) = self.open.iter().rposition(|(span, _)| matches!(span, Span::Block { .. })) {
                    self.end(index);
                }
            }
            Kind::Acquire => match self.section(event.object) {
                Some(index) => self.open[index].1 += 1,
                None => self.begin(Span::Section { lock: event.object, mode: event.mode() }),
            },
            Kind::Release => {
                if let Some(index) = self.section(event.object) {
                    self.open[index].1 -= 1;
                    if self.open[index].1 == 0 {
                        self.end(index);
                    }
                }
            }
            Kind::Interfere => {
                if let Some(begin) = self.busy.take() {
                    self.pending.push((begin, Change::Begin(Span::Wait)));
                    self.pending.push((now, Change::End));
                }
            }
            _ => {}
        }
        if is_work(kind) {
            self.busy = Some(now);
        }
        self.position += 1;
        if self.pending.len() > MOST_PENDING {
            self.flush(None)?;
        }
        Ok(())
    }

    /// The thread's last event has come: what is open ends.
    pub fn finish(mut self) -> io::Result<()> {
        while let Some(last) = self.open.len().checked_sub(1) {
            self.end(last);
        }
        self.flush(None)
    }

    fn section(&self, address: u64) -> Option<usize> {
        self.open.iter().rposition(|(span, _)| matches!(span, Span::Section { lock, .. } if *lock == address))
    }

    fn begin(&mut self, span: Span) {
        self.open.push((span, 1));
        self.change(Change::Begin(span));
    }

    /// Ends an open span. Those that were opened in it end too, and begin again.
    fn end(&mut self, index: usize) {
        let inner: Vec<Span> = self.open[index + 1..].iter().map(|(span, _)| *span).collect();
        self.open.remove(index);
        for _ in 0..=inner.len() {
            self.change(Change::End);
        }
        for span in inner {
            self.change(Change::Begin(span));
        }
    }

    fn leave_functions(&mut self, to_depth: u32) {
        let is_left = |span: &Span| matches!(span, Span::Function { depth, .. } if *depth >= to_depth);
        while let Some(index) = self.open.iter().rposition(|(span, _)| is_left(span)) {
            self.end(index);
        }
    }

    fn change(&mut self, change: Change) {
        self.pending.push((Moment::Position(self.position), change));
    }

    /// Writes what is pending. `now` is the time at the current position, if the trace tells it.
    fn flush(&mut self, now: Option<u64>) -> io::Result<()> {
        let position = self.position;
        // Before the first moment, and after the last, an event takes a nanosecond.
        let (from, begin) = self.told.unwrap_or_else(|| (0, now.unwrap_or(0).saturating_sub(position)));
        let end = now.unwrap_or(begin + (position - from)).max(begin);
        let time = |moment| match moment {
            Moment::Known(time) => time,
            Moment::Position(at) => {
                let part = u128::from(end - begin) * u128::from(at.saturating_sub(from));
                begin + part.checked_div(u128::from(position - from)).unwrap_or(0) as u64
            }
        };
        for (moment, change) in std::mem::take(&mut self.pending) {
            let time = time(moment).max(self.earliest);
            self.earliest = time + 1;
            let begin = match change {
                Change::Begin(span) => Some((span, (self.name)(span))),
                Change::End => None,
            };
            self.timeline.span(self.thread, time, begin)?;
        }
        self.busy = self.busy.map(|moment| Moment::Known(time(moment)));
        self.told = Some((position, end));
        Ok(())
    }
}

/// Whether an event of this kind shows the thread at work, not at the end of a wait.
fn is_work(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Await
            | Kind::Interfere
            | Kind::Time
            | Kind::Extent
            | Kind::Value
            | Kind::Branches
            | Kind::Name
            | Kind::Lost
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timeline of one thread's events, as phase, name and microseconds.
    fn timeline(with_functions: bool, events: &[Event]) -> Vec<(String, String, f64)> {
        let mut timeline = Timeline::new(Vec::new(), 7, "prog").unwrap();
        timeline.name_thread(1, "T1").unwrap();
        let mut name = |span| match span {
            Span::Function { inside, .. } => format!("f{inside}"),
            Span::Block { label } => format!("b{label}"),
            Span::Section { lock, .. } => format!("l{lock}"),
            Span::Wait => "wait".to_owned(),
        };
        let mut track = Track::new(&mut timeline, 1, with_functions, &mut name);
        for event in events {
            track.step(event).unwrap();
        }
        track.finish().unwrap();
        let text = String::from_utf8(timeline.finish().unwrap()).unwrap();
        let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let spans = records.iter().filter(|record| record["ph"] != "M");
        spans
            .map(|record| {
                assert_eq!((&record["pid"], &record["tid"]), (&json!(7), &json!(2)));
                let text = |key: &str| record[key].as_str().unwrap_or("").to_owned();
                (text("ph"), text("name"), record["ts"].as_f64().unwrap())
            })
            .collect()
    }

    /// The same without times: `+name` and `-name`, which checks that they nest.
    fn shape(with_functions: bool, events: &[Event]) -> String {
        let mut open = Vec::new();
        let mut last = -1.0;
        let mut words = Vec::new();
        for (phase, name, time) in timeline(with_functions, events) {
            assert!(time > last, "time goes on");
            last = time;
            if phase == "B" {
                words.push(format!("+{name}"));
                open.push(name);
            } else {
                words.push(format!("-{}", open.pop().expect("something is open")));
            }
        }
        assert_eq!(open, [""; 0], "all was closed");
        words.join(" ")
    }

    fn event(kind: Kind, object: u64) -> Event {
        Event::new(kind, 0, 0, object, 0)
    }

    fn time(nanoseconds: u64) -> Event {
        Event::new(Kind::Time, 0, nanoseconds, 0, 0)
    }

    #[test]
    fn blocks_and_sections_are_spans() {
        let events =
            [(Kind::BlockBegin, 5), (Kind::Acquire, 8), (Kind::Acquire, 8), (Kind::Release, 8), (Kind::Release, 8)];
        let events: Vec<Event> = events.iter().map(|(kind, object)| event(*kind, *object)).collect();
        assert_eq!(shape(false, &events), "+b5 +l8 -l8 -b5");
    }

    #[test]
    fn spans_that_overlap_are_split() {
        let events =
            [event(Kind::Acquire, 1), event(Kind::Acquire, 2), event(Kind::Release, 1), event(Kind::Release, 2)];
        assert_eq!(shape(false, &events), "+l1 +l2 -l2 -l1 +l2 -l2");
    }

    #[test]
    fn functions_are_spans_if_wanted() {
        let events = [
            Event::enter(0, 0, 10, 0),
            Event::enter(1, 0, 11, 0),
            event(Kind::Acquire, 1),
            Event::new(Kind::Leave, 0, 1, 0, 0),
            event(Kind::Release, 1),
            Event::new(Kind::Leave, 0, 0, 0, 0),
        ];
        assert_eq!(shape(true, &events), "+f10 +f11 +l1 -l1 -f11 +l1 -l1 -f10");
        assert_eq!(shape(false, &events), "+l1 -l1");
    }

    #[test]
    fn a_wait_lasts_from_the_release_to_the_resumption() {
        let events = [
            time(1000),
            event(Kind::Acquire, 1),
            event(Kind::Release, 1),
            time(2000),
            event(Kind::Await, 9),
            event(Kind::Interfere, 0),
            event(Kind::Acquire, 1),
            time(9000),
            event(Kind::Release, 1),
        ];
        assert_eq!(shape(false, &events), "+l1 -l1 +wait -wait +l1 -l1");
        let spans = timeline(false, &events);
        let wait = spans.iter().position(|(_, name, _)| name == "wait").unwrap();
        assert!((1.6..2.0).contains(&spans[wait].2) && (5.0..9.0).contains(&spans[wait + 1].2), "{spans:?}");
    }

    #[test]
    fn what_lies_between_two_moments_is_spread_over_them() {
        let mut events = vec![time(0)];
        events.extend((0..9).map(|_| event(Kind::Write, 1)));
        events[4] = event(Kind::BlockBegin, 3);
        events.push(time(10_000));
        assert!((3.99..4.01).contains(&timeline(false, &events)[0].2));
    }

    #[test]
    fn time_that_goes_back_does_not_turn_the_order() {
        let events = [time(5000), event(Kind::Acquire, 1), time(4000), event(Kind::Release, 1), time(1)];
        assert_eq!(shape(false, &events), "+l1 -l1");
    }
}
