//! What programs and archives had in them: a soak that finds nothing says what it looked at.

use std::collections::{BTreeMap, BTreeSet};

use schedules::archive::{Archive, Next};
use schedules::ids::Id as _;
use schedules::primitives::NodeOp;

use super::program::{Block, Expr, Guard, Mutex, Program, Source, Stmt, Storage, has};

/// Names of what was there, once each.
pub type Features = BTreeSet<String>;

/// How many programs had each.
pub type Counts = BTreeMap<String, u64>;

/// Counts one program's.
pub fn count(counts: &mut Counts, features: &Features) {
    for feature in features {
        *counts.entry(feature.clone()).or_default() += 1;
    }
}

/// What the program has in it.
pub fn of_program(program: &Program) -> Features {
    let mut found = Features::new();
    let mut add = |name: &str, is_there: bool| {
        if is_there {
            found.insert(format!("program: {name}"));
        }
    };
    add(
        match program.threads.len() {
            0..=2 => "2 threads beside main",
            3 => "3 threads beside main",
            _ => "4 threads beside main",
        },
        true,
    );
    add("inputs from a file", program.source == Source::File);
    add("inputs without a bound", program.raw_inputs);
    add("locks chosen through pointers", program.lock_pointers);
    add("locks taken by a function", program.lock_by_function);
    add("everything on the heap", is_heap(program.storage));
    add("a list of locks", program.storage == Storage::Linked);
    let work = |guard: &Guard| matches!(guard, Guard::Work(_));
    add("shared work", program.guards.iter().any(work));
    let anywhere = |wanted: &dyn Fn(&Stmt) -> bool| {
        let mut tops = program.tops();
        tops.any(|block| has(block, &|stmt| wanted(stmt)))
    };
    for (name, wanted) in STATEMENTS {
        add(name, anywhere(wanted));
    }
    let threads = program.bodies.iter();
    let nested = |stmt: &Stmt| matches!(stmt, Stmt::Parallel { .. });
    add(
        "threads made by threads",
        threads.clone().any(|b| has(b, &nested)),
    );
    add("main works beside threads", has(&program.main, &works));
    add("threads made in a loop", {
        let round = |stmt: &Stmt| match stmt {
            Stmt::Repeat { body, .. } => has(body, &nested),
            _ => false,
        };
        program.create_in_loop || has(&program.main, &round)
    });
    add(
        "sections inside sections",
        anywhere(&|stmt| match stmt {
            Stmt::Section(_, body) => has(body, &is_section),
            _ => false,
        }),
    );
    add(
        "a section that depends on an input",
        anywhere(&|stmt| match stmt {
            Stmt::If(test, a, b) => {
                reads_input(test) && (has(a, &is_section) || has(b, &is_section))
            }
            _ => false,
        }),
    );
    add(
        "a loop that synchronizes",
        anywhere(&|stmt| loops(stmt, true)),
    );
    add(
        "a loop that does not synchronize",
        anywhere(&|stmt| loops(stmt, false)),
    );
    found
}

type Wanted = fn(&Stmt) -> bool;

/// Statements by what they are.
const STATEMENTS: &[(&str, Wanted)] = &[
    ("locks chosen by a value", |stmt| {
        matches!(stmt, Stmt::Section(Mutex::Chosen { .. }, _))
    }),
    ("condition variables", |s| matches!(s, Stmt::Await(..))),
    ("signals", |s| matches!(s, Stmt::Wake { all: false, .. })),
    ("semaphores", |s| matches!(s, Stmt::SemWait(_))),
    ("barriers", |s| matches!(s, Stmt::Barrier(_))),
    ("read-write locks", |s| matches!(s, Stmt::ReadWrite { .. })),
    ("once", |s| matches!(s, Stmt::Once(_))),
    ("tries to lock", |s| matches!(s, Stmt::Try(..))),
    ("helper functions", |s| matches!(s, Stmt::Call { .. })),
    ("recursion", |s| matches!(s, Stmt::Recurse { .. })),
    ("recursion as deep as an input says", |stmt| match stmt {
        Stmt::Recurse { depth, .. } => reads_input(depth),
        _ => false,
    }),
    ("early returns", |s| matches!(s, Stmt::Return)),
    ("calls of exit", |s| matches!(s, Stmt::Exit(_))),
    ("branches on inputs", |stmt| match stmt {
        Stmt::If(test, ..) => reads_input(test),
        _ => false,
    }),
    ("loops as long as an input says", |stmt| match stmt {
        Stmt::Repeat { times, .. } => reads_input(times),
        _ => false,
    }),
    ("loops that end early", |stmt| match stmt {
        Stmt::Repeat { unless, .. } => unless.is_some(),
        _ => false,
    }),
    ("work taken until nothing is left", |s| {
        matches!(s, Stmt::Drain { .. })
    }),
    ("as many threads as an input says", |stmt| match stmt {
        Stmt::Parallel { some, .. } => some.as_ref().is_some_and(reads_input),
        _ => false,
    }),
    ("inputs read on the way", |stmt| match stmt {
        Stmt::Read(_) => true,
        Stmt::Set(_, value) => reads_fresh(value),
        Stmt::If(test, ..) => reads_fresh(test),
        Stmt::Repeat { times, .. } => reads_fresh(times),
        _ => false,
    }),
];

