//! New blocks on ways from block to block.

use super::Hooks;
use crate::ir::{Block, Value};

/// Leads all ways from some blocks into another through a new block, at the source position of `like`; returns its terminator.
pub(super) fn lead_through<'m>(
    hooks: &Hooks<'m>,
    to: Block<'m>,
    from: &[Block<'m>],
    like: Value<'m>,
) -> Value<'m> {
    let middle = hooks.module.append_block(to.function(), "heddle.way");
    let phis: Vec<Value<'m>> = to
        .instructions()
        .into_iter()
        .take_while(|i| i.is_phi())
        .collect();
    for phi in phis {
        split_phi(hooks, phi, middle, from);
    }
    hooks.builder.at_end(middle);
    hooks.builder.take_position_of(like);
    let terminator = hooks.builder.branch(to);
    for block in from {
        let branch = block.terminator();
        for (index, target) in branch.successors().into_iter().enumerate() {
            if target == to {
                branch.set_successor(index, middle);
            }
        }
    }
    terminator
}

/// The part of a phi that comes from some blocks moves to `middle`.
fn split_phi<'m>(hooks: &Hooks<'m>, phi: Value<'m>, middle: Block<'m>, from: &[Block<'m>]) {
    let (moved, kept): (Vec<_>, Vec<_>) = phi
        .incoming()
        .into_iter()
        .partition(|(_, block)| from.contains(block));
    hooks.builder.at_end(middle);
    let early = hooks.builder.phi(phi.ty());
    early.add_incoming(&moved);
    hooks.builder.before(phi);
    let late = hooks.builder.phi(phi.ty());
    late.add_incoming(&kept);
    late.add_incoming(&[(early, middle)]);
    late.copy_metadata(phi);
    phi.replace_uses_with(late);
    phi.erase();
}
