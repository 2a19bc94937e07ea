//! `heddle check`: the deadlocks that an archive knows of. Needs neither program, compiler nor solver.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use schedules::Archive;
use schedules::check::{Sources, check, to_json, to_text};

use crate::Verdict;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    /// Prints the findings as JSON
    #[arg(long)]
    json: bool,
    /// Where to look for the sources, besides here and beside the archive
    #[arg(long, value_name = "FOLDER")]
    source: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    let verdict = check(&archive);
    if arguments.json {
        crate::output::print(&format!("{}\n", to_json(&verdict)))?;
    } else {
        crate::output::print(&to_text(&verdict, &Files::new(arguments)))?;
    }
    Ok(match verdict.findings.is_empty() {
        true => Verdict::Fine,
        false => Verdict::Findings,
    })
}

/// Sources as files. Each is read once.
struct Files {
    folders: Vec<PathBuf>,
    read: RefCell<BTreeMap<String, Option<String>>>,
}

impl Files {
    fn new(arguments: &Arguments) -> Self {
        let beside = arguments.archive.parent().map(Path::to_owned);
        Self {
            folders: arguments
                .source
                .iter()
                .cloned()
                .chain([PathBuf::new()])
                .chain(beside)
                .collect(),
            read: RefCell::default(),
        }
    }

    fn find(&self, file: &str) -> Option<String> {
        let mut places = self.folders.iter().map(|folder| folder.join(file));
        places.find_map(|path| {
            let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
            is_file
                .then(|| std::fs::read_to_string(path).ok())
                .flatten()
        })
    }
}

impl Sources for Files {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut read = self.read.borrow_mut();
        let text = read
            .entry(file.to_owned())
            .or_insert_with(|| self.find(file));
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        text.as_ref()?.lines().nth(index).map(str::to_owned)
    }
}
