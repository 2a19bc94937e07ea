//! One program on the desk: executed by hand, looked at, and asked why a value is not known. For developers (`heddle symbolic`).
//!
//! The same engine as the search's, with one thread and nothing merged or summarized: a branch that may go either way waits until somebody
//! chooses. What it shows is what the search would see there, had it come by this path.
//!
//! Deliberately absent: other threads. A synchronization call is passed as if it had succeeded and done nothing.

use std::fmt::Write as _;

use super::alone;
use super::engine::{Budget, Engine};
use super::expr::Expr;
use super::run::Stop;
use super::state::{State, Val};
use crate::analysis::Facts;
use crate::model::{FuncId, Module, Type, dump};

/// Most instructions of one command.
const MOST_STEPS: u64 = 10_000_000;

/// Most places of an object that are shown.
const MOST_CELLS: usize = 32;

/// See the module's header.
pub struct Desk<'m> {
    engine: Engine<'m>,
    state: State,
    stop: Option<Stop>,
}

impl<'m> Desk<'m> {
    /// The beginning of `main`, called with these words; `inputs` are globals whose contents are not known.
    pub fn new(
        module: &'m Module,
        facts: &'m Facts,
        main: FuncId,
        words: &[String],
        inputs: &[String],
    ) -> Result<Self, String> {
        let mut engine = Engine::new(module, facts);
        engine.alone = true;
        engine.merging = false;
        engine.budget = Budget::UNBOUNDED;
        let mut state = alone::begin(&mut engine, main, words);
        for name in inputs {
            match module.global_named(name) {
                Some(id) if module.globals[id].defined => engine.forget_global(&mut state, id),
                _ => return Err(format!("`{name}` is no global variable of the program")),
            }
        }
        let stop = None;
        Ok(Self {
            engine,
            state,
            stop,
        })
    }

    /// Executes so many instructions, fewer if something has to be chosen or the program ends.
    pub fn step(&mut self, count: u64) -> String {
        if self.stop.is_none() && count > 0 {
            let steps = self.engine.counters.steps;
            self.engine.most_steps = steps + count - 1;
            self.stop = match self.engine.run(&mut self.state, 0, None) {
                Stop::Gap(_) if self.engine.counters.steps > self.engine.most_steps => None,
                stop => Some(stop),
            };
        }
        self.here()
    }

    /// Executes until something has to be chosen or the program ends.
    pub fn run(&mut self) -> String {
        self.step(MOST_STEPS)
    }

    /// Executes until an instruction of a source line is next.
    pub fn to(&mut self, line: u32) -> String {
        for _ in 0..MOST_STEPS {
            self.step(1);
            if self.stop.is_some() || self.line() == line {
                break;
            }
        }
        self.here()
    }

    fn line(&self) -> u32 {
        if self.state.threads[0].frames.is_empty() {
            return 0;
        }
        let (_, _, instr) = self.engine.current(&self.state, 0);
        instr.position.line
    }

    /// Goes one of the ways of a branch.
    pub fn take(&mut self, way: u32) -> Result<String, String> {
        let Some(Stop::Branch { outcomes }) = &self.stop else {
            return Err("nothing has to be chosen here".to_owned());
        };
        let chosen = outcomes.iter().find(|(outcome, _)| *outcome == way);
        let Some((outcome, condition)) = chosen.copied() else {
            return Err(format!("there is no way {way} here"));
        };
        self.engine
            .take_under(&mut self.state, 0, outcome, condition);
        self.stop = None;
        Ok(self.here())
    }

    /// Passes a synchronization call as if it had returned 0 and done nothing.
    pub fn pass(&mut self) -> Result<String, String> {
        if !matches!(self.stop, Some(Stop::Sync { .. })) {
            return Err("no synchronization call stands here".to_owned());
        }
        let (_, _, instr) = self.engine.current(&self.state, 0);
        let zero = match instr.ty {
            Type::Int(width) => Some(self.engine.word(width, 0)),
            Type::Ptr => Some(self.engine.word(64, 0)),
            _ => None,
        };
        self.engine.finish(&mut self.state, 0, zero);
        self.stop = None;
        Ok(self.here())
    }

