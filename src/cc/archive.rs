//! Members of a static archive (`ar` format with GNU's long names; thin ones, whose members are files beside them).

use std::borrow::Cow;
use std::path::Path;

/// One member.
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) contents: Cow<'a, [u8]>,
}

/// All object members; empty for anything that is no archive. `folder` is where the archive is: members of a thin one are named from
/// there, and one that is gone has no contents.
pub(super) fn members<'a>(bytes: &'a [u8], folder: &Path) -> Vec<Member<'a>> {
    let (mut rest, is_thin) = match (
        bytes.strip_prefix(b"!<arch>\n"),
        bytes.strip_prefix(b"!<thin>\n"),
    ) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut long_names: &[u8] = &[];
    while let Some((header, tail)) = rest.split_at_checked(60) {
        let name = &header[..16];
        let is_index = name.starts_with(b"/ ") || name.starts_with(b"/SYM64/");
        let is_names = name.starts_with(b"// ");
        let is_elsewhere = is_thin && !is_index && !is_names;
        let size = match number(&header[48..58]) {
            Some(_) if is_elsewhere => 0,
            Some(size) => size,
            None => break,
        };
        let Some((contents, tail)) = tail.split_at_checked(size) else {
            break;
        };
        rest = tail.get(size % 2..).unwrap_or(&[]);
        if is_names {
            long_names = contents;
        } else if !is_index {
            let name = member_name(name, long_names);
            let contents = match is_elsewhere {
                true => Cow::Owned(std::fs::read(folder.join(&name)).unwrap_or_default()),
                false => Cow::Borrowed(contents),
            };
            found.push(Member { name, contents });
        }
    }
    found
}

fn member_name(field: &[u8], long_names: &[u8]) -> String {
    let short = field.trim_ascii_end();
    let name = match short.strip_prefix(b"/").and_then(number) {
        Some(offset) => {
            let long = long_names.get(offset..).unwrap_or(&[]);
            long.split(|byte| *byte == b'\n').next().unwrap_or(&[])
        }
        None => short,
    };
    String::from_utf8_lossy(name.strip_suffix(b"/").unwrap_or(name)).into_owned()
}

fn number(field: &[u8]) -> Option<usize> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}
