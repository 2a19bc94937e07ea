//! Small changes of a program: what an enumeration keeps for the next one must not show in the archive of the changed program.
//!
//! Edited programs are enumerated and never run, so they may race, deadlock and go on for ever.

use super::program::{Block, Expr, Program, Recursive, Stmt, blocks_mut};
use super::random::Random;
use super::shrink::{EDITS, edited};

/// The program with one thing changed: a statement left out or made plainer, or a number.
pub fn edit(program: &Program, random: &mut Random) -> Program {
    for _ in 0..20 {
        let new = match random.below(3) {
            0 => {
                let kind = random.pick(&EDITS);
                let at = random.below(program.size().max(1));
                edited(program, kind, at)
            }
            _ => another_number(program, random),
        };
        if new != *program {
            return new;
        }
    }
    program.clone()
}

fn another_number(program: &Program, random: &mut Random) -> Program {
    let mut new = program.clone();
    let mut count = 0;
    each_number(&mut new, &mut |_| count += 1);
    if count == 0 {
        return new;
    }
    let (chosen, by) = (random.below(count), 1 + random.below(3) as u32);
    let mut at = 0;
    each_number(&mut new, &mut |number| {
        if at == chosen {
            *number = number.wrapping_add(by);
        }
        at += 1;
    });
    new
}

fn each_number(program: &mut Program, visit: &mut impl FnMut(&mut u32)) {
    let Program {
        onces,
        helpers,
        recursives,
        bodies,
        main,
        ..
    } = program;
    for block in onces.iter_mut().chain(helpers).chain(bodies) {
        in_block(block, visit);
    }
    for Recursive { before, after } in recursives {
        in_block(before, visit);
        in_block(after, visit);
    }
    in_block(main, visit);
}

fn in_block(block: &mut Block, visit: &mut impl FnMut(&mut u32)) {
    for stmt in block {
        match stmt {
            Stmt::Set(_, value) | Stmt::Fill(_, value) => in_expr(value, visit),
            Stmt::If(test, ..) => in_expr(test, visit),
            Stmt::Repeat { times, unless, .. } => {
                in_expr(times, visit);
                unless.iter_mut().for_each(|test| in_expr(test, visit));
            }
            Stmt::Await(_, until) => in_expr(until, visit),
            Stmt::Call { argument, .. } => in_expr(argument, visit),
            Stmt::Recurse {
                depth, argument, ..
            } => {
                in_expr(depth, visit);
                in_expr(argument, visit);
            }
            _ => {}
        }
        for inner in blocks_mut(stmt) {
            in_block(inner, visit);
        }
    }
}

fn in_expr(expr: &mut Expr, visit: &mut impl FnMut(&mut u32)) {
    match expr {
        Expr::Const(number) => visit(number),
        Expr::Bin(_, a, b) => {
            in_expr(a, visit);
            in_expr(b, visit);
        }
        Expr::FreshAt(index) => in_expr(index, visit),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Level, generate};
    use super::*;

    #[test]
    fn an_edit_changes_little() {
        let mut random = Random::new(1);
        let (mut as_large, mut smaller) = (0, 0);
        for seed in 0..10 {
            let program = generate(seed, Level::Loops);
            for _ in 0..10 {
                let new = edit(&program, &mut random);
                assert_ne!(new, program);
                as_large += usize::from(new.size() == program.size());
                smaller += usize::from(new.size() < program.size());
            }
        }
        assert!(as_large > 0, "some change a number");
        assert!(smaller > 0, "some leave out");
    }
}
