//! `heddle enumerate`: from a program to its archive.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use instrument_pass::Bitcode;
use schedules::Archive;
use schedules::verify::Problem;

use crate::Verdict;
use crate::codes::Code;
use crate::findings::{self, Size};
use crate::input::Inputs;
use crate::progress::{Reporter, Voice};
use crate::settings::Settings;

#[derive(clap::Args)]
#[command(after_help = OPTIONS, override_usage = "heddle enumerate PROGRAM [-o ARCHIVE] [OPTIONS]")]
pub(crate) struct Arguments {
    /// C sources with their compiler flags, bitcode, or one program made with `heddle cc`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

const OPTIONS: &str = concat!(
    enumeration_options!(),
    "

Examples:
  heddle enumerate prog.c -lm                      # writes prog.heddle
  heddle enumerate ./prog -o prog.heddle --time 60 # a program made with `heddle cc`"
);

/// Options of the enumeration, taken out of a command line.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    pub(crate) threads: u32,
    pub(crate) assumptions: Vec<String>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) jobs: usize,
    /// Where results are kept for the next run, if the user said where.
    pub(crate) store: Option<PathBuf>,
    /// How much is said meanwhile.
    pub(crate) voice: Voice,
    /// Global variables that are inputs.
    pub(crate) inputs: Vec<String>,
    /// For measurements, not in the help: `--strategy NAME`.
    pub(crate) strategy: enumerator::Strategy,
    /// For measurements, not in the help: `--without IDEA`.
    pub(crate) ideas: enumerator::Ideas,
}

impl Choices {
    /// Takes our own options out; what is left is the compiler's. What `heddle.toml` says comes first.
    pub(crate) fn take(words: &mut Vec<OsString>) -> Result<Self> {
        let settings = match take_values(words, "--config")?.pop() {
            Some(file) => Settings::read(Path::new(&file))?,
            None => Settings::found()?,
        };
        Self::take_over(settings, words)
    }

    fn take_over(settings: Settings, words: &mut Vec<OsString>) -> Result<Self> {
        let mut choices = Choices {
            threads: settings
                .threads
                .unwrap_or(enumerator::Options::default().thread_bound),
            assumptions: settings.assume,
            time_limit: settings.time_limit.map(Duration::from_secs),
            inputs: settings.inputs,
            memory_limit: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            store: None,
            voice: take_voice(words),
            strategy: enumerator::Strategy::default(),
            ideas: enumerator::Ideas::default(),
        };
        if let Some(number) = take_values(words, "--threads")?.pop() {
            choices.threads = match number.parse() {
                Ok(number) if number > 0 => number,
                _ => fail!(WrongUse, "--threads {number}: not a number of threads"),
            };
        }
        for name in ["--time", "--time-limit"] {
            if let Some(seconds) = take_values(words, name)?.pop() {
                let seconds = seconds
                    .parse()
                    .with_context(|| format!("{name} {seconds}: not a number of seconds"))?;
                choices.time_limit = Some(Duration::from_secs(seconds));
            }
        }
        if let Some(size) = take_values(words, "--memory")?.pop() {
            choices.memory_limit = Some(bytes(&size).with_context(|| {
                format!("--memory {size}: not a number of bytes, like 512M or 4G")
            })?);
        }
        if let Some(number) = take_values(words, "--jobs")?.pop() {
            choices.jobs = match number.parse() {
                Ok(number) if number > 0 => number,
                _ => fail!(WrongUse, "--jobs {number}: not a number of jobs"),
            };
        }
        choices.store = take_values(words, "--store")?.pop().map(PathBuf::from);
        choices.assumptions.extend(take_values(words, "--assume")?);
        if let Some(name) = take_values(words, "--strategy")?.pop() {
            let mut all = enumerator::Strategy::ALL.iter();
            choices.strategy = match all.find(|(known, _)| *known == name) {
                Some((_, strategy)) => *strategy,
                None => fail!(WrongUse, "--strategy {name}: there is no such strategy"),
            };
        }
        for idea in take_values(words, "--without")? {
            leave_out(&mut choices.ideas, &idea)?;
        }
        Ok(choices)
    }

    /// A result for people, unless they want to hear of errors only.
    pub(crate) fn say(&self, text: &str) -> Result<()> {
        match self.voice {
            Voice::Quiet => Ok(()),
            _ => crate::output::print(&format!("{text}\n")),
        }
    }
}

