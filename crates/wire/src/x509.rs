//! Certificates as a check by OpenSSL's rules needs them, versions 1 and 2 too, and their hash for
//! channel binding.
//!
//! It judges nothing; [`crate::chain`] does.
//!
//! Not the crate x509-parser: with all that it brings (a second syn, nom, num-bigint, fifteen more)
//! it takes 29 s of processor time to build, 15 s or more of a fresh clone's first command on two
//! cores, for the few dozen fields below.

use aws_lc_rs::digest;

use crate::der::{
    BIT_STRING, BOOLEAN, INTEGER, OCTET_STRING, OID, SEQUENCE, SET, bits, element, expect, flags,
    optional, small, time,
};
use crate::signature::{Hash, PssParameters};

/// Bits of the extension keyUsage.
pub(crate) mod usage {
    pub(crate) const DIGITAL_SIGNATURE: u16 = 0x8000;
    pub(crate) const KEY_ENCIPHERMENT: u16 = 0x2000;
    pub(crate) const KEY_AGREEMENT: u16 = 0x0800;
    pub(crate) const SIGNS_CERTIFICATES: u16 = 0x0400;
    pub(crate) const SIGNS_LISTS: u16 = 0x0200;
}

/// Parts of a certificate, borrowed from its DER.
#[derive(Debug)]
pub(crate) struct Certificate<'a> {
    pub der: &'a [u8],
    /// Whether it is of X.509 version 1, which has no extensions.
    pub version_1: bool,
    pub tbs: &'a [u8],
    /// Contents of the signature's AlgorithmIdentifier.
    pub signature_algorithm: &'a [u8],
    pub signature: &'a [u8],
    pub serial: &'a [u8],
    /// DER of the issuer's name.
    pub issuer: &'a [u8],
    /// DER of the subject's name.
    pub subject: &'a [u8],
    /// Seconds since 1970 between which it is valid, both inclusive.
    pub validity: (i64, i64),
    /// Contents of the key's AlgorithmIdentifier.
    pub key_algorithm: &'a [u8],
    pub key: &'a [u8],
    /// The subject's first common name.
    pub common_name: Option<&'a [u8]>,
    pub extensions: Extensions<'a>,
}

/// What a certificate's extensions say.
#[derive(Debug, Default)]
pub(crate) struct Extensions<'a> {
    /// Some extension is malformed, or there twice.
    pub is_malformed: bool,
    /// Some critical extension is not known.
    pub unknown_critical: bool,
    /// Whether it is a proxy certificate (RFC 3820).
    pub is_proxy: bool,
    /// Whether it is of an authority, if it says so.
    pub is_authority: Option<bool>,
    /// How many authorities may be between it and the last certificate.
    pub path_len: Option<u32>,
    /// What its key is for, see [`usage`].
    pub key_usage: Option<u16>,
    pub purposes: Option<Vec<&'a [u8]>>,
    pub netscape_type: Option<u16>,
    pub key_id: Option<&'a [u8]>,
    /// What it says of its issuer's key.
    pub authority: AuthorityKey<'a>,
    /// Alternative names: their tag, their contents.
    pub names: Vec<(u8, &'a [u8])>,
    /// Contents of the extension nameConstraints.
    pub name_constraints: Option<&'a [u8]>,
    /// Contents of the extension cRLDistributionPoints.
    pub list_points: Option<&'a [u8]>,
}

/// Which key of the issuer signed a certificate.
#[derive(Debug, Default)]
pub(crate) struct AuthorityKey<'a> {
    pub key_id: Option<&'a [u8]>,
    /// DER of the name of the issuer's issuer.
    pub issuer: Option<&'a [u8]>,
    pub serial: Option<&'a [u8]>,
}

pub(crate) const EMAIL_NAME: u8 = 0x81;
pub(crate) const DNS_NAME: u8 = 0x82;
pub(crate) const DIRECTORY_NAME: u8 = 0xa4;
pub(crate) const URI_NAME: u8 = 0x86;
pub(crate) const ADDRESS_NAME: u8 = 0x87;

/// Extensions that OpenSSL takes when they are critical, and that change nothing here: policies, addresses
/// and systems of RFC 3779, OCSP without check.
const HARMLESS: [&[u8]; 7] = [
    &[0x55, 29, 32],
    &[0x55, 29, 33],
    &[0x55, 29, 36],
    &[0x55, 29, 54],
    &[0x2b, 6, 1, 5, 5, 7, 1, 7],
    &[0x2b, 6, 1, 5, 5, 7, 1, 8],
    &[0x2b, 6, 1, 5, 5, 7, 48, 1, 5],
];
const PROXY: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 14];
const NETSCAPE_TYPE: &[u8] = &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 1, 1];

