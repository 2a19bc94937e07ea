//! As much of the ELF format as carrying sections takes: 64-bit, little-endian.
//!
//! Reading never trusts a number: anything out of range reads as "no such file". Objects are rewritten whole ([`Object`]); linked
//! files keep every byte where it is and only grow ([`append_section`]).
//!
//! Deliberately absent: symbols beyond their names, relocations, other classes and byte orders.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

const HEADER_SIZE: usize = 64;
const ENTRY_SIZE: usize = 64;
const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const DYNSYM: u32 = 11;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
const DYNAMIC: u32 = 6;
const GROUP: u32 = 17;
/// Sections of ours are aligned so that a record can be read in place.
const ALIGNMENT: u64 = 8;

/// Name of sections that were emptied: some tools act on the mere name of the original.
const EMPTIED: &[u8] = b".heddle.none\0";

/// What kind of ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    /// Executable or shared library.
    Linked,
}

/// A section header.
#[derive(Clone, Debug)]
struct Header {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            name: u32_at(bytes, 0)?,
            kind: u32_at(bytes, 4)?,
            flags: u64_at(bytes, 8)?,
            address: u64_at(bytes, 16)?,
            offset: u64_at(bytes, 24)?,
            size: u64_at(bytes, 32)?,
            link: u32_at(bytes, 40)?,
            info: u32_at(bytes, 44)?,
            align: u64_at(bytes, 48)?,
            entry: u64_at(bytes, 56)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.name.to_le_bytes());
        out.extend(self.kind.to_le_bytes());
        for number in [self.flags, self.address, self.offset, self.size] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.link.to_le_bytes());
        out.extend(self.info.to_le_bytes());
        out.extend(self.align.to_le_bytes());
        out.extend(self.entry.to_le_bytes());
    }

    fn plain(name: u32, kind: u32, offset: u64, size: u64, align: u64) -> Self {
        Self {
            name,
            kind,
            flags: 0,
            address: 0,
            offset,
            size,
            link: 0,
            info: 0,
            align,
            entry: 0,
        }
    }

    fn data<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        if self.kind == NOBITS {
            return Some(&[]);
        }
        let start = usize::try_from(self.offset).ok()?;
        let size = usize::try_from(self.size).ok()?;
        file.get(start..start.checked_add(size)?)
    }
}

/// A file whose headers are in order.
pub(crate) struct File<'a> {
    bytes: &'a [u8],
    headers: Vec<Header>,
    names: &'a [u8],
    pub(crate) kind: Kind,
}

