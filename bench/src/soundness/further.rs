//! What is looked at besides the archive and its runs: reuse after an edit or a kill, and the verdict on the program without Heddle.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use enumerator::search::native::Limits;
use instrument_pass::Bitcode;
use schedules::{Archive, Next};

use super::random::Random;
use super::road::{self, Built};
use super::subject::{Case, Subject};
use super::trial::{Finding, Heddle, Wrong};

/// Each time; edited programs may go on for ever.
const EDIT_LIMIT: Duration = Duration::from_secs(20);

/// Situations without Heddle: a tenth of a second.
const NATIVE_STATES: u64 = 10_000;

/// What was kept from the program, and from its edited forms before, must not show in the archive of the next: it is the one that is
/// made from nothing.
pub(super) fn reuse(
    folder: &Path,
    prepared: &Bitcode,
    subject: &Subject,
) -> Result<Option<Finding>> {
    if subject.edited.is_empty() {
        return Ok(None);
    }
    let store = folder.join("store");
    if road::explore(prepared, 1, Some(store.clone()), EDIT_LIMIT)?.was_cut {
        return Ok(None);
    }
    for source in &subject.edited {
        let Ok(prepared) = prepare_edited(folder, source) else {
            continue;
        };
        let alone = road::explore(&prepared, 1, None, EDIT_LIMIT)?;
        let reused = road::explore(&prepared, 1, Some(store.clone()), EDIT_LIMIT * 2)?;
        if alone.was_cut || reused.was_cut {
            return Ok(None);
        }
        if alone.archive.to_bytes() != reused.archive.to_bytes() {
            let detail = format!("after this edit what was kept shows in the archive:\n{source}");
            return Ok(Some(Finding::new(Wrong::StaleReuse, &[], detail)));
        }
    }
    Ok(None)
}

fn prepare_edited(folder: &Path, source: &str) -> Result<Bitcode> {
    let edited = folder.join("edited");
    std::fs::create_dir_all(&edited)?;
    std::fs::write(edited.join("prog.c"), source)?;
    Ok(road::prepare(&edited)?)
}

/// The command is killed at random moments; what it has left must not show in the archive that comes of it in the end.
pub(super) fn killed(
    heddle: &Heddle,
    folder: &Path,
    built: &Built,
    random: &mut Random,
) -> Result<Option<Finding>> {
    if built.was_cut {
        return Ok(None);
    }
    std::fs::create_dir_all(folder.join("killed"))?;
    let mut delays = Vec::new();
    for _ in 0..3 {
        let delay = Duration::from_micros(random.below(150_000) as u64);
        delays.push(delay);
        let mut child = Command::new(&heddle.0)
            .args(["enumerate", "prog.c", "-o", "killed/prog.heddle"])
            .args(["--store", "killed-store", "--jobs", "2"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(delay);
        let _ = child.kill();
        child.wait()?;
    }
    let store = Some(folder.join("killed-store"));
    let again = road::explore(&built.prepared, 1, store, EDIT_LIMIT * 2)?;
    if again.was_cut || again.archive.to_bytes() == built.archive.to_bytes() {
        return Ok(None);
    }
    let said = format!("after kills at {delays:?} the archive is another one");
    Ok(Some(Finding::new(Wrong::StaleReuse, &[], said)))
}

/// The verdict without Heddle against what the oracle found.
pub(super) fn native_verdict(prepared: &Bitcode, subject: &Subject) -> Result<Option<Finding>> {
    let options = road::options(1, None, EDIT_LIMIT);
    let mut go_on = |_: &enumerator::Progress| std::ops::ControlFlow::Continue(());
    let limits = Limits::of_states(NATIVE_STATES);
    let found = enumerator::explore_native(&prepared.0, &options, limits, &mut go_on)?;
    let deadlocks = subject.cases.iter().find(|case| case.may_deadlock());
    let finding = |wrong, case: Option<&Case>, said: &str| {
        let shown = case.map(Case::shown).unwrap_or_default();
        Ok(Some(Finding::new(wrong, &shown, said)))
    };
    if deadlocks.is_some() && found.complete && found.witnesses.is_empty() {
        let said = "every order was followed without Heddle, and none deadlocks";
        return finding(Wrong::MissedDeadlock, deadlocks, said);
    }
    let sure = found.witnesses.iter().any(is_certain);
    if deadlocks.is_none() && !subject.takes_more && sure {
        let said = "without Heddle, a deadlock is called certain that no order shows";
        return finding(Wrong::FalseDeadlock, None, said);
    }
    Ok(None)
}

fn is_certain(witness: &Archive) -> bool {
    let mut leaves = witness.steps.iter();
    leaves.any(|step| matches!(step.next, Next::Deadlock { certain: true, .. }))
}
