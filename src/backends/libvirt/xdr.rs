//! XDR (RFC 4506), as much of it as the answers need: big-endian, everything in steps of four bytes.

/// Reads values off the front of a body. An error is a sentence that repeats nothing of it.
pub(super) struct Reader<'a>(&'a [u8]);

const BREAKS_OFF: &str = "the answer breaks off";

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(BREAKS_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    /// So many bytes and their padding: opaque data of a fixed length.
    pub(super) fn opaque(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let taken = self.take(length)?;
        match self.take(length.wrapping_neg() % 4)? {
            padding if padding.iter().all(|byte| *byte == 0) => Ok(taken),
            _ => Err("the answer has something in place of padding"),
        }
    }

    pub(super) fn u32(&mut self) -> Result<u32, &'static str> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    pub(super) fn u64(&mut self) -> Result<u64, &'static str> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// How many follow, where more than `most` are no good answer.
    pub(super) fn count(&mut self, most: usize) -> Result<usize, &'static str> {
        let count = self.u32()?.try_into().unwrap_or(usize::MAX);
        if count <= most { Ok(count) } else { Err("the answer has more of something than any good one") }
    }

    /// A string of at most `most` bytes.
    pub(super) fn string(&mut self, most: usize) -> Result<&'a str, &'static str> {
        let length = self.count(most)?;
        std::str::from_utf8(self.opaque(length)?).map_err(|_| "the answer has a text that is not UTF-8")
    }

    /// A string that may be missing.
    pub(super) fn optional_string(&mut self, most: usize) -> Result<Option<&'a str>, &'static str> {
        match self.u32()? {
            0 => Ok(None),
            1 => self.string(most).map(Some),
            _ => Err("the answer has a number in place of yes or no"),
        }
    }

    /// That nothing is left.
    pub(super) fn end(self) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err("the answer goes on where it should end") }
    }
}

/// Adds a number.
pub(super) fn put_u32(to: &mut Vec<u8>, number: u32) {
    to.extend(number.to_be_bytes());
}

/// Adds a string that may be missing, and is not. It is one of ours, and short.
pub(super) fn put_optional_string(to: &mut Vec<u8>, text: &str) {
    put_u32(to, 1);
    put_u32(to, u32::try_from(text.len()).unwrap_or(u32::MAX));
    to.extend(text.as_bytes());
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[test]
    fn reads_what_was_written() {
        proptest!(|(number: u32, text in ".{0,40}")| {
            let mut body = Vec::new();
            put_u32(&mut body, number);
            put_optional_string(&mut body, &text);
            prop_assert_eq!(body.len() % 4, 0);
            let mut reader = Reader::new(&body);
            prop_assert_eq!(reader.u32(), Ok(number));
            prop_assert_eq!(reader.optional_string(200), Ok(Some(text.as_str())));
            prop_assert_eq!(reader.end(), Ok(()));
        });
    }

    #[rstest]
    #[case::nothing(&[])]
    #[case::half_a_number(&[0, 0])]
    #[case::neither_yes_nor_no(&[0, 0, 0, 2])]
    #[case::no_length(&[0, 0, 0, 1])]
    #[case::longer_than_there_is(&[0, 0, 0, 1, 0, 0, 0, 9, b'a', b'b', b'c', b'd'])]
    #[case::longer_than_allowed(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff])]
    #[case::no_padding(&[0, 0, 0, 1, 0, 0, 0, 1, b'a'])]
    #[case::no_text(&[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0, 0, 0])]
    #[case::padding_of_something(&[0, 0, 0, 1, 0, 0, 0, 1, b'a', 1, 0, 0])]
    fn refuses(#[case] body: &[u8]) {
        Reader::new(body).optional_string(100).unwrap_err();
    }

    #[test]
    fn says_that_something_is_left() {
        Reader::new(&[0]).end().unwrap_err();
    }
}
