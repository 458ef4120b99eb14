//! What errors mean that no server tells.

use pgdyno_spec::{ErrorClass, ErrorRule};

/// The server answered COMMIT with ROLLBACK and no error.
pub(crate) const ROLLED_BACK: &ErrorRule = &ErrorRule::fatal(
    "",
    "",
    "COMMIT was answered with ROLLBACK",
    ErrorClass::RolledBack,
);

/// The connection was lost, and the transaction with it: the server rolls back what it has of it.
pub(crate) const CONNECTION_LOST: &ErrorRule = &ErrorRule::retryable(
    "",
    "",
    "connection lost before COMMIT was sent",
    ErrorClass::ConnectionLost,
);
