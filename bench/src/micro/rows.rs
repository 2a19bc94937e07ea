//! The rows of the table, by letter.

use std::path::Path;

use anyhow::Result;
use schedules::archive::{
    Archive, BinaryOp, CompareOp, LateArm, Next, PredicateOp, RootId, SiteId,
};
use schedules::primitives::NodeOp;

use super::build::{self, Lanes, Maker, node};
use super::measure::{self, Pair};

type Rows = fn(&mut Table) -> Result<()>;

/// All rows.
pub(super) const ALL: &[(char, Rows)] = &[
    ('a', pairs),
    ('b', handovers),
    ('c', barriers),
    ('d', decisions),
    ('e', locks),
    ('f', size_and_start),
];

/// Prints rows and counts those that miss their target.
pub(super) struct Table<'a> {
    scratch: &'a Path,
    times: usize,
    missed: Vec<String>,
}

/// Nanoseconds that no operation takes.
const NOTHING: f64 = 0.2;

impl<'a> Table<'a> {
    pub(super) fn new(scratch: &'a Path, times: usize) -> Self {
        Self {
            scratch,
            times,
            missed: Vec::new(),
        }
    }

    fn compare(
        &mut self,
        title: &str,
        source: &str,
        defines: &[String],
        archive: &Archive,
        at_most: Option<f64>,
    ) -> Result<()> {
        let name: String = title
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let built = build::build(self.scratch, &name, source, defines, archive)?;
        let pair = measure::compare(&built, self.times)?;
        self.row(title, &pair, at_most);
        Ok(())
    }

    fn row(&mut self, title: &str, pair: &Pair, at_most: Option<f64>) {
        let ratio = pair.ratio.median();
        let (low, high) = pair.ratio.spread();
        let target = at_most.map_or(String::new(), |target| format!("{target:.1}"));
        let (native, gated) = (pair.native.median(), pair.gated.median());
        // Where the native program has nothing to do, there is nothing to compare with.
        let (ratio_text, spread) = match native < NOTHING {
            true => ("-".to_owned(), String::new()),
            false => (format!("{ratio:.2}"), format!("{low:.2}..{high:.2}")),
        };
        println!(
            "{title:<44} {native:>11.1} {gated:>11.1} {ratio_text:>7} {spread:>15} {target:>8}"
        );
        if at_most.is_some_and(|target| ratio > target) {
            self.missed.push(title.to_owned());
        }
    }

    pub(super) fn finish(self) {
        if self.missed.is_empty() {
            println!("every row with a target meets it");
        } else {
            println!("missed: {}", self.missed.join("; "));
        }
    }
}

fn define(name: &str, value: impl std::fmt::Display) -> String {
    format!("{name}={value}")
}

/// The epoch in which main has PAIRS pairs and which leads to itself. `edge`: each lock waits for the other thread's first pair.
fn pair_archive(pairs: usize, epochs: bool, rounds: usize, edge: bool) -> Archive {
    let mut maker = Maker::new();
    let mut first = Lanes::new(2);
    let create = first.add(0, NodeOp::ThreadCreate, 1, 1, &[]);
    first.add(1, NodeOp::ThreadStart, 0, 0, &[create]);
    first.add(1, NodeOp::MutexLock, 3, 0, &[]);
    let unlock = first.add(1, NodeOp::MutexUnlock, 4, 0, &[]);
    let turn = |edges: &[(u16, i32)], lane: &mut Vec<_>| {
        lane.push(node(NodeOp::MutexLock, 5, 0, edges));
        lane.push(node(NodeOp::MutexUnlock, 6, 0, &[]));
    };
    let mut lanes = first.into_lanes();
    if !epochs {
        for index in 0..rounds * pairs {
            let after: &[_] = if edge || index == 0 { &[unlock] } else { &[] };
            turn(after, &mut lanes[0]);
        }
        let root = maker.step(lanes, Next::Exit);
        maker.epoch(1, 0, 2, root);
        return maker.builder.finish();
    }
    let again = maker.declare(2, 1);
    let moves = vec![0, 1];
    let next = || Next::Epoch {
        epoch: again,
        moves: moves.clone(),
    };
    let root = maker.step(lanes, next());
    maker.epoch(1, 0, 2, root);
    let mut lane = Vec::new();
    for _ in 0..pairs {
        let after: &[_] = if edge { &[(1, 0)] } else { &[] };
        turn(after, &mut lane);
    }
    lane.push(node(NodeOp::Marker, 8, 0, &[]));
    let root = maker.step(vec![lane, vec![]], next());
    maker.epoch(2, 1, 2, root);
    maker.builder.finish()
}

