//! Recordings that somebody or something damaged: what is still there is read, what is not is named, and nothing panics,
//! hangs, or makes up events.
//!
//! `AVMON_FUZZ_CASES=100000 cargo test --release --test trace_damage any_damage` looks longer.

mod trace_run;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use avmon::event::{Event, Kind};
use avmon::trace::format::CHUNKS_AT;
use avmon::trace::meta::Meta;
use avmon::trace::reader::{OpenError, Trace};
use avmon::trace::writer::Limits;
use tempfile::{TempDir, tempdir};
use trace_run::*;

/// A sample to damage.
struct Sample {
    directory: TempDir,
    streams: Vec<Vec<Event>>,
}

impl Sample {
    fn new() -> Sample {
        Sample::with(2500, PLAIN)
    }

    fn with(steps: usize, recipe: Recipe) -> Sample {
        let directory = tempdir().unwrap();
        let streams = record(directory.path(), &simulate(21, steps, 4), recipe).published;
        Sample { directory, streams }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.path(name)).unwrap();
        edit(&mut bytes);
        fs::write(self.path(name), bytes).unwrap();
    }

    fn open(&self) -> Trace {
        Trace::open(self.directory.path()).unwrap()
    }

    /// Everything that is said about the recording, after all of it was read; and what was read.
    fn read(&self) -> (Vec<String>, Vec<Vec<Event>>) {
        let trace = self.open();
        let mut said = texts(trace.problems());
        let (output, result) = merged(&trace);
        said.extend(texts(&result.problems));
        (said, (0..self.streams.len()).map(|thread| by_thread(&output, thread)).collect())
    }

    /// Offsets of a thread's chunks.
    fn chunks(&self, thread: usize) -> Vec<usize> {
        let bytes = fs::read(self.path(&format!("streams/{thread}"))).unwrap();
        let magic = avmon::trace::format::CHUNK_MAGIC;
        bytes.windows(magic.len()).enumerate().filter(|(_, window)| *window == magic).map(|(at, _)| at).collect()
    }
}

const LEGAL: &str = "but maybe not in that of the live analysis";

#[test]
fn without_a_file_the_rest_is_read_and_what_is_missing_is_named() {
    let cases = [
        ("meta.json", "meta.json is missing: program, arguments, environment and options of the run are not known"),
        ("end.json", "end.json is missing: the program was killed, became another one (exec), or still runs"),
        ("index", "index is missing: the streams were searched instead"),
        ("order", &format!("order is missing: the events are in a legal order, {LEGAL}")),
        ("modules.jsonl", "modules.jsonl is missing: code addresses have no names"),
    ];
    for (name, expected) in cases {
        let sample = Sample::new();
        fs::remove_file(sample.path(name)).unwrap();
        let (mut said, read) = sample.read();
        said.retain(|text| !text.starts_with("chunks is missing"));
        assert_eq!(said, [expected]);
        assert_eq!(read, sample.streams, "{name}");
        assert_legal(&sample.streams, &merged(&sample.open()).0);
    }
}

#[test]
fn a_damaged_file_is_named_and_the_rest_is_read() {
    let cases = [
        ("meta.json", 60, "meta.json is damaged: program, arguments, environment and options of the run are not known"),
        ("end.json", 60, "end.json is damaged: how the program ended is not known"),
        ("index", 3, "index is damaged: the streams were searched instead"),
        ("index", 50, "index: 1 entry is damaged; the streams were searched instead"),
        ("order", 3, &format!("order is damaged: the events are in a legal order, {LEGAL}")),
        (
            "modules.jsonl",
            60,
            "modules.jsonl: 1 line is damaged, the first is line 1: code that was loaded then may have no names",
        ),
        ("streams/1", 3, "streams/1: its header is damaged; its chunks were read all the same"),
    ];
    for (name, at, expected) in cases {
        let sample = Sample::new();
        sample.edit(name, |bytes| bytes[at] ^= 0x10);
        let (mut said, read) = sample.read();
        said.retain(|text| !text.starts_with("chunks is missing"));
        assert_eq!(said, [expected], "{name}");
        assert_eq!(read, sample.streams, "{name}");
    }
}

