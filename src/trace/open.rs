//! Opens a recording: what is there of every file and thread, and what is not.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::format::{FileHeader, VERSION};
use super::index::{INDEX, IndexReader};
use super::meta::{Counts, END, End, META, MODULES, Meta, STATUS, Snapshots, Status, Unreadable};
use super::order::{JournalReader, ORDER};
use super::problem::{OpenError, Problem};
use super::reader::{ThreadStream, Trace};
use super::scan;
use super::slots::{self, SLOTS, Slot, SlotReader};
use super::source::Source;
use super::stream::{Known, Piece, Stream};
use super::thin::Dropped;
use super::writer::STREAMS;
use crate::event::ThreadId;

/// The directory of the process that `path` means.
pub fn process_directory(path: &Path) -> Result<PathBuf, OpenError> {
    let is_process = |directory: &Path| [META, STREAMS, SLOTS].iter().any(|name| directory.join(name).exists());
    if is_process(path) {
        return Ok(path.to_owned());
    }
    let entries = fs::read_dir(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::NotThere(path.to_owned()),
        _ => OpenError::Failed(path.to_owned(), error.to_string()),
    })?;
    let mut processes: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|directory| is_process(directory)).collect();
    processes.sort();
    match &processes[..] {
        [] => Err(OpenError::NoTrace(path.to_owned())),
        [only] => Ok(only.clone()),
        _ => {
            let program = |directory: &PathBuf| match Meta::read(directory) {
                Ok(meta) => meta.program,
                Err(why) => format!("({META} {why})"),
            };
            let named = processes.iter().map(|directory| (directory.clone(), program(directory))).collect();
            Err(OpenError::Several(path.to_owned(), named))
        }
    }
}

/// Opens the recording in the directory of a process.
pub fn open(directory: &Path) -> Result<Trace, OpenError> {
    let mut problems = Vec::new();
    let files = stream_files(directory);
    let newer = |version| OpenError::Newer(directory.to_owned(), version);
    let too_new = |header: &FileHeader| header.version > VERSION;
    if let Some(header) = files.iter().filter_map(|file| file.header).find(too_new) {
        return Err(newer(header.version));
    }
    let meta = match Meta::read(directory) {
        Ok(meta) => meta,
        Err(Unreadable::Newer(version)) => return Err(newer(version)),
        Err(Unreadable::Missing) if files.is_empty() && slots::id(directory).is_none() => {
            return Err(OpenError::NoTrace(directory.to_owned()));
        }
        Err(why) => {
            let consequence = "program, arguments, environment and options of the run are not known";
            problems.push(Problem::File { name: META, why, consequence });
            let trace_id = most_common_id(&files).or_else(|| slots::id(directory)).unwrap_or_default();
            Meta { trace_id, avmon: String::new(), ..Meta::default() }
        }
    };
    let end = read_end(directory, &mut problems);
    let status = read_status(directory, &mut problems);
    check_modules(directory, &mut problems);
    if let Err(why) = JournalReader::open(directory, meta.trace_id) {
        let consequence = "the events are in a legal order, but maybe not in that of the live analysis";
        problems.push(Problem::File { name: ORDER, why, consequence });
    }
    let mut threads = Threads { directory, trace_id: meta.trace_id, problems, known: BTreeMap::new() };
    threads.find_streams(files);
    let indexed = threads.read_index();
    threads.find_slots(end.is_some());
    let (streams, known) = threads.count(&indexed);
    let mut problems = threads.problems;
    problems.extend(end.as_ref().and_then(|end| untold_loss(end, &streams, &problems)));
    Ok(Trace { directory: directory.to_owned(), meta, end, status, problems, threads: streams, known })
}

/// What `end.json` knows to be missing, beyond what is named already.
fn untold_loss(end: &End, streams: &[ThreadStream], problems: &[Problem]) -> Option<Problem> {
    let there = streams.iter().map(|stream| stream.counts.events.saturating_add(stream.unwritten_events));
    let told = problems.iter().map(|problem| match problem {
        Problem::Missing { events, .. } => events.unwrap_or(0),
        Problem::NoStream { events, .. } => *events,
        _ => 0,
    });
    let accounted = there.chain(told).fold(end.written.given_up_events, u64::saturating_add);
    let missing = end.written.events.saturating_sub(accounted);
    (missing > 0).then_some(Problem::Fewer { missing, written: end.written.events })
}

