//! The synchronization skeleton of a program as readable pseudo-C: what remains when everything that does not matter is left out.
//!
//! Functions that may synchronize and threads, in the order of the program; in them synchronization calls, calls that lead to some, ends of the
//! process, and the branches and loops around them, with source lines. Markers are shown where they stand. Error checks that only end
//! the process are one line.
//!
//! For people: control flow that does not nest is shown with `goto`.

use std::collections::BTreeSet;
use std::fmt::Write;

use schedules::primitives::{self, Policy};

use super::cfg::LoopId;
use super::library::library;
use super::markers::Why;
use super::names::{expression, pointee, variable};
use super::{Facts, SyncEffect};
use crate::model::{BlockId, Call, FuncId, Function, Instr, InstrId, InstrKind, Module};

/// A loop that does nothing but end the process in more cases than this is one line.
const MOST_ENDS: usize = 2;

/// The skeleton of the whole program.
pub fn print(module: &Module, facts: &Facts) -> String {
    let entries = facts.thread_entries();
    let mut text = String::new();
    for (func, function) in module.functions.iter() {
        if function.is_declaration() {
            continue;
        }
        if facts.effects(func).sync == SyncEffect::None {
            if entries.contains_key(&func) {
                let _ = writeln!(
                    text,
                    "{}() {{ }}  // a thread that does not synchronize\n",
                    function.name
                );
            }
            continue;
        }
        let mut printer = Printer {
            module,
            facts,
            func,
            function,
            done: BTreeSet::new(),
            named: BTreeSet::new(),
            lines: Vec::new(),
        };
        printer.emit(BlockId(0), None, None, 1);
        let thread = if entries.contains_key(&func) {
            "  // a thread"
        } else {
            ""
        };
        let arguments: Vec<String> = function
            .arg_names
            .iter()
            .enumerate()
            .map(|(at, name)| name.clone().unwrap_or_else(|| format!("arg{at}")))
            .collect();
        let _ = writeln!(
            text,
            "{}({}) {{{thread}",
            function.name,
            arguments.join(", ")
        );
        for (block, depth, line) in &printer.lines {
            if let Some(block) = block.filter(|block| printer.named.contains(block)) {
                let _ = writeln!(text, "{block}:");
            }
            if !line.is_empty() {
                let _ = writeln!(text, "{}{line}", "    ".repeat(*depth));
            }
        }
        text.push_str("}\n\n");
    }
    text
}

