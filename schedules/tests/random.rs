//! Random archives: what is well-formed survives every form it can have; what is corrupted is refused.

#[path = "random/archives.rs"]
mod archives;
#[path = "random/clocks.rs"]
mod clocks;
#[path = "hostile/exercise.rs"]
mod exercise;
#[path = "random/runs.rs"]
mod runs;

use archives::{Random, archive};
use exercise::{Effort, Fate, exercise, with_header};
use schedules::conform::conform;
use schedules::file::HEADER_LEN;
use schedules::text::{Identity, dump, parse};
use schedules::trace::{RecordKind, Trace};
use schedules::verify::verify;
use schedules::{Archive, OpenArchive};

#[test]
fn five_hundred_archives_survive() {
    let mut nodes = 0;
    let mut edges = 0;
    for seed in 0..500 {
        let archive = archive(seed);
        assert_eq!(verify(&archive), [], "seed {seed}");
        let bytes = archive.to_bytes();
        let read = Archive::from_bytes(&bytes).unwrap();
        assert_eq!(read, archive, "seed {seed}");
        let text = dump(&read, Identity::Shown);
        let parsed = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(parsed, archive, "seed {seed}");
        assert_eq!(parsed.to_bytes(), bytes, "seed {seed}");
        assert_eq!(dump(&parsed, Identity::Shown), text, "seed {seed}");
        assert_eq!(archives::archive(seed).to_bytes(), bytes, "seed {seed}");
        nodes += archive.nodes.len();
        edges += archive.edges.len();
    }
    assert!(
        nodes > 10_000 && edges > 2_000,
        "{nodes} nodes, {edges} edges"
    );
}

/// One random change of a file: a bit, a byte, a missing or doubled piece, a new piece, two pieces exchanged.
fn corrupt(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(16)).min(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => {
            let other = random.below(bytes.len());
            bytes.swap(at, other);
        }
    }
}

#[test]
fn five_hundred_corruptions_are_refused_or_harmless() {
    let mut refused = 0;
    for seed in 0..500 {
        let archive = archive(seed % 50);
        let mut bytes = archive.to_bytes();
        corrupt(&mut Random(seed), &mut bytes);
        match OpenArchive::open_bytes(&bytes) {
            Err(_) => refused += 1,
            Ok(open) => assert_eq!(open.to_archive(), archive, "seed {seed}"),
        }
    }
    assert!(
        refused > 450,
        "only {refused} of 500 corruptions changed a file"
    );
}

/// As above, but with checksums that are right again, as an attacker would do it: nothing may crash, and what is opened can
/// be used.
#[test]
fn corruptions_with_right_checksums_do_no_harm() {
    let mut opened = 0;
    for seed in 0..1500 {
        let archive = archive(seed % 50);
        let mut body = archive.to_bytes().split_off(HEADER_LEN);
        corrupt(&mut Random(seed), &mut body);
        opened += usize::from(exercise::open(&with_header(&body), Effort::FULL) != Fate::Refused);
    }
    assert!(opened > 100, "only {opened} of 1500 were opened at all");
}

/// The fuzz target's bounded run: raw bytes, texts and logs.
#[test]
fn a_bounded_run_of_the_fuzz_target() {
    let text = dump(&archive(7), Identity::Hidden).into_bytes();
    let file = archive(7).to_bytes();
    for seed in 0..3000 {
        let mut random = Random(seed);
        let choice = random.below(4) as u8 | 0xc0;
        let mut bytes = match choice % 4 {
            1 => file[HEADER_LEN..].to_vec(),
            2 => text.clone(),
            _ => file.clone(),
        };
        for _ in 0..1 + random.below(3) {
            corrupt(&mut random, &mut bytes);
            if bytes.is_empty() {
                break;
            }
        }
        bytes.insert(0, choice);
        exercise(&bytes);
    }
}

#[test]
fn random_runs_conform_and_changed_ones_do_not() {
    let (mut records, mut swapped, mut dropped) = (0, 0, 0);
    for seed in 0..400 {
        let archive = archive(seed % 200);
        let trace = runs::run(&archive, seed);
        if let Err(error) = conform(&archive, &trace) {
            panic!("seed {seed}: {error}\n{}", dump(&archive, Identity::Hidden));
        }
        let mut random = Random(seed);
        let prefix = Trace {
            records: trace.records[..random.below(trace.records.len() + 1)].to_vec(),
            ..trace.clone()
        };
        assert!(conform(&archive, &prefix).is_ok(), "seed {seed}");
        records += trace.records.len();
        swapped += usize::from(exchange_neighbours(&archive, &trace, &mut random));
        dropped += usize::from(leave_one_out(&archive, &trace, &mut random));
    }
    assert!(records > 4000, "{records} records");
    assert!(
        swapped > 150 && dropped > 150,
        "{swapped} exchanged, {dropped} left out"
    );
}

/// Two nodes of one slot in the wrong order; false if the run has no such pair.
fn exchange_neighbours(archive: &Archive, trace: &Trace, random: &mut Random) -> bool {
    let is_node = |index: usize| trace.records[index].kind == RecordKind::Node;
    let pairs: Vec<(usize, usize)> = (0..trace.records.len())
        .filter(|first| is_node(*first))
        .filter_map(|first| {
            let key = |index: usize| (trace.records[index].instance, trace.records[index].slot);
            let second = (first + 1..trace.records.len())
                .find(|second| is_node(*second) && key(*second) == key(first))?;
            Some((first, second))
        })
        .collect();
    if pairs.is_empty() {
        return false;
    }
    let (first, second) = pairs[random.below(pairs.len())];
    let mut changed = trace.clone();
    changed.records.swap(first, second);
    let sequences = changed.records.iter_mut().enumerate();
    sequences.for_each(|(index, record)| record.sequence = index as u64);
    assert!(
        conform(archive, &changed).is_err(),
        "records {first} and {second}"
    );
    true
}

/// A node that may not be skipped is missing, though its slot went on; false if the run has none.
fn leave_one_out(archive: &Archive, trace: &Trace, random: &mut Random) -> bool {
    let goes_on = |index: usize| {
        let own = &trace.records[index];
        trace.records[index + 1..].iter().any(|later| {
            later.kind == RecordKind::Node
                && (later.instance, later.slot) == (own.instance, own.slot)
        })
    };
    let is_needed = |index: usize| {
        let record = &trace.records[index];
        let fragment = archive.steps[record.step as usize].fragment;
        // Positions of different nodes of a lane may look alike: only lanes without optional nodes.
        record.kind == RecordKind::Node
            && archive
                .lane_of(fragment, record.slot)
                .all(|(node, _)| !node.is_optional())
    };
    let candidates: Vec<usize> = (0..trace.records.len())
        .filter(|index| is_needed(*index) && goes_on(*index))
        .collect();
    if candidates.is_empty() {
        return false;
    }
    let mut changed = trace.clone();
    let missing = candidates[random.below(candidates.len())];
    changed.records.remove(missing);
    assert!(conform(archive, &changed).is_err(), "record {missing}");
    true
}
