//! Whether a server's certificate is vouched for by a trusted one, by OpenSSL's rules, which are libpq's:
//! those of `X509_verify_cert` (OpenSSL 3.0) for the purpose of a TLS server, with trusted certificates
//! first, no partial chains, and security level 2, which is Debian's default: keys and hashes of 112 bits
//! or more.
//!
//! webpki, which rustls would use, has the rules of the web: it refuses certificates of version 1, leaves that are
//! of authorities, roots that have expired when none of that matters to libpq, and the other way round.

use rustls::pki_types::CertificateDer;

use crate::constraints;
use crate::revocation::RevocationLists;
use crate::roots::Root;
use crate::signature::{self, STRENGTH_BITS_MIN, key_family, key_strength, signature_strength};
use crate::x509::{Certificate, canonical, usage};

/// Most certificates between the server's and the root.
const DEPTH_MAX: usize = 100;

/// A certificate with what is looked up often.
pub(crate) struct Link<'a> {
    pub certificate: Certificate<'a>,
    pub subject: Vec<Vec<u8>>,
    issuer: Vec<Vec<u8>>,
    /// The name of the issuer is its own.
    pub is_self_issued: bool,
    /// It is its own issuer, as far as can be seen without checking the signature.
    is_self_signed: bool,
    /// Of a trusted one, what it says itself ([`Root`]).
    trust: Option<bool>,
}

impl<'a> Link<'a> {
    fn parse(der: &'a [u8]) -> Option<Link<'a>> {
        let certificate = Certificate::parse(der)?;
        let subject = canonical(certificate.subject)?;
        let issuer = canonical(certificate.issuer)?;
        let is_self_issued = subject == issuer;
        let mut link = Link {
            certificate,
            subject,
            issuer,
            is_self_issued,
            is_self_signed: false,
            trust: None,
        };
        link.is_self_signed = is_self_issued && link.names_key_of(&link);
        Some(link)
    }

    /// Whether `issuer` looks like the issuer.
    fn is_issued_by(&self, issuer: &Link<'_>) -> bool {
        let malformed = |link: &Link<'_>| link.certificate.extensions.is_malformed;
        self.issuer == issuer.subject
            && !malformed(self)
            && !malformed(issuer)
            && self.names_key_of(issuer)
    }

    /// Whether what it says of its issuer's key fits `issuer`.
    fn names_key_of(&self, issuer: &Link<'_>) -> bool {
        let said = &self.certificate.extensions.authority;
        let fits_key = match (said.key_id, issuer.certificate.extensions.key_id) {
            (Some(said), Some(is)) => said == is,
            _ => true,
        };
        let fits_serial = said
            .serial
            .is_none_or(|serial| serial == issuer.certificate.serial);
        let fits_name = said
            .issuer
            .is_none_or(|name| canonical(name).as_ref() == Some(&issuer.issuer));
        fits_key
            && fits_serial
            && fits_name
            && key_family(issuer.certificate.key_algorithm).is_some_and(|family| {
                signature::can_sign(family, self.certificate.signature_algorithm)
            })
    }

    fn is_valid_at(&self, now: i64) -> bool {
        let (from, to) = self.certificate.validity;
        (from..=to).contains(&now)
    }

    fn signs_certificates(&self) -> bool {
        let of = self.certificate.extensions.key_usage;
        of.is_none_or(|of| of & usage::SIGNS_CERTIFICATES != 0)
    }

    /// Whether a chain may end with it, which is trusted.
    ///
    /// # Errors
    /// It says that it is not for servers.
    fn ends_chain(&self) -> Result<bool, String> {
        match self.trust {
            Some(false) => Err("certificate rejected".to_owned()),
            trust => Ok(trust == Some(true) || self.is_self_signed),
        }
    }

    fn is_strong(&self) -> bool {
        key_strength(self.certificate.key_algorithm, self.certificate.key)
            .is_some_and(|bits| bits >= STRENGTH_BITS_MIN)
    }
}

/// Checks the server's certificate: what is wrong is in OpenSSL's words.
pub(crate) fn check(
    end_entity: &CertificateDer<'_>,
    sent: &[CertificateDer<'_>],
    roots: &[Root],
    revocations: Option<&RevocationLists>,
    now: i64,
) -> Result<(), String> {
    let end_entity = Link::parse(end_entity)
        .filter(|link| !link.certificate.extensions.is_malformed)
        .ok_or("the server's certificate cannot be read")?;
    if !end_entity.is_strong() {
        return Err("EE certificate key too weak".to_owned());
    }
    // A certificate that cannot be read is not trusted; the others still can.
    let sent: Vec<Link<'_>> = sent.iter().filter_map(|der| Link::parse(der)).collect();
    let roots = { roots.iter() }.filter_map(|root| {
        let link = Link::parse(&root.der)?;
        Some(Link {
            trust: root.trust,
            ..link
        })
    });
    let roots: Vec<Link<'_>> = roots.collect();
    let chain = build(&end_entity, &sent, &roots, now)?;
    check_extensions(&chain)?;
    check_strength(&chain)?;
    if let Some(lists) = revocations {
        lists.check(&chain, now)?;
    }
    check_signatures(&chain, now)?;
    check_names(&chain)
}

/// The chain from the server's certificate to a root that is its own issuer.
fn build<'l, 'a>(
    end_entity: &'l Link<'a>,
    sent: &'l [Link<'a>],
    roots: &'l [Link<'a>],
    now: i64,
) -> Result<Vec<&'l Link<'a>>, String> {
    let mut chain = vec![end_entity];
    let mut sent: Vec<&Link<'_>> = sent.iter().collect();
    // As many as came from the server. Once one is trusted, all after it must be.
    let mut untrusted = 1;
    loop {
        let last = chain[chain.len() - 1];
        if chain.len() > DEPTH_MAX {
            return Err("certificate chain too long".to_owned());
        }
        let trusted = best(roots.iter().filter(|root| last.is_issued_by(root)), now);
        match trusted {
            Some(root) if !last.is_self_signed => {
                chain.push(root);
                if root.ends_chain()? {
                    return Ok(chain);
                }
                continue;
            }
            // It must be the very certificate, not one of the same name.
            Some(root) if root.certificate.der == last.certificate.der => {
                root.ends_chain()?;
                return Ok(chain);
            }
            _ => {}
        }
        let is_from_server = chain.len() == untrusted;
        let next = best(
            sent.iter().copied().filter(|link| last.is_issued_by(link)),
            now,
        );
        match next {
            Some(link) if is_from_server && !last.is_self_signed => {
                sent.retain(|other| !std::ptr::eq(*other, link));
                chain.push(link);
                untrusted += 1;
            }
            _ => match shorter(&mut chain, &mut untrusted, roots, now)? {
                Some(()) => return Ok(chain),
                None => {
                    let last = chain[chain.len() - 1];
                    return Err(match (last.is_self_signed, chain.len(), untrusted) {
                        (true, 1, _) => "self-signed certificate",
                        (true, ..) => "self-signed certificate in certificate chain",
                        (false, len, untrusted) if untrusted < len => {
                            "unable to get issuer certificate"
                        }
                        _ => "unable to get local issuer certificate",
                    }
                    .to_owned());
                }
            },
        }
    }
}

