//! Logs that an archive allows are allowed, and each way of departing from it is found.

use schedules::conform::{NotAllowed, conform};
use schedules::file::BuiltFor;
use schedules::text::parse;
use schedules::trace::{Record, RecordKind, Trace};
use schedules::{Archive, StepId};

fn handover() -> Archive {
    parse(include_str!("archives/handover.txt")).unwrap()
}

/// A log from words: `e0` epoch 0 begins; `d1=0` step 1 is entered with outcome 0; `T.S.P` thread T performs node P (from 1)
/// of slot S in the latest step; `T.S.P@N` in step N of the latest epoch instance, `T.S.P@N!I` in instance I.
fn log(archive: &Archive, words: &str) -> Trace {
    let mut instance = 0;
    let mut step = 0;
    let mut records = Vec::new();
    for (sequence, word) in words.split_whitespace().enumerate() {
        let mut record = Record {
            sequence: sequence as u64,
            thread: 0,
            instance,
            step,
            position: 0,
            site: 0,
            what: 0,
            slot: 0,
            op: schedules::primitives::NodeOp::Marker,
            kind: RecordKind::Node,
        };
        let number = |text: &str| text.parse::<u32>().unwrap();
        if let Some(epoch) = word.strip_prefix('e') {
            let begun = records.iter().any(|r: &Record| r.kind == RecordKind::Epoch);
            instance += u32::from(begun);
            step = archive.epochs[number(epoch) as usize].root.0;
            record.kind = RecordKind::Epoch;
            record.what = number(epoch);
            (record.instance, record.step) = (instance, step);
        } else if let Some(decision) = word.strip_prefix('d') {
            let (to, outcome) = decision.split_once('=').unwrap();
            record.kind = RecordKind::Decision;
            record.site = 2;
            record.what = number(outcome);
            step = number(to);
            record.step = step;
        } else {
            let (word, of) = word.split_once('!').unwrap_or((word, ""));
            let (word, at) = word.split_once('@').unwrap_or((word, ""));
            record.step = at.parse().unwrap_or(step);
            record.instance = of.parse().unwrap_or(instance);
            let parts: Vec<u32> = word.split('.').map(number).collect();
            record.thread = parts[0];
            record.slot = u16::try_from(parts[1]).unwrap();
            let before = base(archive, record.step, record.slot);
            record.position = before + parts[2] - 1;
            let fragment = archive.steps[record.step as usize].fragment;
            let mut lane = archive.lane_of(fragment, record.slot);
            if let Some((node, _)) = lane.nth(parts[2] as usize - 1) {
                (record.op, record.site, record.what) = (node.op, node.site.0, node.what);
            }
        }
        records.push(record);
    }
    Trace {
        program: archive.built_for(),
        records,
    }
}

/// Only steps 1 and 2 have a step before them: step 0.
fn base(archive: &Archive, step: u32, slot: u16) -> u32 {
    match step {
        1 | 2 => archive.lane_len(archive.steps[0].fragment, slot),
        _ => 0,
    }
}

const EPOCH0: &str = "e0 0.0.1 d1=0 0.0.1 1.1.1@0 0.0.2 0.0.3 1.1.1 0.0.4 1.1.2 1.1.3";
const ARM1: &str = "e1 1.0.4 1.0.5 1.0.6 1.0.7 1.0.8 0.1.1 0.1.2";

