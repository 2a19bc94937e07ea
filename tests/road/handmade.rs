//! Building and running under an archive that was written by hand: everything after the enumerator.

use instrument_pass::{Bitcode, SiteRow, site_table};
use schedules::primitives::NodeOp;
use schedules::trace::{RecordKind, Trace};
use schedules::*;

use crate::workshop::Workshop;

/// `lock_order.c` with the one schedule in which the first thread takes both locks before the second.
pub(crate) struct LockOrder {
    pub(crate) workshop: Workshop,
}

impl LockOrder {
    /// Prepares the program and writes its archive to `hand.heddle`.
    pub(crate) fn new() -> Self {
        Self::of(Workshop::with(&["lock_order.c"]), "lock_order.c")
    }

    /// The same from the binary `native` that a script makes.
    pub(crate) fn prepared_by(script: &str) -> Self {
        let workshop = Workshop::with(&["lock_order.c"]);
        workshop.shell(script).exits(0);
        Self::of(workshop, "native")
    }

    fn of(workshop: Workshop, input: &str) -> Self {
        workshop
            .heddle(["prepare", input, "-o", "lock_order.bc"])
            .exits(0);
        let prepared = Bitcode::read(&workshop.path("lock_order.bc")).expect("written");
        archive(&prepared)
            .write(&workshop.path("hand.heddle"))
            .expect("archive");
        Self { workshop }
    }

    /// The same, and builds `prog` with further arguments.
    pub(crate) fn built(more: &[&str]) -> Self {
        let made = Self::new();
        let mut words = vec![
            "build",
            "lock_order.c",
            "--archive",
            "hand.heddle",
            "-o",
            "prog",
        ];
        words.extend(more);
        made.workshop.heddle(words).exits(0);
        made
    }
}

fn archive(prepared: &Bitcode) -> Archive {
    let rows = site_table(prepared).expect("prepared");
    let mut builder = ArchiveBuilder::new(Program {
        name: "lock_order".into(),
        fingerprint: prepared.fingerprint(),
        thread_bound: 16,
        tool: "hand".into(),
        order: "all".into(),
        ..Program::default()
    });
    let file = builder.text("lock_order.c");
    for row in &rows {
        let function = builder.text(&row.function);
        let line = match &row.place {
            instrument_pass::Place::Line { line, .. } => *line,
            instrument_pass::Place::Symbol(_) => 0,
        };
        builder.site(Site {
            stable: row.stable,
            kind: SiteKind::Point,
            function,
            position: Position {
                function,
                file,
                line,
                column: 0,
            },
            inlined_at: Vec::new(),
        });
    }
    let locks = [builder.object("a", false), builder.object("b", false)];
    let context = builder.context(&[site(&rows, "main", "", 0)]);
    let epoch = builder.epoch(&[context]);
    let fragment = builder.fragment(vec![
        main_lane(&rows),
        worker_lane(&rows, "a_to_b", locks, &[(0, 1)], &[]),
        worker_lane(&rows, "b_to_a", [locks[1], locks[0]], &[(0, 2)], &[(1, 5)]),
    ]);
    let root = builder.step(fragment, Next::Exit);
    builder.define_epoch(epoch, 3, root, 0);
    builder.finish()
}

fn main_lane(rows: &[SiteRow]) -> Vec<BuildNode> {
    let create = |n: u32| {
        let mut created = node(
            NodeOp::ThreadCreate,
            site(rows, "main", "@pthread_create", n),
            &[],
        );
        created.what = n + 1;
        created
    };
    let join = |n: u16| {
        let at = site(rows, "main", "@pthread_join", u32::from(n) - 1);
        node(NodeOp::ThreadJoin, at, &[(n, 6)])
    };
    vec![create(0), create(1), join(1), join(2)]
}