/// Leaves out what the server sent too much: looks for a root that issued an earlier certificate.
fn shorter<'l, 'a>(
    chain: &mut Vec<&'l Link<'a>>,
    untrusted: &mut usize,
    roots: &'l [Link<'a>],
    now: i64,
) -> Result<Option<()>, String> {
    for len in (1..*untrusted).rev() {
        let mut rest = chain[..len].to_vec();
        while let Some(root) = best(
            roots
                .iter()
                .filter(|root| rest[rest.len() - 1].is_issued_by(root)),
            now,
        ) {
            if rest.len() > DEPTH_MAX {
                break;
            }
            rest.push(root);
            if root.ends_chain()? {
                *chain = rest;
                *untrusted = len;
                return Ok(Some(()));
            }
        }
    }
    Ok(None)
}

/// Of several issuers the first that is valid now, or else the one that was so last.
fn best<'l, 'a: 'l>(issuers: impl Iterator<Item = &'l Link<'a>>, now: i64) -> Option<&'l Link<'a>> {
    let mut best: Option<&Link<'_>> = None;
    for issuer in issuers {
        if issuer.is_valid_at(now) {
            return Some(issuer);
        }
        if best.is_none_or(|best| best.certificate.validity.1 < issuer.certificate.validity.1) {
            best = Some(issuer);
        }
    }
    best
}

