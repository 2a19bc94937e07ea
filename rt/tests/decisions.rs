//! Early, late and elastic decisions, and epochs that follow each other.

mod run;

use run::{Maker, Program, maker};
use schedules::archive::{
    Archive, CompareOp, EpochId, Next, PredicateOp, Register, RegisterKind, RootId, Shadow,
    ShadowId, SiteId, Step, StepId,
};

#[track_caller]
fn check(program: &Program, input: &str, expected: &str) {
    program.always_prints_for(&[input], expected);
}

/// Epoch 0: main creates both workers; epoch 1: all three stand at markers, `main` in slot 2.
fn two_epochs(maker: &mut Maker, next: Next) -> Archive {
    let first = maker.epoch(1, 0);
    let second = maker.epoch(3, 1);
    let rotate = Next::Epoch {
        epoch: second,
        moves: vec![2, 0, 1],
    };
    let root = maker.step(
        &["create@1=1 create@2=2", "start@0<0.1", "start@0<0.2"],
        rotate,
    );
    maker.builder.define_epoch(first, 3, root, 0);
    let root = maker.step(&["marker@30", "marker@30", "marker@31"], next);
    maker.builder.define_epoch(second, 3, root, 0);
    std::mem::replace(maker, run::maker()).finish()
}

/// The workers' ends with `a` first, and with `b` first.
fn ends(maker: &mut Maker) -> (StepId, StepId) {
    let join = "join@5<0.3 join@6<1.3";
    let a = maker.step(
        &[
            "lock@10 unlock@11 exit@0",
            "lock@10<0.2 unlock@11 exit@0",
            join,
        ],
        Next::Exit,
    );
    let b = maker.step(
        &[
            "lock@10<1.2 unlock@11 exit@0",
            "lock@10 unlock@11 exit@0",
            join,
        ],
        Next::Exit,
    );
    (a, b)
}

fn above_five(mut value: Vec<PredicateOp>) -> Vec<PredicateOp> {
    value.insert(
        0,
        PredicateOp::Constant {
            width: 32,
            value: 5,
        },
    );
    value.push(PredicateOp::Compare {
        op: CompareOp::Slt,
        width: 32,
    });
    value
}

#[test]
fn an_early_decision_reads_globals_when_the_epoch_begins() {
    let mut maker = maker();
    let (a, b) = ends(&mut maker);
    maker.builder.root("input", 4);
    maker.builder.root("pointer", 8);
    // *pointer > 5
    let code = above_five(vec![
        PredicateOp::Root { root: RootId(1) },
        PredicateOp::Load {
            width: 64,
            offset: 0,
        },
        PredicateOp::Load {
            width: 32,
            offset: 0,
        },
    ]);
    let next = maker.early(code, b, a);
    let archive = two_epochs(&mut maker, next);
    let program = Program::build_as("early", "workers", &["-DMODE=0"]).with(&archive);
    check(&program, "3", "ab");
    check(&program, "7", "ba");
}

#[test]
fn an_early_decision_reads_registers_of_waiting_threads() {
    let mut maker = maker();
    let (a, b) = ends(&mut maker);
    for register in 0..4 {
        maker.builder.shadow(Shadow {
            at: SiteId(30),
            value: Register {
                function: "worker".into(),
                value: RegisterKind::Instruction(register),
            },
            width: 32,
        });
    }
    let code = above_five(vec![PredicateOp::Shadow {
        slot: 1,
        shadow: ShadowId(3),
    }]);
    let next = maker.early(code, b, a);
    let archive = two_epochs(&mut maker, next);
    let program = Program::build_as("shadow", "workers", &["-DMODE=1"]).with(&archive);
    check(&program, "5", "ab");
    check(&program, "6", "ba");
}

#[test]
fn a_late_decision_is_published_by_its_thread() {
    let mut maker = maker();
    let join = "join@5<0.4 join@6<1.3";
    let below = maker.step(
        &[
            "branch@20=0 lock@10 unlock@11 exit@0",
            "lock@10<0.3 unlock@11 exit@0",
            join,
        ],
        Next::Exit,
    );
    let above = maker.step(
        &[
            "branch@20=1 lock@10<1.2 unlock@11 exit@0",
            "lock@10 unlock@11 exit@0",
            join,
        ],
        Next::Exit,
    );
    let next = maker.late(0, 20, &[(0, below), (1, above)]);
    let archive = two_epochs(&mut maker, next);
    let program = Program::build_as("late", "workers", &["-DMODE=2"]).with(&archive);
    check(&program, "1", "ab");
    check(&program, "9", "ba");
}

