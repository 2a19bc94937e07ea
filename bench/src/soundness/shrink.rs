//! Makes a failing program small: removes and simplifies statements as long as it still fails.
//!
//! Every step keeps the rules of `program`: sections keep their locks, so a guarded variable stays guarded. Candidates that
//! could deadlock are not tried, unless the program itself can.

use super::generate::{can_deadlock, is_wanted};
use super::program::{Block, Expr, Mutex, Program, Recursive, Stmt, Storage};

/// A simplification of one statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Remove,
    /// The first block in place of the statement.
    First,
    /// The second block in place of the statement.
    Second,
    /// The statement itself, but plainer.
    Plain,
}

pub(super) const EDITS: [Edit; 4] = [Edit::Remove, Edit::First, Edit::Second, Edit::Plain];

/// The smallest program found that `fails`, after at most `budget` tries.
pub fn shrink(
    program: &Program,
    budget: usize,
    mut fails: impl FnMut(&Program) -> bool,
) -> Program {
    let mut best = program.clone();
    let mut left = budget;
    let deadlocks = can_deadlock(program);
    let mut attempt = |candidate: Program, best: &mut Program, left: &mut usize| {
        let wanted = match deadlocks {
            true => can_deadlock(&candidate),
            false => is_wanted(&candidate),
        };
        if *left == 0 || candidate == *best || !wanted {
            return false;
        }
        *left -= 1;
        let better = fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    for candidate in styles(&best) {
        attempt(candidate, &mut best, &mut left);
    }
    loop {
        let before = best.clone();
        for edit in EDITS {
            let mut at = 0;
            while at < best.size() && left > 0 {
                let candidate = edited(&best, edit, at);
                if !attempt(candidate, &mut best, &mut left) {
                    at += 1;
                }
            }
        }
        if best == before || left == 0 {
            return best;
        }
    }
}

fn styles(program: &Program) -> Vec<Program> {
    vec![
        Program {
            storage: Storage::Globals,
            create_in_loop: false,
            lock_by_function: false,
            lock_pointers: false,
            ..program.clone()
        },
        Program {
            storage: Storage::Globals,
            ..program.clone()
        },
        Program {
            create_in_loop: false,
            ..program.clone()
        },
        Program {
            lock_by_function: false,
            ..program.clone()
        },
    ]
}

/// The program with the edit made at the statement of that number, counted in the order of [`Program::tops`].
pub(super) fn edited(program: &Program, edit: Edit, at: usize) -> Program {
    let mut left = at;
    let mut threads = None;
    let mut each = |block: &Block| rewrite(block, edit, &mut left, &mut threads);
    let mut new = Program {
        onces: program.onces.iter().map(&mut each).collect(),
        helpers: program.helpers.iter().map(&mut each).collect(),
        recursives: (program.recursives.iter())
            .map(|r| Recursive {
                before: each(&r.before),
                after: each(&r.after),
            })
            .collect(),
        bodies: program.bodies.iter().map(&mut each).collect(),
        main: each(&program.main),
        ..program.clone()
    };
    // Fewer threads meet at the barrier.
    if let Some((before, after)) = threads {
        for barrier in &mut new.barriers {
            if *barrier == before {
                *barrier = after;
            }
        }
    }
    new
}

const DONE: usize = usize::MAX;

fn rewrite(block: &Block, edit: Edit, left: &mut usize, threads: &mut Option<(u8, u8)>) -> Block {
    let mut new = Vec::new();
    for stmt in block {
        if *left == 0 {
            *left = DONE;
            new.extend(apply(stmt, edit, threads));
            continue;
        }
        if *left != DONE {
            *left -= 1;
        }
        new.push(map_blocks(stmt, |inner| {
            rewrite(inner, edit, left, threads)
        }));
    }
    new
}

fn apply(stmt: &Stmt, edit: Edit, threads: &mut Option<(u8, u8)>) -> Block {
    let same = || vec![stmt.clone()];
    match (edit, stmt) {
        (Edit::Remove, _) => Vec::new(),
        (Edit::First, Stmt::If(_, then, _)) => then.clone(),
        (Edit::Second, Stmt::If(_, _, otherwise) | Stmt::Try(_, _, otherwise)) => otherwise.clone(),
        (Edit::First, Stmt::Repeat { body, .. } | Stmt::Drain { body, .. }) => body.clone(),
        (Edit::Plain, Stmt::Repeat { body, unless, .. }) => vec![Stmt::Repeat {
            times: Expr::Const(2),
            body: body.clone(),
            unless: unless.clone(),
        }],
        (Edit::Second, Stmt::Repeat { times, body, .. }) => vec![Stmt::Repeat {
            times: times.clone(),
            body: body.clone(),
            unless: None,
        }],
        (Edit::Plain, Stmt::Fill(work, _)) => vec![Stmt::Fill(*work, Expr::Const(1))],
        (
            Edit::Second,
            Stmt::Parallel {
                first, count, body, ..
            },
        ) => vec![Stmt::Parallel {
            first: *first,
            count: *count,
            some: None,
            body: body.clone(),
        }],
        (Edit::Plain, Stmt::Set(place, _)) => vec![Stmt::Set(*place, Expr::Const(1))],
        (Edit::Plain, Stmt::Section(Mutex::Chosen { a, .. }, body)) => {
            vec![Stmt::Section(Mutex::Fixed(*a), body.clone())]
        }
        (
            Edit::Plain,
            Stmt::Parallel {
                first,
                count,
                some,
                body,
            },
        ) if *count > 1 => {
            *threads = Some((*count, count - 1));
            vec![Stmt::Parallel {
                first: *first,
                count: count - 1,
                some: some.clone(),
                body: body.clone(),
            }]
        }
        _ => same(),
    }
}

fn map_blocks(stmt: &Stmt, mut f: impl FnMut(&Block) -> Block) -> Stmt {
    match stmt {
        Stmt::Section(mutex, body) => Stmt::Section(mutex.clone(), f(body)),
        Stmt::Repeat {
            times,
            body,
            unless,
        } => Stmt::Repeat {
            times: times.clone(),
            body: f(body),
            unless: unless.clone(),
        },
        Stmt::Drain { work, mutex, body } => Stmt::Drain {
            work: *work,
            mutex: *mutex,
            body: f(body),
        },
        Stmt::Parallel {
            first,
            count,
            some,
            body,
        } => Stmt::Parallel {
            first: *first,
            count: *count,
            some: some.clone(),
            body: f(body),
        },
        Stmt::ReadWrite { lock, write, body } => Stmt::ReadWrite {
            lock: *lock,
            write: *write,
            body: f(body),
        },
        Stmt::Try(k, a, b) => Stmt::Try(*k, f(a), f(b)),
        Stmt::If(test, a, b) => Stmt::If(test.clone(), f(a), f(b)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Level, generate};
    use super::super::program::blocks;
    use super::*;

    fn has_nested_section(block: &Block, inside: bool) -> bool {
        block.iter().any(|stmt| {
            let section = matches!(stmt, Stmt::Section(..));
            (section && inside)
                || blocks(stmt)
                    .into_iter()
                    .any(|b| has_nested_section(b, inside || section))
        })
    }

    #[test]
    fn keeps_what_fails_and_little_else() {
        let fails = |p: &Program| p.tops().any(|block| has_nested_section(block, false));
        let seed = (0..200).find(|&seed| fails(&generate(seed, Level::Branches)));
        let program = generate(seed.expect("some program nests sections"), Level::Branches);
        let small = shrink(&program, 500, fails);
        assert!(fails(&small));
        assert!(small.size() <= 4, "{small:?}");
        assert!(is_wanted(&small));
    }
}
