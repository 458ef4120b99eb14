//! Signatures that OpenSSL takes, of certificates and of handshakes: RSA with PKCS #1 and PSS, keys that
//! are for PSS alone, ECDSA on P-256, P-384 and P-521, Ed25519.
//!
//! Beyond what rustls has: keys for PSS alone, salts of any length (OpenSSL's own are as long as fits),
//! curves with each hash.

use std::sync::LazyLock;

use aws_lc_rs::signature::{self as lc, RsaParameters, RsaPssSaltLength, VerificationAlgorithm};
use rustls::SignatureScheme;

use crate::der::{INTEGER, OID, SEQUENCE, element, expect, optional, small};

/// The least strength of keys and hashes, in bits: that of OpenSSL's security level 2, which is Debian's.
pub(crate) const STRENGTH_BITS_MIN: u32 = 112;

/// RSA-PSS with a key that is for PSS alone (RFC 8446, 4.2.3), by its hash; rustls has no names for these.
pub(crate) const PSS_KEY_SCHEMES: [(SignatureScheme, Hash); 3] = [
    (SignatureScheme::Unknown(0x0809), Hash::Sha256),
    (SignatureScheme::Unknown(0x080a), Hash::Sha384),
    (SignatureScheme::Unknown(0x080b), Hash::Sha512),
];

/// What is accepted in a handshake, best first.
pub(crate) fn schemes() -> Vec<SignatureScheme> {
    let mut all = vec![
        SignatureScheme::ECDSA_NISTP256_SHA256,
        SignatureScheme::ECDSA_NISTP384_SHA384,
        SignatureScheme::ECDSA_NISTP521_SHA512,
        SignatureScheme::ED25519,
    ];
    all.extend(PSS_KEY_SCHEMES.map(|(scheme, _)| scheme));
    all.extend([
        SignatureScheme::RSA_PSS_SHA256,
        SignatureScheme::RSA_PSS_SHA384,
        SignatureScheme::RSA_PSS_SHA512,
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::RSA_PKCS1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA512,
    ]);
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    fn len(self) -> u32 {
        match self {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }
}

/// What a signature's algorithm and a key's have in common, by which an issuer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Rsa,
    Pss,
    Ecdsa,
    Ed25519,
    Ed448,
    Dsa,
}

const PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
const ANSI_X962: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d];
const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 4];
const NIST_DSA: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3];
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];
const SHA1: &[u8] = &[0x2b, 0x0e, 3, 2, 0x1a];
const MGF1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    /// With what its signatures must have, if it says so.
    Pss(Option<PssParameters>),
    Curve(Curve),
    Ed25519,
    /// Not to be used here, but known by name.
    Other(Family),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    P521,
    Secp256k1,
    /// With its name's OID in full, its size in bits.
    Other {
        bits: u32,
    },
    /// Written out in numbers in place of a name.
    Explicit,
}

impl KeyKind {
    fn parse(mut algorithm: &[u8]) -> Option<KeyKind> {
        let oid = expect(&mut algorithm, OID)?;
        Some(match oid {
            [0x2b, 0x65, 0x70] => KeyKind::Ed25519,
            [0x2b, 0x65, 0x71] => KeyKind::Other(Family::Ed448),
            _ if oid.strip_prefix(PKCS1) == Some(&[1]) => KeyKind::Rsa,
            _ if oid.strip_prefix(PKCS1) == Some(&[10]) => KeyKind::Pss(match algorithm {
                [] => None,
                parameters => Some(PssParameters::parse(parameters)?),
            }),
            _ if oid.strip_prefix(ANSI_X962) == Some(&[2, 1]) => {
                let (tag, curve, _) = element(&mut algorithm)?;
                KeyKind::Curve(match (tag, curve) {
                    (SEQUENCE, _) => Curve::Explicit,
                    (_, [0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]) => Curve::P256,
                    (_, [0x2b, 0x81, 4, 0, 34]) => Curve::P384,
                    (_, [0x2b, 0x81, 4, 0, 35]) => Curve::P521,
                    (_, [0x2b, 0x81, 4, 0, 10]) => Curve::Secp256k1,
                    (_, [0x2b, 0x81, 4, 0, 33]) => Curve::Other { bits: 224 },
                    (_, [0x2b, 0x24, 3, 3, 2, 8, 1, 1, number]) => Curve::Other {
                        bits: [160, 192, 224, 256, 320, 384, 512]
                            .get(usize::from(number.saturating_sub(1) / 2))
                            .copied()?,
                    },
                    _ => Curve::Other { bits: 0 },
                })
            }
            _ if oid.starts_with(DSA) => KeyKind::Other(Family::Dsa),
            _ => return None,
        })
    }