struct Printer<'a> {
    module: &'a Module,
    facts: &'a Facts,
    func: FuncId,
    function: &'a Function,
    done: BTreeSet<BlockId>,
    /// Blocks that a `goto` names.
    named: BTreeSet<BlockId>,
    lines: Vec<(Option<BlockId>, usize, String)>,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: String) {
        self.lines.push((None, depth, text));
    }

    /// Prints from `block` until `stop`, inside loop `inside`.
    fn emit(
        &mut self,
        block: BlockId,
        stop: Option<BlockId>,
        inside: Option<LoopId>,
        depth: usize,
    ) {
        let cfg = self.facts.cfg(self.func);
        let mut next = Some(block);
        while let Some(block) = next {
            if Some(block) == stop {
                return;
            }
            if let Some(id) = inside
                && self.leave(block, id, depth)
            {
                return;
            }
            if let Some(id) = cfg.loops.headed_by(block).filter(|id| Some(*id) != inside) {
                next = self.whole_loop(id, depth);
                continue;
            }
            if !self.done.insert(block) && !self.is_short_end(block) {
                self.named.insert(block);
                self.line(depth, format!("goto {block};"));
                return;
            }
            next = self.one_block(block, inside, depth);
        }
    }

    /// A block that ends the process or the function at once: shown again wherever control comes to it.
    fn is_short_end(&self, block: BlockId) -> bool {
        self.function.blocks[block].succs.is_empty()
    }

    /// True if `block` is not part of the loop's body any more (or again its header), which is then said.
    fn leave(&mut self, block: BlockId, id: LoopId, depth: usize) -> bool {
        let body = &self.facts.cfg(self.func).loops[id];
        if block == body.header && self.done.contains(&block) {
            return true;
        }
        if body.contains(block) {
            return false;
        }
        let follow = self.follow(id);
        if Some(block) != follow && self.matters_from(block, follow) {
            let parent = body.parent;
            self.emit(block, follow, parent, depth);
        }
        if !self.facts.cfg(self.func).dies(block) {
            self.line(depth, "break;".to_owned());
        }
        true
    }

    /// Where control continues after a loop.
    fn follow(&self, id: LoopId) -> Option<BlockId> {
        let cfg = self.facts.cfg(self.func);
        let body = &cfg.loops[id];
        let mut at = cfg.join(body.header);
        while let Some(block) = at.filter(|block| body.contains(*block)) {
            at = cfg.join(block);
        }
        at
    }

    /// True if something between `block` and `stop` is worth a line.
    fn matters_from(&self, block: BlockId, stop: Option<BlockId>) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if Some(block) != stop && seen.insert(block) {
                if self.matters(block) {
                    return true;
                }
                work.extend(self.facts.successors(self.func, block));
            }
        }
        false
    }

    fn matters(&self, block: BlockId) -> bool {
        self.function
            .block_instrs(block)
            .any(|(id, instr)| self.call_line(id, instr).is_some())
    }

    fn whole_loop(&mut self, id: LoopId, depth: usize) -> Option<BlockId> {
        let cfg = self.facts.cfg(self.func);
        let body = &cfg.loops[id];
        let follow = self.follow(id);
        self.done.remove(&body.header);
        // What ends the process from inside is no block of the loop.
        let ends = |(_, to): &(BlockId, BlockId)| {
            Some(*to) != follow && cfg.dies(*to) && self.matters_from(*to, follow)
        };
        let quiet = !body.blocks.iter().any(|block| self.matters(*block));
        let ends = body.exits.iter().filter(|exit| ends(exit)).count();
        if quiet && (ends == 0 || ends > MOST_ENDS) {
            if ends > 0 {
                let place = super::names::block_place(self.module, self.func, body.header);
                self.line(
                    depth,
                    format!("// the loop at {place} ends the process in {ends} cases"),
                );
            }
            self.done.extend(&body.blocks);
            return follow;
        }
        let marked = self
            .facts
            .markers()
            .iter()
            .any(|(func, block, _)| *func == self.func && *block == body.header);
        let bound = self.facts.trip_bound(self.func, id);
        let note = match (marked, bound) {
            (true, _) => "  // marker".to_owned(),
            (_, Some(trips)) => format!("  // at most {trips} times"),
            _ => String::new(),
        };
        let place = super::names::block_place(self.module, self.func, body.header);
        let note = format!("  // {place}{}", note.replacen("  //", ",", 1));
        let at = self.lines.len();
        self.line(depth, format!("loop {{{note}"));
        let start = self.one_block_of_loop(body.header, id, depth + 1);
        if let Some(start) = start {
            self.emit(start, None, Some(id), depth + 1);
        }
        self.line(depth, "}".to_owned());
        self.make_while(at, &note);
        follow
    }

    /// A loop that begins with a test is written as one.
    fn make_while(&mut self, at: usize, note: &str) {
        let shown: Vec<usize> = (at + 1..self.lines.len())
            .filter(|index| !self.lines[*index].2.is_empty())
            .take(3)
            .collect();
        let [test, leaves, end] = shown[..] else {
            return;
        };
        let text = |index: usize| self.lines[index].2.as_str();
        let condition = text(test)
            .strip_prefix("if (")
            .and_then(|rest| rest.strip_suffix(") {"));
        let Some(condition) = condition.filter(|_| text(leaves) == "break;" && text(end) == "}")
        else {
            return;
        };
        let inverse = condition
            .strip_prefix("!(")
            .and_then(|rest| rest.strip_suffix(')'));
        let head = match inverse {
            Some(stays) => format!("while ({stays}) {{{note}"),
            None => format!("while (!({condition})) {{{note}"),
        };
        self.lines[at].2 = head;
        for index in [test, leaves, end] {
            self.lines[index].2.clear();
        }
    }

    /// Where the ways from a block that stay in a loop meet, if not only at its header.
    fn join_in_loop(&self, block: BlockId, id: LoopId) -> Option<BlockId> {
        let body = &self.facts.cfg(self.func).loops[id];
        // Blocks of the loop that control may come to, without passing `without` or going around.
        let from = |without: Option<BlockId>| {
            let mut seen = BTreeSet::new();
            let mut around = false;
            let mut work: Vec<BlockId> = self.facts.successors(self.func, block).to_vec();
            while let Some(next) = work.pop() {
                around |= next == body.header;
                let goes_on = body.contains(next) && next != body.header && Some(next) != without;
                if goes_on && seen.insert(next) {
                    work.extend(self.facts.successors(self.func, next));
                }
            }
            (seen, around)
        };
        let (all, _) = from(None);
        let needed: Vec<BlockId> = all
            .iter()
            .copied()
            .filter(|candidate| !from(Some(*candidate)).1)
            .collect();
        let first = |candidate: &BlockId| {
            let (before, _) = from(Some(*candidate));
            needed
                .iter()
                .all(|other| other == candidate || !before.contains(other))
        };
        needed.iter().copied().find(first)
    }

    fn one_block_of_loop(&mut self, header: BlockId, id: LoopId, depth: usize) -> Option<BlockId> {
        self.done.insert(header);
        self.one_block(header, Some(id), depth)
    }

    /// Prints a block with its branch; where to go on.
    fn one_block(
        &mut self,
        block: BlockId,
        inside: Option<LoopId>,
        depth: usize,
    ) -> Option<BlockId> {
        self.lines.push((Some(block), 0, String::new()));
        for (func, at, why) in self.facts.markers() {
            let text = match why {
                Why::Recursion => "// marker: recursion",
                Why::CalledBack => "// marker: called back by the library",
                Why::Loop(_) => continue,
            };
            if (*func, *at) == (self.func, block) {
                self.line(depth, text.to_owned());
            }
        }
        for (id, instr) in self.function.block_instrs(block) {
            if let Some(text) = self.call_line(id, instr) {
                self.line(depth, text);
            }
        }
        let cfg = self.facts.cfg(self.func);
        let terminator = &self.function.instrs[self.function.terminator(block)];
        match &terminator.kind {
            InstrKind::Br(target) => Some(*target),
            InstrKind::Invoke { normal, .. } => Some(*normal),
            InstrKind::CondBr {
                cond,
                then,
                otherwise,
            } => {
                let condition = expression(self.module, self.facts, self.func, cond);
                let join = cfg.join(block);
                let arms = [
                    (*then, format!("if ({condition})")),
                    (*otherwise, "else".to_owned()),
                ];
                self.branch(
                    block,
                    &arms,
                    Some(format!("if (!({condition}))")),
                    join,
                    inside,
                    depth,
                )
            }
            InstrKind::Switch {
                value,
                default,
                cases,
                ..
            } => {
                let value = expression(self.module, self.facts, self.func, value);
                let mut arms: Vec<(BlockId, String)> = cases
                    .iter()
                    .map(|(case, target)| (*target, format!("if ({value} == {case})")))
                    .collect();
                arms.push((*default, "otherwise".to_owned()));
                arms.dedup_by_key(|arm| arm.0);
                let join = cfg.join(block);
                self.branch(block, &arms, None, join, inside, depth)
            }
            InstrKind::IndirectBr { targets, .. } => {
                let arms: Vec<(BlockId, String)> = targets
                    .iter()
                    .map(|target| (*target, "computed goto:".to_owned()))
                    .collect();
                let join = cfg.join(block);
                self.branch(block, &arms, None, join, inside, depth)
            }
            InstrKind::Ret(_) if depth > 1 => {
                self.line(depth, "return;".to_owned());
                None
            }
            _ => None,
        }
    }

    fn branch(
        &mut self,
        block: BlockId,
        arms: &[(BlockId, String)],
        negated: Option<String>,
        join: Option<BlockId>,
        inside: Option<LoopId>,
        depth: usize,
    ) -> Option<BlockId> {
        let (facts, func) = (self.facts, self.func);
        let in_loop =
            |target: BlockId| inside.is_none_or(|id| facts.cfg(func).loops[id].contains(target));
        let leaves = arms.iter().any(|(target, _)| !in_loop(*target));
        let header = inside.map(|id| self.facts.cfg(self.func).loops[id].header);
        let back = arms.iter().any(|(target, _)| Some(*target) == header);
        let outside = inside.is_some() && join.is_none_or(|join| !in_loop(join));
        let quiet = !leaves && !back && !outside && !self.region_matters(block, join);
        if quiet {
            return join;
        }
        // The join of a branch that leaves the loop lies outside: go on with the arm that stays.
        let stays = arms.iter().map(|arm| arm.0).find(|target| in_loop(*target));
        let next = match join {
            Some(join) if in_loop(join) => Some(join),
            _ if leaves => stays,
            // Some way out of the loop begins in an arm: the others meet inside.
            other => match inside {
                Some(id) => self.join_in_loop(block, id).or(header),
                None => other,
            },
        };
        let mut first = true;
        for (target, label) in arms {
            if Some(*target) == next || Some(*target) == join && in_loop(*target) {
                continue;
            }
            if Some(*target) == header {
                continue;
            }
            let label = match (&negated, first && label == "else") {
                (Some(negated), true) => negated.clone(),
                _ => label.clone(),
            };
            let at = self.lines.len();
            self.line(depth, format!("{label} {{"));
            self.emit(*target, next.or(join), inside, depth + 1);
            if self.lines[at + 1..].iter().all(|line| line.2.is_empty()) {
                self.lines.remove(at);
                continue;
            }
            first = false;
            self.line(depth, "}".to_owned());
        }
        next.filter(|next| Some(*next) != header)
    }

    fn region_matters(&self, block: BlockId, join: Option<BlockId>) -> bool {
        let cfg = self.facts.cfg(self.func);
        cfg.between(self.function, block)
            .into_iter()
            .any(|inner| Some(inner) != join && self.matters(inner))
    }

    /// A call that is worth a line.
    fn call_line(&self, id: InstrId, instr: &Instr) -> Option<String> {
        let call = instr.call()?;
        let callees = self.facts.callees(self.func, id);
        let mut names = Vec::new();
        let mut worth = callees.unknown;
        let mut detail = None;
        for &target in &callees.known {
            let name = self.module.functions[target].name.as_str();
            names.push(name);
            if self.module.functions[target].is_declaration() {
                let row = primitives::lookup(name).map(|(_, row)| row);
                let primitive = row.map_or(primitives::is_family_name(name), |row| {
                    row.policy != Policy::PassThrough
                });
                if primitive {
                    detail = Some(self.primitive_arguments(call, name));
                }
                worth |= primitive || library(name).is_some_and(|row| row.ends);
            }
        }
        worth |= self
            .facts
            .run_by(self.func, id)
            .iter()
            .any(|target| self.facts.effects(*target).sync != SyncEffect::None);
        if !worth {
            return None;
        }
        let name = match names.as_slice() {
            [] => "(*unknown)".to_owned(),
            [one] => (*one).to_owned(),
            many => format!("(*{})", many.join("|")),
        };
        let detail = detail.unwrap_or_else(|| match call.args.as_slice() {
            [] => String::new(),
            [one] if call.noreturn => expression(self.module, self.facts, self.func, one),
            _ => "...".to_owned(),
        });
        Some(format!(
            "{name}({detail});  // {}",
            self.module.place(&instr.position)
        ))
    }

    fn primitive_arguments(&self, call: &Call, name: &str) -> String {
        let shown = if name == "pthread_create" {
            let started: Vec<&str> = self
                .facts
                .points_to(self.func, &call.args[2])
                .places
                .iter()
                .filter_map(|(object, _)| match object {
                    super::AbstractObject::Function(func) => {
                        Some(self.module.functions[*func].name.as_str())
                    }
                    _ => None,
                })
                .collect();
            return started.join("|");
        } else {
            call.args.iter().zip(&call.arg_types)
        };
        let handle = matches!(name, "pthread_join" | "pthread_detach" | "thrd_join");
        if let Some(thread) = call.args.first().filter(|_| handle) {
            return expression(self.module, self.facts, self.func, thread);
        }
        let texts: Vec<String> = shown
            .filter(|(_, ty)| **ty == crate::model::Type::Ptr)
            .map(|(value, _)| {
                variable(self.module, self.facts, self.func, value)
                    .unwrap_or_else(|| pointee(self.module, self.facts, self.func, value))
            })
            .filter(|text| text != "?")
            .collect();
        texts.join(", ")
    }
}
