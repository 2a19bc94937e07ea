//! The file around an archive: a fixed header of 80 bytes, then the body.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic; the line ends in it show a transfer in text mode |
//! | 8..12 | format version |
//! | 12..16 | architecture: byte order of the body, pointer width, ELF machine number |
//! | 16..24 | length of the body |
//! | 24..40 | XXH3-128 of the body |
//! | 40..56 | fingerprint of the prepared program |
//! | 56..72 | digest of the plan: how sites, roots and shadows are numbered and what is inserted where |
//! | 72..80 | XXH3-64 of bytes 0..72 |
//!
//! Header numbers are little-endian whatever the body is. Every bit of a file is covered by one of the two checksums.
//! Checksums find accidents; the reader does not rely on them for memory safety.
//!
//! Deliberately absent: what the body says (`archive`), and system calls (`read`, `write`).

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::archive::FORMAT_VERSION;
use crate::read::Refusal;

/// First bytes of each archive.
pub const MAGIC: [u8; 8] = *b"\x89HDL\r\n\x1a\n";

/// Length of the header.
pub const HEADER_LEN: usize = 80;

/// Where the header's own checksum stands; it covers what is before it.
const OWN_CHECKSUM: usize = HEADER_LEN - 8;

/// Longest body the reader takes: far above any real archive, and small enough not to exhaust a machine.
pub const MAX_BODY_LEN: u64 = 8 << 30;

/// What a body was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Architecture {
    /// `b'l'` or `b'b'`.
    pub byte_order: u8,
    /// In bits.
    pub pointer_width: u8,
    /// ELF machine number.
    pub machine: u16,
}

impl Architecture {
    /// Where this code runs.
    pub const HERE: Self = Self {
        byte_order: b'l',
        pointer_width: 64,
        machine: machine_here(),
    };

    fn to_bytes(self) -> [u8; 4] {
        let machine = self.machine.to_le_bytes();
        [self.byte_order, self.pointer_width, machine[0], machine[1]]
    }

    fn from_bytes(bytes: [u8; 4]) -> Self {
        Self {
            byte_order: bytes[0],
            pointer_width: bytes[1],
            machine: u16::from_le_bytes([bytes[2], bytes[3]]),
        }
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.machine {
            62 => "x86-64",
            183 => "aarch64",
            243 => "riscv",
            _ => return write!(f, "machine {} of {} bits", self.machine, self.pointer_width),
        };
        let order = if self.byte_order == b'l' {
            "little-endian"
        } else {
            "big-endian"
        };
        write!(f, "{name}, {order}, {} bits", self.pointer_width)
    }
}

const fn machine_here() -> u16 {
    if cfg!(target_arch = "x86_64") {
        62
    } else if cfg!(target_arch = "aarch64") {
        183
    } else if cfg!(target_arch = "riscv64") {
        243
    } else {
        0
    }
}

/// What ties an instrumented program to the archives it may follow.
/// Part of `__heddle_program`, so its layout is fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct BuiltFor {
    /// XXH3-128 of the prepared bitcode.
    pub fingerprint: [u8; 16],
    /// [`plan_digest`](crate::plan_digest) of the archive that instrumentation read; [`BuiltFor::ANY_PLAN`] if nobody knows.
    pub plan: [u8; 16],
}

impl BuiltFor {
    /// For programs that no archive was the plan of: instrumented by hand. Instrumentation never writes it.
    pub const ANY_PLAN: [u8; 16] = [0; 16];
}

/// A header as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// See [`FORMAT_VERSION`].
    pub version: u32,
    /// What the body was made for.
    pub architecture: Architecture,
    /// Bytes that follow the header.
    pub body_len: u64,
    /// XXH3-128 of them.
    pub body_hash: u128,
    /// What the archive is for; the body says the same.
    pub built_for: BuiltFor,
}

impl Header {
    /// The header of `body`.
    pub fn new(body: &[u8], built_for: BuiltFor) -> Self {
        Self {
            version: FORMAT_VERSION,
            architecture: Architecture::HERE,
            body_len: body.len() as u64,
            body_hash: xxh3_128(body),
            built_for,
        }
    }

    /// As it stands in the file.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.architecture.to_bytes());
        bytes[16..24].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.body_hash.to_le_bytes());
        bytes[40..56].copy_from_slice(&self.built_for.fingerprint);
        bytes[56..72].copy_from_slice(&self.built_for.plan);
        let own = xxh3_64(&bytes[..OWN_CHECKSUM]);
        bytes[OWN_CHECKSUM..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// Reads and checks a header: magic, version, own checksum, architecture, length limit, in this order, so that the
    /// most helpful refusal wins.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let known = bytes.len().min(MAGIC.len());
        if bytes.is_empty() {
            return Err(Refusal::Empty);
        }
        if bytes[..known] != MAGIC[..known] {
            return Err(Refusal::NotAnArchive);
        }
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(Refusal::Truncated {
                expected: HEADER_LEN as u64,
                found: bytes.len() as u64,
            });
        };
        let header = Self::from_bytes(bytes);
        header.check(bytes)?;
        Ok(header)
    }

    fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Self {
        let field = |from: usize| &bytes[from..];
        let u32_at = |from| u32::from_le_bytes(*field(from).first_chunk().expect("in header"));
        let u64_at = |from| u64::from_le_bytes(*field(from).first_chunk().expect("in header"));
        Self {
            version: u32_at(8),
            architecture: Architecture::from_bytes(u32_at(12).to_le_bytes()),
            body_len: u64_at(16),
            body_hash: u128::from(u64_at(24)) | u128::from(u64_at(32)) << 64,
            built_for: BuiltFor {
                fingerprint: *field(40).first_chunk().expect("in header"),
                plan: *field(56).first_chunk().expect("in header"),
            },
        }
    }

    fn check(&self, bytes: &[u8; HEADER_LEN]) -> Result<(), Refusal> {
        let found = self.version;
        if found > FORMAT_VERSION {
            return Err(Refusal::NewerVersion { found });
        }
        if found < FORMAT_VERSION {
            return Err(Refusal::OlderVersion { found });
        }
        let own = u64::from_le_bytes(*bytes[OWN_CHECKSUM..].first_chunk().expect("in header"));
        if xxh3_64(&bytes[..OWN_CHECKSUM]) != own {
            return Err(Refusal::HeaderCorrupted);
        }
        if self.architecture != Architecture::HERE {
            return Err(Refusal::OtherArchitecture {
                found: self.architecture,
            });
        }
        if self.body_len > MAX_BODY_LEN {
            return Err(Refusal::TooLarge {
                found: self.body_len,
            });
        }
        Ok(())
    }

    /// Checks that `body` is the one this header was made for.
    pub fn check_body(&self, body: &[u8]) -> Result<(), Refusal> {
        if xxh3_128(body) != self.body_hash {
            return Err(Refusal::Corrupted);
        }
        Ok(())
    }
}