/// A file in the directory of streams.
struct StreamFile {
    /// By its name.
    thread: ThreadId,
    path: PathBuf,
    /// None if it is damaged.
    header: Option<FileHeader>,
}

fn stream_files(directory: &Path) -> Vec<StreamFile> {
    let Ok(entries) = fs::read_dir(directory.join(STREAMS)) else { return Vec::new() };
    let file = |entry: fs::DirEntry| {
        let thread: ThreadId = entry.file_name().to_str()?.parse().ok()?;
        let header = Source::open(entry.path()).ok().and_then(|mut source| scan::header_of(&mut source));
        Some(StreamFile { thread, path: entry.path(), header })
    };
    let mut files: Vec<StreamFile> = entries.flatten().filter_map(file).collect();
    files.sort_by_key(|file| file.thread);
    files
}

/// The recording that most streams say they are of.
fn most_common_id(files: &[StreamFile]) -> Option<u64> {
    let mut ids: Vec<u64> = files.iter().filter_map(|file| file.header).map(|header| header.trace_id).collect();
    ids.sort_unstable();
    ids.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
}

fn read_end(directory: &Path, problems: &mut Vec<Problem>) -> Option<End> {
    match End::read(directory) {
        Ok(end) => return Some(end),
        Err(Unreadable::Missing) => problems.push(Problem::NoEnd),
        Err(why) => {
            problems.push(Problem::File { name: END, why, consequence: "how the program ended is not known" });
        }
    }
    None
}

fn read_status(directory: &Path, problems: &mut Vec<Problem>) -> Option<Status> {
    match Status::read(directory) {
        Ok(status) => return Some(status),
        Err(Unreadable::Missing) => {}
        Err(why) => {
            let consequence = "how the program ended, as its parent saw it, is not known";
            problems.push(Problem::File { name: STATUS, why, consequence });
        }
    }
    None
}

fn check_modules(directory: &Path, problems: &mut Vec<Problem>) {
    match Snapshots::open(directory) {
        Ok(snapshots) => {
            let mut damaged = (1..).zip(snapshots).filter(|(_, snapshot)| snapshot.is_none()).map(|(line, _)| line);
            if let Some(first) = damaged.next() {
                problems.push(Problem::Modules { first, damaged: 1 + damaged.count() as u64 });
            }
        }
        Err(why) => problems.push(Problem::File { name: MODULES, why, consequence: "code addresses have no names" }),
    }
}

/// What the index says of a thread.
#[derive(Clone, Copy, Default)]
struct Indexed {
    next_serial: u32,
    /// Events of the thread up to the end of its last chunk.
    events: u64,
    /// Of the chunks that are listed, and where they begin and end in the stream.
    counts: Counts,
    begin: u64,
    end: u64,
    last_published: u64,
    /// Some entries are missing: they do not follow each other.
    has_holes: bool,
}

/// Puts together what is known of the threads.
struct Threads<'a> {
    directory: &'a Path,
    trace_id: u64,
    problems: Vec<Problem>,
    known: BTreeMap<ThreadId, Known>,
}

