//! `heddle prepare`: the canonical bitcode that enumerator and instrumenter share.

use std::ffi::OsString;
use std::fmt::Write as _;

use anyhow::Result;

use crate::Verdict;
use crate::codes::Code;
use crate::extract::write_whole;
use crate::input::Inputs;

#[derive(clap::Args)]
#[command(
    override_usage = "heddle prepare PROGRAM -o PREPARED.bc [--sites]",
    after_help = "\
Options:
      --sites  lists every site: its stable id, its place, and the instruction

Examples:
  heddle prepare prog.c -O2 -o prog.bc --sites"
)]
pub(crate) struct Arguments {
    /// C sources with their compiler flags, bitcode, or one program made with `heddle cc`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut words = arguments.words.clone();
    let lists_sites = words.iter().any(|word| word == "--sites");
    words.retain(|word| word != "--sites");
    let inputs = Inputs::parse(&words)?;
    let Some(output) = &inputs.output else {
        fail!(WrongUse, "say where to write the bitcode: -o FILE");
    };
    if let Some(input) = inputs.overwritten_by(output) {
        fail!(Overwritten, "{}: would be overwritten", input.display());
    }
    let prepared = inputs.prepare()?;
    let sites = instrument_pass::site_table(&prepared.bitcode)?;
    write_whole(output, &prepared.bitcode.0)?;
    let mut text = format!("{}: {} sites\n", output.display(), sites.len());
    for name in &prepared.opaque {
        let _ = writeln!(text, "without bitcode: {name}");
    }
    for site in sites.iter().filter(|_| lists_sites) {
        let _ = writeln!(
            text,
            "{:016x} {} {}: {}",
            site.stable, site.place, site.function, site.text
        );
    }
    crate::output::print(&text)?;
    let unsupported = instrument_pass::unsupported(&prepared.bitcode)?;
    for error in &unsupported {
        eprintln!("heddle: warning: {error} [{}]", Code::Refused);
    }
    if unsupported.is_empty() {
        Ok(Verdict::Fine)
    } else {
        eprintln!("heddle: warning: this program can be prepared, but not enforced");
        Ok(Verdict::Findings)
    }
}
