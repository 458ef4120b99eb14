//! Lists of revoked certificates (`sslcrl`, `sslcrldir`), and what a check against them says.
//!
//! The rules are those that libpq sets OpenSSL: every certificate of the chain is looked up, and an
//! authority without a list that is valid now is an error.

use std::fmt;

use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;

use crate::chain::Link;
use crate::der::{
    BOOLEAN, GENERALIZED_TIME, INTEGER, OCTET_STRING, OID, SEQUENCE, UTC_TIME, bits, element,
    expect, optional, time,
};
use crate::signature;
use crate::x509::{canonical, usage};

/// Lists of revoked certificates, of one or more authorities.
#[derive(Clone, Default)]
pub struct RevocationLists(Vec<CertificateRevocationListDer<'static>>);

impl fmt::Debug for RevocationLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevocationLists({})", self.0.len())
    }
}

/// Whether it is a revocation list, in DER.
pub(crate) fn is_list(der: &[u8]) -> bool {
    List::parse(der).is_some()
}

impl RevocationLists {
    /// Adds all lists of a PEM text; there must be one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<(), String> {
        let before = self.0.len();
        for list in CertificateRevocationListDer::pem_slice_iter(pem) {
            let list = list.map_err(|e| e.to_string())?;
            if List::parse(&list).is_none() {
                return Err("it contains a list that cannot be read".to_owned());
            }
            self.0.push(list);
        }
        if self.0.len() > before {
            Ok(())
        } else {
            Err("it contains no revocation list in PEM form".to_owned())
        }
    }

    /// Checks all certificates of a chain that ends with its root; what is wrong is in OpenSSL's words.
    pub(crate) fn check(&self, chain: &[&Link<'_>], now: i64) -> Result<(), String> {
        let lists: Vec<List<'_>> = self.0.iter().filter_map(|der| List::parse(der)).collect();
        for (at, link) in chain.iter().enumerate() {
            let issuer = chain.get(at + 1).unwrap_or(link);
            let of_issuer = lists
                .iter()
                .filter(|list| list.issuer == issuer.subject && list.is_about(link, at > 0));
            // The newest of those that are valid, or else of all.
            let list = of_issuer
                .max_by_key(|list| (list.check_time(now).is_ok(), list.from))
                .ok_or(
                    "unable to get certificate CRL: sslcrl or sslcrldir has no revocation list of \
                     an authority in the server's chain",
                )?;
            list.check(link, issuer, now)?;
        }
        Ok(())
    }
}

/// One list, borrowed from its DER.
struct List<'a> {
    tbs: &'a [u8],
    signature_algorithm: &'a [u8],
    signature: &'a [u8],
    issuer: Vec<Vec<u8>>,
    from: i64,
    /// When the next one is due, if it says so.
    next: Option<i64>,
    revoked: Vec<&'a [u8]>,
    scope: Scope<'a>,
    unknown_critical: bool,
}

/// Of which certificates a list is (issuingDistributionPoint).
#[derive(Default)]
struct Scope<'a> {
    /// The name of its place, if it has one.
    point: Option<&'a [u8]>,
    only_users: bool,
    only_authorities: bool,
    /// Only for some reasons, of other issuers too, or of attributes.
    is_other: bool,
}

