//! Opening an archive: every way a file can be wrong is one [`Refusal`], and what is handed out was checked.
//!
//! The file is read once into private anonymous memory, which then becomes read-only and is used in place; nothing is
//! deserialized. Mapping the file itself would be cheaper by one copy, but then another process could shrink it (SIGBUS) or
//! change bytes after they were checked.
//!
//! At each open: header, checksums, rkyv's structural check, and [`ranges`](crate::ranges), so that no id or length found in
//! the archive leads outside it. What more there is to say about an archive is the verifier's business.
//!
//! Deliberately absent: waiting. A FIFO or device is refused without being read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchivedArchive, FORMAT_VERSION};
use crate::file::{Architecture, BuiltFor, HEADER_LEN, Header, MAX_BODY_LEN};
use crate::inplace::{Checked, Sealed};
use crate::memory::Memory;
use crate::plan_digest;
use crate::ranges::{self, Broken};

/// Why a file was not opened as an archive.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}", path = .path.display())]
pub struct OpenError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it; already part of the message, so not a source of its own.
    pub reason: Refusal,
}

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Input: there is no such file.
    #[error("no such file")]
    NotFound,
    /// Input: we may not read it.
    #[error("no permission to read it")]
    NoPermission,
    /// Input: the path names a directory.
    #[error("is a directory, not an archive")]
    IsADirectory,
    /// Input: a FIFO, socket or device.
    #[error("is not a regular file")]
    NotARegularFile,
    /// Input: no byte in it.
    #[error("is empty")]
    Empty,
    /// Input: does not begin like an archive.
    #[error("is not a Heddle archive")]
    NotAnArchive,
    /// Input: shorter than its header says.
    #[error("is truncated: {found} bytes of {expected}")]
    Truncated { expected: u64, found: u64 },
    /// Input: longer than its header says.
    #[error("has {extra} bytes after its end")]
    TrailingBytes { extra: u64 },
    /// Input: the file changed while it was read.
    #[error("changed while it was being read; try again")]
    ChangedWhileReading,
    /// Input: the header's own checksum is wrong.
    #[error("is corrupted: the header's checksum does not match")]
    HeaderCorrupted,
    /// Input: the body's checksum is wrong.
    #[error("is corrupted: the checksum of its contents does not match")]
    Corrupted,
    /// Input: the checksums are right, but rkyv finds the body malformed.
    #[error("is malformed: {0}")]
    Malformed(rkyv::rancor::Error),
    /// Input: the structure is right, but some number in it leads nowhere.
    #[error("is malformed: {0}")]
    Broken(#[from] Broken),
    /// Input: header and body name different programs.
    #[error("is malformed: header and contents name different programs")]
    TwoFingerprints,
    /// Input: header and body number the program's sites differently.
    #[error("is malformed: header and contents have different plans")]
    TwoPlans,
    /// Unsupported: made by an older Heddle.
    #[error(
        "was made by an older Heddle (format {found}, this one reads format {FORMAT_VERSION}); enumerate the program again"
    )]
    OlderVersion { found: u32 },
    /// Unsupported: made by a newer Heddle.
    #[error("was made by a newer Heddle (format {found}, this one reads format {FORMAT_VERSION})")]
    NewerVersion { found: u32 },
    /// Unsupported: for another machine.
    #[error("was made for another architecture ({found}; this is {here})", here = Architecture::HERE)]
    OtherArchitecture { found: Architecture },
    /// Input: the archive of another program.
    #[error(
        "belongs to another program (fingerprint {found}, expected {expected}); build program and archive together",
        found = hex(.found), expected = hex(.expected)
    )]
    WrongProgram { expected: [u8; 16], found: [u8; 16] },
    /// Input: an archive of this program, but not the one it was instrumented by, which has other sites under the same numbers.
    #[error(
        "was made with other options than this program (plan {found}, expected {expected}); build program and archive together",
        found = hex(.found), expected = hex(.expected)
    )]
    OtherPlan { expected: [u8; 16], found: [u8; 16] },
    /// Limit: more than [`MAX_BODY_LEN`].
    #[error("says it has {found} bytes; the limit is {MAX_BODY_LEN}")]
    TooLarge { found: u64 },
    /// Limit: no memory for it.
    #[error("no memory for its {len} bytes: {error}")]
    NoMemory { len: u64, error: io::Error },
    /// Input: the system reports an error while reading.
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A checked archive, used in place.
pub struct OpenArchive {
    store: Store,
    bytes: u64,
    plan: [u8; 16],
}

