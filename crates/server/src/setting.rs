//! One `name=value` for the server's configuration.

use std::str::FromStr;

use crate::error::Error;

/// Settings that pgdyno decides, with what to do instead.
const RESERVED: [(&str, &str); 8] = [
    ("data_directory", "the data directory is pgdyno's to choose"),
    (
        "config_file",
        "the configuration is written by pgdyno; set what you need with --pg-set",
    ),
    ("hba_file", "pgdyno's server trusts only its own user"),
    ("ident_file", "pgdyno's server trusts only its own user"),
    (
        "listen_addresses",
        "the address is pgdyno's to choose; for another, start a server yourself and name it \
         with --url",
    ),
    (
        "port",
        "pgdyno chooses the address; use the --port option of `pgdyno server start`",
    ),
    (
        "unix_socket_directories",
        "the address is pgdyno's to choose",
    ),
    ("external_pid_file", "pgdyno looks after the server itself"),
];

/// A setting of the server, validated as far as that is possible without the server: the name
/// is well-formed and not one of those that pgdyno decides. Whether the server knows it and
/// likes the value, it says when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: String,
    value: String,
}

impl Setting {
    /// A setting called `name` (letters, digits and underscores, extensions' with a dot).
    ///
    /// # Errors
    /// When the name is malformed or reserved, or the value cannot stand in a configuration file.
    pub fn new(name: &str, value: &str) -> Result<Setting, Error> {
        let name = name.trim();
        let wrong = |reason: &str| Error::Setting {
            text: format!("{name}={value}"),
            reason: reason.into(),
        };
        if !is_valid_name(name) {
            return Err(wrong(
                "a name consists of letters, digits and underscores, such as work_mem; \
                 write name=value",
            ));
        }
        let reserved = RESERVED
            .iter()
            .find(|(reserved, _)| name.eq_ignore_ascii_case(reserved));
        if let Some((_, why)) = reserved {
            return Err(wrong(why));
        }
        if value.contains(['\n', '\r', '\0']) {
            return Err(wrong("a value must be one line"));
        }
        Ok(Setting {
            name: name.into(),
            value: value.into(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// The line for the configuration file.
    pub(crate) fn line(&self) -> String {
        line(&self.name, &self.value)
    }
}

impl FromStr for Setting {
    type Err = Error;

    /// Reads `name=value`; the value is everything behind the first `=`.
    fn from_str(text: &str) -> Result<Setting, Error> {
        match text.split_once('=') {
            Some((name, value)) => Setting::new(name, value.trim()),
            None => Err(Error::Setting {
                text: text.into(),
                reason: "write name=value, such as shared_buffers=4GB".into(),
            }),
        }
    }
}

/// Whether the server's configuration file takes this name: identifiers joined by dots.
fn is_valid_name(name: &str) -> bool {
    name.split('.').all(|part| {
        let mut bytes = part.bytes();
        bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$')
    })
}

/// One line of a configuration file. In its quoted strings a quote is doubled and a backslash
/// begins an escape (documentation of PostgreSQL, "Parameter Interaction via the Configuration
/// File").
pub(crate) fn line(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('\'', "''");
    format!("{name} = '{value}'\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_value_are_parted_at_the_first_equals_sign() {
        let setting: Setting = " work_mem = 64MB ".parse().expect("valid");
        assert_eq!((setting.name(), setting.value()), ("work_mem", "64MB"));
        let setting: Setting = "search_path=a=b".parse().expect("valid");
        assert_eq!(setting.value(), "a=b");
        let setting: Setting = "auto_explain.log_min_duration=".parse().expect("valid");
        assert_eq!(setting.value(), "");
    }

    #[test]
    fn what_cannot_be_a_setting_is_refused_by_name() {
        for text in [
            "",
            "work_mem",
            "=1",
            "work mem=1",
            "1a=1",
            "a..b=1",
            "a;b=1",
        ] {
            let error = text.parse::<Setting>().expect_err(text).to_string();
            assert!(error.contains("name=value"), "{text}: {error}");
        }
        let error = "a=1\nfsync=off".parse::<Setting>().expect_err("two lines");
        assert!(error.to_string().contains("one line"), "{error}");
    }

    #[test]
    fn what_pgdyno_decides_is_refused_whatever_its_case() {
        for name in ["port", "Listen_Addresses", "data_directory"] {
            let error = Setting::new(name, "x").expect_err(name).to_string();
            assert!(error.contains("pgdyno"), "{error}");
        }
    }

    #[test]
    fn quotes_and_backslashes_survive_the_configuration_file() {
        let setting = Setting::new("cluster_name", r"it's a \ mark").expect("valid");
        assert_eq!(setting.line(), "cluster_name = 'it''s a \\\\ mark'\n");
    }
}