#[test]
fn a_damaged_chunk_is_named_and_those_after_it_are_read() {
    for at in [8, 80] {
        let sample = Sample::new();
        let places = sample.chunks(1);
        sample.edit("streams/1", |bytes| bytes[places[2] + at] ^= 1);
        let (said, read) = sample.read();
        let text = format!(
            "thread 1: chunk 2 (50 events) is missing: its stream is damaged from byte {} to byte {}",
            places[2], places[3]
        );
        assert_eq!(said, [text]);
        let mut expected = sample.streams.clone();
        expected[1].drain(100..150);
        assert_eq!(read, expected);
        assert_eq!(alone(&sample.open(), 1), expected[1]);
    }
}

#[test]
fn lost_and_repeated_and_added_bytes_are_found() {
    let sample = Sample::new();
    let places = sample.chunks(1);
    let (from, to) = (places[1], places[4]);
    sample.edit("streams/1", |bytes| drop(bytes.drain(from..to)));
    let (said, read) = sample.read();
    assert_eq!(
        said,
        [format!("thread 1: chunks 1 to 3 (150 events) are missing: its stream has lost them at byte {from}")]
    );
    assert_eq!(read[1].len(), sample.streams[1].len() - 150);

    let sample = Sample::new();
    let chunk = fs::read(sample.path("streams/1")).unwrap()[places[1]..places[2]].to_vec();
    let length = chunk.len();
    sample.edit("streams/1", |bytes| drop(bytes.splice(to..to, chunk)));
    let (said, read) = sample.read();
    let text =
        format!("thread 1: its stream has no chunk from byte {to} to byte {}; nothing is missing there", to + length);
    assert_eq!(said, [text]);
    assert_eq!(read, sample.streams);

    let sample = Sample::new();
    let size = fs::metadata(sample.path("streams/1")).unwrap().len();
    sample.edit("streams/1", |bytes| bytes.extend_from_slice(b"more"));
    let (said, read) = sample.read();
    assert_eq!(
        said,
        [format!("thread 1: some of its events are missing: its stream is cut off or damaged from byte {size} on")]
    );
    assert_eq!(read, sample.streams);
}

#[test]
fn streams_that_are_missing_swapped_or_foreign_are_told_apart() {
    let sample = Sample::new();
    fs::remove_file(sample.path("streams/1")).unwrap();
    let (said, read) = sample.read();
    let (events, all) = (sample.streams[1].len(), sample.streams.iter().map(Vec::len).sum::<usize>());
    let chunks = events.div_ceil(50);
    assert_eq!(said[0], format!("thread 1: streams/1 is missing, with {chunks} chunks and {events} events"));
    assert!(said[1].starts_with("order tells of events of thread 1 that are not there"), "{said:?}");
    assert_eq!(said.len(), 2);
    fs::remove_file(sample.path("index")).unwrap();
    let without_index = format!("{events} of the {all} events that end.json tells of are missing");
    assert!(sample.read().0.contains(&without_index));
    assert!(read[1].is_empty() && read[0] == sample.streams[0] && read[2..] == sample.streams[2..]);

    let sample = Sample::new();
    fs::rename(sample.path("streams/1"), sample.path("streams/x")).unwrap();
    fs::rename(sample.path("streams/2"), sample.path("streams/1")).unwrap();
    fs::rename(sample.path("streams/x"), sample.path("streams/2")).unwrap();
    let (said, read) = sample.read();
    assert_eq!(
        said,
        [
            "streams/1 is the stream of thread 2, and was read as such",
            "streams/2 is the stream of thread 1, and was read as such"
        ]
    );
    assert_eq!(read, sample.streams);

    let sample = Sample::new();
    fs::copy(sample.path("streams/1"), sample.path("streams/77")).unwrap();
    let (said, read) = sample.read();
    assert_eq!(said, ["streams/77 does not belong here: it is of another recording, or a second one of its thread"]);
    assert_eq!(read, sample.streams);
}

