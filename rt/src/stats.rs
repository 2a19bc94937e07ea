//! Numbers for people, with `stats=1`: where the program synchronizes, where it waits, and for how long.
//!
//! With `stats=FILE` all of them go to a file that `heddle stats` reads: see [`write`].
//!
//! Counted only for watched threads. Times are of the monotonic clock; a wait shorter than [`NOTICEABLE`] counts as none.

use std::sync::atomic::{AtomicU64, Ordering};

use schedules::ArchivedArchive;
use schedules::archive::SiteId;

use crate::block::Block;
use crate::codes::{self, Code};
use crate::sys::{clock, file, stderr};
use crate::world::World;

/// Nanoseconds from which on a wait is counted.
const NOTICEABLE: u64 = 200;

/// How many sites are printed.
const SHOWN: usize = 20;

/// What happened at one site.
#[derive(Default)]
pub(crate) struct Counts {
    nodes: AtomicU64,
    waits: AtomicU64,
    nanoseconds: AtomicU64,
}

/// By site; the last row is for waits at the beginning of an epoch.
pub(crate) struct Stats {
    sites: Vec<Counts>,
}

impl Stats {
    /// Without memory if nobody asked.
    pub(crate) fn new(archive: &ArchivedArchive, asked: bool) -> Self {
        let rows = if asked { archive.sites.len() + 1 } else { 0 };
        Self {
            sites: (0..rows).map(|_| Counts::default()).collect(),
        }
    }

    fn row(&self, site: u32) -> Option<&Counts> {
        let last = self.sites.len().checked_sub(1)?;
        self.sites.get((site as usize).min(last))
    }
}

/// A node at `site` may be performed.
pub(crate) fn node(own: &Block, site: u32) {
    if let Some(row) = own.world().stats.row(site) {
        // Relaxed: numbers for people.
        row.nodes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs `wait`, counting it and its time if asked to. A number that is no site: the beginning of an epoch.
pub(crate) fn timed(own: &Block, site: u32, wait: impl FnOnce() -> bool) -> bool {
    let Some(row) = own.world().stats.row(site) else {
        return wait();
    };
    let begin = clock::monotonic();
    let done = wait();
    let took = clock::monotonic() - begin;
    if took > NOTICEABLE {
        // Relaxed: numbers for people.
        row.waits.fetch_add(1, Ordering::Relaxed);
        row.nanoseconds.fetch_add(took, Ordering::Relaxed);
    }
    done
}

/// At exit.
pub(crate) fn at_exit(world: &World) {
    match &world.options.stats_file {
        Some(path) => write(world, path),
        None => print(world),
    }
}

/// Sites where something happened, with their [`Counts`], and the sums of all.
fn gather(world: &World) -> (Vec<(u32, [u64; 3])>, [u64; 3]) {
    let mut rows: Vec<(u32, [u64; 3])> = Vec::new();
    let mut total = [0; 3];
    for (site, row) in world.stats.sites.iter().enumerate() {
        // Relaxed: numbers for people.
        let row = [&row.nodes, &row.waits, &row.nanoseconds].map(|n| n.load(Ordering::Relaxed));
        for (sum, number) in total.iter_mut().zip(row) {
            *sum += number;
        }
        if row != [0; 3] {
            rows.push((site as u32, row));
        }
    }
    (rows, total)
}

/// Text, fields separated by tabs: `heddle-stats 1`; the program's name; epochs, decisions, threads; then one line a site:
/// nodes, waits, nanoseconds waited, `file:line`, function. The beginning of epochs has neither place nor function.
fn write(world: &World, path: &str) {
    let (rows, _) = gather(world);
    let (epochs, decisions) = world.reached();
    // Relaxed: numbers for people.
    let threads = world.numbers.load(Ordering::Relaxed);
    let name = &world.archive.program.name;
    let mut text = format!("heddle-stats 1\nprogram\t{name}\n");
    text += &format!("run\t{epochs}\t{decisions}\t{threads}\n");
    for (site, [nodes, waits, time]) in rows {
        text += &format!("site\t{nodes}\t{waits}\t{time}\t");
        if (site as usize) < world.archive.sites.len() {
            let id = SiteId(site);
            let function = world.archive.text(world.archive.site(id).function.into());
            text += &format!("{}\t{function}\n", world.archive.place(id));
        } else {
            text += "\t\n";
        }
    }
    match file::create(path) {
        Ok(descriptor) => file::write_all(descriptor, text.as_bytes()),
        Err(file::Failed(error)) => {
            codes::say(Code::NoOutput, format_args!("stats: {path}: {error}"));
        }
    }
}

fn print(world: &World) {
    let (mut rows, total) = gather(world);
    let (epochs, decisions) = world.reached();
    let [nodes, waits, nanoseconds] = total;
    stderr::line(format_args!(
        "heddle: {nodes} nodes, {waits} waits of {} ms in all, {epochs} epochs, {decisions} decisions, {} threads",
        Milliseconds(nanoseconds),
        // Relaxed: as above.
        world.numbers.load(Ordering::Relaxed),
    ));
    rows.sort_by_key(|(site, [nodes, _, time])| (std::cmp::Reverse((*time, *nodes)), *site));
    stderr::line(format_args!("      nodes      waits  waited ms  where"));
    for (site, [nodes, waits, time]) in rows.iter().take(SHOWN) {
        let time = Milliseconds(*time);
        if *site as usize == world.archive.sites.len() {
            stderr::line(format_args!(
                "{nodes:>11}{waits:>11}{time:>11}  the beginning of epochs"
            ));
            continue;
        }
        let id = SiteId(*site);
        let function = world.archive.text(world.archive.site(id).function.into());
        let place = world.archive.place(id);
        stderr::line(format_args!(
            "{nodes:>11}{waits:>11}{time:>11}  {place} in {function}"
        ));
    }
    if rows.len() > SHOWN {
        stderr::line(format_args!("  and {} more places", rows.len() - SHOWN));
    }
}

/// Nanoseconds, printed as milliseconds.
struct Milliseconds(u64);

impl std::fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0 as f64 / 1e6;
        match f.width() {
            Some(width) => write!(f, "{text:>width$.3}"),
            None => write!(f, "{text:.3}"),
        }
    }
}