impl<'a> List<'a> {
    fn parse(der: &'a [u8]) -> Option<List<'a>> {
        let mut outer = expect(&mut &*der, SEQUENCE)?;
        let (tag, mut fields, tbs) = element(&mut outer)?;
        if tag != SEQUENCE {
            return None;
        }
        let signature_algorithm = expect(&mut outer, SEQUENCE)?;
        let signature = bits(&mut outer)?;
        optional(&mut fields, INTEGER)?; // version
        if expect(&mut fields, SEQUENCE)? != signature_algorithm {
            return None;
        }
        let issuer = canonical(element(&mut fields)?.2)?;
        let from = time(&mut fields)?;
        let next = match fields.first() {
            Some(&(UTC_TIME | GENERALIZED_TIME)) => Some(time(&mut fields)?),
            _ => None,
        };
        let mut entries = optional(&mut fields, SEQUENCE)?.unwrap_or_default();
        let mut revoked = Vec::new();
        while !entries.is_empty() {
            let mut entry = expect(&mut entries, SEQUENCE)?;
            revoked.push(expect(&mut entry, INTEGER)?);
        }
        let mut list = List {
            tbs,
            signature_algorithm,
            signature,
            issuer,
            from,
            next,
            revoked,
            scope: Scope::default(),
            unknown_critical: false,
        };
        if let Some(mut extensions) = optional(&mut fields, 0xa0)? {
            list.read_extensions(expect(&mut extensions, SEQUENCE)?)?;
        }
        Some(list)
    }

    fn read_extensions(&mut self, mut list: &'a [u8]) -> Option<()> {
        while !list.is_empty() {
            let mut extension = expect(&mut list, SEQUENCE)?;
            let kind = expect(&mut extension, OID)?;
            let is_critical = optional(&mut extension, BOOLEAN)?.is_some_and(|value| value != [0]);
            let value = expect(&mut extension, OCTET_STRING)?;
            match kind {
                [0x55, 29, 28] => self.scope = Scope::read(value)?,
                // The list's number and its issuer's key.
                [0x55, 29, 20 | 35] => {}
                _ => self.unknown_critical |= is_critical,
            }
        }
        Some(())
    }

    /// Whether the certificate is among those that the list is about.
    fn is_about(&self, link: &Link<'_>, is_authority: bool) -> bool {
        let scope = &self.scope;
        let of_kind = if is_authority {
            !scope.only_users
        } else {
            !scope.only_authorities
        };
        let at_place = scope.point.is_none_or(|point| {
            let points = link.certificate.extensions.list_points.unwrap_or_default();
            !point.is_empty() && points.windows(point.len()).any(|part| part == point)
        });
        of_kind && at_place && !scope.is_other
    }

    fn check_time(&self, now: i64) -> Result<(), String> {
        if now < self.from {
            return Err("CRL is not yet valid".to_owned());
        }
        if self.next.is_some_and(|next| next < now) {
            Err("CRL has expired: ask the authority for its newest revocation list".to_owned())
        } else {
            Ok(())
        }
    }

    fn check(&self, link: &Link<'_>, issuer: &Link<'_>, now: i64) -> Result<(), String> {
        let key_usage = issuer.certificate.extensions.key_usage;
        if key_usage.is_some_and(|of| of & usage::SIGNS_LISTS == 0) {
            return Err("key usage does not include CRL signing".to_owned());
        }
        self.check_time(now)?;
        signature::verify(
            self.signature_algorithm,
            issuer.certificate.key_algorithm,
            issuer.certificate.key,
            self.tbs,
            self.signature,
        )
        .map_err(|_| "CRL signature failure")?;
        if self.unknown_critical {
            return Err("unhandled critical CRL extension".to_owned());
        }
        if self.revoked.contains(&link.certificate.serial) {
            Err("certificate revoked".to_owned())
        } else {
            Ok(())
        }
    }
}

impl<'a> Scope<'a> {
    fn read(value: &'a [u8]) -> Option<Scope<'a>> {
        let mut fields = expect(&mut &*value, SEQUENCE)?;
        let point = match optional(&mut fields, 0xa0)? {
            Some(mut point) => Some(element(&mut point)?.1),
            None => None,
        };
        let mut flag = |tag: u8| -> Option<bool> {
            Some(optional(&mut fields, tag)?.is_some_and(|value| value != [0]))
        };
        let (only_users, only_authorities) = (flag(0x81)?, flag(0x82)?);
        let by_reason = flag(0x83)?;
        Some(Scope {
            point,
            only_users,
            only_authorities,
            is_other: by_reason || flag(0x84)? || flag(0x85)?,
        })
    }
}