#[test]
fn a_stream_cut_at_any_byte_gives_all_chunks_before_the_cut() {
    let sample = Sample::with(900, PLAIN);
    let whole = fs::read(sample.path("streams/1")).unwrap();
    let places = sample.chunks(1);
    for cut in 0..whole.len() {
        fs::write(sample.path("streams/1"), &whole[..cut]).unwrap();
        let (said, read) = sample.read();
        let complete = places.iter().skip(1).chain([&whole.len()]).filter(|&&end| end <= cut).count();
        let events = (complete * 50).min(sample.streams[1].len());
        assert_eq!(read[1], sample.streams[1][..events], "cut at {cut}");
        let (missing, last) = (sample.streams[1].len() - events, places.len() - 1);
        let chunks = if complete == last { format!("chunk {last}") } else { format!("chunks {complete} to {last}") };
        let expected = format!("thread 1: {chunks} ({missing} events) ");
        assert!(said.iter().any(|text| text.starts_with(&expected)), "cut at {cut}: {said:#?}");
    }
}

#[test]
fn a_journal_cut_or_damaged_anywhere_still_gives_a_legal_order() {
    let sample = Sample::with(1500, PLAIN);
    let whole = fs::read(sample.path("order")).unwrap();
    for at in (0..whole.len()).step_by(3) {
        fs::write(sample.path("order"), &whole[..at]).unwrap();
        let trace = sample.open();
        let (output, result) = merged(&trace);
        assert_legal(&sample.streams, &output);
        assert!(trace.problems().len() + result.problems.len() == 1, "cut at {at}");
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        fs::write(sample.path("order"), &damaged).unwrap();
        let trace = sample.open();
        let (output, result) = merged(&trace);
        assert_legal(&sample.streams, &output);
        assert!(trace.problems().len() + result.problems.len() == 1, "flipped at {at}");
    }
}

#[test]
fn slots_that_cannot_be_true_are_named() {
    let killed = Recipe { killed_after: Some(160), ..PLAIN };
    let no_end = "end.json is missing: the program was killed, became another one (exec), or still runs".to_owned();

    let sample = Sample::with(2500, killed);
    fs::remove_file(sample.path("chunks")).unwrap();
    let lost = "chunks is missing: events that were published and not written when the program died are lost";
    assert_eq!(sample.read().0[..2], [no_end, lost.to_owned()]);

    let sample = Sample::with(2500, PLAIN);
    fs::remove_file(sample.path("end.json")).unwrap();
    let stream = &sample.streams[1];
    let last = (stream.len() - 1) / 50;
    let tail = &stream[last * 50..];
    let more = [tail, &stream[..2]].concat();
    let fewer = slot(1, last as u32, &tail[..tail.len() - 1]);
    let too_many = {
        let mut bytes = slot(1, 99, &[]);
        bytes[..4].copy_from_slice(&9999_u32.to_le_bytes());
        bytes
    };
    let cases: [(Vec<Vec<u8>>, usize, Vec<String>); 5] = [
        (vec![slot(1, last as u32, &more)], 2, vec![]),
        (
            vec![fewer],
            0,
            vec![format!(
                "chunks: slot 0 has fewer events of chunk {last} of thread 1 than are known from elsewhere, and was ignored"
            )],
        ),
        (
            vec![too_many],
            0,
            vec!["chunks: slot 0 is damaged; the events that were published in it are missing".to_owned()],
        ),
        (
            vec![slot(1, last as u32 + 3, &stream[..2])],
            2,
            vec![format!(
                "thread 1: chunks {} to {} are missing: they were published, but neither a stream nor a slot has them",
                last + 1,
                last + 2
            )],
        ),
        (
            vec![slot(1, last as u32 + 1, &[stream[0], Event::from_words([0; 3]), stream[1]])],
            1,
            vec![format!(
                "thread 1: the last 2 events of chunk {} are missing: they were published but did not reach the disk",
                last + 1
            )],
        ),
    ];
    for (slots, added, expected) in cases {
        fs::write(sample.path("chunks"), slots_file(&slots)).unwrap();
        let (said, read) = sample.read();
        assert_eq!(said[1..], expected);
        assert_eq!(read[1].len(), stream.len() + added);
        assert_eq!(read[1][..stream.len()], stream[..]);
    }
}

#[test]
fn a_newer_version_is_refused_with_advice() {
    let sample = Sample::new();
    fs::remove_file(sample.path("meta.json")).unwrap();
    Meta { version: 99, ..meta() }.write(sample.directory.path()).unwrap();
    let error = Trace::open(sample.directory.path()).unwrap_err();
    assert_eq!(error, OpenError::Newer(sample.directory.path().to_owned(), 99));
    assert!(
        error.to_string().ends_with("recorded by a newer avmon (format 99, this one reads 1); read it with that one")
    );
}

