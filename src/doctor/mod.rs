//! `heddle doctor`: what this machine lacks, what that means, and the command that cures it.
//!
//! Each examination is a function that looks at one thing; the table [`EXAMINATIONS`] is the order in which they are told. An
//! examination either finds what it looks for, or says what is wrong and how to cure it; what only limits some uses is a warning and does
//! not change the exit status.

pub(crate) mod machine;
mod tools;

use anyhow::Result;
use schedules::json::Json;

use crate::Verdict;
use crate::output::{Color, Look, Style, fold};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Prints the same as JSON
    #[arg(long)]
    json: bool,
    /// Colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

const EXAMPLES: &str = "\
Status 1 if something is missing that Heddle cannot do without.

Examples:
  heddle doctor
  heddle doctor --json | jq '.[] | select(.state != \"ok\")'";

/// What an examination came to.
enum Finding {
    Fine(String),
    /// Some uses suffer.
    Warning(Complaint),
    /// Nothing works without it.
    Missing(Complaint),
}

struct Complaint {
    wrong: String,
    cure: String,
}

fn warning(wrong: impl Into<String>, cure: impl Into<String>) -> Finding {
    Finding::Warning(Complaint {
        wrong: wrong.into(),
        cure: cure.into(),
    })
}

fn missing(wrong: impl Into<String>, cure: impl Into<String>) -> Finding {
    Finding::Missing(Complaint {
        wrong: wrong.into(),
        cure: cure.into(),
    })
}

/// Everything that is looked at.
/// A name and what looks.
type Examination = (&'static str, fn() -> Finding);

const EXAMINATIONS: &[Examination] = &[
    ("heddle", tools::heddle),
    ("C compiler", tools::compiler),
    ("C++ compiler", tools::cxx_compiler),
    ("linker", tools::linker),
    ("C headers", tools::headers),
    ("runtime library", tools::runtime),
    ("a first program", tools::first_program),
    ("processor, kernel", machine::kernel),
    ("/proc", machine::proc),
    ("memory", machine::memory),
    ("address space", machine::address_space),
    ("threads", machine::threads),
    ("temporary folder", machine::temporary_folder),
    ("this folder", machine::this_folder),
    ("environment", machine::environment),
];

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let findings: Vec<(&str, Finding)> = EXAMINATIONS
        .iter()
        .map(|(what, examine)| (*what, examine()))
        .collect();
    let text = match arguments.json {
        true => format!("{}\n", findings.iter().map(json).collect::<Json>()),
        false => text(&findings, Look::new(arguments.color)),
    };
    crate::output::print(&text)?;
    let is_missing = |(_, finding): &(&str, Finding)| matches!(finding, Finding::Missing(_));
    Ok(match findings.iter().any(is_missing) {
        true => Verdict::Findings,
        false => Verdict::Fine,
    })
}

fn parts(finding: &Finding) -> (&'static str, &str, Option<&str>) {
    match finding {
        Finding::Fine(found) => ("ok", found, None),
        Finding::Warning(Complaint { wrong, cure }) => ("warning", wrong, Some(cure)),
        Finding::Missing(Complaint { wrong, cure }) => ("MISSING", wrong, Some(cure)),
    }
}

fn text(findings: &[(&str, Finding)], look: Look) -> String {
    let mut out = String::new();
    let mut complaints = 0;
    for (what, finding) in findings {
        let (state, said, cure) = parts(finding);
        let style = match finding {
            Finding::Fine(_) => Style::Good,
            Finding::Warning(_) => Style::Warning,
            Finding::Missing(_) => Style::Error,
        };
        let blank = " ".repeat(27);
        let said = fold(said, look.width, &blank, &blank);
        let state = look.paint(style, &format!("{state:<8}"));
        out += &format!("{state} {what:<17} {}\n", said.trim_start());
        if let Some(cure) = cure {
            complaints += 1;
            let cure = fold(&format!("cure: {cure}"), look.width, &blank, &blank);
            out += &format!("{cure}\n");
        }
    }
    out + &match complaints {
        0 => "doctor: everything is there\n".to_owned(),
        some => format!("doctor: {some} to cure\n"),
    }
}

fn json((what, finding): &(&str, Finding)) -> Json {
    let (state, said, cure) = parts(finding);
    Json::Object(vec![
        ("what", (*what).into()),
        ("state", state.to_lowercase().into()),
        ("said", said.into()),
        ("cure", cure.into()),
    ])
}
