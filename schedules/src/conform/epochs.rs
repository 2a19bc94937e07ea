//! Rule 6: the order between operations of different epoch instances.
//!
//! Threads may be in different instances at a time. An event is compared with what others have left to do in earlier instances, and
//! with what they have done already in later ones.
//!
//! Deliberately absent: the table from which the runtime reads whom to wait for. What that table has to achieve is checked here.

use super::Wrong;
use super::follow::{Run, describe_at};
use super::instance::Ahead;
use crate::archive::Node;
use crate::entry::Families;
use crate::trace::Record;

impl Run<'_> {
    /// The event is `node`, of its thread's instance.
    pub(super) fn after_other_epochs(
        &mut self,
        record: &Record,
        node: &Node,
        text: &str,
    ) -> Result<(), Wrong> {
        let mut about = Families::default();
        self.subjects.add(node, &mut about);
        let number = record.instance as usize;
        while self.open < number && self.instances[self.open].is_done(self.archive) {
            self.open += 1;
        }
        let life = self.instances[number].lives[usize::from(record.slot)];
        self.not_too_late(number, life, &about, text)?;
        for before in self.open..number {
            self.not_too_early(before, life, &about, text)?;
        }
        if self.open < number {
            let ahead = &mut self.instances[number].ahead;
            let known = |known: &Ahead| known.life == life && known.about == about;
            if !ahead.iter().any(known) {
                let event = record.sequence;
                ahead.push(Ahead { life, about, event });
            }
        }
        Ok(())
    }

    /// Nobody else has done anything about the same in a later instance.
    fn not_too_late(
        &self,
        number: usize,
        life: usize,
        about: &Families,
        text: &str,
    ) -> Result<(), Wrong> {
        let later = self.instances[number + 1..].iter();
        let mut ahead = later.flat_map(|instance| &instance.ahead);
        match ahead.find(|ahead| ahead.life != life && ahead.about.meets(about)) {
            None => Ok(()),
            Some(ahead) => Err(Wrong::TooLate {
                node: text.to_owned(),
                waiter: ahead.event,
            }),
        }
    }

    /// Nobody else has anything left to do about the same in an earlier instance.
    fn not_too_early(
        &self,
        before: usize,
        life: usize,
        about: &Families,
        text: &str,
    ) -> Result<(), Wrong> {
        let (archive, instance) = (self.archive, &self.instances[before]);
        let others =
            (0..instance.slots()).filter(|slot| instance.lives[usize::from(*slot)] != life);
        for slot in others {
            for position in instance.progress[usize::from(slot)]..instance.end(slot) {
                let Some(node) = instance.node(archive, slot, position) else {
                    continue;
                };
                let mut left = Families::default();
                self.subjects.add(node, &mut left);
                if !node.is_optional() && left.meets(about) {
                    return Err(Wrong::TooEarly {
                        node: text.to_owned(),
                        partner: describe_at(archive, instance, slot, position),
                        slot,
                    });
                }
            }
        }
        Ok(())
    }
}
