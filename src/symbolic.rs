//! `heddle symbolic`: executes a program by hand, one path, and shows what the symbolic engine knows. For people who work on Heddle, or who
//! want to know why a decision is late.

use std::ffi::OsString;
use std::io::BufRead as _;

use anyhow::Result;
use enumerator::analysis::Facts;
use enumerator::symbolic::desk::Desk;

use crate::Verdict;
use crate::enumerate::take_values;
use crate::input::Inputs;
use crate::output::print;

#[derive(clap::Args)]
#[command(
    override_usage = "heddle symbolic PROGRAM [FLAGS] [--input NAME]... [--word TEXT]...",
    after_help = AFTER_HELP
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

const AFTER_HELP: &str = "\
Options:
      --input NAME  the contents of this global variable are not known; may be given several times
      --word TEXT   an argument on the program's command line; may be given several times

Commands, one a line on standard input:
  step [N]   executes N instructions [default: 1]
  run        executes until something has to be chosen
  to LINE    executes until this source line
  take WAY   goes one way of a branch
  pass       passes a synchronization call as if it had returned 0 and done nothing
  state      shows path, stack and memory
  why NAME   shows a variable's values, and where each unknown in them comes from

Examples:
  printf 'to 12\\nwhy count\\n' | heddle symbolic prog.c --input limit";

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut words = arguments.words.clone();
    let unknown = take_values(&mut words, "--input")?;
    let mut given = vec!["program".to_owned()];
    given.extend(take_values(&mut words, "--word")?);
    let prepared = Inputs::parse(&words)?.prepare()?;
    let module = enumerator::model::load::load_bytes(&prepared.bitcode.0, "program")?;
    let Some(main) = module.function_named("main") else {
        fail!(NoMain, "no function `main` is defined");
    };
    let facts = Facts::of(&module);
    let mut desk = match Desk::new(&module, &facts, main, &given, &unknown) {
        Ok(desk) => desk,
        Err(reason) => fail!(WrongUse, "{reason}"),
    };
    print(&desk.here())?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match obey(&mut desk, &line) {
            Some(Ok(text)) => print(&text)?,
            Some(Err(reason)) => print(&format!("{reason}\n"))?,
            None => fail!(
                WrongUse,
                "`{line}` is no command; see heddle symbolic --help"
            ),
        }
    }
    Ok(Verdict::Fine)
}

/// What a command shows; `None` if it is none.
fn obey(desk: &mut Desk<'_>, line: &str) -> Option<Result<String, String>> {
    let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let rest = rest.trim();
    Some(match (word, rest) {
        ("", "") => Ok(String::new()),
        ("step", "") => Ok(desk.step(1)),
        ("step", count) => Ok(desk.step(count.parse().ok()?)),
        ("run", "") => Ok(desk.run()),
        ("to", line) => Ok(desk.to(line.parse().ok()?)),
        ("take", way) => desk.take(way.parse().ok()?),
        ("pass", "") => desk.pass(),
        ("state", "") => Ok(desk.dump()),
        ("why", name) if !name.is_empty() => desk.why(name),
        _ => return None,
    })
}
