//! The only file with `unsafe`: looking at bytes that were checked before without checking them again.

#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use memmap2::MmapOptions;
use rkyv::rancor::Error;

use crate::archive::ArchivedArchive;
use crate::file::{HEADER_LEN, Header};
use crate::read::{
    OpenArchive, OpenError, Refusal, Store, check_length, check_outside, read_up_to, regular,
};

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
    /// The file with its header.
    pub(crate) map: memmap2::Mmap,
    /// Where the body begins.
    pub(crate) from: usize,
}

// SAFETY: the mapping is anonymous and private to this process, so no file can change or shrink under it; it is never handed
// out mutably, and moving the handle does not move the memory.
unsafe impl StableBytes for Sealed {
    fn bytes(&self) -> &[u8] {
        &self.map[self.from..]
    }
}

/// A file, mapped; nobody writes it, by the promise that `OpenArchive::map_for` asks for.
pub(crate) struct Mapped {
    /// The file with its header.
    pub(crate) map: memmap2::Mmap,
    /// Where the body begins.
    pub(crate) from: usize,
}

// SAFETY: whoever made it promised that the file does not change; moving the handle does not move the memory.
unsafe impl StableBytes for Mapped {
    fn bytes(&self) -> &[u8] {
        &self.map[self.from..]
    }
}

// SAFETY: a shared reference to immutable bytes; moving it does not move them.
unsafe impl StableBytes for &'static [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl OpenArchive {
    /// As [`OpenArchive::read_for`], in place: no copy is made, so opening is several times as fast.
    ///
    /// # Safety
    /// Nobody writes into the file or shortens it while the archive is used, as for a shared library. Replacing it by another one
    /// under its name, which is what [`Archive::write`] does, is no such change.
    pub unsafe fn map_for(file: File, path: &Path, program: [u8; 16]) -> Result<Self, OpenError> {
        // SAFETY: the caller's promise.
        let open = unsafe { Self::map(file) };
        let checked = open.and_then(|open| open.check_program(program).map(|()| open));
        checked.map_err(|reason| OpenError {
            path: path.to_owned(),
            reason,
        })
    }

    /// # Safety
    /// As for [`OpenArchive::map_for`].
    unsafe fn map(file: File) -> Result<Self, Refusal> {
        let (mut file, len) = regular(file)?;
        let mut start = [0; HEADER_LEN];
        let got = read_up_to(&mut file, &mut start)?;
        let header = Header::parse(&start[..got])?;
        check_length(header.body_len + HEADER_LEN as u64, len)?;
        // SAFETY: the caller's promise. All pages at once: one by one they would cost more than reading them.
        let map = unsafe { MmapOptions::new().populate().map(&file) }.map_err(Refusal::Io)?;
        let header = check_outside(&map)?;
        let from = HEADER_LEN;
        let store = Checked::new(Mapped { map, from }).map_err(Refusal::Malformed)?;
        Self::check_inside(Store::Mapped(store), &header, len as usize)
    }
}
