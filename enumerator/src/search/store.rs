//! Outcomes on disk, so that an enumeration that was killed goes on where it was.
//!
//! One file an outcome, named by a digest of the world it begins with and by one of its footprint: what else of the program it depends
//! on. After an edit, outcomes whose footprint still stands are used again. A file is written under another name and renamed, and
//! carries a checksum: whatever is damaged, cut or of another make is as if it were not there. Storing is a convenience: when it
//! fails, the enumeration goes on without.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::explore::Ground;
use super::footprint::{Footprint, Parts};
use super::outcome::{Outcome, Start, Task};
use crate::model::FuncId;
use crate::symbolic::engine::Engine;
use crate::symbolic::portable::{Reader, Writer, names_in};

/// Names a task among all tasks of one enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Digest(u128);

impl Digest {
    pub(super) fn of(ground: Ground<'_>, task: &Task) -> Self {
        Self(xxh3_128(&task.bytes(ground.module)))
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A folder of outcomes, or nothing.
pub(super) struct Store<'g> {
    folder: Option<PathBuf>,
    /// Of options and tool, and of what is asked about the whole program.
    base: Vec<u8>,
    parts: Parts<'g>,
    /// Files by key.
    files: Mutex<BTreeMap<u128, BTreeSet<PathBuf>>>,
}

impl<'g> Store<'g> {
    pub(super) fn open(ground: Ground<'g>) -> Self {
        let folder = ground.options.store.clone();
        let folder = folder.filter(|folder| std::fs::create_dir_all(folder).is_ok());
        Self {
            files: Mutex::new(folder.as_deref().map(files_in).unwrap_or_default()),
            folder,
            base: base(ground),
            parts: Parts::of(ground),
        }
    }

    /// Names everything an outcome depends on, apart from its footprint.
    fn key(&self, task: &Task) -> u128 {
        let mut out = Writer::default();
        out.slice(&self.base);
        out.flag(task.marked.keep_order);
        out.flag(task.marked.prefer_elastic);
        out.text(&format!("{:?}", task.marked.uncounted));
        match &task.start {
            Start::Main => out.number(0),
            Start::World(bytes) => {
                out.number(1);
                out.slice(bytes);
            }
        }
        xxh3_128(&out.finish())
    }

    pub(super) fn load(&self, ground: Ground<'_>, task: &Task) -> Option<Outcome> {
        if self.folder.is_none() || task.closing {
            return None;
        }
        let key = self.key(task);
        let files = self.files.lock().expect("nobody panics with it");
        let files = files.get(&key).cloned().unwrap_or_default();
        files
            .iter()
            .find_map(|file| self.load_file(ground, task, file))
    }

    fn load_file(&self, ground: Ground<'_>, task: &Task, file: &Path) -> Option<Outcome> {
        let bytes = std::fs::read(file).ok()?;
        let (sum, body) = bytes.split_at_checked(8)?;
        if sum != xxh3_64(body).to_le_bytes() {
            return None;
        }
        let mut body = Reader::new(body);
        let footprint = Footprint::read(&mut body).ok()?;
        if !self.parts.stands(ground.names, &task.marked, &footprint) {
            return None;
        }
        let outcome = Outcome::read(ground.names, &mut body).ok()?;
        let is_known = |name: &String| {
            ground.names.function(name).is_some() || ground.names.global(name).is_some()
        };
        let readable = |world: &Vec<u8>| names_in(world).is_ok_and(|all| all.iter().all(is_known));
        outcome.ends.iter().all(readable).then_some(outcome)
    }

    pub(super) fn save(&self, ground: Ground<'_>, task: &Task, outcome: &Outcome) {
        let Some(folder) = &self.folder else {
            return;
        };
        if outcome.cut || task.closing {
            return;
        }
        let footprint = self.footprint(ground, task, outcome);
        let mut body = Writer::default();
        footprint.write(&mut body);
        let print = xxh3_128(&body.clone().finish());
        outcome.write(ground.module, &mut body);
        let body = body.finish();
        let mut bytes = xxh3_64(&body).to_le_bytes().to_vec();
        bytes.extend(body);
        let key = self.key(task);
        let path = folder.join(format!("{key:032x}-{print:032x}.outcome"));
        let unfinished = path.with_extension("unfinished");
        let written = std::fs::write(&unfinished, bytes);
        if written
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .is_err()
        {
            // A full disk, most likely: the next run does it again.
            let _ = std::fs::remove_file(&unfinished);
            return;
        }
        let mut files = self.files.lock().expect("nobody panics with it");
        files.entry(key).or_default().insert(path);
    }

    fn footprint(&self, ground: Ground<'_>, task: &Task, outcome: &Outcome) -> Footprint {
        let mut named = BTreeSet::new();
        let mut touched: BTreeSet<String> = outcome.touched.iter().cloned().collect();
        if let Start::World(bytes) = &task.start {
            let names = names_in(bytes).unwrap_or_default();
            touched.extend(names.iter().cloned());
            named.extend(names);
        }
        for world in &outcome.ends {
            named.extend(names_in(world).unwrap_or_default());
        }
        let touched: Vec<String> = touched.into_iter().collect();
        self.parts
            .footprint(ground.names, &task.marked, &touched, &named)
    }
}

/// The files of a store, by key.
fn files_in(folder: &Path) -> BTreeMap<u128, BTreeSet<PathBuf>> {
    let mut files: BTreeMap<u128, BTreeSet<PathBuf>> = BTreeMap::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let key = name.split_once('-').filter(|_| name.ends_with(".outcome"));
        let key = key.and_then(|(key, _)| u128::from_str_radix(key, 16).ok());
        if let Some(key) = key {
            files.entry(key).or_default().insert(path);
        }
    }
    files
}

/// What every outcome depends on.
fn base(ground: Ground<'_>) -> Vec<u8> {
    let mut base = Writer::default();
    base.text(&tool());
    base.number(ground.options.thread_bound.into());
    base.text(&format!(
        "{:?} {:?}",
        ground.options.ideas, ground.options.strategy
    ));
    base.count(ground.options.assumptions.len());
    for assumption in &ground.options.assumptions {
        base.text(assumption);
    }
    base.text(&ground.options.inputs.join(" "));
    let name = |id: FuncId| ground.module.functions[id].name.as_str();
    let engine = Engine::new(ground.module, ground.facts);
    base.flag(engine.only_normal_mutexes());
    base.text(&ground.module.assembly);
    base.text(&format!("{:?}", ground.limits));
    for id in ground.facts.exposed().chain([ground.main]) {
        base.text(name(id));
    }
    for id in ground
        .module
        .constructors
        .iter()
        .chain(&ground.module.destructors)
    {
        base.text(name(*id));
    }
    base.finish()
}

/// Removes a store: its own files, then the folder if nothing else is in it.
pub fn remove_store(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let ours = path.extension();
        if ours.is_some_and(|end| end == "outcome" || end == "unfinished") {
            let _ = std::fs::remove_file(path);
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// Which make of the tool: a development build changes without changing its version.
fn tool() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let make = program.map(|data| {
        let modified = data.modified().ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        (data.len(), since.map(|since| since.as_nanos()))
    });
    format!("{} {:?}", env!("CARGO_PKG_VERSION"), make.ok())
}
