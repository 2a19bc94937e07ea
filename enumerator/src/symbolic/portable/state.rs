//! Values, stacks, memory and path of a state.
//!
//! Globals that still hold exactly what they are initialized with are left out: whoever reads begins with the initial state.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Decoder, Encoder, Malformed};
use crate::analysis::AbstractObject;
use crate::model::{BlockId, FuncId, InstrId};
use crate::symbolic::memory::{Background, Content, ObjId};
use crate::symbolic::state::{Frame, Key, Scan, State, Thread, Val};

impl Encoder<'_, '_> {
    pub fn val(&mut self, value: &Val) {
        match value {
            Val::Opaque => self.body.number(0),
            Val::Scalar(e) => {
                self.body.number(1);
                self.term(*e);
            }
            Val::Aggregate(parts) => {
                self.body.number(2);
                self.vals(parts);
            }
        }
    }

    fn vals(&mut self, all: &[Val]) {
        self.body.count(all.len());
        all.iter().for_each(|value| self.val(value));
    }

    pub fn maybe_val(&mut self, value: Option<&Val>) {
        self.body.flag(value.is_some());
        if let Some(value) = value {
            self.val(value);
        }
    }

    fn frame(&mut self, frame: &Frame) {
        let Frame {
            func,
            block,
            next,
            args,
            entered,
            varargs,
            regs,
            locals,
        } = frame;
        self.function(*func);
        self.body.number(block.0.into());
        self.body.number(next.0.into());
        self.body.maybe(entered.map(|block| block.0.into()));
        self.vals(args);
        self.vals(varargs);
        let held: Vec<(usize, &Val)> = regs
            .iter()
            .enumerate()
            .filter_map(|(index, value)| Some((index, value.as_ref()?)))
            .collect();
        self.body.count(held.len());
        for (index, value) in held {
            self.body.count(index);
            self.val(value);
        }
        self.objects(locals);
    }

    fn objects(&mut self, all: &[ObjId]) {
        self.body.count(all.len());
        all.iter().for_each(|id| self.object(*id));
    }

    fn thread(&mut self, thread: &Thread) {
        let Thread {
            frames,
            locals,
            cost,
            handle,
            specific,
            passed,
            answered,
            leaving,
            cancel_due,
            inside,
            result,
            own,
        } = thread;
        assert!(leaving.is_none(), "no epoch begins at a loop's exit");
        self.body.count(frames.len());
        frames.iter().for_each(|frame| self.frame(frame));
        self.body.count(locals.len());
        for (global, object) in locals {
            self.global(*global);
            self.object(*object);
        }
        self.body.number(*cost);
        self.terms(handle.as_slice());
        self.body.count(specific.len());
        for (key, value) in specific {
            self.body.count(*key);
            self.term(*value);
        }
        self.body.count(passed.len());
        for ((func, InstrId(id)), value) in passed {
            self.body.number((*id).into());
            self.function(*func);
            self.term(*value);
        }
        self.body.flag(*answered);
        self.body.flag(*cancel_due);
        self.body
            .maybe(inside.map(|(_, InstrId(id))| u64::from(id)));
        if let Some((func, _)) = inside {
            self.function(*func);
        }
        self.maybe_val(result.as_ref());
        self.terms(own);
    }

    fn key(&mut self, key: &Key) {
        let Key {
            number,
            destructor,
            deleted,
            made_at,
        } = key;
        self.term(*number);
        self.body.flag(destructor.is_some());
        if let Some(destructor) = destructor {
            self.function(*destructor);
        }
        self.body.flag(*deleted);
        self.body.text(made_at);
    }

    fn background(&mut self, background: Background) {
        match background {
            Background::Zero => self.body.number(0),
            Background::Init(global) => {
                self.body.number(1);
                self.global(global);
            }
            Background::Unknown(source) => {
                self.body.number(2);
                self.source(source);
            }
        }
    }

    fn content(&mut self, content: &Content) {
        self.background(content.base_background());
        self.body.count(content.patches().len());
        for (from, to, with) in content.patches() {
            self.body.number(*from);
            self.body.number(*to);
            self.background(*with);
        }
        self.body.count(content.cells().count());
        for (offset, size, value) in content.cells() {
            self.body.number(offset);
            self.body.number(size);
            self.term(value);
        }
        // Loads at computed offsets are remembered for speed and forgotten here.
        self.body.flag(content.freed);
    }

