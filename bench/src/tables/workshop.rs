//! What every measurement needs: the command, a scratch folder, limits, and two hands.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::records::Records;
use crate::process::Limits;
use crate::soundness::trial::Heddle;

/// Where things are made.
pub struct Workshop {
    pub heddle: Heddle,
    scratch: tempfile::TempDir,
    pub records: Records,
    /// What one enumeration may take.
    pub limits: Limits,
}

impl Workshop {
    pub fn new(records: Records, limits: Limits) -> Result<Self> {
        Ok(Self {
            heddle: Heddle::find()?,
            scratch: tempfile::tempdir()?,
            records,
            limits,
        })
    }

    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

/// Most memory of one enumeration.
pub const MEMORY: u64 = 4 << 30;

/// Limits of an enumeration.
pub fn limits(seconds: u64) -> Limits {
    Limits {
        time: Duration::from_secs(seconds),
        memory: MEMORY,
    }
}

/// Does `work` for each item, `hands` at a time; results in the items' order.
pub fn each<T: Sync, R: Send>(items: &[T], hands: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..hands.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    // Relaxed: the counter only hands out numbers; results go through the mutex.
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else {
                        break;
                    };
                    let result = work(item);
                    done.lock()
                        .expect("nobody panics here")
                        .push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics here");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Processors that may be used.
pub fn hands() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(each(&items, 4, |item| item * 2)[99], 198);
        assert!(each(&[] as &[u32], 4, |item| item * 2).is_empty());
    }
}
