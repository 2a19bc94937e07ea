//! Pictures of schedules: threads as columns, time downwards, what waits for what across.
//!
//! In: an archive and a choice such as `2` or `2/5`. Out: text of an SVG file or of a DOT graph. Every node is there with its
//! source line; a node stands below everything it waits for.
//!
//! Deliberately absent: layout of large schedules. A picture of a thousand nodes is correct and long.

mod dot;
mod layout;
mod svg;

pub use dot::dot;
pub use layout::Picture;
pub use svg::svg;

use crate::archive::{Archive, EpochId};
use crate::ids::Id;
use crate::paths::Paths;

/// Most schedules drawn when none is chosen.
pub const MOST_PICTURES: u64 = 16;

/// Why nothing can be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// Input: not a number, or not two.
    #[error("`{0}` does not choose a schedule; write EPOCH or EPOCH/SCHEDULE, for example 0/1")]
    NotAChoice(String),
    /// Input: a number too large.
    #[error("there is no epoch {epoch}; the archive has {epochs}, numbered from 0")]
    NoSuchEpoch { epoch: u32, epochs: usize },
    /// Input: a number too large.
    #[error("epoch {epoch} has no schedule {schedule}; it has {schedules}, numbered from 0")]
    NoSuchSchedule {
        epoch: u32,
        schedule: u64,
        schedules: u64,
    },
}

/// The pictures that a choice names: one schedule, or the first ones of an epoch.
pub fn pictures<'a>(archive: &'a Archive, choice: &str) -> Result<Vec<Picture<'a>>, NoPicture> {
    let bad = || NoPicture::NotAChoice(choice.to_owned());
    let (epoch, schedule) = match choice.split_once('/') {
        None => (choice, None),
        Some((epoch, schedule)) => (epoch, Some(schedule.parse().map_err(|_| bad())?)),
    };
    let epoch: u32 = epoch
        .trim_start_matches("epoch")
        .parse()
        .map_err(|_| bad())?;
    let epochs = archive.epochs.len();
    if epoch as usize >= epochs {
        return Err(NoPicture::NoSuchEpoch { epoch, epochs });
    }
    let id = EpochId::from_index(epoch as usize);
    let paths = Paths::of(archive);
    let schedules = paths.schedules(archive, id);
    let chosen = match schedule {
        Some(schedule) if schedule >= schedules => {
            return Err(NoPicture::NoSuchSchedule {
                epoch,
                schedule,
                schedules,
            });
        }
        Some(schedule) => schedule..schedule + 1,
        None => 0..schedules.min(MOST_PICTURES),
    };
    Ok(chosen
        .filter_map(|number| {
            let path = paths.path(archive, id, number)?;
            Some(Picture::of(archive, id, number, schedules, &path))
        })
        .collect())
}