    /// Does the object hold what it held when the program began?
    fn is_initial(&self, id: ObjId, content: &Content) -> bool {
        let AbstractObject::Global(global) = self.engine.objects.info(id).kind else {
            return false;
        };
        let shared = self.engine.is_shared_global(global, id);
        let module = &self.engine.module.globals[global];
        let expected = match module.init.is_empty() {
            true => Background::Zero,
            false => Background::Init(global),
        };
        shared && module.defined && !content.freed && content.plain() == Some(expected)
    }

    /// Shared globals by their own order, then the others in the order in which they are reached: ids depend on history, these
    /// orders do not.
    fn memory(&mut self, memory: &BTreeMap<ObjId, Rc<Content>>) {
        let mut forgotten = Vec::new();
        let mut globals = Vec::new();
        for (global, id) in self.engine.shared_globals() {
            match memory.get(&id) {
                None => forgotten.push(global),
                Some(content) if self.is_initial(id, content) => {}
                Some(content) => globals.push((id, content)),
            }
        }
        self.body.count(forgotten.len());
        for global in forgotten {
            self.global(global);
        }
        let shared: BTreeSet<ObjId> = self.engine.shared_globals().map(|(_, id)| id).collect();
        let mut left: BTreeMap<ObjId, &Rc<Content>> = memory
            .iter()
            .filter(|(id, _)| !shared.contains(id))
            .map(|(id, content)| (*id, content))
            .collect();
        self.body.count(globals.len() + left.len());
        for (id, content) in globals {
            self.object(id);
            self.content(content);
        }
        while !left.is_empty() {
            for id in self.reached(&left) {
                let content = left.remove(&id).expect("it is left");
                self.object(id);
                self.content(content);
            }
        }
    }

    /// Objects that something written before points to, in that order; if there are none, the first.
    fn reached(&self, left: &BTreeMap<ObjId, &Rc<Content>>) -> Vec<ObjId> {
        let mut reached: Vec<(usize, ObjId)> = left
            .keys()
            .filter_map(|id| Some((self.row_of(*id)?, *id)))
            .collect();
        reached.sort_unstable();
        if reached.is_empty() {
            return left.keys().copied().take(1).collect();
        }
        reached.into_iter().map(|(_, id)| id).collect()
    }

    pub fn state(&mut self, state: &State) {
        let State {
            memory,
            threads,
            path,
            outside,
            // Terms are counted afresh where this is read.
            outside_since: _,
            keys,
            options,
        } = state;
        self.body.maybe(options.map(|at| u64::from(at.passed)));
        self.body.maybe(options.map(|at| u64::from(at.letters)));
        self.body.count(threads.len());
        threads.iter().for_each(|thread| self.thread(thread));
        self.terms(path);
        self.body.count(keys.len());
        for key in keys.iter() {
            self.key(key);
        }
        self.memory(memory);
        self.body.count(outside.len());
        for ((pointer, size), value) in outside.iter() {
            self.term(*pointer);
            self.body.number(*size);
            self.term(*value);
        }
    }
}

