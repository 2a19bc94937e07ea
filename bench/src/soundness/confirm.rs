//! Deadlocks that an archive calls certain, on inputs that the trial did not try: the oracle is asked about the example given.
//!
//! Deliberately absent: inputs from files, whose bytes the archive has no names for that lead back to the file; examples that are
//! too large to explore; deadlocks that are only called possible.

use super::generate::MOST_STATES;
use super::oracle::{self, Outcome};
use super::program::{Program, Source};
use super::trial::{Finding, Wrong};

/// The first example that is none.
pub(super) fn refuted(program: &Program, examples: &[Vec<(String, String)>]) -> Option<Finding> {
    if program.source != Source::Arguments {
        return None;
    }
    (examples.iter()).find_map(|example| refute(program, example))
}

fn refute(program: &Program, example: &[(String, String)]) -> Option<Finding> {
    let wrong = |said: &str| {
        let shown: Vec<String> = (example.iter())
            .map(|(k, v)| format!("{k} = {v}"))
            .collect();
        let said = format!("called certain on {}: {said}", shown.join(", "));
        Some(Finding::new(Wrong::FalseDeadlock, &[], said))
    };
    let mut inputs = vec![None; program.inputs.into()];
    for (name, value) in example {
        let Some(k) = argument(name) else {
            continue;
        };
        let (Some(place), Some(value)) = (inputs.get_mut(k), number(value)) else {
            continue;
        };
        if place.replace(value).is_some_and(|known| known != value) {
            return wrong("the same input twice");
        }
    }
    let inputs: Vec<u32> = inputs.into_iter().map(Option::unwrap_or_default).collect();
    match oracle::outcomes(program, &inputs, 4 * MOST_STATES) {
        Ok(ends) if !ends.contains(&Outcome::Deadlock) => {
            wrong("no order of the program deadlocks")
        }
        _ => None,
    }
}

/// The input that `argv[1]`, `argv[2]` ... is.
fn argument(name: &str) -> Option<usize> {
    let index = name.strip_prefix("argv[")?.strip_suffix(']')?;
    index.parse::<usize>().ok()?.checked_sub(1)
}

/// What `atoi` makes of a quoted text, as the program keeps it.
fn number(value: &str) -> Option<u32> {
    let number: i64 = value.trim_matches('"').parse().ok()?;
    Some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Level, generate};
    use super::super::program::{Expr, Mutex, Op, Stmt};
    use super::*;

    fn says(program: &Program, example: &[(&str, &str)]) -> Option<String> {
        let owned = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
        let example = example.iter().map(owned).collect();
        refuted(program, &[example]).map(|finding| finding.detail)
    }

    /// `if (input == 9) lock twice`, for all 32-bit inputs.
    #[test]
    fn examples_are_tried() {
        let twice = Stmt::Section(
            Mutex::Fixed(0),
            vec![Stmt::Section(Mutex::Fixed(0), Vec::new())],
        );
        let test = Expr::Bin(Op::Eq, Box::new(Expr::Input(0)), Box::new(Expr::Const(9)));
        let program = Program {
            inputs: 1,
            raw_inputs: true,
            source: Source::Arguments,
            main: vec![Stmt::If(test, vec![twice], Vec::new())],
            ..generate(1, Level::Unbounded)
        };
        assert_eq!(says(&program, &[("argc", "2"), ("argv[1]", "\"9\"")]), None);
        let eight = says(&program, &[("argv[1]", "\"8\"")]).expect("no deadlock");
        assert!(
            eight.ends_with("no order of the program deadlocks"),
            "{eight}"
        );
        let two = says(&program, &[("argv[1]", "\"9\""), ("argv[1]", "\"8\"")]);
        assert!(two.expect("impossible").ends_with("the same input twice"));
    }
}