impl<'a> File<'a> {
    /// `None` for anything but a sound 64-bit little-endian object or linked file.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let kind = match u16_at(bytes, 16)? {
            1 => Kind::Object,
            2 | 3 => Kind::Linked,
            _ => return None,
        };
        let table = usize::try_from(u64_at(bytes, 40)?).ok()?;
        let (entry, count, names) = (u16_at(bytes, 58)?, u16_at(bytes, 60)?, u16_at(bytes, 62)?);
        if usize::from(entry) != ENTRY_SIZE || count == 0 {
            return None; // none, or more than 2^16 sections
        }
        let table = bytes.get(table..table.checked_add(ENTRY_SIZE * usize::from(count))?)?;
        let headers: Vec<Header> = table
            .chunks_exact(ENTRY_SIZE)
            .map(Header::read)
            .collect::<Option<_>>()?;
        let names = headers.get(usize::from(names))?.data(bytes)?;
        Some(Self {
            bytes,
            headers,
            names,
            kind,
        })
    }

    /// Contents of the first section of a name.
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        let header = self
            .headers
            .iter()
            .find(|header| self.name(header) == name.as_bytes())?;
        header.data(self.bytes)
    }

    /// Contents of all sections of a name, one after the other.
    pub(crate) fn sections(&self, name: &str) -> Vec<u8> {
        let headers = self.headers.iter();
        headers
            .filter(|header| self.name(header) == name.as_bytes())
            .filter_map(|header| header.data(self.bytes))
            .flatten()
            .copied()
            .collect()
    }

    /// False for a stripped file.
    pub(crate) fn has_symbols(&self) -> bool {
        self.headers.iter().any(|header| header.kind == SYMTAB)
    }

    /// Names of global symbols that the file defines.
    pub(crate) fn defined_symbols(&self) -> BTreeSet<String> {
        self.symbols(SYMTAB, true)
    }

    /// Names of all global symbols that an object mentions.
    pub(crate) fn global_symbols(&self) -> BTreeSet<String> {
        self.symbols(SYMTAB, false)
    }

    /// Names of symbols that shared libraries find in a linked file.
    pub(crate) fn exported_symbols(&self) -> BTreeSet<String> {
        self.symbols(DYNSYM, true)
    }

    /// A program to run, not a library: it says which loader runs it, or has a fixed address.
    pub(crate) fn is_executable(&self) -> bool {
        let names = self.headers.iter().map(|header| self.name(header));
        let is_fixed = u16_at(self.bytes, 16) == Some(2);
        is_fixed || names.into_iter().any(|name| name == b".interp")
    }

    fn symbols(&self, kind: u32, only_defined: bool) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for table in self.headers.iter().filter(|header| header.kind == kind) {
            let strings = self
                .headers
                .get(table.link as usize)
                .and_then(|h| h.data(self.bytes));
            let (Some(strings), Some(data)) = (strings, table.data(self.bytes)) else {
                continue;
            };
            for symbol in data.chunks_exact(24) {
                let binding = symbol[4] >> 4;
                let section = u16::from_le_bytes([symbol[6], symbol[7]]);
                if binding != 0 && (section != 0 || !only_defined) {
                    let name = u32::from_le_bytes([symbol[0], symbol[1], symbol[2], symbol[3]]);
                    found.insert(String::from_utf8_lossy(text_at(strings, name)).into_owned());
                }
            }
        }
        found
    }

    /// Shared libraries that the file needs (`DT_NEEDED`), in order.
    pub(crate) fn needed_libraries(&self) -> Vec<String> {
        let Some(dynamic) = self.headers.iter().find(|header| header.kind == DYNAMIC) else {
            return Vec::new();
        };
        let strings = self
            .headers
            .get(dynamic.link as usize)
            .and_then(|h| h.data(self.bytes));
        let (Some(strings), Some(data)) = (strings, dynamic.data(self.bytes)) else {
            return Vec::new();
        };
        let entries = data
            .chunks_exact(16)
            .filter(|entry| u64_at(entry, 0) == Some(1));
        entries
            .filter_map(|entry| u32::try_from(u64_at(entry, 8)?).ok())
            .map(|name| String::from_utf8_lossy(text_at(strings, name)).into_owned())
            .collect()
    }

    fn name(&self, header: &Header) -> &'a [u8] {
        text_at(self.names, header.name)
    }

    fn string_table_index(&self) -> usize {
        usize::from(u16_at(self.bytes, 62).unwrap_or(0))
    }
}

/// An object file with some sections emptied and one added. Section indices stay, so that symbols and relocations stay right.
///
/// Returns `None` if the object does not have the shape a compiler gives it.
pub(crate) fn rewrite_object(
    file: &File<'_>,
    is_emptied: impl Fn(&[u8]) -> bool,
    add: (&str, &[u8]),
) -> Option<Vec<u8>> {
    if file.kind != Kind::Object {
        return None;
    }
    let names = file.string_table_index();
    let mut strings = file.names.to_vec();
    let new_name = u32::try_from(strings.len()).ok()?;
    strings.extend(add.0.as_bytes());
    strings.push(0);
    let emptied_name = u32::try_from(strings.len()).ok()?;
    strings.extend(EMPTIED);

    let mut out = file.bytes.get(..HEADER_SIZE)?.to_vec();
    let mut headers = Vec::with_capacity(file.headers.len() + 1);
    for (index, header) in file.headers.iter().enumerate() {
        let mut header = header.clone();
        let emptied = is_emptied(file.name(&header)) && header.kind != GROUP;
        let data = match (index == names, emptied) {
            (true, _) => strings.as_slice(),
            (false, true) => &[],
            (false, false) => header.data(file.bytes)?,
        };
        if emptied {
            header.name = emptied_name;
        }
        pad(&mut out, header.align);
        header.offset = out.len() as u64;
        if header.kind != NOBITS {
            header.size = data.len() as u64;
        }
        out.extend(data);
        headers.push(header);
    }
    pad(&mut out, ALIGNMENT);
    headers.push(Header::plain(
        new_name,
        PROGBITS,
        out.len() as u64,
        add.1.len() as u64,
        ALIGNMENT,
    ));
    out.extend(add.1);
    finish(&mut out, &headers, names)
}

