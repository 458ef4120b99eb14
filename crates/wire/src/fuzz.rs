//! For fuzz/targets: what must hold of any bytes where only this crate can look.

use crate::x509::{self, Certificate};

/// A certificate: its parts are parts of its bytes.
pub fn certificate(der: &[u8]) {
    let hash = x509::end_point_hash(der);
    let Some(certificate) = Certificate::parse(der) else {
        return assert!(hash.is_none());
    };
    let inside = der.as_ptr_range();
    let names = certificate.extensions.names.iter().map(|name| &name.1);
    let parts = [
        certificate.tbs,
        certificate.serial,
        certificate.signature,
        certificate.issuer,
        certificate.subject,
        certificate.key,
    ];
    for part in parts.iter().chain(names).chain(&certificate.common_name) {
        let part = part.as_ptr_range();
        assert!(inside.start <= part.start && part.end <= inside.end);
    }
    // Between the years 0 and 9999, whatever the months say.
    let (from, to) = certificate.validity;
    for at in [from, to] {
        assert!((-70_000_000_000..300_000_000_000).contains(&at), "{at}");
    }
}
