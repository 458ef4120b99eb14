//! Which names an authority may vouch for (RFC 5280, 4.2.1.10), as OpenSSL checks it.

use crate::chain::Link;
use crate::der::{SEQUENCE, element, expect, optional};
use crate::x509::{
    ADDRESS_NAME, COMMON_NAME, DIRECTORY_NAME, DNS_NAME, EMAIL_ADDRESS, EMAIL_NAME, URI_NAME,
    attributes, canonical,
};

const MALFORMED: &str = "unsupported or invalid name constraint syntax";
const PERMITTED: &str = "permitted subtree violation";
const EXCLUDED: &str = "excluded subtree violation";

/// Subtrees of names: their tag, their contents.
type Trees<'a> = Vec<(u8, &'a [u8])>;

struct Constraints<'a> {
    permitted: Trees<'a>,
    excluded: Trees<'a>,
}

/// Checks all names of a certificate against the contents of one extension.
pub(crate) fn check(link: &Link<'_>, extension: &[u8], is_last: bool) -> Result<(), String> {
    let constraints = Constraints::parse(extension).ok_or(MALFORMED)?;
    let subject = link.certificate.subject;
    let subject_names = expect(&mut &*subject, SEQUENCE).ok_or(MALFORMED)?;
    if !subject_names.is_empty() {
        constraints.check_one(DIRECTORY_NAME, subject)?;
        for email in attributes(subject_names, EMAIL_ADDRESS).ok_or(MALFORMED)? {
            constraints.check_one(EMAIL_NAME, email)?;
        }
    }
    for (tag, name) in &link.certificate.extensions.names {
        constraints.check_one(*tag, name)?;
    }
    // The common name is a host's name where there is no other.
    if is_last && link.certificate.names(DNS_NAME).next().is_none() {
        for name in attributes(subject_names, COMMON_NAME).ok_or(MALFORMED)? {
            if is_host_name(name) {
                constraints.check_one(DNS_NAME, name)?;
            }
        }
    }
    Ok(())
}

impl<'a> Constraints<'a> {
    fn parse(mut fields: &'a [u8]) -> Option<Constraints<'a>> {
        Some(Constraints {
            permitted: trees(optional(&mut fields, 0xa0)?)?,
            excluded: trees(optional(&mut fields, 0xa1)?)?,
        })
    }

    fn check_one(&self, tag: u8, name: &[u8]) -> Result<(), String> {
        let of_kind = |all: &Trees<'a>| -> Vec<&'a [u8]> {
            let all = all.iter().filter(|tree| tree.0 == tag);
            all.map(|tree| tree.1).collect()
        };
        let permitted = of_kind(&self.permitted);
        let mut is_permitted = permitted.is_empty();
        for tree in permitted {
            is_permitted |= is_within(tag, name, tree)?;
        }
        if !is_permitted {
            return Err(PERMITTED.to_owned());
        }
        for tree in of_kind(&self.excluded) {
            if is_within(tag, name, tree)? {
                return Err(EXCLUDED.to_owned());
            }
        }
        Ok(())
    }
}

/// Subtrees; those with a minimum or maximum distance are malformed for RFC 5280.
fn trees(list: Option<&[u8]>) -> Option<Trees<'_>> {
    let mut list = list.unwrap_or_default();
    let mut all = Vec::new();
    while !list.is_empty() {
        let mut tree = expect(&mut list, SEQUENCE)?;
        let (tag, name, _) = element(&mut tree)?;
        if !tree.is_empty() {
            return None;
        }
        all.push((tag, name));
    }
    Some(all)
}

fn is_within(tag: u8, name: &[u8], tree: &[u8]) -> Result<bool, String> {
    match tag {
        DNS_NAME => Ok(is_subdomain(name, tree)),
        ADDRESS_NAME => Ok(is_in_network(name, tree)),
        DIRECTORY_NAME => {
            let (name, tree) = (canonical(name), canonical(tree));
            let (name, tree) = name.zip(tree).ok_or(MALFORMED)?;
            Ok(name.starts_with(&tree))
        }
        EMAIL_NAME => {
            let at = name.iter().rposition(|&b| b == b'@').ok_or(MALFORMED)?;
            Ok(match tree.iter().rposition(|&b| b == b'@') {
                // A whole address, or all of a host's: the host without case.
                Some(tree_at) => {
                    (tree_at == 0 || name[..at] == tree[..tree_at])
                        && name[at + 1..].eq_ignore_ascii_case(&tree[tree_at + 1..])
                }
                None => is_host_within(&name[at + 1..], tree),
            })
        }
        URI_NAME => {
            let start = name.windows(3).position(|w| w == b"://").ok_or(MALFORMED)? + 3;
            let host = name[start..].split(|b| matches!(b, b':' | b'/')).next();
            let host = host.filter(|host| !host.is_empty()).ok_or(MALFORMED)?;
            Ok(is_host_within(host, tree))
        }
        _ => Err("unsupported name constraint type".to_owned()),
    }
}

