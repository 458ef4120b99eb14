//! Secrets that a server repeats: whatever a server says is kept and shown, so the passwords that were
//! used are cut out of it where it enters ([`crate::ServerError`]).
//!
//! Not in the path of a transaction that succeeds: nothing is looked at before an error or a notice.

use std::sync::{PoisonError, RwLock};

/// What is in a secret's place.
const MASK: &str = "***";
/// Bytes of the shortest secret that is cut out. Without what is shorter few messages would still say
/// anything.
pub const SECRET_BYTES_MIN: usize = 6;

/// Every form of every secret in lower case, longest first, so that none leaves a part of another.
static FORMS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From now on `secret` is cut out of what servers say, plain, quoted as in SQL or in a connection
/// string, or percent-encoded, with upper and lower case ASCII letters alike: a server folds what is in
/// the place of a name. One shorter than [`SECRET_BYTES_MIN`] is not.
pub fn keep_out(secret: &str) {
    if secret.len() < SECRET_BYTES_MIN {
        return;
    }
    let secret = &*secret.to_ascii_lowercase();
    let is_known = |forms: &[String]| forms.iter().any(|form| form == secret);
    if is_known(&FORMS.read().unwrap_or_else(PoisonError::into_inner)) {
        return;
    }
    let mut forms = FORMS.write().unwrap_or_else(PoisonError::into_inner);
    let escaped = secret.replace('\\', "\\\\").replace('\'', "\\'");
    let others = [secret.replace('\'', "''"), escaped, percent_encoded(secret)];
    for form in [secret.to_owned()].into_iter().chain(others) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let bytes = text.bytes();
    bytes
        .map(|b| {
            if is_plain(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02x}")
            }
        })
        .collect()
}

/// The text without any secret that is to be kept out.
pub fn without_secrets(mut text: String) -> String {
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    // Of the same length: the ASCII letters alone change.
    let mut folded = text.to_ascii_lowercase();
    for form in forms.iter() {
        let mut from = 0;
        while let Some(at) = folded[from..].find(form).map(|at| from + at) {
            text.replace_range(at..at + form.len(), MASK);
            folded.replace_range(at..at + form.len(), MASK);
            from = at + MASK.len();
        }
    }
    text
}

/// Whether there is something to cut out of it.
pub fn has_secret(text: &str) -> bool {
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    let folded = text.to_ascii_lowercase();
    forms.iter().any(|form| folded.contains(form))
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
            ("role \"pa'ss w\\rd\" does not", "role \"***\" does not"),
            ("PA'SS W\\RD, Pa'ss w\\rd", "***, ***"),
            ("abcde pa'ss", "abcde pa'ss"),
        ] {
            assert_eq!(without_secrets(said.to_owned()), shown);
        }
    }
}