enum Store {
    Sealed(Checked<Sealed>),
    Static(Checked<&'static [u8]>),
}

impl std::fmt::Debug for OpenArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenArchive of {} bytes", self.bytes)
    }
}

impl std::ops::Deref for OpenArchive {
    type Target = ArchivedArchive;
    fn deref(&self) -> &ArchivedArchive {
        self.archive()
    }
}

impl OpenArchive {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        read_file(path)
            .and_then(Self::from_memory)
            .map_err(|reason| OpenError {
                path: path.to_owned(),
                reason,
            })
    }

    /// Opens the file at `path`, which must be one that this program can follow.
    pub fn open_for(path: &Path, program: BuiltFor) -> Result<Self, OpenError> {
        let open = Self::open(path)?;
        open.check_program(program).map_err(|reason| OpenError {
            path: path.to_owned(),
            reason,
        })?;
        Ok(open)
    }

    /// As [`OpenArchive::open_for`], for a file that the caller has opened, and looked at, itself; `path` is for messages.
    pub fn read_for(file: File, path: &Path, program: BuiltFor) -> Result<Self, OpenError> {
        let open = regular(file)
            .and_then(read_opened)
            .and_then(Self::from_memory);
        let checked = open.and_then(|open| open.check_program(program).map(|()| open));
        checked.map_err(|reason| OpenError {
            path: path.to_owned(),
            reason,
        })
    }

    /// Opens a copy of `bytes`, which are those of a file.
    pub fn open_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        Header::parse(bytes)?;
        let mut memory = Memory::new(bytes.len() as u64)?;
        memory.bytes_mut().copy_from_slice(bytes);
        Self::from_memory(memory)
    }

    /// Opens an archive that is part of the program: in place if it is aligned, else a copy.
    pub fn open_embedded(bytes: &'static [u8]) -> Result<Self, Refusal> {
        if !bytes.as_ptr().cast::<u128>().is_aligned() {
            return Self::open_bytes(bytes);
        }
        let header = check_outside(bytes)?;
        let store = Checked::new(&bytes[HEADER_LEN..]).map_err(Refusal::Malformed)?;
        Self::check_inside(Store::Static(store), &header, bytes.len())
    }

    fn from_memory(memory: Memory) -> Result<Self, Refusal> {
        let header = check_outside(memory.bytes())?;
        let sealed = memory.seal().map_err(Refusal::Io)?;
        let len = HEADER_LEN + sealed.body.len();
        let store = Checked::new(sealed).map_err(Refusal::Malformed)?;
        Self::check_inside(Store::Sealed(store), &header, len)
    }

    fn check_inside(store: Store, header: &Header, len: usize) -> Result<Self, Refusal> {
        let open = Self {
            store,
            bytes: len as u64,
            plan: header.built_for.plan,
        };
        if open.archive().program.fingerprint != header.built_for.fingerprint {
            return Err(Refusal::TwoFingerprints);
        }
        ranges::check(open.archive())?;
        if plan_digest::of(open.archive()) != open.plan {
            return Err(Refusal::TwoPlans);
        }
        Ok(open)
    }

    /// The archive, in place.
    #[inline]
    pub fn archive(&self) -> &ArchivedArchive {
        match &self.store {
            Store::Sealed(checked) => checked.get(),
            Store::Static(checked) => checked.get(),
        }
    }

    /// What the archive is for.
    pub fn built_for(&self) -> BuiltFor {
        BuiltFor {
            fingerprint: self.archive().program.fingerprint,
            plan: self.plan,
        }
    }

    /// Refuses an archive that `program` cannot follow: another program's, or one that numbers this one's sites differently.
    pub fn check_program(&self, program: BuiltFor) -> Result<(), Refusal> {
        let found = self.built_for();
        if found.fingerprint != program.fingerprint {
            return Err(Refusal::WrongProgram {
                expected: program.fingerprint,
                found: found.fingerprint,
            });
        }
        if program.plan != BuiltFor::ANY_PLAN && found.plan != program.plan {
            return Err(Refusal::OtherPlan {
                expected: program.plan,
                found: found.plan,
            });
        }
        Ok(())
    }

    /// Size of the file.
    pub fn len_bytes(&self) -> u64 {
        self.bytes
    }

    /// The archive in memory form, for tools.
    pub fn to_archive(&self) -> Archive {
        rkyv::deserialize::<Archive, rkyv::rancor::Error>(self.archive())
            .expect("a checked archive has no way to fail")
    }
}

