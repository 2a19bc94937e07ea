//! `getopt` where the arguments are assumed: it returns what the C library would return.
//!
//! Guarantees: a result only where every C library configuration agrees. Whether options behind other arguments count depends on the
//! environment (`POSIXLY_CORRECT`), so such command lines are left open.
//!
//! Deliberately absent: long options (`--name`), which are left open too.

use super::calls::At;
use super::engine::Engine;
use super::expr::Expr;
use super::state::{Scan, State, Val};
use crate::model::{Call, Type};

/// What one call of `getopt` does.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    returns: i32,
    /// The argument of the option: position in `argv` and in that text.
    argument: Option<(usize, usize)>,
    /// What `optopt` becomes.
    odd: Option<u8>,
    next: Scan,
}

impl Engine<'_> {
    /// A call of `getopt` or one of its kin; `None` if something it needs is not known.
    pub(super) fn next_option(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<i32> {
        let from = state.options.take()?;
        let count = self.scalar(state, slot, &call.args[0], &Type::Int(32));
        let count = self.pool.as_const(count)? as usize;
        let array = self.scalar(state, slot, &call.args[1], &Type::Ptr);
        let letters = self.scalar(state, slot, &call.args[2], &Type::Ptr);
        let letters = self.known_text(state, letters)?;
        if name == "getopt_long_only" || !self.untouched(state, from) {
            return None;
        }
        let first = from.passed as usize + 1;
        let mut pointers = Vec::new();
        let mut texts = Vec::new();
        for index in first..count {
            let place = self.offset_pointer(array, 8 * index as i64);
            let pointer = self.load(state, at, &call.args[1], place, &Type::Ptr);
            let Val::Scalar(pointer) = pointer else {
                return None;
            };
            texts.push(self.known_text(state, pointer)?);
            pointers.push(pointer);
        }
        let long = name == "getopt_long";
        let step = step(&letters, &texts, first, from, long)?;
        let argument = match step.argument {
            Some((index, offset)) => self.offset_pointer(pointers[index - first], offset as i64),
            None => self.pool.constant(64, 0),
        };
        self.set_library(state, "optarg", argument);
        let next = self.pool.constant(32, u128::from(step.next.passed) + 1);
        self.set_library(state, "optind", next);
        if let Some(odd) = step.odd {
            let odd = self.pool.constant(32, odd.into());
            self.set_library(state, "optopt", odd);
        }
        state.options = Some(step.next);
        Some(step.returns)
    }

    /// Has the program left `optind` as the library set it?
    fn untouched(&mut self, state: &mut State, from: Scan) -> bool {
        let Some(id) = self.module.global_named("optind") else {
            return true;
        };
        let object = self.global_object(id);
        let value = self.read(state, object, 0, 4);
        self.pool.as_const(value) == Some(u128::from(from.passed) + 1)
    }

    fn set_library(&mut self, state: &mut State, name: &str, value: Expr) {
        if let Some(id) = self.module.global_named(name) {
            let object = self.global_object(id);
            self.write(state, object, 0, value);
        }
    }
}

/// `texts` are the arguments from position `first` on.
fn step(letters: &[u8], texts: &[Vec<u8>], first: usize, from: Scan, long: bool) -> Option<Step> {
    let letters = letters.strip_prefix(b"+").unwrap_or(letters);
    if letters.starts_with(b"-") || letters.windows(2).any(|pair| pair == b"W;") {
        return None;
    }
    let quiet = letters.starts_with(b":");
    let end = |passed: usize| Step {
        returns: -1,
        argument: None,
        odd: None,
        next: Scan {
            passed: passed as u32,
            letters: 0,
        },
    };
    let passed = from.passed as usize;
    let Some(text) = texts.first() else {
        return Some(end(passed));
    };
    let mut done = from.letters as usize;
    if done == 0 {
        if !is_option(text) {
            let mixed = texts.iter().any(|text| is_option(text));
            return (!mixed).then(|| end(passed));
        }
        if text == b"--" {
            return Some(end(passed + 1));
        }
        if long && text.starts_with(b"--") {
            return None;
        }
        done = 1;
    }
    let letter = text[done];
    let rest = done + 1;
    let after = |over: bool, more: usize| Scan {
        passed: (passed + usize::from(over) + more) as u32,
        letters: if over { 0 } else { rest as u32 },
    };
    let over = rest == text.len();
    let known = letters.iter().position(|known| *known == letter);
    let Some(place) = known.filter(|_| !matches!(letter, b':' | b';')) else {
        return Some(Step {
            returns: i32::from(b'?'),
            argument: None,
            odd: Some(letter),
            next: after(over, 0),
        });
    };
    let found = |argument, next| Step {
        returns: letter.into(),
        argument,
        odd: None,
        next,
    };
    let colon = |at: usize| letters.get(place + at) == Some(&b':');
    Some(match (colon(1), colon(2), over) {
        (false, ..) => found(None, after(over, 0)),
        (true, _, false) => found(Some((first, rest)), after(true, 0)),
        (true, true, true) => found(None, after(true, 0)),
        (true, false, true) if texts.len() > 1 => found(Some((first + 1, 0)), after(true, 1)),
        (true, false, true) => Step {
            returns: i32::from(if quiet { b':' } else { b'?' }),
            argument: None,
            odd: Some(letter),
            next: after(true, 0),
        },
    })
}

fn is_option(text: &[u8]) -> bool {
    text.len() > 1 && text[0] == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is returned for a command line, until the end or something unknown.
    fn all(letters: &str, line: &str) -> Vec<String> {
        let line: Vec<Vec<u8>> = line.split_whitespace().map(|t| t.into()).collect();
        let mut at = Scan::default();
        let mut found = Vec::new();
        loop {
            let first = at.passed as usize + 1;
            let texts = line.get(first - 1..).unwrap_or_default();
            let Some(step) = step(letters.as_bytes(), texts, first, at, false) else {
                found.push("open".to_owned());
                return found;
            };
            at = step.next;
            if step.returns < 0 {
                found.push(format!("end {}", at.passed + 1));
                return found;
            }
            let mut text = (step.returns as u8 as char).to_string();
            if let Some((index, offset)) = step.argument {
                text.push(' ');
                text.push_str(std::str::from_utf8(&line[index - 1][offset..]).unwrap());
            }
            if let Some(odd) = step.odd {
                text.push_str(&format!(" odd {}", odd as char));
            }
            found.push(text);
        }
    }

    #[test]
    fn options_are_read_as_the_library_reads_them() {
        let cases: [(&str, &str, &[&str]); 12] = [
            (
                "p:m:st",
                "-p2 -st -m 4 x",
                &["p 2", "s", "t", "m 4", "end 5"],
            ),
            ("p:", "", &["end 1"]),
            ("p:", "x y", &["end 1"]),
            ("p:", "x -p1", &["open"]),
            ("p:", "-- -p1", &["end 2"]),
            ("p:", "-p", &["? odd p", "end 2"]),
            (":p:", "-p", &[": odd p", "end 2"]),
            ("ab", "-axb", &["a", "? odd x", "b", "end 2"]),
            ("p::q", "-p -q", &["p", "q", "end 3"]),
            ("p::q", "-pq -q", &["p q", "q", "end 3"]),
            ("p:", "-", &["end 1"]),
            ("-p:", "-p1", &["open"]),
        ];
        for (letters, line, expected) in cases {
            assert_eq!(all(letters, line), expected, "{letters} on {line}");
        }
    }
}
