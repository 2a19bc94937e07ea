//! What goes into a function that is called, and what comes back out of it.

use super::*;

impl Walk<'_> {
    /// Walks into a function; what is held when it returns, in the caller's words.
    pub(super) fn enter(
        &mut self,
        context: ContextId,
        function: &Function,
        id: InstrId,
        call: &Call,
        target: FuncId,
        state: &State,
    ) -> Option<State> {
        let caller = self.contexts[context].entry.func;
        let mut addresses: BTreeMap<u32, Address> = BTreeMap::new();
        let mut bindings = Bindings::new();
        for position in self.locked_args[target.index()].clone() {
            let Some(value) = call.args.get(position as usize) else {
                continue;
            };
            bindings.insert(position, self.named(context, (id, position), value));
            if let Some(address) = address(function, value) {
                addresses.insert(position, address);
            }
        }
        let mut entry = Vec::new();
        for (id, grip) in state.iter() {
            let held = self.names.hold(id);
            let inside = match held.address {
                Some(_) => {
                    let inside = self.inside(caller, &held, &addresses);
                    self.names.held(held.at(inside))
                }
                None => id,
            };
            entry.push((inside, Grip::given(grip.must)));
        }
        let entry = State::from_pairs(entry);
        let passed: Vec<HeldId> = entry.iter().map(|(id, _)| self.names.plain(id)).collect();
        let next = self.context(Entry {
            func: target,
            bindings,
            state: entry,
        });
        let callers = self.contexts[next].callers.entry(context).or_default();
        callers.extend(passed);
        let calls = self.contexts[context].calls.entry(id).or_default();
        calls.insert(Next::Context(next));
        let exit = self.contexts[next].exit.clone()?;
        Some(self.after(state, &exit, &addresses))
    }

    /// What is held after a call, in the caller's words: what the caller held and the function left alone or may have, and what the
    /// function took.
    pub(super) fn after(
        &mut self,
        state: &State,
        exit: &State,
        addresses: &BTreeMap<u32, Address>,
    ) -> State {
        let plain = |(id, grip)| (self.names.plain(id), id, grip);
        let mut mine: Vec<(HeldId, HeldId, Grip)> = state.iter().map(plain).collect();
        mine.sort_unstable();
        let (mut after, mut own, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (id, grip) in exit.iter() {
            if grip.given {
                let plain = self.names.plain(id);
                let first = mine.partition_point(|mine| mine.0 < plain);
                let same = mine[first..].iter().take_while(|mine| mine.0 == plain);
                for (_, old, before) in same {
                    let still = Grip {
                        must: before.must && grip.kept,
                        kept: before.kept && grip.kept,
                        ..*before
                    };
                    after.push((*old, still));
                }
            }
            if grip.own {
                let held = self.names.hold(id);
                let outside = self.outside(&held, addresses);
                own.push((held.at(outside), grip));
            }
        }
        for (mut held, grip) in own {
            // The function may not have known that it took the same again.
            let same = after
                .iter()
                .map(|(old, _)| self.names.hold(*old))
                .filter(|old| self.names.surely_same(old, held.locks, held.address));
            let below = same.map(|old| old.depth + 1).max();
            held.depth = held.depth.max(below.unwrap_or(0)).min(DEEPEST);
            let id = self.names.held(held);
            left.push((id, Grip::own(grip.must && !grip.given)));
        }
        left.extend(after);
        State::from_pairs(left)
    }

    /// A hold's address in the words of the function that is called.
    pub(super) fn inside(
        &mut self,
        caller: FuncId,
        held: &Held,
        addresses: &BTreeMap<u32, Address>,
    ) -> Option<AddressId> {
        let mine = self.names.address(held.address?).clone();
        if matches!(mine.key, Key::Global(..)) {
            return held.address;
        }
        for (position, given) in addresses {
            let Some(distance) = mine.key.relative(&given.key) else {
                continue;
            };
            if mine.loads == given.loads || self.stable(caller, &mine.loads, &given.loads) {
                return Some(self.names.address_id(Address {
                    key: Key::Arg(*position).moved(distance),
                    loads: Vec::new(),
                }));
            }
        }
        None
    }

    /// The address of a lock that a called function took, in the words of its caller.
    pub(super) fn outside(
        &mut self,
        held: &Held,
        addresses: &BTreeMap<u32, Address>,
    ) -> Option<AddressId> {
        let key = &self.names.address(held.address?).key;
        if matches!(key, Key::Global(..)) {
            return held.address;
        }
        let (position, offset) = key.of_arg()?;
        let given = addresses.get(&position)?;
        let address = Address {
            key: given.key.clone().moved(offset),
            loads: given.loads.clone(),
        };
        Some(self.names.address_id(address))
    }
}