#[test]
fn one_schedule_serves_both_sides_of_an_elastic_branch() {
    let mut maker = maker();
    let both = maker.step(
        &[
            "arm@21=1? lock@12? unlock@13? armsend@21 lock@10<1.4 unlock@11 exit@0",
            "arm@21=1? lock@12<0.3? unlock@13? armsend@21 lock@10<0.6 unlock@11 exit@0",
            "join@5<0.7 join@6<1.7",
        ],
        Next::Exit,
    );
    let next = maker.early(
        vec![PredicateOp::Constant { width: 1, value: 1 }],
        both,
        both,
    );
    let archive = two_epochs(&mut maker, next);
    let program = Program::build_as("elastic", "workers", &["-DMODE=3"]).with(&archive);
    check(&program, "1", "ab");
    check(&program, "9", "!!ab");
}

/// Hundreds of epochs with two late decisions each, and threads that come and go; with and without an early decision.
#[test]
fn epochs_follow_each_other() {
    for early in [false, true] {
        let mut maker = maker();
        let first = maker.epoch(1, 0);
        let again = maker.epoch(2, 1);
        let to = |epoch: EpochId, moves: Vec<u16>| Next::Epoch { epoch, moves };
        let root = maker.step(&["create@1=1", "start@0<0.1"], to(again, vec![1, 0]));
        maker.builder.define_epoch(first, 2, root, 0);
        let turn = maker.step(
            &[
                "branch@20=0 lock@10<1.4 unlock@11",
                "create@2=2 join@6<2.2 lock@10 unlock@11",
                "start@0<1.1 exit@0",
            ],
            to(again, vec![0, 1, u16::MAX]),
        );
        let end = maker.step(&["branch@20=1 exit@0", "join@5<0.2"], Next::Exit);
        let second = |maker: &mut Maker, outcome, step| {
            let next = maker.late(0, 20, &[(outcome, step)]);
            maker.step(&["", &format!("branch@21={outcome}"), ""], next)
        };
        let (on, over) = (second(&mut maker, 0, turn), second(&mut maker, 1, end));
        let mut next = maker.late(1, 21, &[(0, on), (1, over)]);
        if early {
            let decided = maker.step(&[], next);
            // Never taken; a decision whose sides are equal would not be one.
            let never = maker.step(&[], Next::Exit);
            let no = vec![PredicateOp::Constant { width: 1, value: 0 }];
            next = maker.early(no, never, decided);
        }
        let root = maker.step(&["marker@30", "marker@31"], next);
        maker.builder.define_epoch(again, 3, root, 0);
        let archive = maker.finish();
        let is_early = |step: &Step| matches!(step.next, Next::Early { .. });
        assert_eq!(archive.steps.iter().any(is_early), early);
        let name = if early { "loop_early" } else { "loop_free" };
        let program = Program::build_as(name, "loop", &[]).with(&archive);
        check(&program, "0", "in order 0");
        check(&program, "3", "in order 6");
        let output = program.run_with("", &["3000"]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim_end(),
            "in order 6000"
        );
    }
}

/// Forty epochs without a decision, in which main has nothing to do: it may sit in a system call all the while.
#[test]
fn nobody_waits_at_a_boundary_for_a_thread_in_a_system_call() {
    const EPOCHS: u32 = 40;
    let mut maker = maker();
    let first = maker.epoch(1, 0);
    let epochs: Vec<EpochId> = (1..=EPOCHS).map(|tag| maker.epoch(2, tag)).collect();
    let to = |epoch: EpochId| Next::Epoch {
        epoch,
        moves: vec![0, 1],
    };
    let root = maker.step(&["create@1=1", "start@0<0.1"], to(epochs[0]));
    maker.builder.define_epoch(first, 2, root, 0);
    for (index, epoch) in epochs.iter().enumerate() {
        let root = match epochs.get(index + 1) {
            Some(next) => maker.step(&["", "marker@30 lock@10 unlock@11"], to(*next)),
            None => maker.step(
                &["join@5<1.4", "marker@30 lock@10 unlock@11 exit@0"],
                Next::Exit,
            ),
        };
        maker.builder.define_epoch(*epoch, 2, root, 0);
    }
    let archive = maker.finish();
    let rounds = format!("-DROUNDS={EPOCHS}");
    Program::build_as("ahead", "ahead", &[&rounds])
        .with(&archive)
        .always_prints(&format!("x {EPOCHS}"));
}
