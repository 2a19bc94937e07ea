//! `heddle enumerate`: from a program to its archive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use instrument_pass::Bitcode;
use schedules::Archive;

use crate::Verdict;
use crate::findings::{self, Size};
use crate::input::Inputs;
use crate::progress::Reporter;

#[derive(clap::Args)]
#[command(after_help = enumeration_options!(), override_usage = "heddle enumerate PROGRAM [-o ARCHIVE] [OPTIONS]")]
pub(crate) struct Arguments {
    /// C sources with their compiler flags, bitcode, or one program made with `heddle cc`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

/// Options of the enumeration, taken out of a command line.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    pub(crate) threads: u32,
    pub(crate) assumptions: Vec<String>,
    pub(crate) time_limit: Option<Duration>,
    /// For measurements, not in the help: `--without IDEA`.
    pub(crate) ideas: enumerator::Ideas,
}

impl Choices {
    /// Takes our own options out; what is left is the compiler's.
    pub(crate) fn take(words: &mut Vec<OsString>) -> Result<Self> {
        let mut choices = Choices {
            threads: enumerator::Options::default().thread_bound,
            assumptions: Vec::new(),
            time_limit: None,
            ideas: enumerator::Ideas::default(),
        };
        if let Some(number) = take_values(words, "--threads")?.pop() {
            choices.threads = match number.parse() {
                Ok(number) if number > 0 => number,
                _ => bail!("--threads {number}: not a number of threads"),
            };
        }
        if let Some(seconds) = take_values(words, "--time-limit")?.pop() {
            let seconds = seconds
                .parse()
                .with_context(|| format!("--time-limit {seconds}: not a number of seconds"))?;
            choices.time_limit = Some(Duration::from_secs(seconds));
        }
        for idea in take_values(words, "--without")? {
            leave_out(&mut choices.ideas, &idea)?;
        }
        choices.assumptions = take_values(words, "--assume")?;
        Ok(choices)
    }
}

/// Switches one idea of the enumeration off.
fn leave_out(ideas: &mut enumerator::Ideas, name: &str) -> Result<()> {
    match name {
        "merging" => ideas.merging = false,
        "slice" => ideas.slice = false,
        "elastic" | "late" | "joins" | "symbolic-slots" | "sharing" => {
            bail!("--without {name}: the enumeration cannot do without this idea yet")
        }
        _ => bail!("--without {name}: there is no such idea"),
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
            let value = rest
                .next()
                .with_context(|| format!("{name} needs a value"))?;
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
        bail!("{}: would be overwritten by the archive", input.display());
    }
    let prepared = inputs.prepare()?;
    let archive = enumerate(&prepared.bitcode, &choices, &stem(&output))?;
    archive.write(&output)?;
    println!("{}: {}", output.display(), Size::of(&archive));
    Ok(judge(&archive, &output))
}

/// The archive's file name without its extension: what the program is called.
fn stem(output: &Path) -> String {
    let stem = output.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Runs the enumerator, with progress.
pub(crate) fn enumerate(prepared: &Bitcode, choices: &Choices, name: &str) -> Result<Archive> {
    instrument_pass::require_main(prepared)?;
    refuse_unsupported(prepared)?;
    let options = enumerator::Options {
        thread_bound: choices.threads,
        assumptions: choices.assumptions.clone(),
        name: name.to_owned(),
        time_limit: choices.time_limit,
        ideas: choices.ideas,
    };
    let mut reporter = Reporter::new();
    let archive = enumerator::enumerate(&prepared.0, &options, &mut |progress| {
        reporter.report(progress);
    });
    drop(reporter);
    let archive = archive?;
    check_own_work(&archive)?;
    Ok(archive)
}

/// An archive that breaks a rule of archives is a fault of ours: it must not reach a program.
fn check_own_work(archive: &Archive) -> Result<()> {
    let broken = match Archive::from_bytes(&archive.to_bytes()) {
        Err(refusal) => format!("the archive {refusal}"),
        Ok(_) => match schedules::verify::verify(archive).first() {
            Some(problem) => problem.to_string(),
            None => return Ok(()),
        },
    };
    bail!(
        "a fault in Heddle, please report it: its archive of this program breaks a rule ({broken}); nothing was written"
    )
}

/// Stops before anything is explored if the program uses what cannot be enforced; all of it in one message.
fn refuse_unsupported(prepared: &Bitcode) -> Result<()> {
    let found = instrument_pass::unsupported(prepared)?;
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    if !lines.is_empty() {
        bail!("{}", lines.join("\nheddle: error: "));
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
        "heddle: warning: {} is incomplete; a run that leaves what was explored is stopped there:",
        path.display()
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
            words("--threads 4 a.c -O3 --assume=argc==2 --assume n<3 -lm --time-limit 9");
        let choices = Choices::take(&mut line).unwrap();
        assert_eq!(choices.threads, 4);
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
            let error = Choices::take(&mut words(line)).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }
}
