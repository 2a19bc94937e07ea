//! Private memory for the bytes of an archive: filled once, then read-only.
//!
//! Most of what opening costs is getting pages: one by one they cost more than reading, hashing and checking what is put there. So
//! all are asked for at once, and larger archives ask for large pages. Where the system has none to give, small ones do.

use std::io;
use std::ops::Range;

use memmap2::{Advice, MmapMut, MmapOptions};

use crate::file::HEADER_LEN;
use crate::inplace::Sealed;
use crate::read::Refusal;

/// A large page of every machine that this runs on; elsewhere only the saving is lost.
const LARGE_PAGE: usize = 2 << 20;

/// From here on clearing a large page costs less than getting as many small ones.
const LARGE_FROM: usize = LARGE_PAGE / 4;

/// Memory that nobody else can reach.
pub(crate) struct Memory {
    map: MmapMut,
    used: Range<usize>,
}

impl Memory {
    /// `len` bytes.
    pub(crate) fn new(len: u64) -> Result<Self, Refusal> {
        let size = usize::try_from(len).map_err(|_| Refusal::TooLarge { found: len })?;
        let memory = match size < LARGE_FROM {
            true => Self::small(size),
            false => Self::large(size),
        };
        memory.map_err(|error| Refusal::NoMemory { len, error })
    }

    fn small(size: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size).populate().map_anon()?;
        Ok(Self { map, used: 0..size })
    }

    fn large(size: usize) -> io::Result<Self> {
        let whole = size
            .checked_next_multiple_of(LARGE_PAGE)
            .and_then(|whole| whole.checked_add(LARGE_PAGE))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let map = MmapOptions::new().len(whole).map_anon()?;
        let from = map.as_ptr().align_offset(LARGE_PAGE).min(LARGE_PAGE);
        // Both are wishes: who refuses them (an old kernel, a setting) gives pages as they are touched.
        let _ = map.advise_range(Advice::HugePage, from, whole - LARGE_PAGE);
        let _ = map.advise_range(Advice::PopulateWrite, from, size);
        Ok(Self {
            map,
            used: from..from + size,
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map[self.used.clone()]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.used.clone()]
    }

    /// Makes it read-only; what is handed out is the body.
    pub(crate) fn seal(self) -> io::Result<Sealed> {
        Ok(Sealed {
            map: self.map.make_read_only()?,
            body: self.used.start + HEADER_LEN..self.used.end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_empty_aligned_and_as_long_as_asked_for() {
        for len in [
            HEADER_LEN,
            5000,
            LARGE_FROM - 1,
            LARGE_FROM,
            3 * LARGE_PAGE + 1,
        ] {
            let mut memory = Memory::new(len as u64).unwrap();
            assert_eq!(memory.bytes().len(), len);
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
            assert!(memory.bytes().as_ptr().cast::<u128>().is_aligned());
            memory.bytes_mut()[len - 1] = 7;
            let sealed = memory.seal().unwrap();
            assert_eq!(sealed.body.len(), len - HEADER_LEN);
            assert_eq!(sealed.map[sealed.body].last().copied().unwrap_or(7), 7);
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert!(matches!(
            Memory::new(1 << 60),
            Err(Refusal::NoMemory { .. })
        ));
    }
}