fn is_heap(storage: Storage) -> bool {
    matches!(storage, Storage::Heap | Storage::Passed)
}

fn is_section(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Section(..) | Stmt::ReadWrite { .. } | Stmt::Try(..)
    )
}

fn synchronizes(block: &Block) -> bool {
    let plain = |stmt: &Stmt| {
        matches!(
            stmt,
            Stmt::Set(..)
                | Stmt::If(..)
                | Stmt::Repeat { .. }
                | Stmt::Read(_)
                | Stmt::Fill(..)
                | Stmt::Return
                | Stmt::Exit(_)
        )
    };
    has(block, &|stmt| !plain(stmt))
}

fn loops(stmt: &Stmt, synchronizing: bool) -> bool {
    match stmt {
        Stmt::Repeat { body, .. } => synchronizes(body) == synchronizing,
        Stmt::Drain { .. } => synchronizing,
        _ => false,
    }
}

/// `main` does something that counts while its threads run.
fn works(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Parallel { body, .. } => synchronizes(body),
        _ => false,
    }
}

fn reads_input(expr: &Expr) -> bool {
    match expr {
        Expr::Input(_) | Expr::Fresh(_) | Expr::FreshAt(_) => true,
        Expr::Bin(_, a, b) => reads_input(a) || reads_input(b),
        _ => false,
    }
}

fn reads_fresh(expr: &Expr) -> bool {
    match expr {
        Expr::Fresh(_) | Expr::FreshAt(_) => true,
        Expr::Bin(_, a, b) => reads_fresh(a) || reads_fresh(b),
        _ => false,
    }
}

/// What the archive has in it.
pub fn of_archive(archive: &Archive) -> Features {
    let mut found = Features::new();
    let mut add = |name: &str| {
        found.insert(format!("archive: {name}"));
    };
    match archive.epochs.len() {
        0 | 1 => {}
        2 => add("2 epochs"),
        _ => add("3 epochs or more"),
    }
    let mut ways = vec![0u32; archive.epochs.len()];
    for step in &archive.steps {
        match &step.next {
            Next::Early { .. } => add("early decisions"),
            Next::Late { arms, .. } => add(match arms.len() {
                0..=2 => "late decisions",
                _ => "late decisions with more than two outcomes",
            }),
            Next::Epoch { epoch, moves } => {
                ways[epoch.index()] += 1;
                let stay = (0u16..).zip(moves);
                let moved = |(from, to): (u16, &u16)| *to != u16::MAX && *to != from;
                if stay.into_iter().any(moved) {
                    add("threads that change slots");
                }
                if moves.contains(&u16::MAX) {
                    add("slots that end with an epoch");
                }
            }
            Next::Deadlock { certain: true, .. } => add("certain deadlocks"),
            Next::Deadlock { .. } => add("possible deadlocks"),
            Next::Unexplored { .. } => add("gaps"),
            Next::Exit => {}
        }
    }
    if ways.iter().any(|&n| n > 1) {
        add("epochs with several ways in");
    }
    if archive.nodes.iter().any(|node| node.op == NodeOp::Arm) {
        add("elastic branches");
    }
    if archive.nodes.iter().any(|node| node.edges > 1) {
        add("nodes that wait for several threads");
    }
    found
}
