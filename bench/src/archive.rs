//! Question: how large are archives of lock-heavy schedules, and what does opening one cost?
//!
//! Expectation, written first: a node takes twelve bytes and every second one an edge of six, so fifteen bytes a node and not
//! more than sixteen. Opening reads the file once, hashes it once and walks it twice (rkyv's check and ours), all linear: at most a
//! few times the raw cost of reading and hashing the same bytes, and well under a second for a million nodes.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use schedules::primitives::{NodeOp, lookup};
use schedules::{
    Archive, ArchiveBuilder, BuildNode, Next, OpenArchive, Position, Program, Site, SiteId,
    SiteKind,
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Largest number of nodes
    #[arg(long, default_value_t = 10_000_000)]
    nodes: usize,
    /// How often each file is opened; the fastest counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

const SLOTS: usize = 8;
const LOCKS: usize = 16;
/// Nodes of one fragment: long ones are split by decisions, as in real archives.
const FRAGMENT: usize = 20_000;

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    println!(
        "{:>10} {:>8} {:>12} {:>7} {:>10} {:>10} {:>6} {:>10} {:>10}",
        "nodes", "steps", "bytes", "b/node", "open ms", "raw ms", "ratio", "map ms", "verify ms"
    );
    let sizes = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    for nodes in sizes.into_iter().filter(|nodes| *nodes <= arguments.nodes) {
        row(arguments, nodes, &folder.path().join("a.heddle"))?;
    }
    println!(
        "lock-heavy: {SLOTS} threads lock and unlock {LOCKS} mutexes; open: read, checksums, structure, ranges; raw: read \
         into anonymous memory and XXH3-128; map: map the file and XXH3-128; fastest of {}, warm cache",
        arguments.rounds
    );
    Ok(true)
}

fn row(arguments: &Arguments, nodes: usize, path: &Path) -> Result<()> {
    let archive = lock_heavy(nodes);
    archive.write(path)?;
    let bytes = std::fs::metadata(path)?.len();
    let open = fastest(arguments.rounds, || {
        OpenArchive::open(path)?;
        Ok(())
    })?;
    let raw = fastest(arguments.rounds, || read_and_hash(path))?;
    let contents = std::fs::read(path)?;
    let map = fastest(arguments.rounds, || map_and_hash(path, &contents))?;
    // The verifier is for tools: once is enough.
    let verify = fastest(1, || {
        let problems = schedules::verify::verify(&archive);
        anyhow::ensure!(problems.is_empty(), "{}", problems[0]);
        Ok(())
    })?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{:>10} {:>8} {:>12} {:>7.2} {:>10.3} {:>10.3} {:>6.1} {:>10.3} {:>10.1}",
        archive.nodes.len(),
        archive.steps.len(),
        bytes,
        bytes as f64 / archive.nodes.len() as f64,
        milliseconds(open),
        milliseconds(raw),
        open.as_secs_f64() / raw.as_secs_f64(),
        milliseconds(map),
        milliseconds(verify),
    );
    Ok(())
}

