//! Secrets that a server repeats: whatever a server says is kept and shown, so the passwords that were
//! used are cut out of it where it enters ([`crate::ServerError`]).
//!
//! Not in the path of a transaction that succeeds: nothing is looked at before an error or a notice.

use std::sync::{PoisonError, RwLock};

/// What stands in a secret's place.
const MASK: &str = "***";
/// Bytes of the shortest secret that is cut out. Without what is shorter few messages would still say
/// anything.
pub const SECRET_BYTES_MIN: usize = 6;

/// Every form of every secret, longest first, so that none leaves a part of another.
static FORMS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From now on `secret` is cut out of what servers say, plain, quoted as in SQL or in a connection
/// string, or percent-encoded. One shorter than [`SECRET_BYTES_MIN`] is not.
pub fn keep_out(secret: &str) {
    if secret.len() < SECRET_BYTES_MIN {
        return;
    }
    let is_known = |forms: &[String]| forms.iter().any(|form| form == secret);
    if is_known(&FORMS.read().unwrap_or_else(PoisonError::into_inner)) {
        return;
    }
    let mut forms = FORMS.write().unwrap_or_else(PoisonError::into_inner);
    let escaped = secret.replace('\\', "\\\\").replace('\'', "\\'");
    let others = [
        secret.replace('\'', "''"),
        escaped,
        percent_encoded(secret, |b| format!("%{b:02X}")),
        percent_encoded(secret, |b| format!("%{b:02x}")),
    ];
    for form in [secret.to_owned()].into_iter().chain(others) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
}

fn percent_encoded(text: &str, code: impl Fn(u8) -> String) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let bytes = text.bytes();
    bytes
        .map(|b| match is_plain(b) {
            true => char::from(b).to_string(),
            false => code(b),
        })
        .collect()
}

/// The text without any secret that is to be kept out.
pub(crate) fn without_secrets(mut text: String) -> String {
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    for form in forms.iter() {
        if text.contains(form) {
            text = text.replace(form, MASK);
        }
    }
    text
}

/// Whether there is something to cut out of it.
pub(crate) fn has_secret(text: &str) -> bool {
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    forms.iter().any(|form| text.contains(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_cut_out_in_every_form_and_nothing_else_is() {
        keep_out("pa'ss w\\rd");
        keep_out("pa'ss");
        keep_out("abcde");
        for (said, shown) in [
            ("password=pa'ss w\\rd host=h", "password=*** host=h"),
            ("PASSWORD 'pa''ss w\\rd'", "PASSWORD '***'"),
            ("password='pa\\'ss w\\\\rd'", "password='***'"),
            ("postgres://u:pa%27ss%20w%5Crd@h", "postgres://u:***@h"),
            ("postgres://u:pa%27ss%20w%5crd@h", "postgres://u:***@h"),
            ("abcde pa'ss", "abcde pa'ss"),
        ] {
            assert_eq!(without_secrets(said.to_owned()), shown);
        }
    }
}
