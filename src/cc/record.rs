//! What the driver leaves in objects and linked files.
//!
//! Both sections are sequences of records that say their own length, so that linkers may put sections one after the other, with
//! zero padding between them. A record is: eight bytes of magic, the length of what follows (`u64`), a number of strings (`u32`), each with
//! its length (`u32`), then the payload up to the record's end.
//!
//! Reading never trusts a number; a damaged record ends the list with an error.

/// Section with one [`Unit`] for each compiled source.
pub(crate) const UNIT_SECTION: &str = ".heddle.bc";
/// Section with one [`Link`] for each run of the linker.
pub(crate) const LINK_SECTION: &str = ".heddle.link";

const UNIT_MAGIC: &[u8; 8] = b"HEDDLEU1";
const LINK_MAGIC: &[u8; 8] = b"HEDDLEL1";

/// The bitcode of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The source as the command named it.
    pub(crate) source: String,
    /// Optimization level, for example `2` or `s`.
    pub(crate) level: String,
    /// Flags that matter when the program is built again: sanitizers and code generation.
    pub(crate) flags: Vec<String>,
    /// Raw bitcode.
    pub(crate) bitcode: Vec<u8>,
}

/// How a file was linked.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Link {
    /// Where the command ran: relative names start here.
    pub(crate) directory: String,
    /// `c` or `c++`.
    pub(crate) language: String,
    /// Options and inputs for the linker that do not carry bitcode, in order.
    pub(crate) arguments: Vec<String>,
    /// Objects and archive members without bitcode that were linked in, for people.
    pub(crate) opaque: Vec<String>,
    /// Objects without bitcode, to link the program again when they are gone.
    pub(crate) natives: Vec<Native>,
}

/// A native object that belongs to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Native {
    pub(crate) name: String,
    pub(crate) object: Vec<u8>,
}

/// A section that is not what the driver wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the section that heddle cc wrote is damaged")
    }
}

impl std::error::Error for Damaged {}

impl Unit {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut strings = vec![self.source.as_str(), self.level.as_str()];
        strings.extend(self.flags.iter().map(String::as_str));
        encode(UNIT_MAGIC, &strings, &self.bitcode)
    }

    /// All units of a section.
    pub(crate) fn decode(section: &[u8]) -> Result<Vec<Unit>, Damaged> {
        records(UNIT_MAGIC, section)?
            .into_iter()
            .map(|(strings, payload)| {
                let mut strings = strings.into_iter();
                Ok(Unit {
                    source: strings.next().ok_or(Damaged)?,
                    level: strings.next().ok_or(Damaged)?,
                    flags: strings.collect(),
                    bitcode: payload.to_vec(),
                })
            })
            .collect()
    }
}

impl Link {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let count = |list: usize| list.to_string();
        let counts = [
            count(self.arguments.len()),
            count(self.opaque.len()),
            count(self.natives.len()),
        ];
        let mut strings = vec![self.directory.as_str(), self.language.as_str()];
        strings.extend(counts.iter().map(String::as_str));
        strings.extend(self.arguments.iter().map(String::as_str));
        strings.extend(self.opaque.iter().map(String::as_str));
        strings.extend(self.natives.iter().map(|native| native.name.as_str()));
        let sizes: Vec<String> = self
            .natives
            .iter()
            .map(|native| count(native.object.len()))
            .collect();
        strings.extend(sizes.iter().map(String::as_str));
        let payload: Vec<u8> = self
            .natives
            .iter()
            .flat_map(|native| native.object.iter().copied())
            .collect();
        encode(LINK_MAGIC, &strings, &payload)
    }

    /// All links of a file: the last one made it, the others its objects (`-r`).
    pub(crate) fn decode(section: &[u8]) -> Result<Vec<Link>, Damaged> {
        records(LINK_MAGIC, section)?
            .into_iter()
            .map(|(strings, payload)| Link::from_parts(strings, payload).ok_or(Damaged))
            .collect()
    }

    /// The last link with what the earlier ones have put into its objects.
    pub(crate) fn merge(links: Vec<Link>) -> Link {
        let mut links = links.into_iter().rev();
        let mut last = links.next().unwrap_or_default();
        for earlier in links {
            last.opaque.extend(earlier.opaque);
            last.natives.extend(earlier.natives);
        }
        last
    }

    fn from_parts(strings: Vec<String>, mut payload: &[u8]) -> Option<Link> {
        let mut strings = strings.into_iter();
        let mut link = Link {
            directory: strings.next()?,
            language: strings.next()?,
            ..Link::default()
        };
        let mut count = || strings.next()?.parse::<usize>().ok();
        let (arguments, opaque, natives) = (count()?, count()?, count()?);
        link.arguments = strings.by_ref().take(arguments).collect();
        link.opaque = strings.by_ref().take(opaque).collect();
        let names: Vec<String> = strings.by_ref().take(natives).collect();
        for name in names {
            let size = strings.next()?.parse::<usize>().ok()?;
            let (object, rest) = payload.split_at_checked(size)?;
            payload = rest;
            link.natives.push(Native {
                name,
                object: object.to_vec(),
            });
        }
        Some(link)
    }
}