/// `--quiet`, `--verbose` and `--log-json`; the last one counts.
fn take_voice(words: &mut Vec<OsString>) -> Voice {
    let named = |word: &OsString| match word.to_str() {
        Some("--quiet") => Some(Voice::Quiet),
        Some("--verbose") => Some(Voice::Verbose),
        Some("--log-json") => Some(Voice::Json),
        _ => None,
    };
    let voice = words.iter().filter_map(named).next_back();
    words.retain(|word| named(word).is_none());
    voice.unwrap_or_default()
}

/// A number of bytes, with `K`, `M` or `G` behind it or without.
fn bytes(text: &str) -> Option<u64> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units.iter().find_map(|(letter, shift)| {
        let number = text.strip_suffix(letter)?;
        Some((number, *shift))
    });
    let (number, shift) = unit.unwrap_or((text, 0));
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(1 << shift)
}

/// Switches one idea of the enumeration off.
fn leave_out(ideas: &mut enumerator::Ideas, name: &str) -> Result<()> {
    match name {
        "merging" => ideas.merging = false,
        "slice" => ideas.slice = false,
        "elastic" => ideas.elastic = false,
        "late" => ideas.late = false,
        "joins" => ideas.joins = false,
        "symbolic-slots" => ideas.symbolic_slots = false,
        "sharing" => ideas.sharing = false,
        _ => fail!(WrongUse, "--without {name}: there is no such idea"),
    }
    Ok(())
}

/// Removes `name VALUE` and `name=VALUE`; the values in order.
pub(crate) fn take_values(words: &mut Vec<OsString>, name: &str) -> Result<Vec<String>> {
    let mut values = Vec::new();
    let mut kept = Vec::new();
    let mut rest = words.drain(..);
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if text == name {
            let Some(value) = rest.next() else {
                fail!(WrongUse, "{name} needs a value");
            };
            values.push(value.to_string_lossy().into_owned());
        } else if let Some(value) = text.strip_prefix(name).and_then(|t| t.strip_prefix('=')) {
            values.push(value.to_owned());
        } else {
            kept.push(word);
        }
    }
    drop(rest);
    *words = kept;
    Ok(values)
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut words = arguments.words.clone();
    let choices = Choices::take(&mut words)?;
    let inputs = Inputs::parse(&words)?;
    let output = match &inputs.output {
        Some(output) => output.clone(),
        None => inputs.first().with_extension("heddle"),
    };
    if let Some(input) = inputs.overwritten_by(&output) {
        fail!(
            Overwritten,
            "{}: would be overwritten by the archive",
            input.display()
        );
    }
    let prepared = inputs.prepare()?;
    let found = enumerate(&prepared.bitcode, &choices, &stem(&output), &output)?;
    found.archive.write(&output)?;
    choices.say(&format!(
        "{}: {}",
        output.display(),
        Size::of(&found.archive)
    ))?;
    Ok(conclude(&choices, &found, &output))
}

/// The archive's file name without its extension: what the program is called.
fn stem(output: &Path) -> String {
    let stem = output.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Results of an enumeration that may be killed are kept beside the archive it makes.
fn store_beside(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".store");
    PathBuf::from(name)
}

/// An archive, and whether there is more to find.
pub(crate) struct Found {
    pub(crate) archive: Archive,
    /// Somebody or a limit ended the search: the same command goes on where it was.
    pub(crate) was_cut: bool,
}

/// The archive is written. What was kept for the case that it would not be can go, unless the user wants it or needs it to go on.
pub(crate) fn conclude(choices: &Choices, found: &Found, path: &Path) -> Verdict {
    if !found.was_cut && choices.store.is_none() {
        enumerator::remove_store(&store_beside(path));
    }
    let verdict = judge(&found.archive, path);
    if found.was_cut {
        let store = choices.store.clone().unwrap_or_else(|| store_beside(path));
        eprintln!(
            "heddle: ended early; what was found is kept in {}: the same command goes on from there",
            store.display()
        );
    }
    verdict
}