    /// Where the thread stands, and what it waits for.
    pub fn here(&self) -> String {
        let mut text = String::new();
        if self.state.threads[0].frames.is_empty() {
            text += "main has returned\n";
            return text;
        }
        let (func, id, instr) = self.engine.current(&self.state, 0);
        let function = &self.engine.module.functions[func].name;
        let _ = writeln!(
            text,
            "{function} at {}: {}",
            self.engine.place(func, id),
            dump::instruction(self.engine.module, instr)
        );
        match &self.stop {
            None => {}
            Some(Stop::Branch { outcomes }) => {
                for (outcome, condition) in outcomes {
                    let shown = self.engine.pool.display(*condition);
                    let _ = writeln!(text, "  take {outcome}: if {shown}");
                }
            }
            Some(Stop::Sync { .. }) => text += "  a synchronization call: pass\n",
            Some(Stop::Ended) => text += "  the process ends\n",
            Some(Stop::Gap(reason)) => {
                let _ = writeln!(text, "  not modelled: {reason}");
            }
            Some(other) => {
                let _ = writeln!(text, "  {other:?}");
            }
        }
        text
    }

    /// What the path has decided, the stack with its registers, and every object that is not as it was at the beginning.
    pub fn dump(&self) -> String {
        let mut text = format!("{} instructions executed\n", self.engine.counters.steps);
        for conjunct in &self.state.path {
            let _ = writeln!(text, "path: {}", self.engine.pool.display(*conjunct));
        }
        for frame in self.state.threads[0].frames.iter().rev() {
            let function = &self.engine.module.functions[frame.func];
            let place = self.engine.place(frame.func, frame.next);
            let _ = writeln!(text, "frame {} at {place}", function.name);
            for (index, value) in frame.args.iter().enumerate() {
                let name = function.arg_names.get(index).cloned().flatten();
                let name = name.unwrap_or_else(|| format!("argument {index}"));
                let _ = writeln!(text, "  {name} = {}", self.shown(value));
            }
            for (id, instr) in function.instrs.iter() {
                if let Some(Some(value)) = frame.regs.get(id.0 as usize) {
                    let name = instr.variable.as_deref().unwrap_or("");
                    let _ = writeln!(text, "  {id} {name} = {}", self.shown(value));
                }
            }
        }
        for (object, content) in self.state.memory.iter() {
            let cells: Vec<_> = content.cells().collect();
            if cells.is_empty() {
                continue;
            }
            let info = self.engine.objects.info(*object);
            let size = info
                .size
                .map_or("?".to_owned(), |size| format!("{size} bytes"));
            let _ = writeln!(text, "object {} ({size})", info.name);
            for (offset, size, value) in cells.iter().take(MOST_CELLS) {
                let place = self.engine.place_name(*object, *offset, *size);
                let _ = writeln!(text, "  {place} = {}", self.engine.pool.display(*value));
            }
            if cells.len() > MOST_CELLS {
                let _ = writeln!(text, "  and {} more", cells.len() - MOST_CELLS);
            }
        }
        text
    }

    fn shown(&self, value: &Val) -> String {
        match value {
            Val::Scalar(e) => self.engine.pool.display(*e).to_string(),
            Val::Aggregate(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.shown(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Val::Opaque => "not modelled".to_owned(),
        }
    }

    /// The values of a variable, and for each unknown in them where it comes from.
    pub fn why(&self, name: &str) -> Result<String, String> {
        let found = self.values(name);
        if found.is_empty() {
            return Err(format!("nothing called `{name}` has a value here"));
        }
        let mut text = String::new();
        for (label, value) in found {
            let _ = writeln!(text, "{label} = {}", self.engine.pool.display(value));
            for symbol in self.engine.pool.support(value) {
                let shown = self.engine.pool.display(*symbol);
                let _ = writeln!(text, "  {shown}: {}", self.engine.why_unknown(*symbol));
            }
        }
        Ok(text)
    }

    fn values(&self, name: &str) -> Vec<(String, Expr)> {
        let mut found = Vec::new();
        if let Some(frame) = self.state.threads[0].frames.last() {
            let function = &self.engine.module.functions[frame.func];
            for (index, value) in frame.args.iter().enumerate() {
                let called = function.arg_names.get(index).cloned().flatten();
                if let (true, Val::Scalar(value)) = (called.as_deref() == Some(name), value) {
                    found.push((name.to_owned(), *value));
                }
            }
            for (id, instr) in function.instrs.iter() {
                let value = frame.regs.get(id.0 as usize).cloned().flatten();
                let called = instr.variable.as_deref() == Some(name);
                if let (true, Some(Val::Scalar(value))) = (called, value) {
                    found.push((
                        format!("{name} of {}", self.engine.place(frame.func, id)),
                        value,
                    ));
                }
            }
        }
        for (object, content) in self.state.memory.iter() {
            if self.engine.objects.info(*object).name == name {
                for (offset, size, value) in content.cells() {
                    found.push((self.engine.place_name(*object, offset, size), value));
                }
            }
        }
        found
    }
}
