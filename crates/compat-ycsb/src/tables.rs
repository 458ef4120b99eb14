//! The table: there, or made empty for a load. Nothing that is there is dropped.

use pgdyno_database::dialect::Product;
use pgdyno_database::open;
use pgdyno_database::{admin, trouble};
use pgdyno_output::{Loading, remark};
use pgdyno_session::{Session, quote_literal};
use pgdyno_spec::Failure;
use pgdyno_workload::loader::{self, Watch};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::{mark, resolve, state};

use super::YcsbRefusal;
use super::command::Phase;
use super::plan::Plan;

/// Sees to it that the table is there for this phase.
///
/// # Errors
/// There is none to run on, it has rows where a load begins, or the server does not answer.
///
/// Gives whether what the properties say of its rows counts, whatever these look like: where a load adds rows of
/// its own, and where one of the first keys that are to be asked for is there. Neither tool looks at the table.
pub fn ready(plan: &Plan, phase: Phase) -> Result<bool, YcsbRefusal> {
    let pack = resolve::pack("ycsb").map_err(|e| Failure::new(e.to_string()))?;
    let target = open::existing(&plan.spec.target)?;
    let target = target.ok_or_else(|| Failure::new("nothing names a server"))?;
    let mut session = target.connect()?;
    let ask = |e| trouble::server(&e, "could not look for the table");
    let product = Product::ask(&mut session).map_err(ask)?;
    if let Some((why, way_out)) = product.takes_no_packs() {
        return Err(Failure::new(why).hint(way_out).into());
    }
    let values = Params::parse(&pack, None, &plan.table).map_err(YcsbRefusal::usage)?;
    let values = values.or_defaults(&pack);
    let name = &plan.usertable;
    let found = state::find(&mut session, product.dialect, &pack, &values)?;
    let loading = |table: &state::ExistingTable| {
        let mark = table.mark.as_ref();
        mark.is_some_and(|mark| mark.state == mark::State::Loading)
    };
    if found.iter().any(loading) {
        let failure = Failure::new(format!(
            "{name} is half loaded: pgdyno load ycsb was interrupted"
        ));
        return Err(failure
            .hint("pgdyno load ycsb, with its parameters, goes on")
            .into());
    }
    match phase {
        Phase::Run if found.is_empty() => {
            let failure = Failure::new(format!("relation \"{name}\" does not exist"));
            Err(failure
                .hint("load it: the same command with load instead of run")
                .into())
        }
        Phase::Run => has_key(plan, plan.telling_key(), &mut session),
        Phase::Load if found.is_empty() => {
            create(plan, &pack, &mut session)?;
            Ok(true)
        }
        Phase::Load => {
            has_room(plan, &mut session)?;
            Ok(true)
        }
    }
}

/// YCSB needs a table that its user has made; here it is made.
fn create(plan: &Plan, pack: &Pack, session: &mut Session) -> Result<(), YcsbRefusal> {
    let mut params = plan.table.clone();
    params.push("recordcount=0".to_owned());
    let params = Params::parse(pack, None, &params).map_err(YcsbRefusal::usage)?;
    let mut progress = Loading::quiet();
    let mut watch = Watch {
        endpoints: &[],
        progress: &mut progress,
        interrupts: None,
        others: None,
    };
    loader::ensure_loaded(session, pack, &params, &mut watch)?;
    remark!("pgdyno: created {}", plan.usertable);
    Ok(())
}

/// Whether this key is there.
fn has_key(plan: &Plan, key: Option<String>, session: &mut Session) -> Result<bool, YcsbRefusal> {
    let Some(key) = key else {
        return Ok(false);
    };
    let name = &plan.usertable;
    let ask = |e| trouble::server(&e, &format!("could not look for rows of {name}"));
    let query = format!(
        "SELECT 1 FROM {name} WHERE ycsb_key = {}",
        quote_literal(&key)
    );
    Ok(admin::value(session, &query).map_err(ask)?.is_some())
}

/// The first key of a load must not be there: each insert would fail.
fn has_room(plan: &Plan, session: &mut Session) -> Result<(), YcsbRefusal> {
    if !has_key(plan, plan.first_key(), session)? {
        return Ok(());
    }
    let (name, key) = (&plan.usertable, plan.first_key().unwrap_or_default());
    let start = plan.keys.start;
    let failure = Failure::new(format!(
        "{name} has key number {start} ({key}) already, and a load from there on would fail"
    ));
    let more = "load more rows: -p insertstart=N, N the rows there are";
    Err(failure
        .hint(format!("empty it (TRUNCATE {name}), or {more}"))
        .into())
}
