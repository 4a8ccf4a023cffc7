//! A chunk's events survive their way to bytes and back, whatever they are; and no bytes bring the decoder down.

mod trace_streams;

use avmon::event::{Event, Kind};
use avmon::trace::codec::{DecodeError, Decoder, Encoder};
use proptest::prelude::*;

const MOST: usize = 4096;

fn encoded(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Encoder::new().encode(events, &mut bytes);
    bytes
}

fn decoded(bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
    let mut events = Vec::new();
    let result = Decoder::new().decode(bytes, MOST, &mut events);
    assert!(events.len() <= MOST && events.capacity() <= 2 * MOST);
    result.map(|()| events)
}

/// Few different values, so that predictions come true, and all others.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..4_u64, 3 => (0..64_u64).prop_map(|i| 0x5555_0000_0000 + i * 8), 1 => any::<u64>()]
}

fn any_event() -> impl Strategy<Value = Event> {
    let usual = (proptest::sample::select(Kind::ALL), 0..3_u8, word(), word(), word()).prop_map(
        |(kind, detail, number, object, pc)| Event::new(kind, detail, number & Event::MAX_NUMBER, object, pc),
    );
    prop_oneof![4 => usual, 1 => any::<[u64; 3]>().prop_map(Event::from_words)]
}

fn any_chunk() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(any_event(), 0..300)
}

/// A piece of a real program's stream.
fn piece() -> impl Strategy<Value = Vec<Event>> {
    (proptest::sample::select(&trace_streams::ALL[..]), 0..20_000_usize, 1..MOST)
        .prop_map(|((_, program), start, length)| program(start + length)[start..start + length].to_vec())
}

proptest! {
    #[test]
    fn any_events_come_back(events in any_chunk()) {
        prop_assert_eq!(decoded(&encoded(&events)), Ok(events));
    }

    #[test]
    fn pieces_of_programs_come_back(events in piece()) {
        prop_assert_eq!(decoded(&encoded(&events)), Ok(events));
    }

    /// What was encoded or decoded before leaves no trace.
    #[test]
    fn chunks_are_independent(first in any_chunk(), second in any_chunk(), garbage in any::<Vec<u8>>()) {
        let mut encoder = Encoder::new();
        encoder.encode(&first, &mut Vec::new());
        let mut bytes = Vec::new();
        encoder.encode(&second, &mut bytes);
        prop_assert_eq!(&bytes, &encoded(&second));
        let mut decoder = Decoder::new();
        let _ = decoder.decode(&encoded(&first), MOST, &mut Vec::new());
        let _ = decoder.decode(&garbage, MOST, &mut Vec::new());
        let mut events = Vec::new();
        prop_assert_eq!(decoder.decode(&bytes, MOST, &mut events), Ok(()));
        prop_assert_eq!(events, second);
    }

    #[test]
    fn random_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = decoded(&bytes);
    }

    /// Random columns behind sizes that fit: these get further.
    #[test]
    fn random_columns_are_survived(
        columns in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 4),
    ) {
        let mut bytes: Vec<u8> = columns.iter().map(|column| column.len() as u8).collect();
        bytes.extend(columns.concat());
        let _ = decoded(&bytes);
    }

    #[test]
    fn mutated_bytes_are_survived(
        events in piece(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<Option<proptest::sample::Index>>(),
    ) {
        let mut bytes = encoded(&events);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = decoded(&bytes);
    }

    #[test]
    fn a_truncated_chunk_is_an_error(events in piece(), cut in any::<proptest::sample::Index>()) {
        let bytes = encoded(&events);
        prop_assert!(decoded(&bytes[..cut.index(bytes.len())]).is_err());
    }
}

#[test]
fn what_is_wrong_is_told() {
    let event = Event::new(Kind::Read, 0, 8, 0x1000, 0x2000);
    let bytes = encoded(&[event; 3]);
    let with_end: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert_eq!(decoded(&with_end), Err(DecodeError::Leftover));
    assert_eq!(Decoder::new().decode(&bytes, 2, &mut Vec::new()), Err(DecodeError::TooMany { events: 3 }));
    assert_eq!(decoded(&[]), Err(DecodeError::Truncated));
    assert_eq!(decoded(&[1, 0, 0, 0, 0]), Err(DecodeError::UnknownLocation));
    let mut unknown = bytes.clone();
    unknown[4] |= 31;
    assert_eq!(decoded(&unknown), Err(DecodeError::UnknownCode));
}

#[test]
fn the_empty_chunk_is_a_chunk() {
    assert_eq!(decoded(&encoded(&[])), Ok(Vec::new()));
}

#[test]
fn a_loop_over_an_array_costs_its_codes_only() {
    let turns = (0..1000).map(|i| Event::access(Kind::Read, 0, 8, 1, 0x5555_0000_0000 + i * 8, 0x40_1000));
    let bytes = encoded(&turns.collect::<Vec<_>>());
    assert!(bytes.len() < 1000 + 40, "{} bytes", bytes.len());
}

#[test]
fn an_undisturbed_lock_costs_its_codes_only() {
    let pair = |i| {
        let event = |kind, number, pc| Event::new(kind, 0, number, 0x5555_0000_0000, pc);
        [event(Kind::Acquire, i, 0x40_1000), event(Kind::Release, i + 1, 0x40_1010)]
    };
    let bytes = encoded(&(0..500).flat_map(|i| pair(70_000 + i * 2)).collect::<Vec<_>>());
    assert!(bytes.len() < 1000 + 60, "{} bytes", bytes.len());
}

#[test]
fn streams_of_programs_stay_small() {
    for (name, program) in trace_streams::ALL {
        let events = program(100_000);
        let size: usize = events.chunks(680).map(|chunk| lz4_flex::block::compress(&encoded(chunk)).len()).sum();
        assert!(size <= events.len() * 4, "{name}: {size} bytes for {} events", events.len());
    }
}
