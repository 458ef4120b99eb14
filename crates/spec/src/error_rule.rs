//! What errors of a server mean, as plain data: which product says what is not known here.

/// What kind of trouble an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Concurrent transactions do not fit into one order.
    Serialization,
    /// Transactions wait for each other.
    Deadlock,
    /// Whether the transaction was committed is not known: it is booked as unknown, and never tried
    /// again.
    Ambiguous,
    /// COMMIT was answered with ROLLBACK.
    RolledBack,
    /// The server has too much to do, or too little memory or room for it.
    Overload,
    /// The server is about to go.
    Draining,
    /// The server, or the session, takes no writes.
    ReadOnly,
    /// The connection was lost before anything was sent that may commit.
    ConnectionLost,
    Other,
}

impl ErrorClass {
    pub const ALL: [Self; 9] = [
        Self::Serialization,
        Self::Deadlock,
        Self::Ambiguous,
        Self::RolledBack,
        Self::Overload,
        Self::Draining,
        Self::ReadOnly,
        Self::ConnectionLost,
        Self::Other,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Serialization => "serialization",
            Self::Deadlock => "deadlock",
            Self::Ambiguous => "ambiguous",
            Self::RolledBack => "rolled-back",
            Self::Overload => "overload",
            Self::Draining => "draining",
            Self::ReadOnly => "read-only",
            Self::ConnectionLost => "connection-lost",
            Self::Other => "other",
        }
    }

    /// The class of this name; [`ErrorClass::Other`] for a name that is none.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|class| class.name() == name);
        known.unwrap_or(Self::Other)
    }
}

/// What an error is, by its SQLSTATE and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// What the SQLSTATE begins with: five characters, two for a class of them, none for any.
    pub sqlstate: &'static str,
    /// What the message holds; nothing for any message.
    pub contains: &'static str,
    pub reason: &'static str,
    /// What kind of trouble it is.
    pub class: ErrorClass,
    /// Whether the transaction may be tried again.
    pub is_retryable: bool,
}

impl ErrorRule {
    /// An error after which the transaction may be tried again.
    pub const fn retryable(
        sqlstate: &'static str,
        contains: &'static str,
        reason: &'static str,
        class: ErrorClass,
    ) -> Self {
        Self {
            sqlstate,
            contains,
            reason,
            class,
            is_retryable: true,
        }
    }

    /// An error after which it may not.
    pub const fn fatal(
        sqlstate: &'static str,
        contains: &'static str,
        reason: &'static str,
        class: ErrorClass,
    ) -> Self {
        Self {
            is_retryable: false,
            ..Self::retryable(sqlstate, contains, reason, class)
        }
    }

    /// The first of the rules that an error fits.
    pub fn find<'rules>(
        rules: &'rules [Self],
        sqlstate: &str,
        message: &[u8],
    ) -> Option<&'rules Self> {
        let message = String::from_utf8_lossy(message);
        rules
            .iter()
            .find(|rule| sqlstate.starts_with(rule.sqlstate) && message.contains(rule.contains))
    }
}

/// pgbench's: serialization failures and deadlocks are tried again, by their SQLSTATEs alone.
pub const PGBENCH_RULES: &[ErrorRule] = &[
    ErrorRule::retryable(
        "40001",
        "",
        "serialization failure",
        ErrorClass::Serialization,
    ),
    ErrorRule::retryable("40P01", "", "deadlock", ErrorClass::Deadlock),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_names_an_error() {
        const RULES: &[ErrorRule] = &[
            ErrorRule::retryable("40001", "TOO_OLD", "too old", ErrorClass::Serialization),
            ErrorRule::retryable("40001", "", "another", ErrorClass::Serialization),
            ErrorRule::fatal("53", "", "no room", ErrorClass::Overload),
        ];
        let reason =
            |state, text: &str| ErrorRule::find(RULES, state, text.as_bytes()).map(|r| r.reason);
        assert_eq!(reason("40001", "(RETRY_WRITE_TOO_OLD)"), Some("too old"));
        assert_eq!(reason("40001", "something"), Some("another"));
        assert_eq!(reason("53200", "out of memory"), Some("no room"));
        assert_eq!(reason("23505", "TOO_OLD"), None);
        assert_eq!(
            ErrorRule::find(RULES, "40001", b"\xff").unwrap().reason,
            "another"
        );
    }

    #[test]
    fn a_class_is_known_again_by_its_name() {
        for class in ErrorClass::ALL {
            assert_eq!(ErrorClass::from_name(class.name()), class);
        }
        assert_eq!(ErrorClass::from_name("new"), ErrorClass::Other);
    }
}