impl Decoder<'_, '_, '_> {
    pub fn val(&mut self) -> Result<Val, Malformed> {
        Ok(match self.body.number()? {
            0 => Val::Opaque,
            1 => Val::Scalar(self.term()?),
            2 => Val::Aggregate(Rc::new(self.vals()?)),
            _ => return Err(Malformed),
        })
    }

    fn vals(&mut self) -> Result<Vec<Val>, Malformed> {
        let count = self.body.count()?;
        (0..count).map(|_| self.val()).collect()
    }

    pub fn maybe_val(&mut self) -> Result<Option<Val>, Malformed> {
        match self.body.flag()? {
            true => self.val().map(Some),
            false => Ok(None),
        }
    }

    fn frame(&mut self) -> Result<Frame, Malformed> {
        let func = self.function()?;
        let function = &self.engine.module.functions[func];
        let (block, next) = (BlockId(self.body.small()?), InstrId(self.body.small()?));
        let entered = self.body.maybe()?.map(|block| BlockId(block as u32));
        let blocks = function.blocks.len();
        let inside = |block: BlockId| (block.0 as usize) < blocks;
        if !inside(block) || !entered.is_none_or(inside) {
            return Err(Malformed);
        }
        let size = function.instrs.len();
        if next.0 as usize >= size {
            return Err(Malformed);
        }
        let (args, varargs) = (self.vals()?, self.vals()?);
        let mut regs = vec![None; size];
        for _ in 0..self.body.count()? {
            let index = self.body.index()?;
            *regs.get_mut(index).ok_or(Malformed)? = Some(self.val()?);
        }
        let locals = self.objects()?;
        Ok(Frame {
            func,
            block,
            next,
            args,
            entered,
            varargs,
            regs,
            locals,
        })
    }

    fn objects(&mut self) -> Result<Vec<ObjId>, Malformed> {
        let count = self.body.count()?;
        (0..count).map(|_| self.object()).collect()
    }

    fn thread(&mut self) -> Result<Thread, Malformed> {
        let mut frames = Vec::new();
        for _ in 0..self.body.count()? {
            frames.push(Rc::new(self.frame()?));
        }
        let mut locals = BTreeMap::new();
        for _ in 0..self.body.count()? {
            locals.insert(self.global()?, self.object()?);
        }
        let cost = self.body.number()?;
        let handle = self.terms()?.first().copied();
        let mut specific = BTreeMap::new();
        for _ in 0..self.body.count()? {
            specific.insert(self.body.index()?, self.term()?);
        }
        let mut passed = BTreeMap::new();
        for _ in 0..self.body.count()? {
            let id = self.body.number()?;
            passed.insert(self.instruction(id)?, self.term()?);
        }
        let answered = self.body.flag()?;
        let cancel_due = self.body.flag()?;
        let inside = match self.body.maybe()? {
            Some(id) => Some(self.instruction(id)?),
            None => None,
        };
        let result = self.maybe_val()?;
        let own = self.terms()?;
        Ok(Thread {
            frames,
            locals,
            cost,
            handle,
            specific,
            passed,
            answered,
            leaving: None,
            cancel_due,
            inside,
            result,
            own,
        })
    }

    /// An instruction by number, and the function that follows.
    fn instruction(&mut self, id: u64) -> Result<(FuncId, InstrId), Malformed> {
        let func = self.function()?;
        let size = self.engine.module.functions[func].instrs.len() as u64;
        (id < size)
            .then_some((func, InstrId(id as u32)))
            .ok_or(Malformed)
    }

    fn key(&mut self) -> Result<Key, Malformed> {
        let number = self.term()?;
        let destructor = match self.body.flag()? {
            true => Some(self.function()?),
            false => None,
        };
        Ok(Key {
            number,
            destructor,
            deleted: self.body.flag()?,
            made_at: self.body.text()?.into(),
        })
    }

    fn background(&mut self) -> Result<Background, Malformed> {
        Ok(match self.body.number()? {
            0 => Background::Zero,
            1 => Background::Init(self.global()?),
            2 => Background::Unknown(self.source()?),
            _ => return Err(Malformed),
        })
    }

    fn content(&mut self) -> Result<Content, Malformed> {
        let mut content = Content::new(self.background()?);
        for _ in 0..self.body.count()? {
            let (from, to) = (self.body.number()?, self.body.number()?);
            let with = self.background()?;
            content.cover(self.engine, from, to, with);
        }
        for _ in 0..self.body.count()? {
            let (offset, size) = (self.body.number()?, self.body.number()?);
            let value = self.term()?;
            let bits = size.checked_mul(8).ok_or(Malformed)?;
            if u64::from(self.engine.pool.width(value)) != bits
                || offset.checked_add(size).is_none()
            {
                return Err(Malformed);
            }
            content.put(self.engine, offset, size, value);
        }
        content.freed = self.body.flag()?;
        Ok(content)
    }

    pub fn state(&mut self) -> Result<State, Malformed> {
        let mut state = self.engine.initial_state();
        let (passed, letters) = (self.body.maybe()?, self.body.maybe()?);
        let small = |number: u64| u32::try_from(number).map_err(|_| Malformed);
        state.options = match (passed, letters) {
            (Some(passed), Some(letters)) => Some(Scan {
                passed: small(passed)?,
                letters: small(letters)?,
            }),
            _ => None,
        };
        for _ in 0..self.body.count()? {
            let thread = self.thread()?;
            state.threads.push(Rc::new(thread));
        }
        state.path = self.terms()?;
        if state
            .path
            .iter()
            .any(|conjunct| self.engine.pool.width(*conjunct) != 1)
        {
            return Err(Malformed);
        }
        let count = self.body.count()?;
        let keys: Result<Vec<Key>, Malformed> = (0..count).map(|_| self.key()).collect();
        state.keys = Rc::new(keys?);
        for _ in 0..self.body.count()? {
            let global = self.global()?;
            let id = self.engine.global_object(global);
            Rc::make_mut(&mut state.memory).remove(&id);
        }
        for _ in 0..self.body.count()? {
            let id = self.object()?;
            let content = self.content()?;
            self.engine.set_content(&mut state, id, content);
        }
        let mut outside = BTreeMap::new();
        for _ in 0..self.body.count()? {
            outside.insert((self.term()?, self.body.number()?), self.term()?);
        }
        state.outside = Rc::new(outside);
        Ok(state)
    }
}
