//! Recordings that were written without trouble, or by a program that was killed: what goes in comes out.

mod trace_run;

use std::fs;

use avmon::event::{Event, Kind};
use avmon::trace::reader::{OpenError, Problem, Trace};
use avmon::trace::writer::Limits;
use proptest::prelude::*;
use tempfile::tempdir;
use trace_run::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_run_comes_back_in_the_order_of_the_live_analysis(
        seed in any::<u64>(),
        timing in any::<u64>(),
        steps in 1..4000_usize,
        chunk in 1..120_usize,
    ) {
        let directory = tempdir().unwrap();
        let streams = simulate(seed, steps, 6);
        let live = record(directory.path(), &streams, Recipe { seed: timing, chunk, ..PLAIN });
        let trace = Trace::open(directory.path()).unwrap();
        prop_assert_eq!(texts(trace.problems()), Vec::<String>::new());
        let (output, result) = monitored(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        prop_assert_eq!(&output, &live.order);
        let (output, result) = merged(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        assert_legal(&streams, &output);
        let is_seen = |event: &Event| event.kind().is_some_and(|kind| kind.is_for_monitor() && !matches!(kind, Kind::Enter | Kind::Leave));
        let seen = |all: &[(u32, Event)]| all.iter().filter(|(_, event)| is_seen(event)).copied().collect::<Vec<_>>();
        prop_assert_eq!(seen(&output), seen(&live.order), "both orders agree on what both have");
    }

    #[test]
    fn a_killed_program_loses_nothing_that_was_published(
        seed in any::<u64>(),
        timing in any::<u64>(),
        killed in 0..900_usize,
        chunk in 1..60_usize,
    ) {
        let directory = tempdir().unwrap();
        let streams = simulate(seed, 3000, 5);
        let live = record(directory.path(), &streams, Recipe { seed: timing, chunk, killed_after: Some(killed), ..PLAIN });
        let trace = Trace::open(directory.path()).unwrap();
        prop_assert_eq!(texts(trace.problems()), [Problem::NoEnd.to_string()]);
        let (output, result) = merged(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        for (thread, published) in live.published.iter().enumerate() {
            prop_assert_eq!(&by_thread(&output, thread), published);
            if !published.is_empty() {
                prop_assert_eq!(&alone(&trace, thread as u32), published);
            }
        }
        let (output, result) = monitored(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        // The journal may end before the order that the live analysis saw, but then goes on by the numbers.
        prop_assert!(output.len() >= live.order.len());
    }
}

/// A recording of a run with several threads and chunks.
fn sample(directory: &std::path::Path, recipe: Recipe) -> (Vec<Vec<Event>>, Live) {
    let streams = simulate(11, 6000, 4);
    let live = record(directory, &streams, recipe);
    (streams, live)
}

#[test]
fn the_threads_are_counted() {
    let directory = tempdir().unwrap();
    let (streams, _) = sample(directory.path(), PLAIN);
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.meta(), &meta());
    let end = trace.end().unwrap();
    assert_eq!((end.exit_status, end.written.events), (Some(0), streams.iter().map(Vec::len).sum::<usize>() as u64));
    assert_eq!(trace.threads().len(), streams.len());
    for (thread, stream) in trace.threads().iter().zip(&streams) {
        assert_eq!(thread.counts.events, stream.len() as u64);
        assert_eq!(thread.counts.chunks, stream.len().div_ceil(PLAIN.chunk) as u64);
        let file = directory.path().join("streams").join(thread.thread.to_string());
        assert_eq!(thread.counts.bytes, fs::metadata(file).unwrap().len());
    }
    let sizes =
        ["order", "index", "modules.jsonl"].map(|name| fs::metadata(directory.path().join(name)).unwrap().len());
    let streams: u64 = trace.threads().iter().map(|thread| thread.counts.bytes).sum();
    assert_eq!(end.written.bytes, streams + sizes.iter().sum::<u64>(), "what the limit counts is what is there");
    assert_eq!(trace.modules().map(|modules| modules.after_events).collect::<Vec<_>>(), [0]);
}

#[test]
fn thinning_keeps_the_monitors_view_and_counts_what_it_drops() {
    let directory = tempdir().unwrap();
    let (streams, live) = sample(directory.path(), Recipe { all: false, chunk: 600, ..PLAIN });
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(monitored(&trace).0, live.order);
    let (output, _) = merged(&trace);
    for (thread, stream) in trace.threads().iter().zip(&streams) {
        let kept = by_thread(&output, thread.thread as usize);
        assert_eq!(thread.counts.events, kept.len() as u64);
        assert_eq!(thread.counts.events + thread.counts.dropped.total(), stream.len() as u64);
        let is_access = |event: &&Event| matches!(event.kind(), Some(Kind::Read | Kind::Write));
        let others = |events: &[Event]| events.iter().filter(|event| !is_access(event)).copied().collect::<Vec<_>>();
        assert_eq!(others(&kept), others(stream), "only accesses are left out");
    }
    let dropped: u64 = trace.threads().iter().map(|thread| thread.counts.dropped.total()).sum();
    assert!(dropped > 0 && dropped == trace.end().unwrap().written.dropped.total());
}

#[test]
fn every_event_can_be_sought_with_its_stack() {
    let directory = tempdir().unwrap();
    let (streams, _) = sample(directory.path(), PLAIN);
    let trace = Trace::open(directory.path()).unwrap();
    let without_index = tempdir().unwrap();
    copy(directory.path(), without_index.path());
    fs::remove_file(without_index.path().join("index")).unwrap();
    let slow = Trace::open(without_index.path()).unwrap();
    for (thread, stream) in streams.iter().enumerate() {
        let (mut sought, mut slowly) = (trace.stream(thread as u32).unwrap(), slow.stream(thread as u32).unwrap());
        let mut events = Vec::new();
        for event in (0..stream.len()).rev().step_by(7) {
            for by in [&mut sought, &mut slowly] {
                by.seek(event as u64);
                let info = by.next_chunk(&mut events).unwrap();
                let first = event / PLAIN.chunk * PLAIN.chunk;
                assert_eq!((info.before, events[event - first]), (first as u64, stream[event]));
                let mut stack = avmon::trace::stack::OpenFunctions::default();
                stack.apply(&stream[..first]);
                assert_eq!(by.stack().depth(), stack.depth());
                let told = by.stack().frames.len();
                assert_eq!(by.stack().frames, stack.frames[stack.frames.len() - told..]);
                assert!(told == stack.frames.len() || told == avmon::trace::stack::MOST_TOLD);
                if let Some(info) = by.next_chunk(&mut events) {
                    assert_eq!((info.before, events[0]), ((first + PLAIN.chunk) as u64, stream[first + PLAIN.chunk]));
                }
            }
        }
        sought.seek(stream.len() as u64);
        assert_eq!(sought.next_chunk(&mut events), None);
    }
}

#[test]
fn an_unwritten_chunk_has_its_stack_too() {
    let directory = tempdir().unwrap();
    let streams = simulate(11, 6000, 4);
    let live = record(directory.path(), &streams, Recipe { killed_after: Some(300), ..PLAIN });
    let trace = Trace::open(directory.path()).unwrap();
    let mut seen = 0;
    for (thread, stream) in live.published.iter().enumerate() {
        let Some(mut chunks) = trace.stream(thread as u32) else { continue };
        let mut events = Vec::new();
        while let Some(info) = chunks.next_chunk(&mut events) {
            let mut stack = avmon::trace::stack::OpenFunctions::default();
            stack.apply(&stream[..info.before as usize]);
            assert_eq!(chunks.stack().depth(), stack.depth());
            seen += usize::from(info.is_unwritten);
        }
    }
    assert!(seen > 3);
    assert!(trace.threads().iter().map(|thread| thread.unwritten_chunks).sum::<u64>() >= seen as u64);
}

#[test]
fn reading_stops_when_the_reader_has_enough() {
    let directory = tempdir().unwrap();
    sample(directory.path(), PLAIN);
    let trace = Trace::open(directory.path()).unwrap();
    let mut left = 100;
    let result = trace.merged(
        &mut |_, _| {
            left -= 1;
            if left == 0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        },
        &mut |_, _| {},
    );
    assert_eq!((result.events, left, result.problems.len()), (100, 0, 0));
}

#[test]
fn at_its_size_limit_the_recording_stops_and_says_so() {
    let directory = tempdir().unwrap();
    let limit = 9000;
    let (streams, live) =
        sample(directory.path(), Recipe { limits: Limits { size: Some(limit), ring: false }, ..PLAIN });
    let text = live.stopped.unwrap();
    assert!(
        text.starts_with("the recording reached its limit of 0.0 MiB and stopped (trace_size_mb sets it; "),
        "{text}"
    );
    assert!(text.ends_with(" are recorded, the program goes on"), "{text}");
    let bytes: u64 =
        fs::read_dir(directory.path().join("streams")).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    let others: u64 =
        ["order", "index"].map(|name| fs::metadata(directory.path().join(name)).unwrap().len()).iter().sum();
    assert!(bytes + others <= limit && bytes + others > limit / 2, "{bytes} {others}");
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.end().unwrap().stopped.as_ref(), Some(&text));
    assert_eq!(texts(trace.problems()), Vec::<String>::new());
    let (output, result) = merged(&trace);
    assert_eq!(texts(&result.problems), Vec::<String>::new());
    assert_eq!(output.len() as u64, trace.end().unwrap().written.events);
    for (thread, stream) in streams.iter().enumerate() {
        assert!(stream.starts_with(&by_thread(&output, thread)));
    }
}

#[test]
fn ring_mode_keeps_the_newest_part() {
    let directory = tempdir().unwrap();
    let limit = 60_000;
    let streams = simulate(12, 200_000, 4);
    let live = record(directory.path(), &streams, Recipe { limits: Limits { size: Some(limit), ring: true }, ..PLAIN });
    if live.stopped.as_ref().is_some_and(|text| text.contains("this file system cannot give up")) {
        return eprintln!("skipped: {}", live.stopped.unwrap());
    }
    assert_eq!(live.stopped, None);
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(texts(trace.problems()), Vec::<String>::new());
    let written = trace.end().unwrap().written;
    assert!(written.bytes <= limit && written.given_up_chunks > 0, "{written:?}");
    let (output, result) = merged(&trace);
    assert_eq!(texts(&result.problems), Vec::<String>::new());
    assert_eq!(output.len() as u64, written.events - written.given_up_events);
    let mut given_up = 0;
    for (thread, stream) in trace.threads().iter().zip(&streams) {
        let kept = by_thread(&output, thread.thread as usize);
        assert!(stream.ends_with(&kept), "thread {}", thread.thread);
        assert_eq!(thread.counts.given_up_events as usize + kept.len(), stream.len());
        given_up += thread.counts.given_up_events;
    }
    assert_eq!(given_up, written.given_up_events);
    // The file system has really got the blocks back.
    let blocks: u64 = fs::read_dir(directory.path().join("streams"))
        .unwrap()
        .chain(fs::read_dir(directory.path()).unwrap())
        .map(|entry| std::os::unix::fs::MetadataExt::blocks(&entry.unwrap().metadata().unwrap()) * 512)
        .sum();
    assert!(blocks < 2 * limit, "{blocks} bytes on disk");
    let (seen, _) = monitored(&trace);
    assert!(!seen.is_empty());
}

/// A file system of its own with so many bytes; `None`, with the reason printed, where that is not allowed.
struct Small(tempfile::TempDir);

impl Small {
    fn new(bytes: u64) -> Option<Small> {
        let directory = tempdir().unwrap();
        let path = std::ffi::CString::new(directory.path().to_str().unwrap()).unwrap();
        let size = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        // SAFETY: C strings; a new mount on a directory of our own.
        let result =
            unsafe { libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, size.as_ptr().cast()) };
        if result != 0 {
            eprintln!("skipped: cannot mount a small file system: {}", std::io::Error::last_os_error());
            return None;
        }
        Some(Small(directory))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let path = std::ffi::CString::new(self.0.path().to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    for pages in [12, 16, 25, 40] {
        let Some(disk) = Small::new(pages * 4096) else { return };
        let directory = disk.0.path();
        // The mapping is there from the beginning, and makes room for the end.
        fs::write(directory.join("chunks"), slots_file(&[vec![0; 16384]])).unwrap();
        let streams = simulate(11, 60_000, 4);
        let live = record(directory, &streams, Recipe { chunk: 30, ..PLAIN });
        let text = live.stopped.expect("a full disk");
        assert!(text.starts_with("the recording stopped, it cannot be written: No space left on device"), "{text}");
        assert!(text.contains("; make room, record to another disk, or set trace_size_mb; "), "{text}");
        let trace = Trace::open(directory).unwrap();
        assert_eq!(trace.end().unwrap().stopped.as_ref(), Some(&text));
        assert!(!directory.join("chunks").exists());
        let (output, _) = merged(&trace);
        assert_eq!(output.len() as u64, trace.end().unwrap().written.events, "all that was written, and no half chunk");
        for (thread, stream) in streams.iter().enumerate() {
            assert!(stream.starts_with(&by_thread(&output, thread)));
        }
    }
}

#[test]
fn more_threads_than_open_files() {
    let directory = tempdir().unwrap();
    let streams = simulate(13, 30_000, 150);
    assert!(streams.len() > 100);
    let live = record(directory.path(), &streams, Recipe { chunk: 20, ..PLAIN });
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(monitored(&trace).0, live.order);
    assert_legal(&streams, &merged(&trace).0);
}

#[test]
fn one_process_is_found_below_and_several_are_listed() {
    let above = tempdir().unwrap();
    let data = above.path().join("avmon.data");
    fs::create_dir_all(data.join("7")).unwrap();
    assert_eq!(Trace::open(&data.join("none")).unwrap_err(), OpenError::NotThere(data.join("none")));
    assert_eq!(Trace::open(&data).unwrap_err(), OpenError::NoTrace(data.clone()));
    sample(&data.join("7"), PLAIN);
    assert_eq!(Trace::open(&data).unwrap().directory(), data.join("7"));
    copy(&data.join("7"), &data.join("7.1"));
    let error = Trace::open(&data).unwrap_err().to_string();
    let expected = format!(
        "{}: several processes were recorded; name one of them:\n  {}  /bin/simulated\n  {}  /bin/simulated",
        data.display(),
        data.join("7").display(),
        data.join("7.1").display()
    );
    assert_eq!(error, expected);
}