fn encode(magic: &[u8; 8], strings: &[&str], payload: &[u8]) -> Vec<u8> {
    let length = |n: usize| {
        u32::try_from(n)
            .expect("command lines are short")
            .to_le_bytes()
    };
    let mut body = length(strings.len()).to_vec();
    for string in strings {
        body.extend(length(string.len()));
        body.extend(string.as_bytes());
    }
    body.extend(payload);
    let mut out = magic.to_vec();
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

type Record<'a> = (Vec<String>, &'a [u8]);

fn records<'a>(magic: &[u8; 8], mut section: &'a [u8]) -> Result<Vec<Record<'a>>, Damaged> {
    let mut found = Vec::new();
    loop {
        let padding = section.iter().take_while(|byte| **byte == 0).count();
        section = &section[padding..];
        if section.is_empty() {
            return Ok(found);
        }
        let rest = section.strip_prefix(magic).ok_or(Damaged)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(Damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Damaged)?;
        let (body, rest) = rest.split_at_checked(length).ok_or(Damaged)?;
        found.push(split_body(body).ok_or(Damaged)?);
        section = rest;
    }
}

fn split_body(body: &[u8]) -> Option<Record<'_>> {
    let (count, mut rest) = body.split_first_chunk::<4>()?;
    let mut strings = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let (string, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        strings.push(String::from_utf8_lossy(string).into_owned());
        rest = tail;
    }
    Some((strings, rest))
}

#[cfg(test)]
mod tests {
    use super::{Damaged, Link, Native, Unit};

    fn unit(source: &str) -> Unit {
        Unit {
            source: source.to_owned(),
            level: "2".to_owned(),
            flags: vec!["-fsanitize=address".to_owned()],
            bitcode: vec![1, 2, 3, 0, 0],
        }
    }

    #[test]
    fn units_survive_being_put_together_by_a_linker() {
        let mut section = unit("a.c").encode();
        section.extend([0; 5]);
        section.extend(unit("b c.c").encode());
        assert_eq!(Unit::decode(&section), Ok(vec![unit("a.c"), unit("b c.c")]));
    }

    #[test]
    fn every_truncation_is_damage() {
        let whole = unit("a.c").encode();
        for end in 1..whole.len() {
            assert_eq!(Unit::decode(&whole[..end]), Err(Damaged), "at {end}");
        }
    }

    #[test]
    fn link_record() {
        let link = Link {
            directory: "/build".to_owned(),
            language: "c".to_owned(),
            arguments: vec!["-lm".to_owned(), "libx.a".to_owned()],
            opaque: vec!["fast.o".to_owned()],
            natives: vec![Native {
                name: "fast.o".to_owned(),
                object: vec![0, 1, 0],
            }],
        };
        assert_eq!(Link::decode(&link.encode()), Ok(vec![link]));
    }
}
