//! A program by itself: `main` from its beginning to its end, by one thread, path by path.
//!
//! For tests, measurements and developers; the search does not use it. With [`Budget::UNBOUNDED`](super::engine::Budget) and without
//! merging every path is executed exactly, so its end can be compared with what the real program does.
//!
//! Deliberately absent: other threads. A program that synchronizes ends with a gap.

use super::engine::{Engine, Taken};
use super::expr::Expr;
use super::run::Stop;
use super::state::{State, Thread, Val};
use crate::model::{FuncId, InstrKind, Type};

/// How a path ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The process ends with this status; `None` if it ends otherwise (`abort`, undefined behaviour).
    Exit(Option<Expr>),
    /// Something is not modelled, or a bound was hit.
    Gap(String),
}

/// The end of a path.
#[derive(Clone, Debug)]
pub struct Ending {
    pub how: How,
    pub state: State,
    /// Branches in the order in which they were taken.
    pub branches: Vec<Taken>,
}

/// Bounds of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Paths beyond this many are not explored.
    pub paths: usize,
    /// Steps in all.
    pub steps: u64,
}

/// A state in which the program's only thread stands at the beginning of `main`.
pub fn begin(engine: &mut Engine<'_>, main: FuncId, args: &[String]) -> State {
    let mut state = engine.initial_state();
    state.threads.push(std::rc::Rc::new(Thread::default()));
    let count = engine.pool.constant(32, args.len() as u128);
    let array = text_array(engine, &mut state, args);
    let declared = engine.module.functions[main].args.len();
    let mut values = vec![Val::Scalar(count), Val::Scalar(array)];
    values.resize(declared, Val::Scalar(array));
    engine.push_frame(&mut state, 0, main, values);
    state
}

/// `argv` with these texts and a null behind them.
fn text_array(engine: &mut Engine<'_>, state: &mut State, args: &[String]) -> Expr {
    use super::memory::{Background, Content};
    use crate::analysis::AbstractObject::External;
    let size = 8 * (args.len() as u64 + 1);
    let array = engine.new_object("argv".to_owned(), Some(size), External, false);
    engine.set_content(state, array, Content::new(Background::Zero));
    for (index, text) in args.iter().enumerate() {
        let name = format!("argv[{index}]");
        let size = text.len() as u64 + 1;
        let object = engine.new_object(name, Some(size), External, false);
        engine.set_content(state, object, Content::new(Background::Zero));
        for (offset, byte) in text.bytes().enumerate() {
            let byte = engine.pool.constant(8, byte.into());
            engine.write(state, object, offset as u64, byte);
        }
        let pointer = engine.pointer(object, 0);
        engine.write(state, array, 8 * index as u64, pointer);
    }
    engine.pointer(array, 0)
}

/// Explores every path from a state. The engine's trace is used.
pub fn explore(engine: &mut Engine<'_>, state: State, bounds: Bounds) -> Vec<Ending> {
    let mut endings = Vec::new();
    let mut todo = vec![(state, Vec::new())];
    while let Some((mut state, branches)) = todo.pop() {
        engine.trace = Some(branches);
        let stop = engine.run(&mut state, 0, None);
        let branches = engine.trace.take().unwrap_or_default();
        let spent = engine.counters.steps > bounds.steps || endings.len() >= bounds.paths;
        match stop {
            Stop::Branch { outcomes } if !spent => {
                for (outcome, condition) in outcomes.into_iter().rev() {
                    let mut side = state.clone();
                    engine.trace = Some(branches.clone());
                    engine.take_under(&mut side, 0, outcome, condition);
                    todo.push((side, engine.trace.take().unwrap_or_default()));
                }
            }
            stop => {
                let how = ending(engine, &mut state, stop);
                endings.push(Ending {
                    how,
                    state,
                    branches,
                });
            }
        }
    }
    endings
}

fn ending(engine: &mut Engine<'_>, state: &mut State, stop: Stop) -> How {
    match stop {
        Stop::Returned => How::Exit(match state.threads[0].result {
            Some(Val::Scalar(status)) => Some(status),
            _ => None,
        }),
        Stop::Ended => How::Exit(exit_status(engine, state)),
        Stop::Gap(reason) => How::Gap(reason),
        Stop::Branch { .. } => How::Gap("a bound of the exploration".to_owned()),
        other => How::Gap(format!("{other:?}")),
    }
}

/// What the thread passes to `exit`, if that is where it stands.
fn exit_status(engine: &mut Engine<'_>, state: &mut State) -> Option<Expr> {
    let (_, _, instr) = engine.current(state, 0);
    let InstrKind::Call(call) = &instr.kind else {
        return None;
    };
    let name = engine.direct_name(&call.callee)?;
    if !matches!(name, "exit" | "_exit" | "_Exit" | "quick_exit") {
        return None;
    }
    Some(engine.scalar(state, 0, call.args.first()?, &Type::Int(32)))
}
