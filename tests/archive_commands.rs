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
            "heddle: error: missing.heddle: no such file [HD0011]\n",
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
        "relock.c:5:5: error: a thread locks what it already holds [HD0102]\n",
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

/// Plain where nobody looks, coloured and folded where asked; the first line of a finding and the verdict stay whole, for editors and grep.
#[test]
fn reports_fit_where_they_are_read() {
    let shelf = Shelf::new();
    let check = |columns: &str, arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
            .args(["check", "relock.heddle"])
            .args(arguments)
            .env("COLUMNS", columns)
            .current_dir(shelf.folder.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let wide = check("120", &[]);
    assert!(!wide.contains('\x1b'), "{wide}");
    assert!(wide.contains("  happens if   deep != 0\n  for example  argc = 2, argv[1] = \"1\"\n"));
    assert!(wide.contains("│ "), "lanes side by side: {wide}");
    let narrow = check("50", &[]);
    assert!(
        narrow.starts_with("relock.c:5:5: error: a thread locks what it already holds [HD0102]\n")
    );
    let long: Vec<&str> = narrow
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("relock.c: 1 deadlock ("))
        .filter(|line| line.chars().count() > 50)
        .collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(
        !narrow.contains('│'),
        "a list where columns do not fit: {narrow}"
    );
    let coloured = check("120", &["--color", "always"]);
    assert!(coloured.contains("\x1b[1;31merror:\x1b[0m"), "{coloured}");
}

/// Every kind of error has a code that can be explained.
#[test]
fn errors_carry_codes() {
    let shelf = Shelf::new();
    std::fs::write(shelf.path("note.txt"), "hello").unwrap();
    for (arguments, code) in [
        (vec!["chek"], "HD0001"),
        (vec!["check"], "HD0001"),
        (vec!["enumerate", "nowhere.c"], "HD0002"),
        (vec!["enumerate", "note.txt"], "HD0003"),
        (vec!["check", "note.txt"], "HD0011"),
        (vec!["conform", "relock.heddle", "note.txt"], "HD0013"),
        (vec!["inspect", "--dot", "7", "handover.heddle"], "HD0015"),
        (vec!["explain", "relock.heddle", "9"], "HD0015"),
        (vec!["run", "./nowhere"], "HD0022"),
        (vec!["explain", "HD9999"], "HD0024"),
        (vec!["stats", "note.txt"], "HD0025"),
    ] {
        let said = shelf.heddle(&arguments);
        assert_eq!(said.status, 2, "{arguments:?}: {}", said.stderr);
        let first = said.stderr.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("heddle: error: "),
            "{arguments:?}: {first}"
        );
        assert!(
            first.ends_with(&format!("[{code}]")),
            "{arguments:?}: {first}"
        );
        let explained = shelf.heddle(&["explain", code]);
        assert_eq!(explained.status, 0);
        assert!(explained.stdout.starts_with(code), "{}", explained.stdout);
    }
}

/// `heddle init` writes a file that says nothing yet, and never replaces one unasked.
#[test]
fn init() {
    let shelf = Shelf::new();
    shelf.says(&["init"], 0, "wrote ./heddle.toml");
    let text = std::fs::read_to_string(shelf.path("heddle.toml")).unwrap();
    assert!(text.contains("\n#threads = 16\n"));
    let settings = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(settings.count(), 0);
    shelf.says(
        &["init"],
        2,
        "is there already; --force replaces it [HD0026]",
    );
    shelf.says(&["init", "--force"], 0, "wrote");
}

/// What the doctor says can be read by programs; what is missing changes the status.
#[test]
fn doctor() {
    let shelf = Shelf::new();
    let doctor = |variable: &str, value: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
            .args(["doctor", "--json"])
            .env(variable, value)
            .current_dir(shelf.folder.path())
            .output()
            .unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), found)
    };
    let state = |found: &serde_json::Value, what: &str| {
        let rows = found.as_array().unwrap();
        let row = rows.iter().find(|row| row["what"] == what).unwrap();
        (
            row["state"].as_str().unwrap().to_owned(),
            row["cure"].clone(),
        )
    };
    let (status, found) = doctor("HEDDLE_POLICY", "free");
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(state(&found, "a first program").0, "ok");
    assert_eq!(state(&found, "environment").0, "warning");
    let (status, found) = doctor("HEDDLE_CLANG", "./no-such-compiler");
    assert_eq!(status, Some(1), "{found}");
    assert_eq!(state(&found, "C compiler").0, "missing");
    assert_eq!(state(&found, "C compiler").1, "apt-get install clang-19");
}
