//! Members of a static archive (`ar` format, GNU and BSD long names).

/// One member.
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) contents: &'a [u8],
}

/// All object members; empty for anything that is no archive. Thin archives have no contents and give none.
pub(super) fn members(bytes: &[u8]) -> Vec<Member<'_>> {
    let mut found = Vec::new();
    let Some(mut rest) = bytes.strip_prefix(b"!<arch>\n") else {
        return found;
    };
    let mut long_names: &[u8] = &[];
    while let Some((header, tail)) = rest.split_at_checked(60) {
        let Some(size) = number(&header[48..58]) else {
            break;
        };
        let Some((contents, tail)) = tail.split_at_checked(size) else {
            break;
        };
        rest = tail.get(size % 2..).unwrap_or(&[]);
        match &header[..16] {
            name if name.starts_with(b"// ") => long_names = contents,
            name if name.starts_with(b"/ ") || name.starts_with(b"/SYM64/") => {}
            name => found.push(Member {
                name: member_name(name, long_names),
                contents,
            }),
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