fn pairs(table: &mut Table) -> Result<()> {
    let rows = [
        (
            "(a) pair, no cross edge, many epochs",
            1000,
            1000,
            true,
            false,
        ),
        ("(a) pair, one edge, many epochs", 1000, 1000, true, true),
        ("(a) pair, one edge, satisfied", 200_000, 1, false, true),
        ("(a) pair, no cross edge", 200_000, 1, false, false),
    ];
    for (title, pairs, rounds, epochs, edge) in rows {
        let archive = pair_archive(pairs, epochs, rounds, edge);
        let mut defines = vec![define("PAIRS", pairs), define("ROUNDS", rounds)];
        if epochs {
            defines.push("EPOCHS".into());
        }
        table.compare(title, "pair", &defines, &archive, Some(1.0))?;
    }
    Ok(())
}

fn handovers(table: &mut Table) -> Result<()> {
    for (work, items, at_most) in [(100, 20_000, Some(0.3)), (10_000, 2000, None)] {
        let mut lanes = Lanes::new(3);
        lanes.start_all();
        let mut consumed = (0, 0);
        for _ in 0..items {
            let mut turn = |slot: usize, site: u32, after: (u16, i32)| {
                let after = if after.1 == 0 { vec![] } else { vec![after] };
                lanes.add(slot, NodeOp::MutexLock, site, 0, &after);
                lanes.add(slot, NodeOp::CondSignal, site + 2, 0, &[]);
                lanes.add(slot, NodeOp::MutexUnlock, site + 3, 0, &[])
            };
            let produced = turn(1, 3, consumed);
            consumed = turn(2, 7, produced);
        }
        lanes.join_all();
        let defines = [define("ITEMS", items), define("WORK", work)];
        let title = format!("(b) hand-over, {work} ns of work");
        table.compare(&title, "handover", &defines, &lanes.straight(), at_most)?;
    }
    Ok(())
}

fn barriers(table: &mut Table) -> Result<()> {
    let rows = [
        (2, 1000, 5000, Some(0.2)),
        (4, 1000, 2000, Some(1.0)),
        (8, 1000, 1000, Some(1.0)),
        (16, 1000, 500, None),
        (2, 100_000, 200, None),
    ];
    for (threads, work, rounds, at_most) in rows {
        let mut lanes = Lanes::new(threads + 1);
        lanes.add(0, NodeOp::BarrierInit, 4, 0, &[]);
        lanes.start_all();
        for _ in 0..rounds {
            let arrivals: Vec<_> = (1..=threads)
                .map(|slot| lanes.add(slot, NodeOp::BarrierArrive, 3, 0, &[]))
                .collect();
            for slot in 1..=threads {
                lanes.add(slot, NodeOp::BarrierLeave, 3, 0, &arrivals);
            }
        }
        lanes.join_all();
        let defines = [
            define("THREADS", threads),
            define("ROUNDS", rounds),
            define("WORK", work),
        ];
        let title = format!("(c) barrier, {threads} threads, {work} ns of work");
        table.compare(&title, "round", &defines, &lanes.straight(), at_most)?;
    }
    Ok(())
}

/// One thread, one epoch that leads to itself over `next`.
fn self_loop(next: impl FnOnce(&mut Maker, Next) -> Next) -> Archive {
    let mut maker = Maker::new();
    let again = maker.declare(1, 1);
    let leaf = Next::Epoch {
        epoch: again,
        moves: vec![0],
    };
    let root = maker.step(vec![], leaf.clone());
    maker.epoch(1, 0, 1, root);
    let next = next(&mut maker, leaf);
    let root = maker.step(vec![vec![node(NodeOp::Marker, 8, 0, &[])]], next);
    maker.epoch(1, 1, 1, root);
    maker.builder.finish()
}

/// The global plus itself, `operators` times, is less than something.
fn long_condition(operators: usize) -> Vec<PredicateOp> {
    let mut code = vec![
        PredicateOp::Root { root: RootId(0) },
        PredicateOp::Load {
            width: 64,
            offset: 0,
        },
    ];
    for value in 0..operators as u64 {
        code.push(PredicateOp::Constant { width: 64, value });
        code.push(PredicateOp::Binary {
            op: BinaryOp::Add,
            width: 64,
        });
    }
    code.push(PredicateOp::Constant {
        width: 64,
        value: 1 << 40,
    });
    code.push(PredicateOp::Compare {
        op: CompareOp::Ult,
        width: 64,
    });
    code
}