    fn family(self) -> Family {
        match self {
            KeyKind::Rsa => Family::Rsa,
            KeyKind::Pss(_) => Family::Pss,
            KeyKind::Curve(_) => Family::Ecdsa,
            KeyKind::Ed25519 => Family::Ed25519,
            KeyKind::Other(family) => family,
        }
    }
}

/// How strong OpenSSL takes a key to be, in bits; `None` if undecided.
pub(crate) fn key_strength(algorithm: &[u8], key: &[u8]) -> Option<u32> {
    Some(match KeyKind::parse(algorithm)? {
        KeyKind::Rsa | KeyKind::Pss(_) => rsa_strength(modulus_bits(key)?),
        KeyKind::Curve(Curve::P256 | Curve::Secp256k1) | KeyKind::Ed25519 => 128,
        KeyKind::Curve(Curve::P384) => 192,
        KeyKind::Curve(Curve::P521) => 256,
        KeyKind::Curve(Curve::Other { bits }) => bits / 2,
        KeyKind::Curve(Curve::Explicit) => 128,
        KeyKind::Other(Family::Ed448) => 224,
        KeyKind::Other(_) => return None,
    })
}

/// Whether a key's curve is written out in numbers.
pub(crate) fn has_explicit_curve(algorithm: &[u8]) -> bool {
    KeyKind::parse(algorithm) == Some(KeyKind::Curve(Curve::Explicit))
}

/// The length of an RSA key's modulus.
fn modulus_bits(mut key: &[u8]) -> Option<u32> {
    let modulus = expect(&mut expect(&mut key, SEQUENCE)?, INTEGER)?;
    let first = modulus.iter().position(|&b| b != 0)?;
    let bytes = u32::try_from(modulus.len() - first).ok()?;
    Some(bytes * 8 - modulus[first].leading_zeros())
}

/// The strength of an RSA key by its length (SP 800-56B; those that matter to a limit of 112 bits).
fn rsa_strength(bits: u32) -> u32 {
    match bits {
        15_360.. => 256,
        7_680.. => 192,
        3_072.. => 128,
        2_048.. => 112,
        1_024.. => 80,
        _ => 0,
    }
}

/// The family of a key's algorithm.
pub(crate) fn key_family(algorithm: &[u8]) -> Option<Family> {
    KeyKind::parse(algorithm).map(KeyKind::family)
}

/// Whether a key of this family can have made a signature of that algorithm.
pub(crate) fn can_sign(key: Family, signature_algorithm: &[u8]) -> bool {
    match SignatureKind::family(signature_algorithm) {
        Some(Family::Pss) => matches!(key, Family::Rsa | Family::Pss),
        family => family == Some(key),
    }
}

/// How strong OpenSSL takes a signature's hash to be, in bits; 0 where it is not known.
pub(crate) fn signature_strength(algorithm: &[u8]) -> u32 {
    let mut rest = algorithm;
    let Some(oid) = expect(&mut rest, OID) else {
        return 0;
    };
    let by_hash = |hash: Hash| match hash {
        Hash::Sha1 => 63,
        hash => hash.len() * 4,
    };
    match SignatureKind::parse(algorithm) {
        Some(SignatureKind::Rsa(hash) | SignatureKind::Ecdsa(hash)) => by_hash(hash),
        Some(SignatureKind::Pss(parameters)) => by_hash(parameters.hash),
        Some(SignatureKind::Ed25519) => 128,
        // SHA-224, which is strong enough but cannot be checked here, and Ed448.
        None if oid.strip_prefix(PKCS1) == Some(&[14]) => 112,
        None if oid.strip_prefix(ANSI_X962) == Some(&[4, 3, 1]) => 112,
        None if oid == [0x2b, 0x65, 0x71] => 224,
        None => 0,
    }
}

