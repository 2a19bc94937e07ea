//! Numbers and texts as bytes: little and canonical, one way to write each value.
//!
//! Numbers are in groups of seven bits, least significant first. Reading never trusts what it reads: whatever does not fit is
//! [`Malformed`], never a panic and never a huge allocation.

/// The bytes are not what this tool writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Bytes in the making.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn number(&mut self, value: u64) {
        self.wide(value.into());
    }

    /// The length of something, or a position.
    pub fn count(&mut self, value: usize) {
        self.wide(value as u128);
    }

    pub fn wide(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63).cast_unsigned());
    }

    pub fn flag(&mut self, value: bool) {
        self.bytes.push(value.into());
    }

    pub fn text(&mut self, text: &str) {
        self.slice(text.as_bytes());
    }

    pub fn slice(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// `Some` as one more than its value.
    pub fn maybe(&mut self, value: Option<u64>) {
        self.wide(value.map_or(0, |value| u128::from(value) + 1));
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes to be read from the front.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    pub fn wide(&mut self) -> Result<u128, Malformed> {
        let mut value = 0u128;
        for shift in (0..).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 126 || (bits << shift) >> shift != bits {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.wide()?).map_err(|_| Malformed)
    }

    pub fn small(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.wide()?).map_err(|_| Malformed)
    }

    /// The length of something whose parts take at least a byte each.
    pub fn count(&mut self) -> Result<usize, Malformed> {
        let count = usize::try_from(self.wide()?).map_err(|_| Malformed)?;
        if count > self.rest.len() {
            return Err(Malformed);
        }
        Ok(count)
    }

    /// A position in something.
    pub fn index(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.wide()?).map_err(|_| Malformed)
    }

    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let bits = self.number()?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.slice()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed)
    }

    pub fn slice(&mut self) -> Result<&'b [u8], Malformed> {
        let count = self.count()?;
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    pub fn maybe(&mut self) -> Result<Option<u64>, Malformed> {
        match self.wide()? {
            0 => Ok(None),
            more => u64::try_from(more - 1).map(Some).map_err(|_| Malformed),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        for value in [0, 1, 127, 128, u128::from(u64::MAX), u128::MAX] {
            writer.wide(value);
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            writer.signed(value);
        }
        writer.text("heddle");
        writer.maybe(None);
        writer.maybe(Some(u64::MAX));
        writer.flag(true);
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes);
        for value in [0, 1, 127, 128, u128::from(u64::MAX), u128::MAX] {
            assert_eq!(reader.wide(), Ok(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(reader.signed(), Ok(value));
        }
        assert_eq!(reader.text().as_deref(), Ok("heddle"));
        assert_eq!(reader.maybe(), Ok(None));
        assert_eq!(reader.maybe(), Ok(Some(u64::MAX)));
        assert_eq!(reader.flag(), Ok(true));
        assert!(reader.is_empty());
    }

    #[test]
    fn cut_bytes_are_refused() {
        assert_eq!(Reader::new(&[0x80]).wide(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 30]).wide(), Err(Malformed));
        assert_eq!(Reader::new(&[5, b'a']).text(), Err(Malformed));
        assert_eq!(Reader::new(&[2]).flag(), Err(Malformed));
    }
}