/// Takes `locks` in order and releases them in reverse.
fn worker_lane(
    rows: &[SiteRow],
    function: &str,
    locks: [ObjectId; 2],
    start: &[(u16, i32)],
    first: &[(u16, i32)],
) -> Vec<BuildNode> {
    let entry = site(rows, function, "", 0);
    let lock = |n: usize, edges: &[(u16, i32)]| {
        let at = site(rows, function, "@pthread_mutex_lock", n as u32);
        let mut taken = node(NodeOp::MutexLock, at, edges);
        taken.what = locks[n].0;
        taken
    };
    let unlock = |n: usize| {
        let at = site(rows, function, "@pthread_mutex_unlock", n as u32);
        let mut released = node(NodeOp::MutexUnlock, at, &[]);
        released.what = locks[1 - n].0;
        released
    };
    vec![
        node(NodeOp::ThreadStart, entry, start),
        lock(0, first),
        lock(1, &[]),
        unlock(0),
        unlock(1),
        node(NodeOp::ThreadExit, entry, &[]),
    ]
}

fn node(op: NodeOp, site: SiteId, edges: &[(u16, i32)]) -> BuildNode {
    BuildNode {
        site,
        what: 0,
        op,
        optional: false,
        serial: false,
        edges: edges.to_vec(),
    }
}

/// The n-th site of a function whose text has a needle.
fn site(rows: &[SiteRow], function: &str, needle: &str, n: u32) -> SiteId {
    let mut found = (0u32..)
        .zip(rows)
        .filter(|(_, row)| row.function == function && row.text.contains(needle));
    SiteId(found.nth(n as usize).expect("such a site").0)
}

#[test]
fn an_enforced_program_follows_its_archive() {
    let made = LockOrder::built(&[]);
    for seed in 0..20 {
        let options = format!("jitter={seed}:trace=trace.{seed}");
        let run = made.workshop.run("prog", &[], &options).exits(0);
        assert_eq!(run.stdout, "a=80 b=120\n");
        let bytes = std::fs::read(made.workshop.path(&format!("trace.{seed}"))).expect("trace");
        let trace = Trace::parse(&bytes).expect("whole trace");
        let order: Vec<u16> = trace
            .records
            .iter()
            .filter(|r| r.kind == RecordKind::Node && r.op == NodeOp::MutexLock)
            .map(|record| record.slot)
            .collect();
        assert_eq!(order, [1, 1, 2, 2], "seed {seed}");
    }
}

#[test]
fn the_archive_beside_the_program_is_the_one_that_was_given() {
    let made = LockOrder::built(&[]);
    let given = std::fs::read(made.workshop.path("hand.heddle")).expect("archive");
    let beside = std::fs::read(made.workshop.path("prog.heddle")).expect("archive");
    assert!(given == beside);
    assert_eq!(
        made.workshop.listing(),
        [
            "hand.heddle",
            "lock_order.bc",
            "lock_order.c",
            "prog",
            "prog.heddle"
        ]
    );
}

#[test]
fn an_embedded_archive_needs_no_file() {
    let made = LockOrder::built(&["--embed"]);
    std::fs::remove_file(made.workshop.path("prog.heddle")).expect("written, too");
    let run = made.workshop.run("prog", &[], "trace=t").exits(0);
    assert_eq!(run.stdout, "a=80 b=120\n");
    let trace = std::fs::read(made.workshop.path("t")).expect("trace");
    assert!(!Trace::parse(&trace).expect("whole").records.is_empty());
}

#[test]
fn run_reports_and_passes_the_status_on() {
    let made = LockOrder::built(&[]);
    let run = made
        .workshop
        .heddle(["run", "--jitter", "3", "--trace", "mine", "./prog"])
        .exits(0)
        .complains(&[
            "prog ended with status 0",
            "1 epoch, 0 decisions and 16 nodes in 3 threads",
        ]);
    assert_eq!(run.stdout, "a=80 b=120\n");
    assert!(made.workshop.path("mine").is_file());
    let run = made
        .workshop
        .heddle(["run", "-q", "--native", "prog"])
        .exits(0);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("a=80 b=120\n", "")
    );
    std::fs::remove_file(made.workshop.path("prog.heddle")).expect("archive");
    made.workshop
        .heddle(["run", "prog"])
        .exits(2)
        .complains(&["prog.heddle: no such file", "prog ended with status 2"]);
}