#[track_caller]
fn allowed(words: &str) -> String {
    let archive = handover();
    match conform(&archive, &log(&archive, words)) {
        Ok(followed) => followed.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn refused(words: &str, error: &str) {
    let archive = handover();
    let found = conform(&archive, &log(&archive, words)).unwrap_err();
    assert_eq!(found.to_string(), error);
}

#[test]
fn a_whole_run_names_its_schedules() {
    expect_test::expect![[r#"
        conforms: 16 nodes of 2 threads in 2 epochs
        followed: epoch0/0 epoch1/0
        epoch0/0 of 2 schedules:
          getchar() == 'y' (a.c:12): outcome 0
    "#]]
    .assert_eq(&allowed(&format!("{EPOCH0} {ARM1}")));
}

#[test]
fn every_prefix_is_allowed() {
    let words: Vec<&str> = EPOCH0.split(' ').chain(ARM1.split(' ')).collect();
    for end in 0..words.len() {
        allowed(&words[..end].join(" "));
    }
    expect_test::expect![[r#"
        conforms: 2 nodes of 1 thread in 1 epoch; the log ends before the process does
        followed: epoch0/1
        epoch0/1 of 2 schedules:
          getchar() == 'y' (a.c:12): outcome 1
    "#]]
    .assert_eq(&allowed("e0 0.0.1 d2=1 0.0.1"));
}

#[test]
fn optional_nodes_may_be_left_out() {
    allowed(&format!("{EPOCH0} e1 1.0.7 1.0.8 0.1.1 0.1.2"));
    allowed(&format!("{EPOCH0} e1 1.0.1 1.0.2 1.0.3 1.0.7 1.0.8"));
    // Slot 1's lock waits for the arms to be over, not for the end.
    allowed(&format!("{EPOCH0} e1 1.0.7 1.0.8 0.1.1 0.1.2"));
    refused(
        &format!("{EPOCH0} e1 1.0.1 1.0.7"),
        "event 13, thread 1 in slot 0, epoch number 1: leaves out mutex_lock \"m\" at a.c:35 on the way to arms_end at a.c:34",
    );
    refused(
        &format!("{EPOCH0} e1 1.0.5"),
        "event 12, thread 1 in slot 0, epoch number 1: leaves out arm with outcome 0 at a.c:34 on the way to mutex_lock \"m\" at a.c:35",
    );
    refused(
        &format!("{EPOCH0} e1 1.0.8"),
        "event 12, thread 1 in slot 0, epoch number 1: leaves out arms_end at a.c:34 on the way to thread_exit at a.c:30",
    );
}

#[test]
fn edges_are_respected() {
    refused(
        "e0 1.1.1",
        "event 1, thread 1 in slot 1, epoch number 0: performs thread_start at a.c:30 before thread_create of slot 1 at a.c:11 of slot 0, for which it has to wait",
    );
    refused(
        "e0 0.0.1 d1=0 0.0.1 1.1.1@0 0.0.2 1.1.1",
        "event 6, thread 1 in slot 1, epoch number 0: performs mutex_lock \"m\" at a.c:31 before mutex_unlock \"m\" at a.c:14 of slot 0, for which it has to wait",
    );
    // With the other outcome it is the other way round.
    allowed("e0 0.0.1 d2=1 0.0.1 1.1.1@0 1.1.1 1.1.2 0.0.2");
}

#[test]
fn epochs_follow_each_other() {
    refused(
        "e1",
        "event 0, thread 0 in slot 0, epoch number 0: epoch 1 begins, but epoch 0 is due",
    );
    refused(
        "e0 0.0.1 e1",
        "event 2, thread 0 in slot 0, epoch number 1: epoch 1 begins, but the late decision at a.c:12 is due",
    );
    refused(
        &format!("{EPOCH0} {ARM1} e0"),
        "event 19, thread 0 in slot 0, epoch number 2: epoch 0 begins, but the end of the process is due",
    );
    refused(
        "0.0.1",
        "event 0, thread 0 in slot 0, epoch number 0: belongs to an epoch that has not begun",
    );
    // A lock of the next epoch, while the other thread has not left the last one: it stands before a marker, or has the lock.
    let behind = "e0 0.0.1 d1=0 0.0.1 1.1.1@0 0.0.2 0.0.3 1.1.1 1.1.2 1.1.3 e1 1.0.1";
    allowed(behind);
    allowed(&format!("{behind} 0.0.4@1!0 1.0.2"));
    allowed(&format!("{behind} 1.0.2 0.0.4@1!0"));
    let behind = "e0 0.0.1 d2=1 0.0.1 1.1.1@0 1.1.1 1.1.2 1.1.3 0.0.2 e1 1.0.1";
    allowed(behind);
    allowed(&format!("{behind} 0.0.3@2!0 1.0.2"));
    refused(
        &format!("{behind} 1.0.2"),
        "event 11, thread 1 in slot 0, epoch number 1: performs mutex_lock \"m\" at a.c:35 before mutex_unlock \"m\" at a.c:14 of slot 0, for which it has to wait",
    );
}

#[test]
fn decisions_are_those_of_the_tree() {
    refused(
        "e0 d1=0",
        "event 1, thread 0 in slot 0, epoch number 0: decides for step 1 at a.c:12, but thread_create of slot 1 at a.c:11 has to come before it",
    );
    refused(
        "e0 0.0.1 d1=5",
        "event 2, thread 0 in slot 0, epoch number 0: decides for step 1 at a.c:12, but the decision has no such outcome",
    );
    refused(
        "e0 0.0.1 d1=1",
        "event 2, thread 0 in slot 0, epoch number 0: decides for step 1 at a.c:12, but this outcome leads to step 2",
    );
    refused(
        "e0 0.0.1 d1=0 d2=1",
        "event 3, thread 0 in slot 0, epoch number 0: decides for step 2 at a.c:12, but epoch 1 is due",
    );
    refused(
        "e0 0.0.1 0.0.1@1",
        "event 2, thread 0 in slot 0, epoch number 0: performs a node of step 1, which the decisions so far do not lead to",
    );
}

#[test]
fn threads_keep_their_slots() {
    refused(
        "e0 1.0.1",
        "event 1, thread 1 in slot 0, epoch number 0: this slot belongs to thread 0",
    );
    refused(
        "e0 0.0.1 0.1.1",
        "event 2, thread 0 in slot 1, epoch number 0: this thread belongs to another slot",
    );
    refused(
        &format!("{EPOCH0} e1 0.0.7"),
        "event 12, thread 0 in slot 0, epoch number 1: this thread belongs to another slot",
    );
    refused(
        "e0 0.0.1 0.0.1",
        "event 2, thread 0 in slot 0, epoch number 0: goes back to thread_create of slot 1 at a.c:11",
    );
}

#[test]
fn nodes_are_what_they_say() {
    let archive = handover();
    let change = |at: usize, change: fn(&mut Record)| {
        let mut log = log(&archive, EPOCH0);
        change(&mut log.records[at]);
        conform(&archive, &log).unwrap_err().to_string()
    };
    assert_eq!(
        change(5, |record| record.site = 7),
        "event 5, thread 0 in slot 0, epoch number 0: performs mutex_lock \"m\" at a.c:31; the schedule has mutex_lock \"m\" at a.c:13 there"
    );
    assert_eq!(
        change(3, |record| record.what = 1),
        "event 3, thread 0 in slot 0, epoch number 0: performs branch with outcome 1 at a.c:12; the schedule has branch with outcome 0 at a.c:12 there"
    );
    assert!(change(5, |record| record.site = 9999).contains("unknown site 9999"));
    assert!(
        change(5, |record| record.position = 99).contains("its slot has nodes 2 to 5 in step 1")
    );
    assert!(change(5, |record| record.step = 9999).contains("do not lead to"));
    assert!(change(5, |record| record.slot = 9999).contains("its slot has nodes"));
    let of = |program| {
        let records = vec![];
        conform(&archive, &Trace { program, records })
    };
    let program = archive.built_for();
    let fingerprint = [1; 16];
    let other = BuiltFor {
        fingerprint,
        ..program
    };
    assert_eq!(of(other), Err(NotAllowed::OtherProgram));
    let plan = [1; 16];
    assert_eq!(of(BuiltFor { plan, ..program }), Err(NotAllowed::OtherPlan));
    let plan = BuiltFor::ANY_PLAN;
    assert!(of(BuiltFor { plan, ..program }).is_ok());
    assert_eq!(archive.epochs[1].root, StepId(3));
}

#[test]
fn what_was_waited_for_must_not_come_later() {
    // Slot 1's lock passes while the arm could still be skipped; then the arm is entered after all.
    let archive = handover();
    let text = include_str!("archives/handover.txt").replace(
        " <- 0:8\n      2 mutex_lock \"m\" @a.c:13",
        "\n      2 mutex_lock \"m\" @a.c:13 <- 0:6",
    );
    let without_join = parse(&text).unwrap();
    assert_ne!(archive, without_join);
    let log = log(&without_join, &format!("{EPOCH0} e1 0.1.1 0.1.2 1.0.4"));
    let found = conform(&without_join, &log).unwrap_err().to_string();
    assert_eq!(
        found,
        "event 14, thread 1 in slot 0, epoch number 1: performs arm with outcome 1 at a.c:34 after event 13, which had to wait for it"
    );
}
