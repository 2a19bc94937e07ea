//! The commands that need nothing but an archive: what they print and how they end.

use std::path::{Path, PathBuf};
use std::process::Command;

use schedules::file::BuiltFor;
use schedules::text::parse;
use schedules::trace::{Record, RecordKind, Trace};

struct Said {
    status: i32,
    stdout: String,
    stderr: String,
}

/// A folder with the archives of the `schedules` crate's tests.
struct Shelf {
    folder: tempfile::TempDir,
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("schedules/tests/archives");
        for name in ["everything", "handover", "relock"] {
            let text = std::fs::read_to_string(texts.join(name).with_extension("txt")).unwrap();
            let path = folder.path().join(name).with_extension("heddle");
            parse(&text).unwrap().write(&path).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn heddle(&self, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Said {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn says(&self, arguments: &[&str], status: i32, part: &str) {
        let said = self.heddle(arguments);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert_eq!(said.status, status, "{all}");
        assert!(all.contains(part), "`{part}` in: {all}");
        let is_error = status == 2;
        assert_eq!(said.stderr.is_empty(), !is_error, "{all}");
        assert!(!is_error || said.stdout.is_empty(), "{all}");
    }
}

#[test]
fn inspect() {
    let shelf = Shelf::new();
    let text = shelf.heddle(&["inspect", "everything.heddle"]);
    assert_eq!(text.status, 0);
    let golden = include_str!("../schedules/tests/archives/everything.txt");
    assert_eq!(text.stdout, golden);
    shelf.says(
        &["inspect", "--json", "everything.heddle"],
        0,
        "\"deadlocks\": 1",
    );
    shelf.says(
        &["inspect", "--verify", "handover.heddle"],
        0,
        "well-formed (2 epochs, 3 schedules",
    );
    shelf.says(
        &["inspect", "--verify", "everything.heddle"],
        1,
        "everything.heddle: rule ",
    );
    shelf.says(&["inspect", "--svg", "0/1", "handover.heddle"], 0, "</svg>");
    shelf.says(&["inspect", "--dot", "1", "handover.heddle"], 0, "digraph");
    shelf.says(
        &["inspect", "--dot", "7", "handover.heddle"],
        2,
        "there is no epoch 7",
    );
    shelf.says(
        &["inspect", "--dot", "0/9", "handover.heddle"],
        2,
        "epoch 0 has no schedule 9",
    );
    shelf.says(
        &["inspect", "--dot", "0", "--json", "handover.heddle"],
        2,
        "cannot be used with",
    );
    let hidden = shelf.heddle(&["inspect", "--without-identity", "handover.heddle"]);
    assert!(!hidden.stdout.contains("identity"));
}

#[test]
fn unusable_archives() {
    let shelf = Shelf::new();
    std::fs::write(shelf.path("note.txt"), "hello").unwrap();
    let good = std::fs::read(shelf.path("relock.heddle")).unwrap();
    std::fs::write(shelf.path("short.heddle"), &good[..good.len() - 9]).unwrap();
    let mut changed = good.clone();
    changed[200] ^= 1;
    std::fs::write(shelf.path("changed.heddle"), changed).unwrap();
    for command in ["inspect", "check"] {
        shelf.says(
            &[command, "missing.heddle"],
            2,
            "heddle: error: missing.heddle: no such file\n",
        );
        shelf.says(&[command, "."], 2, "is a directory, not an archive");
        shelf.says(&[command, "note.txt"], 2, "is not a Heddle archive");
        shelf.says(&[command, "short.heddle"], 2, "is truncated");
        shelf.says(&[command, "changed.heddle"], 2, "is corrupted");
    }
    shelf.says(
        &["diff", "relock.heddle", "note.txt"],
        2,
        "note.txt: is not a Heddle archive",
    );
    shelf.says(&["conform", "relock.heddle", "missing"], 2, "missing");
    shelf.says(
        &["conform", "relock.heddle", "note.txt"],
        2,
        "is not a Heddle trace",
    );
}

#[test]
fn check() {
    let shelf = Shelf::new();
    shelf.says(
        &["check", "handover.heddle"],
        0,
        "handover.c: deadlock-free (3 schedules in 2 epochs",
    );
    shelf.says(
        &["check", "relock.heddle"],
        1,
        "relock.c:5: deadlock 1: a thread locks what it already holds",
    );
    shelf.says(
        &["check", "--json", "relock.heddle"],
        1,
        "\"kind\": \"relock\"",
    );
    // Sources are shown where they are found.
    assert!(
        !shelf
            .heddle(&["check", "relock.heddle"])
            .stdout
            .contains(" | ")
    );
    std::fs::create_dir(shelf.path("src")).unwrap();
    let lines: String = (1..30).map(|line| format!("/* line {line} */\n")).collect();
    std::fs::write(shelf.path("src/relock.c"), lines).unwrap();
    shelf.says(
        &["check", "--source", "src", "relock.heddle"],
        1,
        "5 | /* line 5 */",
    );
}

#[test]
fn conform() {
    let shelf = Shelf::new();
    let write = |name: &str, site: u32, fingerprint: [u8; 16], plan: [u8; 16]| {
        let record = Record {
            sequence: 0,
            thread: 0,
            instance: 0,
            step: 0,
            position: 0,
            site: 0,
            what: 0,
            slot: 0,
            op: schedules::primitives::NodeOp::ThreadCreate,
            kind: RecordKind::Epoch,
        };
        let node = Record {
            sequence: 1,
            site,
            what: 1,
            kind: RecordKind::Node,
            ..record
        };
        let trace = Trace {
            program: BuiltFor { fingerprint, plan },
            records: vec![record, node],
        };
        std::fs::write(shelf.path(name), trace.to_bytes()).unwrap();
    };
    write("good", 1, [0; 16], BuiltFor::ANY_PLAN);
    write("bad", 3, [0; 16], BuiltFor::ANY_PLAN);
    write("other", 1, [1; 16], BuiltFor::ANY_PLAN);
    write("planned", 1, [0; 16], [1; 16]);
    shelf.says(
        &["conform", "handover.heddle", "good"],
        0,
        "conforms: 1 node of 1 thread in 1 epoch",
    );
    shelf.says(
        &["conform", "handover.heddle", "bad"],
        1,
        "does not conform: event 1, thread 0 in slot 0",
    );
    shelf.says(
        &["conform", "handover.heddle", "other"],
        2,
        "other: the trace is of another program",
    );
    shelf.says(
        &["conform", "handover.heddle", "planned"],
        2,
        "planned: the trace is of a program built with another archive",
    );
}

#[test]
fn diff() {
    let shelf = Shelf::new();
    let same = shelf.heddle(&["diff", "relock.heddle", "relock.heddle"]);
    assert_eq!((same.status, same.stdout.as_str()), (0, ""));
    shelf.says(
        &["diff", "relock.heddle", "handover.heddle"],
        1,
        "~ program: relock.c -> handover.c",
    );
}
