//! `setup`: the table.

use std::time::Duration;

use pgdyno_database::dialect::Product;
use pgdyno_database::{admin, trouble};
use pgdyno_output::{Verbosity, answer, remark};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_run::interrupts;
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::filling::Connections;
use pgdyno_workload::loader::{self, How, Request, Watch};
use pgdyno_workload::params::Params;

use super::YbioArgs;
use super::parameters::Parameters;
use super::progress::Notices;
use super::table::{self, TableMaker};

pub fn open(
    args: &YbioArgs,
    parameters: &Parameters,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let usage = |why| Failure::with(Exit::Usage, why);
    let given = given(parameters).map_err(usage)?;
    let pack = super::pack()?;
    let params = Params::parse(&pack, None, &given).map_err(usage)?;
    let target = args.target()?;
    let interrupts = interrupts()?;
    let mut session = target.connect()?;
    take_turn(&mut session, interrupts)?;
    let name = parameters.table();
    let recreates = parameters.flag("recreate");
    let is_ybios = table::maker(&mut session, &name)? == Some(TableMaker::Ybio);
    let stock = if recreates && is_ybios {
        vec![name.clone()]
    } else {
        Vec::new()
    };
    if !stock.is_empty() {
        remark!("pgdyno: note: replaces {name} of ybio's own setup");
    }
    if !verbosity.quiet {
        let (rows, batch) = (parameters.whole("tab_rows"), parameters.whole("batch_size"));
        remark!(
            "NOTICE:  Inserting {rows} rows in {} batches of {batch}",
            rows / batch.max(1)
        );
    }
    let mut progress = Notices::new(verbosity.quiet);
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut progress,
        interrupts: Some(interrupts),
        others: None,
    };
    let request = Request {
        experiment: None,
        pack: &pack,
        params: &params,
        replace: recreates,
        drop_tables: &stock,
        connections: Connections::default(),
    };
    let loaded = loader::load(&mut session, &request, &mut watch)
        .map_err(|failure| in_these_words(target.explain(failure)))?;
    for text in loaded.means.iter().chain(&loaded.remarks) {
        remark!("pgdyno: note: {text}");
    }
    if loaded.how != How::LoadedNow {
        remark!("pgdyno: note: {name} is there already: recreate=>false keeps it as it is");
    }
    answer!("CALL")?;
    Ok(Exit::Ok)
}

/// A failure without hints that name options of other commands.
fn in_these_words(mut failure: Failure) -> Failure {
    let hints = failure.hints.len();
    failure.hints.retain(|hint| !hint.contains("--param "));
    if failure.hints.len() == hints {
        failure
    } else {
        failure.hint(
        "say what the table was made with; or recreate=>true, which drops it and makes it again",
    )
    }
}

/// Waits for other setups, which ybio's users start together, a table each: pgdyno loads one after the
/// other. Held until the session ends, or not at all where the product has no such locks.
fn take_turn(session: &mut Session, interrupts: &Interrupts) -> Result<(), Failure> {
    /// A number that no other program is likely to lock.
    const KEY: i64 = i64::from_be_bytes(*b"pgd ybio");
    const PAUSE: Duration = Duration::from_millis(100);
    let ask = |e| trouble::server(&e, "could not wait for other setups");
    let dialect = Product::ask(session).map_err(ask)?.dialect;
    let Some(query) = dialect.try_lock else {
        return Ok(());
    };
    if !session.is_own() {
        remark!(
            "pgdyno: note: setups do not wait for each other here: clients share the sessions of the server"
        );
        return Ok(());
    }
    let query = query.replace("{key}", &KEY.to_string());
    let interrupted_before = interrupts.count();
    while admin::value(session, &query).map_err(ask)?.as_deref() != Some("t") {
        if interrupts.count() > interrupted_before {
            let code = interrupts.exit_code().unwrap_or(130);
            return Err(Failure::with(
                Exit::Interrupted(code),
                "interrupted while waiting",
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The pack's parameters.
fn given(parameters: &Parameters) -> Result<Vec<String>, String> {
    let (rows, batch) = (parameters.whole("tab_rows"), parameters.whole("batch_size"));
    if batch > rows {
        return Err(format!(
            "batch_size={batch} is more than tab_rows={rows}: ybio would insert no row"
        ));
    }
    let order = parameters.text("orderby").unwrap_or("mykey");
    let order = match order.trim().to_ascii_lowercase().as_str() {
        "scratch" | "random()" => "scratch",
        "mykey" => "mykey",
        _ => {
            return Err(format!(
                "orderby={order}: rows are ordered by scratch (random), mykey, or not at all (NULL)"
            ));
        }
    };
    let mut given = parameters.of_table();
    given.push(format!("tab_rows={rows}"));
    given.push(format!("insert_batch={batch}"));
    given.push(format!("filler={}", parameters.whole("filler")));
    given.push(format!("orderby={order}"));
    given.push(format!("index_as_pk={}", parameters.flag("index_as_pk")));
    // 0 leaves them to the server, and other products have none.
    for name in ["tab_tablets", "ind_tablets"] {
        if parameters.whole(name) > 0 {
            given.push(format!("{name}={}", parameters.whole(name)));
        }
    }
    Ok(given)
}