impl Threads<'_> {
    fn thread(&mut self, thread: ThreadId) -> &mut Known {
        self.known.entry(thread).or_insert_with(|| Known { thread, ..Known::default() })
    }

    /// Which file is whose stream. Their headers decide; the name only where there is none.
    fn find_streams(&mut self, files: Vec<StreamFile>) {
        let mut misnamed = Vec::new();
        for StreamFile { thread: file, path, header } in files {
            match header {
                None => {
                    self.problems.push(Problem::StreamHeader { file });
                    self.thread(file).path = Some(path);
                }
                Some(header) if header.trace_id != self.trace_id => self.problems.push(Problem::Foreign { file }),
                Some(header) if header.about == file => self.thread(file).path = Some(path),
                Some(header) => misnamed.push((file, header.about, path)),
            }
        }
        for (file, thread, path) in misnamed {
            let own = &mut self.thread(thread).path;
            let problem = if own.is_some() {
                Problem::Foreign { file }
            } else {
                *own = Some(path);
                Problem::Misnamed { file, thread }
            };
            self.problems.push(problem);
        }
    }

    fn read_index(&mut self) -> BTreeMap<ThreadId, Indexed> {
        let mut threads: BTreeMap<ThreadId, Indexed> = BTreeMap::new();
        let mut index = match IndexReader::open(self.directory, self.trace_id) {
            Ok(index) => index,
            Err(why) => {
                let consequence = "the streams were searched instead";
                self.problems.push(Problem::File { name: INDEX, why, consequence });
                return threads;
            }
        };
        for entry in &mut index {
            let thread = threads.entry(entry.thread).or_default();
            if thread.counts.chunks == 0 {
                thread.begin = entry.offset;
            } else {
                thread.has_holes |= thread.end != entry.offset || thread.next_serial != entry.serial;
            }
            let [stack, repetition, excluded] = entry.dropped.map(u64::from);
            let dropped = Dropped { stack, repetition, excluded };
            thread.next_serial = entry.serial.saturating_add(1);
            thread.events = entry.before.saturating_add(u64::from(entry.events));
            thread.end = entry.offset.saturating_add(u64::from(entry.length));
            thread.last_published = u64::from(entry.events) + dropped.total();
            thread.counts.chunks += 1;
            thread.counts.events += u64::from(entry.events);
            thread.counts.dropped += dropped;
        }
        if index.damaged() > 0 {
            self.problems.push(Problem::Index { damaged: index.damaged() });
        }
        for (&thread, indexed) in &threads {
            let known = self.thread(thread);
            known.expected = Some((indexed.next_serial, indexed.events));
            if known.path.is_none() {
                let Counts { chunks, events, .. } = indexed.counts;
                self.problems.push(Problem::NoStream { thread, chunks, events });
            }
        }
        threads
    }

    /// Which slots of the shared mapping are whose. After a clean end there is none.
    fn find_slots(&mut self, is_ended: bool) {
        let mut reader = match SlotReader::open(self.directory, self.trace_id) {
            Ok(reader) => reader,
            Err(Unreadable::Missing) if is_ended => return,
            Err(why) => {
                let consequence = "events that were published and not written when the program died are lost";
                self.problems.push(Problem::File { name: SLOTS, why, consequence });
                return;
            }
        };
        let (slots, broken) = reader.used();
        self.problems.extend(broken.into_iter().map(|index| Problem::Slot { index }));
        for slot in slots {
            let known = &mut self.thread(slot.thread).slots;
            // By thread, serial and count: of two slots with the same chunk, the second has more.
            if let Some(last) = known.last_mut().filter(|last| last.serial == slot.serial) {
                let Slot { index, thread, serial, .. } = std::mem::replace(last, slot);
                self.problems.push(Problem::SlotContradicts { index, thread, serial });
            } else {
                known.push(slot);
            }
        }
    }

    /// Counts what each thread has: by the index where that fits the file, else by going through the file.
    fn count(&mut self, indexed: &BTreeMap<ThreadId, Indexed>) -> (Vec<ThreadStream>, Vec<Known>) {
        let known: Vec<Known> = std::mem::take(&mut self.known).into_values().collect();
        let mut streams = Vec::new();
        let unpacker = Rc::default();
        for known in &known {
            let indexed = indexed.get(&known.thread);
            let mut stream = Stream::new(self.directory, self.trace_id, known, false, Rc::clone(&unpacker));
            let mut counted = ThreadStream { thread: known.thread, ..ThreadStream::default() };
            let (given_up_chunks, given_up_events, chunks_at) = stream.given_up();
            if let Some(indexed) = indexed
                && !indexed.has_holes
                && indexed.begin == chunks_at
                && stream.skip_file(indexed.next_serial, indexed.events, indexed.end, indexed.last_published as u32)
            {
                counted.counts = indexed.counts;
            }
            while let Some(piece) = stream.next_piece() {
                match piece {
                    Piece::File(found) => {
                        counted.counts.chunks += 1;
                        counted.counts.events += u64::from(found.header.events);
                        counted.counts.dropped += piece.dropped();
                    }
                    Piece::Slot { .. } => {
                        counted.unwritten_chunks += 1;
                        counted.unwritten_events += piece.extent().1;
                    }
                }
            }
            counted.counts.bytes = stream.file_size();
            counted.counts.given_up_chunks = given_up_chunks;
            counted.counts.given_up_events = given_up_events;
            streams.push(counted);
            self.problems.extend(stream.into_problems());
        }
        (streams, known)
    }
}
