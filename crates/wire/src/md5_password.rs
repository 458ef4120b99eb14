//! A password as `md5` authentication wants it: the MD5 of password and user, and the MD5 of that and a salt, each in
//! hexadecimal digits.

use std::fmt::Write as _;

use md5::{Digest, Md5};

pub(crate) fn hashed(user: &str, password: &str, salt: [u8; 4]) -> String {
    let stored = hex(&[password.as_bytes(), user.as_bytes()]);
    "md5".to_owned() + &hex(&[stored.as_bytes(), &salt])
}

fn hex(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hashed_with_its_user_and_a_salt() {
        // PostgreSQL: SELECT 'md5' || md5(convert_to(md5('passwordmd5_user'), 'UTF8') || '\x2a3d8fe0').
        let answer = hashed("md5_user", "password", [0x2a, 0x3d, 0x8f, 0xe0]);
        assert_eq!(answer, "md562af4dd09bbb41884907a838a3233294");
    }
}
