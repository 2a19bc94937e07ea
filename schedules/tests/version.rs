//! The format's version must grow when files change: this test notices and says what to do.
//!
//! An archive that uses everything is written, and its bytes, the operations' codes and the primitives' rows (their numbers
//! are in the files) are compared with what the current version was recorded with.

use schedules::FORMAT_VERSION;
use schedules::file::HEADER_LEN;
use schedules::primitives::{NodeOp, PRIMITIVES};
use xxhash_rust::xxh3::xxh3_64;

/// What a version's files look like.
struct Recorded {
    version: u32,
    /// Of the header of `everything.txt`'s archive; 0 where it was not recorded.
    header: u64,
    /// Of its body.
    body: u64,
    /// Of the operations' names, by code, as many as there were.
    operations: (usize, u64),
    /// Of the primitives' symbols, by row, as many as there were. Rows may be appended.
    primitives: (usize, u64),
}

/// Newest last. Never change a row that was released: append one and raise `FORMAT_VERSION`.
const VERSIONS: &[Recorded] = &[
    Recorded {
        version: 1,
        header: 0,
        body: 13_023_751_344_847_382_697,
        operations: (49, 17_377_248_181_225_620_602),
        primitives: (160, 16_194_193_804_412_626_177),
    },
    // The plan's digest in the header.
    Recorded {
        version: 2,
        header: 17_957_357_628_605_691_355,
        body: 13_023_751_344_847_382_697,
        operations: (49, 17_377_248_181_225_620_602),
        primitives: (160, 16_194_193_804_412_626_177),
    },
    // Questions before calls and exits of loops in the plan.
    Recorded {
        version: 3,
        header: 16_952_663_826_778_686_516,
        body: 15_333_655_688_765_362_522,
        operations: (49, 17_377_248_181_225_620_602),
        primitives: (160, 16_194_193_804_412_626_177),
    },
];

fn digest<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let names: Vec<&str> = names.collect();
    xxh3_64(names.join("\n").as_bytes())
}

#[test]
fn changed_files_have_a_new_version() {
    let recorded = VERSIONS.last().unwrap();
    let archive = schedules::text::parse(include_str!("archives/everything.txt")).unwrap();
    let bytes = archive.to_bytes();
    let (header, body) = bytes.split_at(HEADER_LEN);
    let (header, body) = (xxh3_64(header), xxh3_64(body));
    let operations: Vec<String> = NodeOp::ALL.iter().map(|op| format!("{op:?}")).collect();
    let (count, _) = recorded.operations;
    let operations = (
        count,
        digest(operations.iter().take(count).map(String::as_str)),
    );
    let (count, _) = recorded.primitives;
    let primitives = (
        count,
        digest(PRIMITIVES.iter().take(count).map(|row| row.symbol)),
    );
    assert_eq!(
        (
            recorded.version,
            recorded.header,
            recorded.body,
            recorded.operations,
            recorded.primitives
        ),
        (FORMAT_VERSION, header, body, operations, primitives),
        "files differ from those of format {}: raise FORMAT_VERSION in schedules/src/archive.rs and append a row here \
         ({} operations, {} primitives)",
        recorded.version,
        NodeOp::ALL.len(),
        PRIMITIVES.len(),
    );
}