#[derive(Clone, Copy, Debug)]
enum SignatureKind {
    Rsa(Hash),
    Pss(PssParameters),
    Ecdsa(Hash),
    Ed25519,
}

impl SignatureKind {
    fn parse(mut algorithm: &[u8]) -> Option<SignatureKind> {
        let oid = expect(&mut algorithm, OID)?;
        if let Some(kind) = oid.strip_prefix(PKCS1) {
            return Some(match kind {
                [5] => SignatureKind::Rsa(Hash::Sha1),
                [10] => SignatureKind::Pss(PssParameters::parse(algorithm)?),
                [11] => SignatureKind::Rsa(Hash::Sha256),
                [12] => SignatureKind::Rsa(Hash::Sha384),
                [13] => SignatureKind::Rsa(Hash::Sha512),
                _ => return None,
            });
        }
        if let Some(kind) = oid.strip_prefix(ANSI_X962) {
            return Some(SignatureKind::Ecdsa(match kind {
                [4, 1] => Hash::Sha1,
                [4, 3, 2] => Hash::Sha256,
                [4, 3, 3] => Hash::Sha384,
                [4, 3, 4] => Hash::Sha512,
                _ => return None,
            }));
        }
        (oid == [0x2b, 0x65, 0x70]).then_some(SignatureKind::Ed25519)
    }

    fn family(mut algorithm: &[u8]) -> Option<Family> {
        let oid = expect(&mut algorithm, OID)?;
        if let Some(kind) = oid.strip_prefix(PKCS1) {
            return match kind {
                [10] => Some(Family::Pss),
                [2..=5 | 11..=16] => Some(Family::Rsa),
                _ => None,
            };
        }
        match oid {
            [0x2b, 0x65, 0x70] => Some(Family::Ed25519),
            [0x2b, 0x65, 0x71] => Some(Family::Ed448),
            _ if oid.starts_with(ANSI_X962) => Some(Family::Ecdsa),
            _ if oid.starts_with(DSA) => Some(Family::Dsa),
            _ => match oid.strip_prefix(NIST_DSA)? {
                [1..=8] => Some(Family::Dsa),
                [9..=12] => Some(Family::Ecdsa),
                [13..=16] => Some(Family::Rsa),
                _ => None,
            },
        }
    }
}

/// Parameters of RSA-PSS: of a signature, or the least that a key asks of its signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PssParameters {
    pub hash: Hash,
    mask_hash: Hash,
    salt_len: u32,
}

impl PssParameters {
    /// From their DER (RFC 4055, 3.1); what is left out is SHA-1 and a salt of 20 bytes.
    pub(crate) fn parse(mut parameters: &[u8]) -> Option<PssParameters> {
        let mut fields = expect(&mut parameters, SEQUENCE)?;
        let hash = match optional(&mut fields, 0xa0)? {
            Some(mut algorithm) => hash(expect(&mut algorithm, SEQUENCE)?)?,
            None => Hash::Sha1,
        };
        let mask_hash = match optional(&mut fields, 0xa1)? {
            Some(mut generator) => {
                let mut generator = expect(&mut generator, SEQUENCE)?;
                if expect(&mut generator, OID)? != MGF1 {
                    return None;
                }
                self::hash(expect(&mut generator, SEQUENCE)?)?
            }
            None => Hash::Sha1,
        };
        let salt_len = match optional(&mut fields, 0xa2)? {
            Some(mut len) => small(expect(&mut len, INTEGER)?)?,
            None => 20,
        };
        Some(PssParameters {
            hash,
            mask_hash,
            salt_len,
        })
    }