impl<'a> Certificate<'a> {
    /// Takes a certificate apart; `None` if it is malformed. Malformed extensions are only noted.
    pub(crate) fn parse(der: &'a [u8]) -> Option<Certificate<'a>> {
        let mut outer = expect(&mut &*der, SEQUENCE)?;
        let (tag, mut fields, tbs) = element(&mut outer)?;
        if tag != SEQUENCE {
            return None;
        }
        let signature_algorithm = expect(&mut outer, SEQUENCE)?;
        let signature = bits(&mut outer)?;

        let version = match optional(&mut fields, 0xa0)? {
            Some(mut version) => small(expect(&mut version, INTEGER)?)?,
            None => 0,
        };
        let serial = expect(&mut fields, INTEGER)?;
        if expect(&mut fields, SEQUENCE)? != signature_algorithm {
            return None;
        }
        let issuer = element(&mut fields)?.2;
        let mut validity = expect(&mut fields, SEQUENCE)?;
        let validity = (time(&mut validity)?, time(&mut validity)?);
        let (_, names, subject) = element(&mut fields)?;
        let mut key_fields = expect(&mut fields, SEQUENCE)?;
        let key_algorithm = expect(&mut key_fields, SEQUENCE)?;
        let key = bits(&mut key_fields)?;
        let mut certificate = Certificate {
            der,
            version_1: version == 0,
            tbs,
            signature_algorithm,
            signature,
            serial,
            issuer,
            subject,
            validity,
            key_algorithm,
            key,
            common_name: attributes(names, COMMON_NAME)?.first().copied(),
            extensions: Extensions::default(),
        };
        while !fields.is_empty() {
            let (tag, contents, _) = element(&mut fields)?;
            if tag == 0xa3 && certificate.extensions.read(contents).is_none() {
                certificate.extensions.is_malformed = true;
            }
        }
        Some(certificate)
    }

    /// Alternative names of one kind.
    pub(crate) fn names(&self, tag: u8) -> impl Iterator<Item = &'a [u8]> {
        let names = self.extensions.names.iter();
        names.filter(move |name| name.0 == tag).map(|name| name.1)
    }
}

pub(crate) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
pub(crate) const EMAIL_ADDRESS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];

/// The values of one kind of attribute in the contents of a name.
pub(crate) fn attributes<'a>(mut names: &'a [u8], of_kind: &[u8]) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    while !names.is_empty() {
        let mut set = expect(&mut names, SET)?;
        while !set.is_empty() {
            let mut attribute = expect(&mut set, SEQUENCE)?;
            let kind = expect(&mut attribute, OID)?;
            let value = element(&mut attribute)?.1;
            if kind == of_kind {
                found.push(value);
            }
        }
    }
    Some(found)
}

impl<'a> Extensions<'a> {
    fn read(&mut self, mut contents: &'a [u8]) -> Option<()> {
        let mut list = expect(&mut contents, SEQUENCE)?;
        let mut seen = Vec::new();
        while !list.is_empty() {
            let mut extension = expect(&mut list, SEQUENCE)?;
            let kind = expect(&mut extension, OID)?;
            let is_critical = optional(&mut extension, BOOLEAN)?.is_some_and(|value| value != [0]);
            let value = expect(&mut extension, OCTET_STRING)?;
            if seen.contains(&kind) {
                return None;
            }
            seen.push(kind);
            let is_known = self.read_one(kind, value)?;
            self.unknown_critical |= is_critical && !is_known;
        }
        Some(())
    }

    /// `Some(true)` for an extension whose meaning is known, `None` if it is malformed.
    fn read_one(&mut self, kind: &[u8], value: &'a [u8]) -> Option<bool> {
        match kind {
            // OpenSSL does not take this and the issuer's as critical.
            [0x55, 29, 14] => {
                self.key_id = Some(expect(&mut &*value, OCTET_STRING)?);
                return Some(false);
            }
            [0x55, 29, 15] => {
                let usage = flags(value, BIT_STRING).filter(|usage| *usage != 0);
                self.key_usage = Some(usage?);
            }
            [0x55, 29, 17] => {
                let mut names = expect(&mut &*value, SEQUENCE)?;
                while !names.is_empty() {
                    let (tag, name, _) = element(&mut names)?;
                    self.names.push((tag, name));
                }
            }
            [0x55, 29, 19] => {
                let mut fields = expect(&mut &*value, SEQUENCE)?;
                let is_authority = optional(&mut fields, BOOLEAN)?;
                self.is_authority = Some(is_authority.is_some_and(|value| value != [0]));
                if let Some(len) = optional(&mut fields, INTEGER)? {
                    self.path_len = Some(small(len)?);
                }
            }
            [0x55, 29, 30] => self.name_constraints = Some(expect(&mut &*value, SEQUENCE)?),
            [0x55, 29, 31] => self.list_points = Some(value),
            [0x55, 29, 35] => {
                self.authority = AuthorityKey::read(value)?;
                return Some(false);
            }
            [0x55, 29, 37] => {
                let mut list = expect(&mut &*value, SEQUENCE)?;
                let mut purposes = Vec::new();
                while !list.is_empty() {
                    purposes.push(expect(&mut list, OID)?);
                }
                self.purposes = Some(purposes);
            }
            NETSCAPE_TYPE => self.netscape_type = Some(flags(value, BIT_STRING)?),
            PROXY => self.is_proxy = true,
            other => return Some(HARMLESS.contains(&other)),
        }
        Some(true)
    }
}