fn fastest(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..rounds.max(1) {
        let begin = Instant::now();
        work()?;
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

/// What any reader has to do at least.
fn read_and_hash(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let len = usize::try_from(file.metadata()?.len())?;
    let mut map = memmap2::MmapMut::map_anon(len).context("no memory")?;
    file.read_exact(&mut map)?;
    std::hint::black_box(xxhash_rust::xxh3::xxh3_128(&map));
    Ok(())
}

/// What a reader would have to do that trusts everybody not to change the file under it. Mapped with all its pages, then hashed where the
/// same bytes lie already: looking at a mapped file is not for safe code.
fn map_and_hash(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = File::open(path)?;
    let map = memmap2::MmapOptions::new()
        .populate()
        .map_raw_read_only(&file)?;
    anyhow::ensure!(map.len() == bytes.len(), "the file changed");
    std::hint::black_box(xxhash_rust::xxh3::xxh3_128(bytes));
    Ok(())
}

/// One epoch in which threads lock and unlock in a random order; every so often the input decides whether to go on.
fn lock_heavy(nodes: usize) -> Archive {
    let mut builder = ArchiveBuilder::new(Program {
        name: "lock-heavy".into(),
        thread_bound: SLOTS as u32,
        order: "all".into(),
        ..Program::default()
    });
    let entry = site(&mut builder, SiteKind::Entry, 1);
    let branch = site(&mut builder, SiteKind::Branch, 2);
    let sync = |symbol| SiteKind::Sync {
        primitive: lookup(symbol).expect("a row of the table").0,
    };
    let create = site(&mut builder, sync("pthread_create"), 3);
    let lock = site(&mut builder, sync("pthread_mutex_lock"), 4);
    let unlock = site(&mut builder, sync("pthread_mutex_unlock"), 5);
    for name in 0..LOCKS {
        builder.object(&format!("lock[{name}]"), false);
    }
    builder.plan.decisions.push(branch);
    let mut world = World {
        position: vec![0; SLOTS],
        last: vec![None; LOCKS],
        known: vec![[0; SLOTS]; SLOTS],
        random: 1,
        lock,
        unlock,
    };
    let mut fragments = vec![world.beginning(create, entry)];
    let mut made = 0;
    while made < nodes {
        let count = FRAGMENT.min(nodes - made);
        fragments.push(world.fragment(branch, count));
        made += count;
    }
    let condition = builder.text("more()");
    let why = builder.text("read during the epoch");
    // From the end: each step is the arm of the decision before it.
    let mut next = Next::Exit;
    for lanes in fragments.into_iter().rev() {
        let fragment = builder.fragment(lanes);
        let step = builder.step(fragment, next);
        next = Next::Late {
            slot: 0,
            site: branch,
            condition,
            why,
            arms: vec![schedules::LateArm { outcome: 0, step }],
        };
    }
    let Next::Late { arms, .. } = next else {
        unreachable!("there is at least the beginning");
    };
    let context = builder.context(&[entry]);
    let epoch = builder.epoch(&[context]);
    builder.define_epoch(epoch, SLOTS as u16, arms[0].step, 0);
    builder.finish()
}

fn site(builder: &mut ArchiveBuilder, kind: SiteKind, line: u32) -> SiteId {
    let function = builder.text("worker");
    let file = builder.text("heavy.c");
    builder.site(Site {
        stable: u64::from(line),
        kind,
        function,
        position: Position {
            function,
            file,
            line,
            column: 1,
        },
        inlined_at: Vec::new(),
    })
}

/// By slot: which position a thread knows to lie behind it. Edges that say nothing new are left out.
type Clock = [i32; SLOTS];

/// Where the threads are.
struct World {
    /// By slot, from the epoch's beginning.
    position: Vec<i32>,
    /// By lock: who unlocked it last, the position behind that, and what that thread knew then.
    last: Vec<Option<(usize, i32, Clock)>>,
    /// By slot.
    known: Vec<Clock>,
    random: u64,
    lock: SiteId,
    unlock: SiteId,
}

fn node(op: NodeOp, site: SiteId, what: u32, edges: Vec<(u16, i32)>) -> BuildNode {
    BuildNode {
        site,
        what,
        op,
        optional: false,
        serial: false,
        edges,
    }
}

impl World {
    fn below(&mut self, limit: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % limit
    }

    /// Main creates the others.
    fn beginning(&mut self, create: SiteId, entry: SiteId) -> Vec<Vec<BuildNode>> {
        let mut lanes = vec![Vec::new(); SLOTS];
        for slot in 1..SLOTS {
            lanes[0].push(node(NodeOp::ThreadCreate, create, slot as u32, Vec::new()));
            let start = node(NodeOp::ThreadStart, entry, 0, vec![(0, slot as i32)]);
            lanes[slot].push(start);
        }
        for (slot, lane) in lanes.iter().enumerate() {
            self.position[slot] += lane.len() as i32;
        }
        lanes
    }

    /// Pairs of lock and unlock; a lock waits for the last unlock.
    fn fragment(&mut self, branch: SiteId, nodes: usize) -> Vec<Vec<BuildNode>> {
        let base = self.position.clone();
        let mut lanes = vec![Vec::new(); SLOTS];
        lanes[0].push(node(NodeOp::Branch, branch, 0, Vec::new()));
        self.position[0] += 1;
        for _ in 0..nodes / 2 {
            let slot = self.below(SLOTS);
            let lock = self.below(LOCKS);
            let edges = self.wait(slot, lock, &base);
            lanes[slot].push(node(NodeOp::MutexLock, self.lock, lock as u32, edges));
            let unlock = node(NodeOp::MutexUnlock, self.unlock, lock as u32, Vec::new());
            lanes[slot].push(unlock);
            self.position[slot] += 2;
            let position = self.position[slot];
            self.known[slot][slot] = position;
            self.last[lock] = Some((slot, position, self.known[slot]));
        }
        lanes
    }

    /// The edge to the last unlock, unless it is known to lie behind already.
    fn wait(&mut self, slot: usize, lock: usize, base: &[i32]) -> Vec<(u16, i32)> {
        match self.last[lock] {
            Some((owner, position, clock)) if self.known[slot][owner] < position => {
                for (known, told) in self.known[slot].iter_mut().zip(clock) {
                    *known = (*known).max(told);
                }
                vec![(owner as u16, position - base[owner])]
            }
            _ => Vec::new(),
        }
    }
}
