//! What `sscanf` and `strtol` read from a text, without the program around them.

/// What one conversion stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Number { bits: u32, value: u128 },
    Bytes(Vec<u8>),
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

/// The number that a text begins with after spaces, as `strtol` reads it, and how many bytes it takes with them: none if there is no
/// number. `None`: it does not fit, or C libraries disagree.
pub(super) fn integer(text: &[u8], base: u32, bits: u32, unsigned: bool) -> Option<(u128, usize)> {
    let mut at = spaces(text);
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let digit = |at: usize, base: u32| {
        text.get(at)
            .and_then(|byte| char::from(*byte).to_digit(base))
    };
    let prefix = text.get(at) == Some(&b'0');
    let letter = text.get(at + 1).map(u8::to_ascii_lowercase);
    if prefix && letter == Some(b'b') && matches!(base, 0 | 2) {
        return None;
    }
    let mut base = base;
    if matches!(base, 0 | 16) && prefix && letter == Some(b'x') && digit(at + 2, 16).is_some() {
        (base, at) = (16, at + 2);
    } else if base == 0 {
        base = if prefix { 8 } else { 10 };
    }
    if !(2..=36).contains(&base) {
        return None;
    }
    let first = at;
    let mut value: u128 = 0;
    while let Some(digit) = digit(at, base) {
        value = value * u128::from(base) + u128::from(digit);
        if value >= 1 << (bits - 1) {
            return None;
        }
        at += 1;
    }
    if at == first {
        return Some((0, 0));
    }
    if negative && unsigned && value != 0 {
        return None;
    }
    let mask = u128::MAX >> (128 - bits);
    let value = if negative {
        value.wrapping_neg()
    } else {
        value
    };
    Some((value & mask, at))
}

/// What `sscanf` stores, in order, and what it returns.
pub(super) fn scan(text: &[u8], format: &[u8]) -> Option<(Vec<Item>, i32)> {
    let mut items = Vec::new();
    let (mut count, mut at, mut next) = (0, 0, 0);
    while next < format.len() {
        let byte = format[next];
        next += 1;
        if is_space(byte) {
            at += spaces(&text[at..]);
            continue;
        }
        let plain = byte != b'%' || format.get(next) == Some(&b'%');
        if plain {
            if byte == b'%' {
                next += 1;
                at += spaces(&text[at..]);
            }
            match text.get(at) {
                Some(known) if *known == byte => at += 1,
                Some(_) => return Some((items, count)),
                None => return Some((items, ended(count))),
            }
            continue;
        }
        let dropped = format.get(next) == Some(&b'*');
        next += usize::from(dropped);
        let digits = (format[next..].iter())
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let most = match digits {
            0 => None,
            _ => Some(
                std::str::from_utf8(&format[next..next + digits])
                    .ok()?
                    .parse::<usize>()
                    .ok()?,
            ),
        };
        next += digits;
        let length = (format[next..].iter())
            .take_while(|byte| matches!(byte, b'h' | b'l' | b'j' | b'z' | b't' | b'q'))
            .count();
        let bits = match &format[next..next + length] {
            b"" => 32,
            b"h" => 16,
            b"hh" => 8,
            b"l" | b"ll" | b"j" | b"z" | b"t" | b"q" => 64,
            _ => return None,
        };
        next += length;
        let conversion = *format.get(next)?;
        next += 1;
        if conversion == b'n' {
            if !dropped {
                items.push(Item::Number {
                    bits,
                    value: at as u128,
                });
            }
            continue;
        }
        if conversion != b'c' {
            at += spaces(&text[at..]);
        }
        if at >= text.len() {
            return Some((items, ended(count)));
        }
        let rest = &text[at..];
        let rest = &rest[..most.unwrap_or(rest.len()).min(rest.len())];
        let (item, taken) = match conversion {
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => {
                let base = match conversion {
                    b'i' => 0,
                    b'x' | b'X' => 16,
                    b'o' => 8,
                    _ => 10,
                };
                // A prefix without digits behind it is read by some and not by others.
                if rest.len() > 1
                    && rest[..2].eq_ignore_ascii_case(b"0x")
                    && !rest[2..].first().is_some_and(u8::is_ascii_hexdigit)
                {
                    return None;
                }
                let unsigned = !matches!(conversion, b'd' | b'i');
                let (value, taken) = integer(rest, base, bits, unsigned)?;
                if taken == 0 {
                    return Some((items, count));
                }
                (Item::Number { bits, value }, taken)
            }
            b's' if bits == 32 => {
                let taken = rest.iter().take_while(|byte| !is_space(**byte)).count();
                let mut bytes = rest[..taken].to_vec();
                bytes.push(0);
                (Item::Bytes(bytes), taken)
            }
            b'c' if bits == 32 => {
                let taken = most.unwrap_or(1);
                if rest.len() < taken {
                    return None;
                }
                (Item::Bytes(rest[..taken].to_vec()), taken)
            }
            _ => return None,
        };
        at += taken;
        if !dropped {
            items.push(item);
            count += 1;
        }
    }
    Some((items, count))
}

/// What is returned at the end of the text.
fn ended(count: i32) -> i32 {
    if count == 0 { -1 } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bits: u32, value: u128) -> Item {
        Item::Number { bits, value }
    }

    #[test]
    fn numbers_are_read_as_the_library_reads_them() {
        assert_eq!(integer(b" \t42abc", 10, 64, false), Some((42, 4)));
        assert_eq!(integer(b"-7", 10, 32, false), Some((0xffff_fff9, 2)));
        assert_eq!(integer(b"0x1f", 0, 64, false), Some((31, 4)));
        assert_eq!(integer(b"0x", 16, 64, false), Some((0, 1)));
        assert_eq!(integer(b"017", 0, 64, false), Some((15, 3)));
        assert_eq!(integer(b"abc", 10, 64, false), Some((0, 0)));
        assert_eq!(integer(b"4294967296", 10, 32, false), None);
        assert_eq!(integer(b"-1", 10, 32, true), None);
    }

    #[test]
    fn formats_are_followed() {
        assert_eq!(scan(b"2", b"%u"), Some((vec![number(32, 2)], 1)));
        assert_eq!(
            scan(b"10x20 end", b"%dx%ld %s"),
            Some((
                vec![
                    number(32, 10),
                    number(64, 20),
                    Item::Bytes(b"end\0".to_vec())
                ],
                3
            ))
        );
        assert_eq!(scan(b"abc", b"%d"), Some((vec![], 0)));
        assert_eq!(scan(b"", b"%d"), Some((vec![], -1)));
        assert_eq!(
            scan(b"5 6", b"%*d %2d%n"),
            Some((vec![number(32, 6), number(32, 3)], 1))
        );
        assert_eq!(scan(b"1.5", b"%f"), None);
        assert_eq!(scan(b"7,", b"%d,%d"), Some((vec![number(32, 7)], 1)));
    }
}
