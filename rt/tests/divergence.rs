//! What happens when the program and its archive part, or when nothing moves.

mod run;

use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use run::{Program, maker, straight};
use schedules::archive::{Archive, ContextId, Held, Next, ObjectId, SiteId, Stuck};
use schedules::primitives::NodeOp;

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ended by SIGABRT, directly or as `timeout` passes it on.
#[track_caller]
fn assert_aborted(output: &Output) {
    let by_signal = output.status.signal() == Some(6) || output.status.code() == Some(134);
    assert!(by_signal, "{}\n{}", output.status, complaint(output));
    let first = text_of_first_line(output);
    assert!(
        first.starts_with("heddle: ") && first.contains(" [HD04"),
        "{first}"
    );
}

fn text_of_first_line(output: &Output) -> String {
    complaint(output)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[track_caller]
fn assert_says(output: &Output, lines: &[&str]) {
    let text = complaint(output);
    for line in lines {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
}

/// The second worker unlocks at another place than the archive says.
fn wrong_site() -> Archive {
    straight(&[
        "create@1=1 create@2=2 join@5<1.8 join@6<2.8",
        "start@0<0.1 lock@3 unlock@4 lock@3<2.3 unlock@4 lock@3<2.5 unlock@4 exit@0",
        "start@0<0.2 lock@3<1.3 unlock@4 lock@3<1.5 unlock@7 lock@3<1.7 unlock@4 exit@0",
    ])
}

#[test]
fn a_divergence_is_reported_where_it_happens() {
    let program = Program::build_as("diverge", "two_locks", &[]).with(&wrong_site());
    for seed in 0..5 {
        let output = program.run(&format!("jitter={seed}"));
        assert_aborted(&output);
        assert_says(
            &output,
            &[
                "the program left its schedule",
                "thread 2 (slot 2) is at: MutexUnlock at test.c:5",
                "expected:           MutexUnlock at test.c:8",
                "epoch 0 (number 1), step 0",
                "last nodes of thread 0 (slot 0), latest first:",
                "last nodes of thread 1 (slot 1), latest first:",
                "last nodes of thread 2 (slot 2), latest first:",
                "likely reason",
            ],
        );
    }
}

#[test]
fn policy_free_goes_on_natively() {
    let program = Program::build_as("diverge_free", "two_locks", &[]).with(&wrong_site());
    for seed in 0..10 {
        let output = program.run(&format!("policy=free:jitter={seed}"));
        assert!(output.status.success(), "{}", complaint(&output));
        let mut letters: Vec<u8> = output.stdout.trim_ascii().to_vec();
        letters.sort_unstable();
        assert_eq!(letters, b"aaabbb");
        assert_says(
            &output,
            &[
                "all threads go on without order",
                "calls went on without it",
            ],
        );
        let text = complaint(&output);
        assert_eq!(text.matches("left its schedule").count(), 1, "{text}");
    }
}

#[test]
fn more_threads_than_foreseen() {
    let archive = straight(&[
        "create@1=1 join@5<1.8",
        "start@0<0.1 lock@3 unlock@4 lock@3 unlock@4 lock@3 unlock@4 exit@0",
    ]);
    let program = Program::build_as("too_many", "two_locks", &[]).with(&archive);
    let output = program.run("");
    assert_aborted(&output);
    assert_says(
        &output,
        &[
            "ThreadCreate at test.c:3",
            "expected:           ThreadJoin at test.c:6",
            "more threads than the archive foresees (its bound is 8)",
        ],
    );
}

#[test]
fn a_gap_of_the_archive_is_named() {
    let mut maker = maker();
    let epoch = maker.epoch(1, 0);
    let gap = maker.builder.gap("too many paths", Some(SiteId(3)));
    let root = maker.step(&["create@1=1"], Next::Unexplored { gap });
    maker.builder.define_epoch(epoch, 2, root, 0);
    let program = Program::build_as("gap", "two_locks", &[]).with(&maker.finish());
    let output = program.run("");
    assert_aborted(&output);
    assert_says(
        &output,
        &["incomplete here: too many paths", "at test.c:4 in test"],
    );
}

#[test]
fn a_deadlock_that_the_archive_knows_is_explained() {
    let mut maker = maker();
    let epoch = maker.epoch(1, 0);
    let because = maker.builder.text("n == 3");
    let stuck = |slot, op, site| Stuck {
        slot,
        context: ContextId(0),
        op,
        object: ObjectId(1),
        waits_for: vec![],
        holds: vec![Held {
            object: ObjectId(2),
            site: SiteId(site),
        }],
    };
    let next = Next::Deadlock {
        stuck: vec![
            stuck(0, NodeOp::ThreadJoin, 5),
            stuck(1, NodeOp::MutexLock, 3),
            stuck(2, NodeOp::MutexLock, 4),
        ],
        condition: vec![because],
        input: vec![],
        certain: true,
    };
    let root = maker.step(
        &["create@1=1 create@2=2", "start@0<0.1", "start@0<0.2"],
        next,
    );
    maker.builder.define_epoch(epoch, 3, root, 0);
    let program = Program::build_as("deadlock", "two_locks", &[]).with(&maker.finish());
    let output = program.run("");
    assert_aborted(&output);
    assert_says(
        &output,
        &[
            "reached a deadlock that its archive knows",
            "slot 1 waits: MutexLock of object 1",
            "holding object 2, taken at test.c:4",
            "because n == 3",
        ],
    );
}

/// Main waits for the worker's turn, and the worker sleeps.
#[test]
fn a_stall_is_explained_when_asked_for() {
    let archive = straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ]);
    let program = Program::build_as("stall", "process", &[]).with(&archive);
    let output = program.run_with("stall=1", &["slow"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_says(
        &output,
        &[
            "nothing has moved for 1 s",
            "thread 0 (slot 0) waits at MutexLock at test.c:21",
            "for slot 1 to pass MutexUnlock at test.c:12",
            "thread 1 (slot 1) runs its own code",
        ],
    );
    let quiet = program.run_with("stall=30", &["slow"]);
    assert_eq!(complaint(&quiet), "");
}

#[test]
fn stats_name_the_places() {
    let archive = straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ]);
    let program = Program::build_as("stats", "process", &[]).with(&archive);
    let output = program.run_with("stats=1", &["slow"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_says(
        &output,
        &["heddle: 8 nodes", "1 epochs, 0 decisions, 2 threads"],
    );
    let text = complaint(&output);
    let slowest = text.lines().nth(2).unwrap();
    assert!(slowest.ends_with("test.c:21 in test"), "{text}");
}

/// What a thread waits for in a system call would have to come from one that waits for it: said, once, without being asked.
#[test]
fn a_schedule_that_waits_for_a_system_call_says_so() {
    use std::io::Read;
    let archive = straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ]);
    let program = Program::build_as("pipe", "process", &[]).with(&archive);
    let mut run = std::process::Command::new(&program.executable)
        .arg("pipe")
        .env("HEDDLE_OPTIONS", "")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = vec![0; 4096];
    let mut said = 0;
    let mut stderr = run.stderr.take().unwrap();
    while !String::from_utf8_lossy(&text[..said]).contains("said once") {
        let got = stderr.read(&mut text[said..]).unwrap();
        assert_ne!(got, 0, "it ended");
        said += got;
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let text = String::from_utf8_lossy(&text[..said]).into_owned();
    assert!(text.contains("for one in a system call"), "{text}");
    assert!(
        text.contains("thread 1 (slot 1) runs its own code"),
        "{text}"
    );
    assert!(text.contains("for slot 1 to pass MutexUnlock"), "{text}");
}