/// The archive of another program, a truncated one, one with a changed byte, none: a clear error each, and nothing runs.
#[test]
fn wrong_archives_stop_the_program_before_main() {
    let made = LockOrder::built(&[]);
    let shop = &made.workshop;
    let good = std::fs::read(shop.path("prog.heddle")).expect("archive");
    let refused = |bytes: Option<&[u8]>, complaint: &str| {
        match bytes {
            Some(bytes) => std::fs::write(shop.path("prog.heddle"), bytes).expect("file"),
            None => std::fs::remove_file(shop.path("prog.heddle")).expect("file"),
        }
        let run = shop.run("prog", &[], "").exits(2).complains(&[complaint]);
        assert_eq!(run.stdout, "", "nothing runs unconstrained");
        assert_eq!(run.stderr.lines().count(), 1, "one message: {}", run.stderr);
    };
    let mut other = Archive::from_bytes(&good).expect("good");
    other.program.fingerprint[3] ^= 1;
    refused(Some(&other.to_bytes()), "belongs to another program");
    // The same program's sites under other numbers, as other options may give them.
    let mut other = Archive::from_bytes(&good).expect("good");
    other.sites.reverse();
    refused(Some(&other.to_bytes()), "was made with other options");
    let mut other = Archive::from_bytes(&good).expect("good");
    other.plan.markers.push(SiteId(0));
    refused(Some(&other.to_bytes()), "was made with other options");
    refused(Some(&good[..good.len() - 7]), "is truncated");
    refused(Some(&good[..40]), "is truncated");
    for at in [good.len() / 2, good.len() - 1] {
        let mut changed = good.clone();
        changed[at] ^= 0x10;
        refused(Some(&changed), "is corrupted");
    }
    refused(
        Some(b"not an archive at all, but long enough to look"),
        "is not a Heddle archive",
    );
    refused(Some(b""), "is empty");
    refused(None, "no such file");
    // Another archive with the same plan serves the same program.
    let mut other = Archive::from_bytes(&good).expect("good");
    other.program.assumptions.push("argc == 1".into());
    std::fs::write(shop.path("prog.heddle"), other.to_bytes()).expect("file");
    shop.run("prog", &[], "").exits(0);
    std::fs::write(shop.path("prog.heddle"), &good).expect("file");
    shop.run("prog", &[], "").exits(0);
}

#[test]
fn an_archive_of_another_program_is_not_built_in() {
    let made = LockOrder::new();
    let shop = &made.workshop;
    shop.write("other.c", "int main(void) { return 0; }\n");
    shop.heddle(["build", "other.c", "--archive", "hand.heddle", "-o", "prog"])
        .exits(2)
        .complains(&["the archive was made from another program"]);
    assert!(!shop.path("prog").exists() && !shop.path("prog.heddle").exists());
}

/// A build that fails late leaves the pair of the build before, and nothing else.
#[test]
fn a_failed_build_changes_nothing() {
    let made = LockOrder::built(&[]);
    let shop = &made.workshop;
    let before = (
        shop.listing(),
        std::fs::read(shop.path("prog")).expect("program"),
    );
    let words = [
        "build",
        "lock_order.c",
        "--archive",
        "hand.heddle",
        "-o",
        "prog",
    ];
    let words = words.into_iter().chain(["-lno-such-library"]);
    shop.heddle(words)
        .exits(2)
        .complains(&["no-such-library", "linking failed"]);
    let after = (
        shop.listing(),
        std::fs::read(shop.path("prog")).expect("program"),
    );
    assert!(before == after);
    shop.run("prog", &[], "").exits(0);
}

#[test]
fn bitcode_builds_the_same_program_as_its_source() {
    let made = LockOrder::new();
    let words = [
        "build",
        "lock_order.bc",
        "--archive",
        "hand.heddle",
        "-o",
        "from_bc",
    ];
    made.workshop.heddle(words).exits(0);
    let run = made.workshop.run("from_bc", &[], "jitter=1").exits(0);
    assert_eq!(run.stdout, "a=80 b=120\n");
}

#[test]
fn delays_that_hang_the_native_program_do_not_hang_the_enforced_one() {
    let made = LockOrder::built(&[]);
    crate::examples::delayed_runs(&made.workshop, "prog");
}
