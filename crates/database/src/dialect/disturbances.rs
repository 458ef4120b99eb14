//! Which disturbances of pgdyno's catalogue a product has (docs/disturb.md).

/// What can be done to it.
#[derive(Debug, PartialEq, Eq)]
pub enum Disturbances {
    All,
    /// Only what asks nothing of the server but a connection; why not the others.
    Few {
        names: &'static [&'static str],
        refused: &'static [(&'static str, &'static str)],
        others: &'static str,
    },
}

impl Disturbances {
    /// Whether this one can be done there.
    ///
    /// # Errors
    /// Why not, in a clause.
    pub fn allow(&self, name: &str) -> Result<(), &'static str> {
        match self {
            Self::All => Ok(()),
            Self::Few { names, .. } if names.contains(&name) => Ok(()),
            Self::Few {
                refused, others, ..
            } => {
                let why = refused.iter().find(|(refused, _)| *refused == name);
                Err(why.map_or(others, |(_, why)| why))
            }
        }
    }
}

/// A connection is all that it takes.
const BY_CONNECTION: &[&str] = &[
    "connection-storm",
    "net-delay",
    "net-jitter",
    "net-bandwidth",
    "net-cut",
    "net-black-hole",
    "net-half-open",
    "net-one-way",
];
const OTHERS: &str =
    "it is PostgreSQL's, and was not tried on this product; name a command of yours: --during";

pub(super) const COCKROACHDB: Disturbances = Disturbances::Few {
    names: BY_CONNECTION,
    // Documented: SQL feature support; it has no shared buffers, vacuum or WAL senders of PostgreSQL's.
    refused: &[
        ("checkpoint", "it has no statement for a checkpoint"),
        (
            "vacuum-full",
            "it has no VACUUM: its garbage collection goes by gc.ttlseconds",
        ),
        (
            "base-backup",
            "it does not speak the replication protocol; its BACKUP is a statement",
        ),
    ],
    others: OTHERS,
};

pub(super) const YUGABYTEDB: Disturbances = Disturbances::Few {
    names: BY_CONNECTION,
    // Documented: rows are in DocDB, not in PostgreSQL's heap.
    refused: &[
        (
            "checkpoint",
            "its rows are in DocDB, which a CHECKPOINT does not reach",
        ),
        ("vacuum-full", "its rows are in DocDB, which has no VACUUM"),
        (
            "base-backup",
            "its rows are in DocDB, of which BASE_BACKUP has nothing",
        ),
    ],
    others: OTHERS,
};

pub(super) const OTHER: Disturbances = Disturbances::Few {
    names: BY_CONNECTION,
    refused: &[],
    others: OTHERS,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_product_does_not_have_is_refused_with_its_reason() {
        assert_eq!(Disturbances::All.allow("checkpoint"), Ok(()));
        assert_eq!(COCKROACHDB.allow("connection-storm"), Ok(()));
        assert!(
            COCKROACHDB
                .allow("checkpoint")
                .unwrap_err()
                .contains("no statement")
        );
        assert!(
            YUGABYTEDB
                .allow("sigstop")
                .unwrap_err()
                .contains("not tried")
        );
    }
}
