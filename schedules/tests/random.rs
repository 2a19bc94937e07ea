//! Random archives: what is well-formed survives every form it can have; what is corrupted is refused.

#[path = "random/archives.rs"]
mod archives;
#[path = "hostile/exercise.rs"]
mod exercise;

use archives::{Random, archive};
use exercise::{Effort, Fate, exercise, with_header};
use schedules::file::HEADER_LEN;
use schedules::text::{Identity, dump, parse};
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