/// What an enumeration may take without `--memory`: three quarters of what the machine has to give when it begins. A search that grows without
/// end then ends in an archive that says so, and not in a killed process.
fn most_memory() -> Option<u64> {
    let kilobytes = crate::doctor::machine::free_memory()?;
    Some(kilobytes / 4 * 3 * 1024)
}

/// Runs the enumerator, with progress; `archive` is where its result will be.
pub(crate) fn enumerate(
    prepared: &Bitcode,
    choices: &Choices,
    name: &str,
    archive: &Path,
) -> Result<Found> {
    let store = match &choices.store {
        Some(store) => store.clone(),
        None => store_beside(archive),
    };
    instrument_pass::require_main(prepared)?;
    refuse_unsupported(prepared)?;
    let options = enumerator::Options {
        thread_bound: choices.threads,
        assumptions: choices.assumptions.clone(),
        inputs: choices.inputs.clone(),
        name: name.to_owned(),
        time_limit: choices.time_limit,
        strategy: choices.strategy,
        ideas: choices.ideas,
        memory_limit: choices.memory_limit.or_else(most_memory),
        jobs: choices.jobs,
        store: Some(store),
    };
    let mut reporter = Reporter::new(choices.voice);
    let mut last = enumerator::Progress::default();
    let mut is_stopped = false;
    let archive = enumerator::enumerate(&prepared.0, &options, &mut |progress| {
        is_stopped |= reporter.report(progress);
        last = progress.clone();
        match is_stopped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    reporter.conclude(&last);
    let archive = archive?;
    check_own_work(&archive)?;
    Ok(Found {
        was_cut: last.ended.is_some(),
        archive,
    })
}

/// An archive that breaks a rule of archives is a fault of ours: it must not reach a program.
fn check_own_work(archive: &Archive) -> Result<()> {
    let broken = match Archive::from_bytes(&archive.to_bytes()) {
        Err(refusal) => format!("the archive {refusal}"),
        Ok(_) => {
            let problems = schedules::verify::verify(archive);
            // Slow is no reason to give a user nothing; our tests, which run with assertions, want to know.
            let matters = |problem: &&Problem| cfg!(debug_assertions) || !problem.only_costs_time();
            match problems.iter().find(matters) {
                Some(problem) => problem.to_string(),
                None => return Ok(()),
            }
        }
    };
    fail!(
        OurFault,
        "a fault in Heddle, please report it: its archive of this program breaks a rule ({broken}); nothing was written"
    )
}

/// Stops before anything is explored if the program uses what cannot be enforced; all of it in one message.
pub(crate) fn refuse_unsupported(prepared: &Bitcode) -> Result<()> {
    let found = instrument_pass::unsupported(prepared)?;
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    if !lines.is_empty() {
        fail!(Refused, "{}", lines.join("\n"));
    }
    Ok(())
}

/// Says what is missing.
pub(crate) fn judge(archive: &Archive, path: &Path) -> Verdict {
    let gaps = findings::gaps(archive);
    if gaps.is_empty() {
        return Verdict::Fine;
    }
    eprintln!(
        "heddle: warning: {} is incomplete; a run that leaves what was explored is stopped there [{}]:",
        path.display(),
        Code::Incomplete
    );
    for gap in &gaps {
        eprintln!("  {gap}");
    }
    Verdict::Findings
}

/// Where a program's archive goes: its own name with `.heddle` behind it.
pub(crate) fn archive_beside(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(".heddle");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn our_options_are_taken_out() {
        let mut line =
            words("--threads 4 a.c -O3 --assume=argc==2 --quiet --assume n<3 -lm --time-limit 9");
        let choices = Choices::take_over(Settings::default(), &mut line).unwrap();
        assert_eq!((choices.threads, choices.voice), (4, Voice::Quiet));
        assert_eq!(choices.assumptions, ["argc==2", "n<3"]);
        assert_eq!(choices.time_limit, Some(Duration::from_secs(9)));
        assert_eq!(line, words("a.c -O3 -lm"));
    }

    #[test]
    fn wrong_values_are_named() {
        for (line, said) in [
            ("--threads none", "--threads none: not a number of threads"),
            ("--threads 0", "--threads 0: not a number of threads"),
            ("--threads", "--threads needs a value"),
            ("--without sense", "--without sense: there is no such idea"),
        ] {
            let error = Choices::take_over(Settings::default(), &mut words(line)).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }
}
