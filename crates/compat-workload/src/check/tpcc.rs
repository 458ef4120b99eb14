//! `check tpcc`: TPC-C's conditions, which are the checks of the pack.

use std::collections::BTreeMap;

use pgdyno_database::dialect::Product;
use pgdyno_database::trouble;
use pgdyno_output::remark;
use pgdyno_session::Session;
use pgdyno_spec::Failure;

use crate::generator::TransactionGenerator;
use crate::tables;

/// The conditions that read all customers and order lines.
const EXPENSIVE: [&str; 3] = ["6", "10", "12"];

/// Does it: all conditions, or without the expensive ones.
///
/// # Errors
/// The conditions that do not hold, or what failed.
pub(super) fn check(
    session: &mut Session,
    product: &Product,
    loaded: &BTreeMap<String, String>,
    all: bool,
) -> Result<(), Failure> {
    let pack = tables::pack(TransactionGenerator::Tpcc)?;
    let checks = pack
        .made_checks(product.dialect.name, loaded)
        .map_err(Failure::new)?;
    let mut wrong = Vec::new();
    let mut left_out = Vec::new();
    for check in checks {
        if !all && EXPENSIVE.contains(&check.name.as_str()) {
            left_out.push(check.name);
            continue;
        }
        let name = format!("3.3.2.{}", check.name);
        let look = check
            .look(session.unhurried(), None)
            .map_err(|e| trouble::server(&e, &format!("could not check {name}")))?;
        let took_s = look.took.as_secs_f64();
        let held = if look.held { "holds" } else { "does not hold" };
        remark!("pgdyno: check {name} {held} ({took_s:.1}s): {}", check.help);
        if !look.held {
            wrong.push(format!("check failed: {name}: {}", look.found));
        }
    }
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        remark!("pgdyno: --expensive-checks checks 3.3.2.{left_out} too");
    }
    let mut wrong = wrong.into_iter();
    let Some(first) = wrong.next() else {
        return Ok(());
    };
    Err(wrong.fold(Failure::new(first), Failure::detail).hint(
        "a transaction was lost or done in part, or the tables were changed by something else; load \
         them again: workload init tpcc --drop",
    ))
}