impl Archive {
    /// Reads the file at `path` into memory form.
    pub fn read(path: &Path) -> Result<Self, OpenError> {
        Ok(OpenArchive::open(path)?.to_archive())
    }

    /// Reads the bytes of a file into memory form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(OpenArchive::open_bytes(bytes)?.to_archive())
    }
}

/// Checks header, length and checksum.
fn check_outside(bytes: &[u8]) -> Result<Header, Refusal> {
    let header = Header::parse(bytes)?;
    let expected = header.body_len + HEADER_LEN as u64;
    check_length(expected, bytes.len() as u64)?;
    header.check_body(&bytes[HEADER_LEN..])?;
    Ok(header)
}

fn check_length(expected: u64, found: u64) -> Result<(), Refusal> {
    if found < expected {
        return Err(Refusal::Truncated { expected, found });
    }
    if found > expected {
        return Err(Refusal::TrailingBytes {
            extra: found - expected,
        });
    }
    Ok(())
}

/// Reads a whole archive file into private memory; stops early if the header is wrong.
fn read_file(path: &Path) -> Result<Memory, Refusal> {
    read_opened(open_regular(path)?)
}

fn read_opened((mut file, len): (File, u64)) -> Result<Memory, Refusal> {
    let mut start = [0; HEADER_LEN];
    let got = read_up_to(&mut file, &mut start)?;
    let header = Header::parse(&start[..got])?;
    check_length(header.body_len + HEADER_LEN as u64, len)?;
    let mut memory = Memory::new(len)?;
    let (copied, body) = memory.bytes_mut().split_at_mut(HEADER_LEN);
    copied.copy_from_slice(&start);
    if read_up_to(&mut file, body)? as u64 != header.body_len {
        return Err(Refusal::ChangedWhileReading);
    }
    Ok(memory)
}

/// Opens without waiting for a FIFO's other end, and refuses anything but a regular file.
fn open_regular(path: &Path) -> Result<(File, u64), Refusal> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(classify)?;
    regular(file)
}

fn regular(file: File) -> Result<(File, u64), Refusal> {
    let metadata = file.metadata().map_err(Refusal::Io)?;
    if metadata.is_dir() {
        return Err(Refusal::IsADirectory);
    }
    if !metadata.is_file() {
        return Err(Refusal::NotARegularFile);
    }
    Ok((file, metadata.len()))
}

fn classify(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::NotFound,
        io::ErrorKind::PermissionDenied => Refusal::NoPermission,
        io::ErrorKind::IsADirectory => Refusal::IsADirectory,
        // A socket, or a device without a driver.
        _ if error.raw_os_error() == Some(libc::ENXIO) => Refusal::NotARegularFile,
        _ => Refusal::Io(error),
    }
}

/// Fills `buffer` as far as the file goes.
fn read_up_to(file: &mut File, buffer: &mut [u8]) -> Result<usize, Refusal> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Refusal::Io(error)),
        }
    }
    Ok(filled)
}