fn decisions(table: &mut Table) -> Result<()> {
    let rounds = define("ROUNDS", 200_000);
    let plain = self_loop(|_, leaf| leaf);
    let title = "(d) change of epoch";
    table.compare(title, "epoch", std::slice::from_ref(&rounds), &plain, None)?;
    for operators in [1, 10, 100] {
        let archive = self_loop(|maker, leaf| {
            maker.builder.root("input", 8);
            let predicate = maker.builder.predicate(long_condition(operators), "x");
            // Always true; a decision whose sides are equal would not be one.
            let yes = maker.step(vec![], leaf);
            let no = maker.step(vec![], Next::Exit);
            Next::Early {
                site: SiteId(0),
                predicate,
                yes,
                no,
            }
        });
        let title = format!("(d) and an early decision, {operators} operators");
        table.compare(
            &title,
            "epoch",
            std::slice::from_ref(&rounds),
            &archive,
            None,
        )?;
    }
    let late = self_loop(|maker, leaf| {
        let text = maker.builder.text("x");
        let arms = [0, 1].map(|outcome| {
            let branch = node(NodeOp::Branch, 9, outcome, &[]);
            let step = maker.step(vec![vec![branch]], leaf.clone());
            LateArm { outcome, step }
        });
        Next::Late {
            slot: 0,
            site: SiteId(9),
            condition: text,
            why: text,
            arms: arms.into(),
        }
    });
    let defines = [rounds, "LATE".to_owned()];
    table.compare("(d) and a late decision", "epoch", &defines, &late, None)
}

/// One lock program: nanoseconds inside and outside, locks, and how much slower thread 1 is.
struct Shape {
    name: &'static str,
    locks: usize,
    private: bool,
    inside: u64,
    outside: u64,
    skew: u64,
    turns: usize,
}

const fn one_lock(inside: u64, outside: u64, turns: usize) -> Shape {
    Shape {
        name: "one lock",
        locks: 1,
        private: false,
        inside,
        outside,
        skew: 1,
        turns,
    }
}

const SHAPES: &[Shape] = &[
    one_lock(0, 0, 20_000),
    one_lock(100, 1000, 5000),
    one_lock(1000, 1000, 5000),
    one_lock(1000, 10_000, 1000),
    one_lock(10_000, 100_000, 200),
    Shape {
        name: "private locks",
        locks: 2,
        private: true,
        ..one_lock(100, 1000, 5000)
    },
    Shape {
        name: "64 locks",
        locks: 64,
        ..one_lock(50, 200, 10_000)
    },
    Shape {
        name: "one lock, 20 : 1",
        skew: 20,
        ..one_lock(1000, 1000, 1000)
    },
];

impl Shape {
    fn defines(&self) -> Vec<String> {
        let mut defines = vec![
            define("LOCKS", self.locks),
            define("INSIDE", self.inside),
            define("OUTSIDE", self.outside),
            define("SKEW", self.skew),
            define("TURNS", self.turns),
        ];
        if self.private {
            defines.push("PRIVATE".into());
        }
        defines
    }

