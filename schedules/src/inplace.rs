//! The only file with `unsafe`: looking at bytes that were checked before without checking them again.

#![allow(unsafe_code)]

use rkyv::rancor::Error;

use crate::archive::ArchivedArchive;

/// Bytes that hold a valid archive: checked once, never changed afterwards.
pub(crate) struct Checked<B> {
    bytes: B,
}

impl<B: StableBytes> Checked<B> {
    /// Checks every pointer, length, tag and string in `bytes`.
    pub(crate) fn new(bytes: B) -> Result<Self, Error> {
        rkyv::access::<ArchivedArchive, Error>(bytes.bytes())?;
        Ok(Self { bytes })
    }

    pub(crate) fn get(&self) -> &ArchivedArchive {
        // SAFETY: `new` accepted these very bytes as an `ArchivedArchive`, and `StableBytes` promises that they have neither
        // moved nor changed since: nobody else can write them and we hold them by value.
        unsafe { rkyv::access_unchecked::<ArchivedArchive>(self.bytes.bytes()) }
    }
}

/// Bytes that stay at one address and do not change for as long as the value lives.
///
/// # Safety
/// `bytes` returns the same address, length and contents at each call, also after the value was moved.
pub(crate) unsafe trait StableBytes {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

/// Private anonymous memory, read-only since it was filled.
pub(crate) struct Sealed {
    pub(crate) map: memmap2::Mmap,
    /// Where in it the archive's body is.
    pub(crate) body: std::ops::Range<usize>,
}

// SAFETY: the mapping is anonymous and private to this process, so no file can change or shrink under it; it is never handed
// out mutably, and moving the handle does not move the memory.
unsafe impl StableBytes for Sealed {
    fn bytes(&self) -> &[u8] {
        &self.map[self.body.clone()]
    }
}

// SAFETY: a shared reference to immutable bytes; moving it does not move them.
unsafe impl StableBytes for &'static [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}