#[test]
fn after_a_gap_the_open_functions_are_known_again() {
    let directory = tempdir().unwrap();
    let mut stream = vec![Event::new(Kind::Start, 0, 0, 0, 0)];
    let lock = |number| Event::new(Kind::Acquire, 0, number, 0x5000, 1);
    stream.extend((0..5).map(|depth| Event::enter(depth, 0x7fff_0000, 0x100 + u64::from(depth), 1)));
    stream.extend((0..150).map(lock));
    record(directory.path(), std::slice::from_ref(&stream), PLAIN);
    let sample = Sample { directory, streams: vec![stream] };
    let place = sample.chunks(0)[1];
    sample.edit("streams/0", |bytes| bytes[place + 70] ^= 1);
    let (seen, _) = monitored(&sample.open());
    let enters = seen.iter().filter(|(_, event)| event.kind() == Some(Kind::Enter)).count();
    assert_eq!(enters, 10, "the stack is told again behind the gap");
}

/// What can happen to a file.
fn damage(random: &mut Random, directory: &Path, names: &[String]) -> String {
    let name = &names[random.pick(names.len())];
    let path = directory.join(name);
    let Ok(mut bytes) = fs::read(&path) else { return format!("{name}: gone") };
    let length = bytes.len().max(1);
    let (from, count) = (random.pick(length), 1 + random.pick(64).min(random.pick(length)));
    let to = (from + count).min(bytes.len());
    let from = from.min(to);
    let what = match random.pick(10) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << random.pick(8);
            }
            "flip"
        }
        2 => {
            bytes[from..to].fill_with(|| random.next() as u8);
            "noise"
        }
        3 => {
            bytes[from..to].fill(0);
            "zero"
        }
        4 => {
            bytes.truncate(from);
            "truncate"
        }
        5 => {
            bytes.extend((0..count).map(|_| random.next() as u8));
            "extend"
        }
        6 => {
            bytes.drain(from..to);
            "remove bytes"
        }
        7 => {
            let copy = bytes[from..to].to_vec();
            bytes.splice(from..from, copy);
            "repeat bytes"
        }
        8 => {
            let other = &names[random.pick(names.len())];
            if let Ok(swapped) = fs::read(directory.join(other)) {
                fs::write(directory.join(other), &bytes).unwrap();
                bytes = swapped;
            }
            "swap files"
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return format!("{name}: remove");
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{name}: {what} at {from}")
}

fn files(directory: &Path) -> Vec<String> {
    let list = |below: &str| {
        let entries = fs::read_dir(directory.join(below)).unwrap().flatten();
        let names =
            entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name().into_string().unwrap());
        names.map(|name| if below.is_empty() { name } else { format!("{below}/{name}") }).collect::<Vec<_>>()
    };
    let mut names = [list(""), list("streams")].concat();
    names.sort();
    names
}

/// Whether `part` is what is left of `whole` when some is taken out.
fn is_left_of(part: &[Event], whole: &[Event]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|event| whole.any(|other| other == event))
}