    /// Which lock a thread takes at each turn, as the program computes it.
    fn choices(&self, thread: usize) -> Vec<usize> {
        let mut seed = 12345u64 + 777 * thread as u64;
        (0..self.turns)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                if self.private {
                    thread
                } else {
                    (seed >> 40) as u32 as usize % self.locks
                }
            })
            .collect()
    }

    /// The archive in which each lock goes round as `order` says: by lock, the threads in turn.
    fn archive(&self, order: &[Vec<usize>]) -> Archive {
        let choices = [self.choices(0), self.choices(1)];
        let mut lanes = Lanes::new(3);
        lanes.start_all();
        let mut next = [0, 0];
        let mut given = vec![0; self.locks];
        let mut last: Vec<Option<(u16, i32)>> = vec![None; self.locks];
        loop {
            let mut moved = false;
            for thread in 0..2 {
                while let Some(lock) = choices[thread].get(next[thread]).copied()
                    && order[lock].get(given[lock]) == Some(&thread)
                {
                    let after: Vec<_> = last[lock].into_iter().collect();
                    lanes.add(thread + 1, NodeOp::MutexLock, 3, 0, &after);
                    last[lock] = Some(lanes.add(thread + 1, NodeOp::MutexUnlock, 4, 0, &[]));
                    next[thread] += 1;
                    given[lock] += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert_eq!(next, [self.turns; 2], "the order is one that can happen");
        lanes.join_all();
        lanes.straight()
    }

    /// Threads take turns, `batch` critical sections at a time.
    fn batches(&self, batch: usize) -> Vec<Vec<usize>> {
        let choices = [self.choices(0), self.choices(1)];
        let mut order = vec![Vec::new(); self.locks];
        for begin in (0..self.turns).step_by(batch) {
            for (thread, choices) in choices.iter().enumerate() {
                for lock in choices.iter().skip(begin).take(batch) {
                    order[*lock].push(thread);
                }
            }
        }
        order
    }
}

/// What a native run did.
fn natural(program: &Path, shape: &Shape, scratch: &Path) -> Result<Vec<Vec<usize>>> {
    let file = scratch.join("order");
    let status = std::process::Command::new(program)
        .env("ORDER", &file)
        .stdout(std::process::Stdio::null())
        .status()?;
    anyhow::ensure!(status.success(), "{}: {status}", program.display());
    let mut order = vec![Vec::new(); shape.locks];
    for line in std::fs::read_to_string(&file)?.lines() {
        let (lock, thread) = line.split_once(' ').unwrap_or((line, ""));
        order[lock.parse::<usize>()?].push(thread.parse::<usize>()?);
    }
    Ok(order)
}

fn locks(table: &mut Table) -> Result<()> {
    for shape in SHAPES {
        let defines = shape.defines();
        let probe = build::build(
            table.scratch,
            "probe",
            "locks",
            &defines,
            &shape.archive(&shape.batches(1)),
        )?;
        let orders = [
            (
                "natural",
                natural(&probe.native, shape, table.scratch)?,
                Some(1.2),
            ),
            ("alternating", shape.batches(1), None),
            ("batched", shape.batches(16), None),
        ];
        for (how, order, at_most) in orders {
            let title = format!(
                "(e) {}, {}+{} ns, {how}",
                shape.name, shape.inside, shape.outside
            );
            table.compare(&title, "locks", &defines, &shape.archive(&order), at_most)?;
        }
    }
    Ok(())
}

fn size_and_start(table: &mut Table) -> Result<()> {
    // About a megabyte: 80,000 nodes, of which the program uses none.
    let mut maker = Maker::new();
    let root = maker.step(vec![], Next::Exit);
    maker.epoch(1, 0, 1, root);
    let lane = (0..80_000)
        .map(|_| node(NodeOp::MutexLock, 5, 0, &[]))
        .collect();
    let root = maker.step(vec![lane], Next::Exit);
    maker.epoch(1, 1, 1, root);
    let archive = maker.builder.finish();
    let beside = build::build(
        table.scratch,
        "start",
        "epoch",
        &[define("ROUNDS", 0)],
        &archive,
    )?;
    let file = beside.gated.with_extension("heddle");
    let bytes = std::fs::metadata(&file)?.len();
    let inside = build::build(
        table.scratch,
        "start-inside",
        "epoch",
        &[
            define("ROUNDS", 0),
            define("EMBEDDED", format!("\"{}\"", file.display())),
            define("EMBEDDED_SIZE", bytes),
        ],
        &archive,
    )?;
    println!(
        "(f) code of a program: {} bytes with the runtime, {} without; files {} and {} bytes",
        code_size(&beside.gated)?,
        code_size(&beside.native)?,
        std::fs::metadata(&beside.gated)?.len(),
        std::fs::metadata(&beside.native)?.len(),
    );
    let times = table.times.max(30) * 5;
    let ways = [
        ("beside it", "", &beside),
        ("inside it", "", &inside),
        ("not opened", "archive=none", &beside),
    ];
    for (where_, options, built) in ways {
        let pair = measure::compare_runs(built, options, times)?;
        println!(
            "(f) start-up, archive of {bytes} bytes {where_}: {:.2} ms, without Heddle {:.2} ms; difference, median {:.3} ms, half of them {:.3}..{:.3} (goal 0.3)",
            pair.gated.median(),
            pair.native.median(),
            pair.ratio.median(),
            pair.ratio.share(0.25),
            pair.ratio.share(0.75),
        );
    }
    Ok(())
}

/// Bytes of code and constants.
fn code_size(program: &Path) -> Result<String> {
    let output = std::process::Command::new("size").arg(program).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = text.lines().nth(1).unwrap_or("?");
    Ok(row.split_whitespace().next().unwrap_or("?").to_owned())
}