    /// Whether a key that asks for `least` may have made a signature with these.
    fn are_within(self, least: Option<PssParameters>) -> bool {
        least.is_none_or(|least| {
            self.hash == least.hash
                && self.mask_hash == least.mask_hash
                && self.salt_len >= least.salt_len
        })
    }

    fn of_handshake(hash: Hash) -> PssParameters {
        PssParameters {
            hash,
            mask_hash: hash,
            salt_len: hash.len(),
        }
    }

    fn algorithm(self) -> Option<&'static RsaParameters> {
        if self.hash != self.mask_hash {
            return None;
        }
        let row = match self.hash {
            Hash::Sha1 => return None,
            Hash::Sha256 => 0,
            Hash::Sha384 => 1,
            Hash::Sha512 => 2,
        };
        if self.salt_len == self.hash.len() {
            return Some(
                [
                    &lc::RSA_PSS_2048_8192_SHA256,
                    &lc::RSA_PSS_2048_8192_SHA384,
                    &lc::RSA_PSS_2048_8192_SHA512,
                ][row],
            );
        }
        SALTED[row].get(usize::try_from(self.salt_len).ok()?)
    }
}

/// By hash, then by length of the salt, up to the longest of a key of 8,192 bits: the library wants them
/// to live for ever.
static SALTED: LazyLock<[Vec<RsaParameters>; 3]> = LazyLock::new(|| {
    let all = |of: fn() -> RsaParameters| -> Vec<RsaParameters> {
        (0..=1_022u16)
            .map(|len| of().with_pss_salt_length(RsaPssSaltLength::Custom(len)))
            .collect()
    };
    [
        all(|| lc::RSA_PSS_2048_8192_SHA256),
        all(|| lc::RSA_PSS_2048_8192_SHA384),
        all(|| lc::RSA_PSS_2048_8192_SHA512),
    ]
});

fn hash(mut algorithm: &[u8]) -> Option<Hash> {
    match expect(&mut algorithm, OID)? {
        SHA1 => Some(Hash::Sha1),
        oid => match oid.strip_prefix(SHA2)? {
            [1] => Some(Hash::Sha256),
            [2] => Some(Hash::Sha384),
            [3] => Some(Hash::Sha512),
            _ => None,
        },
    }
}

/// A signature does not belong to the message, or is of a kind that is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadSignature;

/// Checks a signature of a certificate or a list by the algorithms in its and its issuer's DER.
pub(crate) fn verify(
    signature_algorithm: &[u8],
    key_algorithm: &[u8],
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), BadSignature> {
    let kind = SignatureKind::parse(signature_algorithm).ok_or(BadSignature)?;
    let key_kind = KeyKind::parse(key_algorithm).ok_or(BadSignature)?;
    verify_kind(kind, key_kind, key, message, signature)
}

fn verify_kind(
    kind: SignatureKind,
    key_kind: KeyKind,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), BadSignature> {
    let algorithm: &'static dyn VerificationAlgorithm = match (kind, key_kind) {
        (SignatureKind::Rsa(hash), KeyKind::Rsa) => match hash {
            Hash::Sha1 => return Err(BadSignature),
            Hash::Sha256 => &lc::RSA_PKCS1_2048_8192_SHA256,
            Hash::Sha384 => &lc::RSA_PKCS1_2048_8192_SHA384,
            Hash::Sha512 => &lc::RSA_PKCS1_2048_8192_SHA512,
        },
        (SignatureKind::Pss(parameters), KeyKind::Rsa) => {
            parameters.algorithm().ok_or(BadSignature)?
        }
        (SignatureKind::Pss(parameters), KeyKind::Pss(least)) if parameters.are_within(least) => {
            parameters.algorithm().ok_or(BadSignature)?
        }
        (SignatureKind::Ecdsa(hash), KeyKind::Curve(curve)) => match (curve, hash) {
            (Curve::P256, Hash::Sha256) => &lc::ECDSA_P256_SHA256_ASN1,
            (Curve::P256, Hash::Sha384) => &lc::ECDSA_P256_SHA384_ASN1,
            (Curve::P256, Hash::Sha512) => &lc::ECDSA_P256_SHA512_ASN1,
            (Curve::P384, Hash::Sha256) => &lc::ECDSA_P384_SHA256_ASN1,
            (Curve::P384, Hash::Sha384) => &lc::ECDSA_P384_SHA384_ASN1,
            (Curve::P384, Hash::Sha512) => &lc::ECDSA_P384_SHA512_ASN1,
            (Curve::P521, Hash::Sha256) => &lc::ECDSA_P521_SHA256_ASN1,
            (Curve::P521, Hash::Sha384) => &lc::ECDSA_P521_SHA384_ASN1,
            (Curve::P521, Hash::Sha512) => &lc::ECDSA_P521_SHA512_ASN1,
            (Curve::Secp256k1, Hash::Sha256) => &lc::ECDSA_P256K1_SHA256_ASN1,
            _ => return Err(BadSignature),
        },
        (SignatureKind::Ed25519, KeyKind::Ed25519) => &lc::ED25519,
        _ => return Err(BadSignature),
    };
    lc::UnparsedPublicKey::new(algorithm, key)
        .verify(message, signature)
        .map_err(|_| BadSignature)
}