#[test]
fn any_damage_gives_an_error_or_a_part_and_says_so() {
    let cases: u64 = std::env::var("AVMON_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3000);
    let ring = Limits { size: Some(20_000), ring: true };
    let samples = [
        Sample::with(1200, PLAIN),
        Sample::with(1200, Recipe { killed_after: Some(100), ..PLAIN }),
        Sample::with(9000, Recipe { limits: ring, ..PLAIN }),
    ];
    // In memory where that is possible: the files of all cases would keep a disk busy for a minute.
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap();
    for case in 0..cases {
        let mut random = Random(case);
        let sample = &samples[case as usize % samples.len()];
        let directory = scratch.path().join("case");
        let _ = fs::remove_dir_all(&directory);
        copy(sample.directory.path(), &directory);
        let names = files(&directory);
        let times = 1 + random.pick(3) * random.pick(2);
        let done: Vec<String> = (0..times).map(|_| damage(&mut random, &directory, &names)).collect();
        let Ok(trace) = Trace::open(&directory) else { continue };
        let all: usize = sample.streams.iter().map(Vec::len).sum();
        let (output, result) = merged(&trace);
        let (seen, _) = monitored(&trace);
        for thread in trace.threads() {
            let mut stream = trace.stream(thread.thread).unwrap();
            let mut events = Vec::new();
            stream.seek(random.next() % (thread.counts.events + 2));
            let mut chunks = 0;
            while stream.next_chunk(&mut events).is_some() {
                chunks += 1;
                assert!(chunks <= all, "case {case} has no end: {done:?}");
            }
        }
        assert!(output.len() <= 2 * all && seen.len() <= 2 * all, "case {case}: {done:?}");
        // Slots have no checksum: a thread writes there without a thought. Everything else is checked.
        let is_checked = case % 3 != 1;
        if is_checked {
            for (thread, stream) in sample.streams.iter().enumerate() {
                let part = by_thread(&output, thread);
                assert!(is_left_of(&part, stream), "case {case}, thread {thread}: events that never were; {done:?}");
            }
        }
        if case % 3 == 0 && times == 1 && output.len() < all {
            assert!(
                !trace.problems().is_empty() || !result.problems.is_empty(),
                "case {case}: a silent loss; {done:?}"
            );
        }
    }
}

/// Recordings in the repository: one that is whole, made with the first version of the format, and damaged ones.
fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace_corpus")
}

fn summary(directory: &Path) -> String {
    let trace = match Trace::open(directory) {
        Ok(trace) => trace,
        Err(error) => return format!("{}\n", error.to_string().replace(directory.to_str().unwrap(), "DIRECTORY")),
    };
    let (output, result) = merged(&trace);
    let (seen, _) = monitored(&trace);
    let digest = |all: &[(u32, Event)]| {
        let mut hasher = crc32fast::Hasher::new();
        for (thread, event) in all {
            hasher.update(&thread.to_le_bytes());
            for word in event.words() {
                hasher.update(&word.to_le_bytes());
            }
        }
        hasher.finalize()
    };
    let mut text = format!("program {}\n", trace.meta().program);
    let _ = write!(
        text,
        "merged {} {:08x}\nmonitored {} {:08x}\n",
        output.len(),
        digest(&output),
        seen.len(),
        digest(&seen)
    );
    for thread in trace.threads() {
        let _ = writeln!(text, "thread {} {} {}", thread.thread, thread.counts.events, thread.unwritten_events);
    }
    for problem in texts(trace.problems()).iter().chain(&texts(&result.problems)) {
        let _ = writeln!(text, "{problem}");
    }
    text
}

#[test]
fn the_corpus_reads_as_it_always_did() {
    let mut count = 0;
    for entry in fs::read_dir(corpus()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let expected = fs::read_to_string(entry.path().join("expected.txt")).unwrap();
        assert_eq!(summary(&entry.path()), expected, "{}", entry.path().display());
        count += 1;
    }
    assert!(count >= 5, "only {count} recordings in the corpus");
}

#[test]
#[ignore = "makes the corpus; only for a new version of the format"]
fn make_the_corpus() {
    let keep = |name: &str, sample: &Sample| {
        let target = corpus().join(name);
        let _ = fs::remove_dir_all(&target);
        copy(sample.directory.path(), &target);
        fs::write(target.join("expected.txt"), summary(&target)).unwrap();
    };
    let sample = Sample::with(900, PLAIN);
    keep("good", &sample);
    sample.edit("streams/1", |bytes| bytes[CHUNKS_AT as usize + 70] ^= 1);
    keep("damaged_chunk", &sample);
    sample.edit("order", |bytes| bytes[40] ^= 1);
    fs::remove_file(sample.path("meta.json")).unwrap();
    sample.edit("streams/0", |bytes| bytes.truncate(700));
    keep("much_damage", &sample);
    keep("killed", &Sample::with(900, Recipe { killed_after: Some(40), ..PLAIN }));
    let sample = Sample::with(900, PLAIN);
    fs::remove_dir_all(sample.path("streams")).unwrap();
    fs::create_dir(sample.path("streams")).unwrap();
    keep("no_streams", &sample);
}