impl<'a> AuthorityKey<'a> {
    fn read(value: &'a [u8]) -> Option<AuthorityKey<'a>> {
        let mut fields = expect(&mut &*value, SEQUENCE)?;
        let key_id = optional(&mut fields, 0x80)?;
        let mut issuer = None;
        let mut names = optional(&mut fields, 0xa1)?.unwrap_or_default();
        while !names.is_empty() {
            let (tag, name, _) = element(&mut names)?;
            if tag == DIRECTORY_NAME && issuer.is_none() {
                issuer = Some(name);
            }
        }
        Some(AuthorityKey {
            key_id,
            issuer,
            serial: optional(&mut fields, 0x82)?,
        })
    }
}

/// A name for comparing, as OpenSSL does: case, and how many spaces, make no difference in text.
/// One vector for each set of attributes; `None` if it is malformed.
pub(crate) fn canonical(mut name: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut sets = expect(&mut name, SEQUENCE)?;
    let mut all = Vec::new();
    while !sets.is_empty() {
        let mut set = expect(&mut sets, SET)?;
        let mut attributes = Vec::new();
        while !set.is_empty() {
            let mut attribute = expect(&mut set, SEQUENCE)?;
            let kind = expect(&mut attribute, OID)?;
            let (tag, value, whole) = element(&mut attribute)?;
            let mut bytes = vec![u8::try_from(kind.len()).ok()?];
            bytes.extend_from_slice(kind);
            match text(tag, value) {
                Some(text) => {
                    let words: Vec<String> = text
                        .split(|c: char| matches!(c, ' ' | '\t'..='\r'))
                        .filter(|word| !word.is_empty())
                        .map(str::to_ascii_lowercase)
                        .collect();
                    bytes.extend_from_slice(words.join(" ").as_bytes());
                }
                None => bytes.extend_from_slice(whole),
            }
            attributes.push(bytes);
        }
        attributes.sort();
        all.push(attributes.concat());
    }
    Some(all)
}

/// The text of an attribute's value, if its kind is compared as text.
fn text(tag: u8, value: &[u8]) -> Option<String> {
    let latin = || value.iter().copied().map(char::from).collect();
    match tag {
        0x0c => std::str::from_utf8(value).ok().map(str::to_owned),
        0x13 | 0x14 | 0x16 | 0x1a => Some(latin()),
        0x1e => {
            let units = value
                .chunks_exact(2)
                .map(|u| u16::from_be_bytes([u[0], u[1]]));
            String::from_utf16(&units.collect::<Vec<_>>()).ok()
        }
        0x1c => value
            .chunks_exact(4)
            .map(|u| char::from_u32(u32::from_be_bytes([u[0], u[1], u[2], u[3]])))
            .collect(),
        _ => None,
    }
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
            [14] => &digest::SHA224,
            [10] => match PssParameters::parse(algorithm)?.hash {
                Hash::Sha1 | Hash::Sha256 => &digest::SHA256,
                Hash::Sha384 => &digest::SHA384,
                Hash::Sha512 => &digest::SHA512,
            },
            _ => return None,
        }
    } else if let Some(kind) = oid.strip_prefix(&ECDSA) {
        match kind {
            [1] | [3, 2] => &digest::SHA256,
            [3, 1] => &digest::SHA224,
            [3, 3] => &digest::SHA384,
            [3, 4] => &digest::SHA512,
            _ => return None,
        }
    } else {
        return None;
    };
    Some(digest::digest(hash, der).as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A name of one attribute.
    fn named(tag: u8, value: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, contents: &[u8]| {
            let mut der = vec![tag, contents.len() as u8];
            der.extend_from_slice(contents);
            der
        };
        let attribute = [wrap(OID, COMMON_NAME), wrap(tag, value)].concat();
        wrap(SEQUENCE, &wrap(SET, &wrap(SEQUENCE, &attribute)))
    }

    #[test]
    fn names_are_compared_without_case_spaces_and_kinds_of_text() {
        let name = canonical(&named(0x0c, b"Bench  CA ")).unwrap();
        assert_eq!(Some(&name), canonical(&named(0x13, b" bench ca")).as_ref());
        let wide = b"\0b\0e\0n\0c\0h\0 \0c\0a";
        assert_eq!(Some(&name), canonical(&named(0x1e, wide)).as_ref());
        assert_ne!(Some(&name), canonical(&named(0x0c, b"benchca")).as_ref());
        // What is no text is compared as it is.
        assert_ne!(Some(name), canonical(&named(OCTET_STRING, b"bench ca")));
        assert!(canonical(&[SEQUENCE, 2, SET, 9]).is_none());
    }
}
