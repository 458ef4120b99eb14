//! The few parts of a certificate that PostgreSQL's conventions need beyond what webpki tells: the
//! signature's hash (channel binding), the common name (host check of certificates without
//! alternative names), the public key of certificates too old for webpki.
//!
//! It judges nothing; [`crate::tls`] does.
//!
//! Not the crate x509-parser: with all that it brings (a second syn, nom, num-bigint, fifteen more)
//! it takes 29 s of processor time to build, 15 s or more of a fresh clone's first command on two
//! cores, for the dozen fields below.

use ring::digest;

/// Parts of a certificate, borrowed from its DER.
#[derive(Debug)]
pub(crate) struct Certificate<'a> {
    /// Whether it is of X.509 version 1, which has no extensions.
    pub version_1: bool,
    /// What is signed.
    pub tbs: &'a [u8],
    /// Contents of the signature's AlgorithmIdentifier.
    pub signature_algorithm: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
    /// DER of the issuer's name.
    pub issuer: &'a [u8],
    /// DER of the subject's name.
    pub subject: &'a [u8],
    /// Seconds since 1970 between which it is valid, both inclusive.
    pub validity: (i64, i64),
    /// Contents of the key's AlgorithmIdentifier.
    pub key_algorithm: &'a [u8],
    /// The public key.
    pub key: &'a [u8],
    /// The subject's common name.
    pub common_name: Option<&'a [u8]>,
    /// Alternative names that are DNS names.
    pub dns_names: Vec<&'a [u8]>,
    /// Alternative names that are addresses, 4 or 16 bytes.
    pub addresses: Vec<&'a [u8]>,
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// One element: tag, contents, and all of its bytes. Leaves the rest in `input`.
fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8], &'a [u8])> {
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

fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    element(input).filter(|e| e.0 == tag).map(|e| e.1)
}

/// A bit string's bytes; all bit strings here are whole bytes.
fn bits<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    expect(input, BIT_STRING)?
        .split_first()
        .filter(|(unused, _)| **unused == 0)
        .map(|(_, b)| b)
}

impl<'a> Certificate<'a> {
    /// Takes a certificate apart; `None` if it is malformed.
    pub(crate) fn parse(der: &'a [u8]) -> Option<Certificate<'a>> {
        let mut outer = expect(&mut &*der, SEQUENCE)?;
        let (tag, mut fields, tbs) = element(&mut outer)?;
        if tag != SEQUENCE {
            return None;
        }
        let signature_algorithm = expect(&mut outer, SEQUENCE)?;
        let signature = bits(&mut outer)?;

        let version_1 = fields.first() != Some(&0xa0);
        if !version_1 {
            element(&mut fields)?; // version
        }
        element(&mut fields)?; // serial number
        element(&mut fields)?; // signature algorithm, repeated
        let issuer = element(&mut fields)?.2;
        let mut validity = expect(&mut fields, SEQUENCE)?;
        let validity = (time(&mut validity)?, time(&mut validity)?);
        let (_, mut names, subject) = element(&mut fields)?;
        let mut spki = expect(&mut fields, SEQUENCE)?;
        let key_algorithm = expect(&mut spki, SEQUENCE)?;
        let key = bits(&mut spki)?;

        let mut common_name = None;
        while !names.is_empty() {
            let mut set = expect(&mut names, SET)?;
            while !set.is_empty() {
                let mut attribute = expect(&mut set, SEQUENCE)?;
                let kind = expect(&mut attribute, OID)?;
                let value = element(&mut attribute)?.1;
                if kind == [0x55, 4, 3] {
                    common_name = Some(value); // the last one is the most specific
                }
            }
        }
        let mut certificate = Certificate {
            version_1,
            tbs,
            signature_algorithm,
            signature,
            issuer,
            subject,
            validity,
            key_algorithm,
            key,
            common_name,
            dns_names: Vec::new(),
            addresses: Vec::new(),
        };
        while !fields.is_empty() {
            let (tag, contents, _) = element(&mut fields)?;
            if tag == 0xa3 {
                certificate.read_extensions(contents)?;
            }
        }
        Some(certificate)
    }

    fn read_extensions(&mut self, mut contents: &'a [u8]) -> Option<()> {
        let mut list = expect(&mut contents, SEQUENCE)?;
        while !list.is_empty() {
            let mut extension = expect(&mut list, SEQUENCE)?;
            let kind = expect(&mut extension, OID)?;
            if kind != [0x55, 29, 17] {
                continue;
            }
            let mut value = element(&mut extension)?;
            if value.0 != OCTET_STRING {
                value = element(&mut extension)?; // after the "critical" flag
            }
            let mut names = expect(&mut &*value.1, SEQUENCE)?;
            while !names.is_empty() {
                let (tag, name, _) = element(&mut names)?;
                match tag {
                    0x82 => self.dns_names.push(name),
                    0x87 => self.addresses.push(name),
                    _ => {}
                }
            }
        }
        Some(())
    }
}

/// A UTCTime or GeneralizedTime in the one form that certificates may use (RFC 5280, 4.1.2.5).
fn time(input: &mut &[u8]) -> Option<i64> {
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
    Some(days_from_civil(year, month, day) * 86_400 + seconds)
}

/// Days since 1970-01-01 of a Gregorian date (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The certificate's hash for channel binding: by the hash of its signature, SHA-256 in place of
/// MD5 and SHA-1 (RFC 5929, 4.1). `None` where the signature names no hash that is known.
pub(crate) fn end_point_hash(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::parse(der)?;
    let mut algorithm = certificate.signature_algorithm;
    let oid = expect(&mut algorithm, OID)?;
    const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
    let hash = if let Some(kind) = oid.strip_prefix(&PKCS1) {
        match kind {
            [4 | 5 | 11] => &digest::SHA256,
            [12] => &digest::SHA384,
            [13] => &digest::SHA512,
            [10] => pss_hash(algorithm)?,
            _ => return None,
        }
    } else if let Some(kind) = oid.strip_prefix(&ECDSA) {
        match kind {
            [1] | [3, 2] => &digest::SHA256,
            [3, 3] => &digest::SHA384,
            [3, 4] => &digest::SHA512,
            _ => return None,
        }
    } else {
        return None;
    };
    Some(digest::digest(hash, der).as_ref().to_vec())
}

/// The hash that RSASSA-PSS parameters name; SHA-1, thus SHA-256 here, if none.
fn pss_hash(mut parameters: &[u8]) -> Option<&'static digest::Algorithm> {
    let mut fields = expect(&mut parameters, SEQUENCE)?;
    if fields.first() != Some(&0xa0) {
        return Some(&digest::SHA256);
    }
    let mut explicit = expect(&mut fields, 0xa0)?;
    let mut algorithm = expect(&mut explicit, SEQUENCE)?;
    const SHA2: [u8; 8] = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];
    match expect(&mut algorithm, OID)?.strip_prefix(&SHA2)? {
        [1] => Some(&digest::SHA256),
        [2] => Some(&digest::SHA384),
        [3] => Some(&digest::SHA512),
        _ => None,
    }
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
    fn truncated_certificates_are_refused_without_panic() {
        for der in [
            &[][..],
            &[0x30],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30, 0x80],
        ] {
            assert!(Certificate::parse(der).is_none());
            assert!(end_point_hash(der).is_none());
        }
    }
}