fn check_extensions(chain: &[&Link<'_>]) -> Result<(), String> {
    let mut authorities = 0;
    for (at, link) in chain.iter().enumerate() {
        let extensions = &link.certificate.extensions;
        if extensions.unknown_critical {
            return Err("unhandled critical extension".to_owned());
        }
        if extensions.is_proxy {
            return Err(
                "proxy certificates not allowed, please set the appropriate flag".to_owned(),
            );
        }
        if at > 0 {
            match authority(link) {
                Authority::No => return Err("invalid CA certificate".to_owned()),
                Authority::Undeclared if at + 1 < chain.len() => {
                    return Err("invalid CA certificate".to_owned());
                }
                _ => {}
            }
        }
        if chain.len() > 1 && signature::has_explicit_curve(link.certificate.key_algorithm) {
            return Err("certificate public key has explicit ECC parameters".to_owned());
        }
        if !is_for_servers(link, at > 0) {
            return Err("unsuitable certificate purpose".to_owned());
        }
        if at > 1 && extensions.path_len.is_some_and(|len| authorities > len) {
            return Err("path length constraint exceeded".to_owned());
        }
        if at > 0 && !link.is_self_issued {
            authorities += 1;
        }
    }
    Ok(())
}

/// Whether a certificate is of an authority.
#[derive(PartialEq, Eq)]
enum Authority {
    No,
    Declared,
    /// It does not say, but it is of a kind that may be: version 1 and self-signed, a key for it, an old type.
    Undeclared,
}

const NETSCAPE_SERVER: u16 = 0x4000;
const NETSCAPE_SERVER_AUTHORITY: u16 = 0x0400;
const NETSCAPE_ANY_AUTHORITY: u16 = 0x0700;

fn authority(link: &Link<'_>) -> Authority {
    let extensions = &link.certificate.extensions;
    if !link.signs_certificates() {
        return Authority::No;
    }
    let of_old_type = || extensions.netscape_type.unwrap_or_default() & NETSCAPE_ANY_AUTHORITY != 0;
    match extensions.is_authority {
        Some(true) => Authority::Declared,
        Some(false) => Authority::No,
        None if link.certificate.version_1 && link.is_self_signed => Authority::Undeclared,
        None if extensions.key_usage.is_some() || of_old_type() => Authority::Undeclared,
        None => Authority::No,
    }
}

fn is_for_servers(link: &Link<'_>, as_authority: bool) -> bool {
    /// serverAuth, and what Microsoft and Netscape had for it.
    const SERVER: [&[u8]; 3] = [
        &[0x2b, 6, 1, 5, 5, 7, 3, 1],
        &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 3, 3],
        &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1],
    ];
    let extensions = &link.certificate.extensions;
    let has_purpose = extensions
        .purposes
        .as_ref()
        .is_none_or(|all| all.iter().any(|purpose| SERVER.contains(purpose)));
    if !has_purpose {
        return false;
    }
    let old_type = extensions.netscape_type;
    if as_authority {
        // Only where nothing else says that it is of an authority.
        let by_old_type = extensions.is_authority.is_none()
            && extensions.key_usage.is_none()
            && !link.certificate.version_1;
        return !by_old_type
            || old_type.is_none_or(|old_type| old_type & NETSCAPE_SERVER_AUTHORITY != 0);
    }
    const TLS: u16 = usage::DIGITAL_SIGNATURE | usage::KEY_ENCIPHERMENT | usage::KEY_AGREEMENT;
    old_type.is_none_or(|old_type| old_type & NETSCAPE_SERVER != 0)
        && extensions.key_usage.is_none_or(|of| of & TLS != 0)
}

fn check_strength(chain: &[&Link<'_>]) -> Result<(), String> {
    for (at, link) in chain.iter().enumerate() {
        if at > 0 && !link.is_strong() {
            return Err("CA certificate key too weak".to_owned());
        }
        let strength = signature_strength(link.certificate.signature_algorithm);
        if at + 1 < chain.len() && strength < STRENGTH_BITS_MIN {
            return Err("CA signature digest algorithm too weak".to_owned());
        }
    }
    Ok(())
}

/// From the root on. The root's own signature says nothing, its time does.
fn check_signatures(chain: &[&Link<'_>], now: i64) -> Result<(), String> {
    for (at, link) in chain.iter().enumerate().rev() {
        if let Some(issuer) = chain.get(at + 1) {
            if !issuer.signs_certificates() {
                return Err("key usage does not include certificate signing".to_owned());
            }
            let (of, by) = (&link.certificate, &issuer.certificate);
            signature::verify(
                of.signature_algorithm,
                by.key_algorithm,
                by.key,
                of.tbs,
                of.signature,
            )
            .map_err(|_| "certificate signature failure")?;
        }
        // A root that is trusted for servers although another one issued it is not looked at further.
        if at > 0 && at + 1 == chain.len() && !link.is_self_signed {
            continue;
        }
        let (from, to) = link.certificate.validity;
        if now < from {
            return Err("certificate is not yet valid".to_owned());
        }
        if to < now {
            return Err("certificate has expired".to_owned());
        }
    }
    Ok(())
}

fn check_names(chain: &[&Link<'_>]) -> Result<(), String> {
    for (at, link) in chain.iter().enumerate().rev() {
        if at > 0 && link.is_self_issued {
            continue;
        }
        for above in &chain[at + 1..] {
            if let Some(constraints) = above.certificate.extensions.name_constraints {
                constraints::check(link, constraints, at == 0)?;
            }
        }
    }
    Ok(())
}