/// A host, or with a dot in front all hosts of a domain.
fn is_host_within(host: &[u8], tree: &[u8]) -> bool {
    match tree.first() {
        Some(b'.') => host.len() > tree.len() && ends_with(host, tree),
        _ => host.eq_ignore_ascii_case(tree),
    }
}

fn ends_with(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// The domain itself and all of its subdomains; without the former where it begins with a dot.
fn is_subdomain(name: &[u8], tree: &[u8]) -> bool {
    if tree.is_empty() {
        return true;
    }
    let at_label = name.len() <= tree.len()
        || tree[0] == b'.'
        || name.get(name.len() - tree.len() - 1) == Some(&b'.');
    at_label && ends_with(name, tree)
}

/// `tree` is an address and a mask.
fn is_in_network(address: &[u8], tree: &[u8]) -> bool {
    tree.len() == 2 * address.len()
        && (0..address.len()).all(|i| (address[i] ^ tree[i]) & tree[address.len() + i] == 0)
}

/// Whether a common name looks like a host's name of two or more labels.
fn is_host_name(name: &[u8]) -> bool {
    let mut has_dot = false;
    for (i, &b) in name.iter().enumerate() {
        let is_inside = i > 0 && i + 1 < name.len();
        match b {
            b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {}
            b'-' if is_inside => {}
            b'.' if is_inside && !matches!(name[i + 1], b'.' | b'-') && name[i - 1] != b'-' => {
                has_dot = true;
            }
            _ => return false,
        }
    }
    has_dot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtrees_are_matched_at_labels_masks_and_hosts() {
        assert!(is_subdomain(b"db.bench.test", b"bench.test"));
        assert!(is_subdomain(b"BENCH.test", b"bench.test"));
        assert!(!is_subdomain(b"workbench.test", b"bench.test"));
        assert!(is_subdomain(b"db.bench.test", b".bench.test"));
        assert!(!is_subdomain(b"bench.test", b".bench.test"));
        assert!(is_subdomain(b"any", b""));
        assert!(is_in_network(&[10, 1, 2, 3], &[10, 0, 0, 0, 255, 0, 0, 0]));
        assert!(!is_in_network(&[11, 1, 2, 3], &[10, 0, 0, 0, 255, 0, 0, 0]));
        assert!(!is_in_network(&[10; 16], &[10, 0, 0, 0, 255, 0, 0, 0]));
        let within = |tag, name: &[u8], tree: &[u8]| is_within(tag, name, tree);
        assert_eq!(within(EMAIL_NAME, b"a@Bench.test", b"bench.test"), Ok(true));
        assert_eq!(within(EMAIL_NAME, b"a@x.test", b"b@x.test"), Ok(false));
        assert_eq!(within(EMAIL_NAME, b"a@x.test", b"@x.test"), Ok(true));
        assert!(within(EMAIL_NAME, b"no-at-sign", b"x.test").is_err());
        assert_eq!(within(URI_NAME, b"x://db.x.test:1/", b".x.test"), Ok(true));
        assert_eq!(within(URI_NAME, b"x://x.test/", b".x.test"), Ok(false));
        assert!(within(URI_NAME, b"x:nowhere", b".x.test").is_err());
        assert!(within(0x88, b"", b"").is_err());
    }

    #[test]
    fn common_names_are_hosts_only_with_two_labels() {
        assert!(is_host_name(b"db.bench-1.test"));
        for name in [
            &b"localhost"[..],
            b"a..b",
            b".a",
            b"a.",
            b"a.-b",
            b"*.a.b",
            b"a b.c",
        ] {
            assert!(!is_host_name(name), "{}", name.escape_ascii());
        }
    }
}
