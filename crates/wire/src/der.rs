//! Elements of DER, borrowed from its bytes.

use pgdyno_platform::calendar::days_since_1970;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// One element: tag, contents, and all of its bytes. Leaves the rest in `input`.
pub(crate) fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8], &'a [u8])> {
    let all = *input;
    let (&tag, rest) = all.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(count)?;
        (
            bytes
                .iter()
                .fold(0usize, |len, &b| len << 8 | usize::from(b)),
            rest,
        )
    };
    let (contents, after) = rest.split_at_checked(len)?;
    *input = after;
    Some((tag, contents, &all[..all.len() - after.len()]))
}

/// The contents of an element that must have this tag.
pub(crate) fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    element(input).filter(|e| e.0 == tag).map(|e| e.1)
}

/// The contents of the next element if it has this tag; nothing is taken otherwise.
pub(crate) fn optional<'a>(input: &mut &'a [u8], tag: u8) -> Option<Option<&'a [u8]>> {
    if input.first() == Some(&tag) {
        expect(input, tag).map(Some)
    } else {
        Some(None)
    }
}

/// A bit string of whole bytes.
pub(crate) fn bits<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    expect(input, BIT_STRING)?
        .split_first()
        .filter(|(unused, _)| **unused == 0)
        .map(|(_, b)| b)
}

/// The first two bytes of a bit string of flags, the first flag in the highest bit.
pub(crate) fn flags(mut input: &[u8], tag: u8) -> Option<u16> {
    let (_, bytes) = expect(&mut input, tag)?.split_first()?;
    let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or_default());
    Some(byte(0) << 8 | byte(1))
}

/// A number from 0 to 2^31 - 1.
pub(crate) fn small(contents: &[u8]) -> Option<u32> {
    let is_negative = *contents.first()? >= 0x80;
    if is_negative || contents.len() > 4 {
        return None;
    }
    Some(contents.iter().fold(0, |n, &b| n << 8 | u32::from(b)))
}

/// A UTCTime or GeneralizedTime in the one form that certificates may use (RFC 5280, 4.1.2.5), in
/// seconds since 1970.
pub(crate) fn time(input: &mut &[u8]) -> Option<i64> {
    let (tag, text, _) = element(input)?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, text.len()) {
        (UTC_TIME, 12) => {
            let year: i64 = text[..2].parse().ok()?;
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                &text[2..],
            )
        }
        (GENERALIZED_TIME, 14) => (text[..4].parse().ok()?, &text[4..]),
        _ => return None,
    };
    let part = |i: usize| rest[i..i + 2].parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let seconds = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    Some(days_since_1970(year, month, day) * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_seconds_since_1970() {
        let utc = |text: &str, tag: u8| {
            let mut der = vec![tag, text.len() as u8];
            der.extend_from_slice(text.as_bytes());
            time(&mut &der[..])
        };
        assert_eq!(utc("700101000000Z", UTC_TIME), Some(0));
        assert_eq!(
            utc("20240229123456Z", GENERALIZED_TIME),
            Some(1_709_210_096)
        );
        assert_eq!(utc("491231235959Z", UTC_TIME), Some(2_524_607_999));
        assert_eq!(utc("2024022912345Z", GENERALIZED_TIME), None);
        assert_eq!(utc("7001010000\u{e9}Z", UTC_TIME), None);
    }

    #[test]
    fn numbers_and_flags_have_bounds() {
        assert_eq!(small(&[0]), Some(0));
        assert_eq!(small(&[1, 0]), Some(256));
        assert_eq!(small(&[]), None);
        assert_eq!(small(&[0x80]), None);
        assert_eq!(small(&[1, 0, 0, 0, 0]), None);
        assert_eq!(flags(&[3, 2, 5, 0xa0], BIT_STRING), Some(0xa000));
        assert_eq!(flags(&[3, 0], BIT_STRING), None);
    }
}