/// Adds a section to a linked file in place: contents, names and headers go to the end, then the file header is pointed there.
/// Leaves anything but a linked ELF file alone.
pub(crate) fn append_section(path: &Path, name: &str, contents: &[u8]) -> std::io::Result<bool> {
    let mut bytes = Vec::new();
    let mut stream = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)?;
    stream.read_to_end(&mut bytes)?;
    let Some((tail, header)) = appended(&bytes, name, contents) else {
        return Ok(false);
    };
    stream.seek(SeekFrom::End(0))?;
    stream.write_all(&tail)?;
    stream.seek(SeekFrom::Start(0))?;
    stream.write_all(&header)?;
    Ok(true)
}

/// What goes to the end, and the new file header.
fn appended(bytes: &[u8], name: &str, contents: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = File::parse(bytes).filter(|file| file.kind == Kind::Linked)?;
    let names = file.string_table_index();
    let mut strings = file.names.to_vec();
    let new_name = u32::try_from(strings.len()).ok()?;
    strings.extend(name.as_bytes());
    strings.push(0);

    let mut headers = file.headers.clone();
    let mut out = bytes.to_vec();
    pad(&mut out, ALIGNMENT);
    headers.push(Header::plain(
        new_name,
        PROGBITS,
        out.len() as u64,
        contents.len() as u64,
        ALIGNMENT,
    ));
    out.extend(contents);
    headers[names] = Header::plain(
        headers[names].name,
        STRTAB,
        out.len() as u64,
        strings.len() as u64,
        1,
    );
    out.extend(strings);
    let out = finish(&mut out, &headers, names)?;
    let tail = out.get(bytes.len()..)?.to_vec();
    Some((tail, out.get(..HEADER_SIZE)?.to_vec()))
}

/// Writes the section headers at the end and points the file header to them.
fn finish(out: &mut Vec<u8>, headers: &[Header], names: usize) -> Option<Vec<u8>> {
    pad(out, ALIGNMENT);
    let table = out.len() as u64;
    for header in headers {
        header.write(out);
    }
    let count = u16::try_from(headers.len())
        .ok()
        .filter(|&count| count < 0xff00)?;
    let names = u16::try_from(names).ok()?;
    out[40..48].copy_from_slice(&table.to_le_bytes());
    out[60..62].copy_from_slice(&count.to_le_bytes());
    out[62..64].copy_from_slice(&names.to_le_bytes());
    Some(std::mem::take(out))
}

fn pad(out: &mut Vec<u8>, align: u64) {
    let align = usize::try_from(align.max(1)).unwrap_or(1);
    out.resize(out.len().next_multiple_of(align), 0);
}

fn text_at(table: &[u8], offset: u32) -> &[u8] {
    let rest = table.get(offset as usize..).unwrap_or(&[]);
    rest.split(|byte| *byte == 0).next().unwrap_or(&[])
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(offset..offset + 2)?.try_into().ok()?,
    ))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(offset..offset + 4)?.try_into().ok()?,
    ))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(offset..offset + 8)?.try_into().ok()?,
    ))
}
