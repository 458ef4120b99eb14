//! Several processes fill the tables of one load. One of them loads as if it were alone, but by ranges,
//! and calls the others when the tables are there. Each puts in its own share of the ranges, then what
//! is missing of the others', and so each knows when a table is full. No generator waits for another but in the
//! server: a range is recorded in the transaction that puts it in, and the record's key lets it in once,
//! generators that died or came late.
//!
//! Not for: how processes find and hear each other (run).

use pgdyno_session::Session;

use super::load::{Load, mark_for};
use super::resume::record_name;
use super::{Request, Watch};
use crate::filling::{self, Beside, Job};
use crate::recipe::Recipe;
use crate::stop::Stop;
use pgdyno_database::dialect::Product;
use pgdyno_database::trouble;
use pgdyno_spec::{Exit, Failure, text};

/// The ranges with which a process begins: of so many processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub index: u32,
    /// Of how many, those that never come included.
    pub of: u32,
}

/// Other processes that fill the same tables.
pub trait Others {
    fn share(&self) -> Share;

    /// The tables are there: they may begin.
    ///
    /// # Errors
    /// They cannot be reached.
    fn call(&self) -> Result<(), Failure>;

    /// For those that were called: whether the load has ended. Asked often; it is quick.
    fn is_over(&self) -> bool;
}

impl Load<'_, '_, '_, '_> {
    /// Those that do not hear it cost nothing but time.
    pub(super) fn call_others(&mut self) {
        if let Some(Err(why)) = self.watch.others.map(|others| others.call()) {
            let note = format!("filled alone: no other could be called: {}", why.message);
            self.means.push(note);
        }
    }
}

/// Fills the tables of a load together with the process that called. Ends early, without an error, when
/// the load has ended or was begun anew by another process. Of the request it matters what is loaded, and how
/// rows travel.
///
/// # Errors
/// The tables cannot be filled from here; an interrupt. The others do what is missing.
pub fn help(
    session: &mut Session,
    request: &Request<'_>,
    watch: &mut Watch<'_>,
) -> Result<(), Failure> {
    let (pack, Some(others)) = (request.pack, watch.others) else {
        return Ok(());
    };
    let product = Product::ask(session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    let params = request.params.clone().on(pack, product.dialect.name);
    let values = params.or_defaults(pack);
    let recipe = Recipe::new(pack.tables_pack(), product.dialect.name, &values);
    let recipe = recipe.map_err(Failure::new)?;
    let record = record_name(&mark_for(pack, &recipe, None));
    let stop = Stop::new(watch.interrupts);
    let job = Job {
        product: &product,
        connections: request.connections.on(&product),
        endpoints: watch.endpoints,
        record: Some(&record),
        stop,
    };
    for table in &recipe.tables {
        if others.is_over() {
            break;
        }
        let name = &table.name;
        watch.progress.table(name, table.rows);
        let mut beside = Beside {
            progress: &mut *watch.progress,
            means: &mut Vec::new(),
            others: Some(others),
        };
        let filled = job.fill(session, table, &mut beside);
        watch.progress.table_ends();
        match filled {
            Ok(0) => {}
            Ok(rows) => {
                let rows = text::count(rows);
                let reported = format!("{name}: {rows} rows by this generator");
                watch.progress.step(&reported);
            }
            Err(_) if stop.asked() => {
                let code = stop.exit_code().unwrap_or(130);
                let text = format!("loading {} was interrupted", pack.name());
                return Err(Failure::with(Exit::Interrupted(code), text));
            }
            // The record goes with the load.
            Err(_) if others.is_over() => break,
            Err(_) if filling::recorded(session, &record, name).is_err() => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::load;
    use crate::params::Params;
    use crate::shipped;
    use pgdyno_database::open;
    use pgdyno_model::progress::Silent;
    use pgdyno_spec::TargetSpec;

    /// This one has no other generators.
    struct OutOfReach;

    impl Others for OutOfReach {
        fn share(&self) -> Share {
            Share { index: 1, of: 3 }
        }

        fn call(&self) -> Result<(), Failure> {
            Err(Failure::new("the notebook is away"))
        }

        fn is_over(&self) -> bool {
            false
        }
    }

    fn session(database: &str) -> Session {
        let url = pgdyno_testkit::postgres().address().url();
        let url = url.replace("@/postgres?", &format!("@/{database}?"));
        let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
        target.connect().unwrap()
    }

    #[test]
    fn a_lone_loader_fills_all_and_leaves_nothing_for_helpers() {
        let create = "CREATE DATABASE others_out_of_reach";
        session("postgres").simple_query(create).unwrap();
        let mut session = session("others_out_of_reach");
        let pack = shipped::find("tpcb").unwrap();
        let params = Params::parse(&pack, None, &["scale=2".to_owned()]).unwrap();
        let request = Request::keeping(&pack, &params);
        let mut watch = Watch {
            endpoints: &[],
            progress: &mut Silent,
            interrupts: None,
            others: Some(&OutOfReach),
        };
        // Before there are tables.
        help(&mut session, &request, &mut watch).unwrap();
        let loaded = load(&mut session, &request, &mut watch).unwrap();
        assert_eq!(loaded.rows[2], ("pgbench_accounts".to_owned(), 200_000));
        assert_eq!(
            loaded.means,
            ["filled alone: no other could be called: the notebook is away"]
        );
        // After the load.
        help(&mut session, &request, &mut watch).unwrap();
        let count = "SELECT count(*), count(DISTINCT aid) FROM pgbench_accounts";
        let counted = session.query(count).unwrap().rows;
        let both = Some("200000".to_owned());
        assert_eq!(counted, [[both.clone(), both]]);
    }
}
