//! Whether clients may go to nodes that join the cluster during a trial: nodes are discovered, and clients
//! connect again.

use pgdyno_database::open::Target;
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// Checks it where a trial asks for it.
///
/// # Errors
/// They may not, and what to add.
pub fn check(asked: &TrialSpec, target: &Target) -> Result<(), Failure> {
    let refused = |why: &str, hint: &str| {
        let text = format!("--new-nodes: {why}");
        Err(Failure::with(Exit::Usage, text).hint(hint.to_owned()))
    };
    if !asked.errors.new_nodes {
        return Ok(());
    }
    if target.discovers().is_none() {
        return refused(
            "only with --discover is the cluster asked for its nodes",
            "add --discover",
        );
    }
    if !asked.errors.reconnect && !asked.connection_per_transaction {
        return refused(
            "a client goes to a new node with a new connection, and without --reconnect it has one only",
            "add --reconnect, or -C",
        );
    }
    if target.load_balances {
        return refused(
            "with load_balance_hosts clients have no endpoint of their own",
            "leave load_balance_hosts out",
        );
    }
    Ok(())
}
