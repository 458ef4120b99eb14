//! `require_auth`: which authentication methods the server may use on us.

/// A method as `require_auth` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Password,
    Md5,
    Gss,
    Sspi,
    ScramSha256,
    OAuth,
    None,
}

const METHODS: [(&str, Method); 7] = [
    ("password", Method::Password),
    ("md5", Method::Md5),
    ("gss", Method::Gss),
    ("sspi", Method::Sspi),
    ("scram-sha-256", Method::ScramSha256),
    ("oauth", Method::OAuth),
    ("none", Method::None),
];

/// The methods allowed. The default allows every one, also no authentication at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequireAuth {
    text: String,
    allowed: u8,
}

impl Default for RequireAuth {
    fn default() -> RequireAuth {
        RequireAuth {
            text: String::new(),
            allowed: u8::MAX,
        }
    }
}

impl RequireAuth {
    /// Reads a comma-separated list of methods, either all allowed or, each with a `!` before it,
    /// all forbidden. Empty text allows everything. The errors are in libpq's words.
    pub fn parse(text: &str) -> Result<RequireAuth, String> {
        if text.is_empty() {
            return Ok(RequireAuth::default());
        }
        let negated = text.starts_with('!');
        let mut listed = 0u8;
        for item in text.split(',') {
            let (name, negative) = match item.strip_prefix('!') {
                Some(name) => (name, true),
                None => (item, false),
            };
            if negative && !negated {
                return Err(format!(
                    "negative require_auth method \"{item}\" cannot be mixed with non-negative methods"
                ));
            }
            if !negative && negated {
                return Err(format!(
                    "require_auth method \"{item}\" cannot be mixed with negative methods"
                ));
            }
            let Some((_, method)) = METHODS.iter().find(|(known, _)| *known == name) else {
                return Err(format!("invalid require_auth value: \"{name}\""));
            };
            let bit = 1 << *method as u8;
            if listed & bit != 0 {
                return Err(format!(
                    "require_auth method \"{item}\" is specified more than once"
                ));
            }
            listed |= bit;
        }
        let allowed = if negated { !listed } else { listed };
        Ok(RequireAuth {
            text: text.to_owned(),
            allowed,
        })
    }

    pub(crate) fn allows(&self, method: Method) -> bool {
        self.allowed & (1 << method as u8) != 0
    }

    /// The list as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_allows_what_it_names_and_a_negated_list_the_rest() {
        let some = RequireAuth::parse("scram-sha-256,md5").unwrap();
        assert!(some.allows(Method::ScramSha256) && some.allows(Method::Md5));
        assert!(!some.allows(Method::None) && !some.allows(Method::Password));
        let not = RequireAuth::parse("!password,!none").unwrap();
        assert!(not.allows(Method::ScramSha256) && not.allows(Method::Md5));
        assert!(!not.allows(Method::None) && !not.allows(Method::Password));
        assert!(RequireAuth::parse("").unwrap().allows(Method::None));
    }

    #[test]
    fn mixed_repeated_and_unknown_methods_are_named() {
        for (text, part) in [
            (
                "md5,!none",
                "negative require_auth method \"!none\" cannot be mixed",
            ),
            (
                "!none,md5",
                "require_auth method \"md5\" cannot be mixed with negative",
            ),
            ("md5,md5", "\"md5\" is specified more than once"),
            ("md5,", "invalid require_auth value: \"\""),
            ("kerberos", "invalid require_auth value: \"kerberos\""),
        ] {
            let error = RequireAuth::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
