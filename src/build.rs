//! `heddle build`: from sources, bitcode or a `heddle cc` binary to an executable that follows its archive.
//!
//! **Guarantees.** Executable and archive are both finished under temporary names before either takes its place. A command that
//! fails leaves what was there before. One that is killed between the two renames leaves a pair that does not belong
//! together, which the runtime refuses.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use instrument_pass::{InstrumentOptions, LinkOptions, Staged};
use schedules::Archive;

use crate::enumerate::{Choices, Found, archive_beside, conclude, enumerate, take_values};
use crate::findings::Size;
use crate::input::{Inputs, Prepared};
use crate::{Verdict, installation};

#[derive(clap::Args)]
#[command(
    after_help = OPTIONS,
    override_usage = "heddle build SOURCES... -o PROGRAM [OPTIONS] [COMPILER FLAGS]
       heddle build PROGRAM.bc -o PROGRAM [...]
       heddle build ./BINARY -o PROGRAM [...]"
)]
pub(crate) struct Arguments {
    /// C sources with their compiler flags, bitcode, or one program made with `heddle cc`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "INPUT"
    )]
    words: Vec<OsString>,
}

const OPTIONS: &str = concat!(
    "\
Options of the build:
  -o PROGRAM             the executable; its archive goes beside it as PROGRAM.heddle
      --embed            puts the archive into the executable, too
      --archive FILE     follows this archive, made before by `heddle enumerate`, instead of enumerating

",
    enumeration_options!(),
    "

Examples:
  heddle build prog.c -o prog -O2 -lm
  heddle build ./prog -o prog.enforced --embed     # a program made with `heddle cc`
  heddle build prog.c -o prog --assume 'argc==2' --time 60"
);

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut words = arguments.words.clone();
    let choices = Choices::take(&mut words)?;
    let embeds = words.iter().any(|word| word == "--embed");
    words.retain(|word| word != "--embed");
    let given = take_values(&mut words, "--archive")?.pop();
    let inputs = Inputs::parse(&words)?;
    let output = output(&inputs)?;
    let archive_path = archive_beside(&output);
    for path in [&output, &archive_path] {
        if let Some(input) = inputs.overwritten_by(path) {
            fail!(
                Overwritten,
                "{}: would be overwritten; choose another -o",
                input.display()
            );
        }
    }
    // Before the long part: what cannot be linked later need not be enumerated.
    let runtime = installation::runtime_library()?;

    let prepared = inputs.prepare()?;
    for name in &prepared.opaque {
        eprintln!("heddle: {name} has no bitcode: its functions are external");
    }
    let found = match &given {
        Some(path) => Found {
            archive: Archive::read(Path::new(path))?,
            was_cut: false,
        },
        None => enumerate(
            &prepared.bitcode,
            &choices,
            &file_name(&output),
            &archive_path,
        )?,
    };
    let archive = &found.archive;
    let staged = make(&prepared, archive, &inputs, &output, embeds, runtime)?;
    publish(archive, &archive_path, staged)?;
    choices.say(&format!(
        "{}: follows {}\n{}: {}",
        output.display(),
        archive_path.display(),
        archive_path.display(),
        Size::of(archive)
    ))?;
    Ok(conclude(&choices, &found, &archive_path))
}

fn output(inputs: &Inputs) -> Result<PathBuf> {
    match &inputs.output {
        Some(output) => Ok(output.clone()),
        None if inputs.are_sources() => Ok(PathBuf::from("a.out")),
        None => fail!(WrongUse, "say where to put the executable: -o PROGRAM"),
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Instruments, optimizes and links.
pub(crate) fn make(
    prepared: &Prepared,
    archive: &Archive,
    inputs: &Inputs,
    output: &Path,
    embeds: bool,
    runtime: PathBuf,
) -> Result<Staged> {
    let options = InstrumentOptions {
        archive_name: file_name(&archive_beside(output)),
        embedded: embeds.then(|| archive.to_bytes()),
    };
    let instrumented = instrument_pass::instrument(&prepared.bitcode, archive, &options)?;
    let options = LinkOptions {
        flags: inputs.link_flags.clone(),
        origin: Some(prepared.origin.clone()),
        runtime: Some(runtime),
    };
    Ok(instrument_pass::optimize_and_link(
        &instrumented,
        output,
        &options,
    )?)
}

/// Puts both in place; if the executable cannot be, the old archive comes back.
pub(crate) fn publish(archive: &Archive, path: &Path, staged: Staged) -> Result<()> {
    let old = std::fs::read(path).ok();
    archive.write(path)?;
    let Err(error) = staged.publish() else {
        return Ok(());
    };
    let restored = match &old {
        Some(bytes) => schedules::write::write_atomically(path, &[bytes]).map_err(Into::into),
        None => std::fs::remove_file(path).with_context(|| path.display().to_string()),
    };
    restored.context(error.to_string())?;
    Err(error.into())
}