/// Checks the signature of a handshake. From TLS 1.3 on a scheme names the curve, too.
pub(crate) fn verify_handshake(
    scheme: SignatureScheme,
    names_curve: bool,
    key_algorithm: &[u8],
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), BadSignature> {
    let key_kind = KeyKind::parse(key_algorithm).ok_or(BadSignature)?;
    let of_pss_key = PSS_KEY_SCHEMES.iter().find(|(of, _)| *of == scheme);
    let pss = |hash| SignatureKind::Pss(PssParameters::of_handshake(hash));
    let (kind, curve) = match scheme {
        SignatureScheme::ECDSA_NISTP256_SHA256 => {
            (SignatureKind::Ecdsa(Hash::Sha256), Some(Curve::P256))
        }
        SignatureScheme::ECDSA_NISTP384_SHA384 => {
            (SignatureKind::Ecdsa(Hash::Sha384), Some(Curve::P384))
        }
        SignatureScheme::ECDSA_NISTP521_SHA512 => {
            (SignatureKind::Ecdsa(Hash::Sha512), Some(Curve::P521))
        }
        SignatureScheme::ED25519 => (SignatureKind::Ed25519, None),
        SignatureScheme::RSA_PSS_SHA256 => (pss(Hash::Sha256), None),
        SignatureScheme::RSA_PSS_SHA384 => (pss(Hash::Sha384), None),
        SignatureScheme::RSA_PSS_SHA512 => (pss(Hash::Sha512), None),
        SignatureScheme::RSA_PKCS1_SHA256 => (SignatureKind::Rsa(Hash::Sha256), None),
        SignatureScheme::RSA_PKCS1_SHA384 => (SignatureKind::Rsa(Hash::Sha384), None),
        SignatureScheme::RSA_PKCS1_SHA512 => (SignatureKind::Rsa(Hash::Sha512), None),
        _ => (pss(of_pss_key.ok_or(BadSignature)?.1), None),
    };
    let is_right_key = match key_kind {
        KeyKind::Pss(_) => of_pss_key.is_some(),
        KeyKind::Rsa => of_pss_key.is_none(),
        KeyKind::Curve(of_key) if names_curve => Some(of_key) == curve,
        _ => true,
    };
    if !is_right_key {
        return Err(BadSignature);
    }
    verify_kind(kind, key_kind, key, message, signature)
}

/// The schemes that a key for PSS alone may sign with, and their hashes; `None` if it is no such key.
pub(crate) fn schemes_of_pss_key(key_algorithm: &[u8]) -> Option<Vec<(SignatureScheme, Hash)>> {
    let Some(KeyKind::Pss(least)) = KeyKind::parse(key_algorithm) else {
        return None;
    };
    let allowed =
        |(_, hash): &(SignatureScheme, Hash)| PssParameters::of_handshake(*hash).are_within(least);
    Some(PSS_KEY_SCHEMES.into_iter().filter(allowed).collect())
}
