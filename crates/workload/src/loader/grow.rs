//! Larger tables without a new load: the rows are appended that a load with the larger parameter would
//! have had more, so that afterwards the tables are those of such a load, and their marks say so.
//!
//! Where a load is one transaction this is one, too. Elsewhere the tables bear the mark "loading"
//! meanwhile: if it ends early, the next load starts again.

use std::collections::BTreeMap;
use std::time::Instant;

use pgdyno_session::Session;

use super::check::Seen;
use super::keys_aside;
use super::load::Load;
use super::lock::{lock, unlock};
use super::{How, Loaded, Request, Watch, product_of, there};
use crate::filling::Connections;
use crate::mark::{self, Mark};
use crate::pack::Pack;
use crate::params::Params;
use crate::recipe::Recipe;
use crate::state::{self, State};
use crate::stop::Stop;
use crate::{refusal, scale};
use pgdyno_database::dialect::{Filling, Product};
use pgdyno_database::trouble;
use pgdyno_spec::{Exit, Failure, text};

/// Appends to the tables that pgdyno has loaded until they are as `params` want them.
///
/// # Errors
/// There are no tables of pgdyno's, the parameters are not larger values of those that can grow, or
/// the server refuses.
pub fn grow(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let product = product_of(session)?;
    let params = params.clone().on(pack, product.dialect.name);
    params
        .check_on(pack, &product)
        .map_err(|why| Failure::with(Exit::Usage, why))?;
    lock(session, pack, &product, watch)?;
    let grown = grow_locked(session, pack, &params, &product, watch);
    unlock(session, product.dialect);
    grown
}

fn grow_locked(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    product: &Product,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let began = Instant::now();
    let dialect = product.dialect;
    let growing = pack.params().into_iter().filter(|param| param.grows);
    let growing: Vec<&str> = growing.map(|param| param.name.as_str()).collect();
    if growing.is_empty() {
        let why = format!("the tables of pack {} cannot grow", pack.name());
        return Err(Failure::with(Exit::Usage, why)
            .hint("load them again with other parameters: --replace"));
    }
    let mark = complete(session, pack, params, product)?;
    let mut before = params.or_defaults(pack);
    before.extend(mark.params.clone());
    let mut after = before.clone();
    after.extend(larger(pack, &growing, params, &mark)?);
    if after == before {
        return Ok(there(after, How::LoadedBefore));
    }
    if let Some(why) = refusal::of_tables(pack, &after).map_err(Failure::new)? {
        return Err(Failure::with(Exit::Usage, why));
    }
    let recipe = |values| Recipe::new(pack.tables_pack(), dialect.name, values);
    let rows_before = recipe(&before).map_err(Failure::new)?.tables;
    let rows_before = rows_before
        .into_iter()
        .map(|table| (table.name, table.rows));
    let mut recipe = recipe(&after).map_err(Failure::new)?;
    let tables = pack.made_tables(&after).map_err(Failure::new)?;
    let request = Request {
        experiment: None,
        pack,
        params,
        replace: false,
        drop_tables: &[],
        connections: Connections::default(),
    };
    let stop = Stop::new(watch.interrupts);
    let mut load = Load {
        session,
        request: &request,
        tables: &tables,
        product,
        watch,
        stop,
        means: Vec::new(),
        resume: None,
        spread: None,
    };
    let rows = load.append_all(&mut recipe, &rows_before.collect())?;
    Ok(Loaded {
        rows,
        elapsed: began.elapsed(),
        means: load.means,
        ..there(after, How::Grown)
    })
}

/// The mark of tables that can grow: all there, loaded to the end, by this version of the pack.
fn complete(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    product: &Product,
) -> Result<Mark, Failure> {
    let (name, place) = (pack.name(), &pack.place);
    let found = state::find(session, product.dialect, pack, &params.or_defaults(pack))?;
    let seen = Seen::of(session, product.dialect, pack, params, &found)?;
    let load = format!("load them: pgdyno load {place}");
    let mark = match state::judge(pack, &seen.tables, &found) {
        State::Ours(mark) => mark,
        State::Nothing => {
            return Err(Failure::new(format!("{name} has no tables here to grow")).hint(load));
        }
        State::Interrupted(_) => {
            return Err(Failure::new(format!("a load of {name} was interrupted")).hint(load));
        }
        State::Others => {
            let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
            let names = names.join(", ");
            return Err(Failure::new(format!(
                "will not add rows to {names}: pgdyno did not make them"
            )));
        }
        State::Unusable(why) => {
            return Err(Failure::new(format!(
                "pack {name} cannot use the tables in this database: {why}"
            )));
        }
    };
    if mark.pack_sha256 != pack.tables_pack().content_hash() {
        return Err(Failure::new(format!(
            "the tables were loaded by another version of pack {name} (pgdyno {}): their rows may differ",
            mark.pgdyno
        ))
        .hint(format!("load them again: pgdyno load {place} --replace")));
    }
    Ok(mark)
}

/// The parameters that the user gave larger than the tables have them.
fn larger(
    pack: &Pack,
    growing: &[&str],
    params: &Params,
    mark: &Mark,
) -> Result<BTreeMap<String, String>, Failure> {
    let usage = |why: String| Failure::with(Exit::Usage, why);
    let mut larger = BTreeMap::new();
    let mut is_named = false;
    for (name, given) in params.all_given() {
        is_named |= growing.contains(&name);
        let Some(old) = mark.params.get(name) else {
            continue;
        };
        if scale::same(old, given) {
            continue;
        }
        let is_more = match (old.parse::<f64>(), given.parse::<f64>()) {
            (Ok(old), Ok(given)) => given > old,
            _ => false,
        };
        if !growing.contains(&name) || !is_more {
            return Err(usage(format!(
                "the tables of {} are loaded with {name} = {old}, and --grow cannot make that {given}",
                pack.name()
            ))
            .hint(format!("larger values can be had of: {}", growing.join(", ")))
            .hint("for other tables load again: --replace"));
        }
        larger.insert(name.to_owned(), given.to_owned());
    }
    if !is_named {
        let name = growing[0];
        let old = mark.params.get(name).map_or("", String::as_str);
        return Err(
            usage("--grow needs a new size, such as --param scale=100".to_owned()).hint(format!(
                "give a larger value: --param {name}=… (it is {old})"
            )),
        );
    }
    Ok(larger)
}

/// The tables that get rows, each with its rows before and afterwards.
fn growing(recipe: &Recipe, rows_before: &BTreeMap<String, u64>) -> BTreeMap<String, (u64, u64)> {
    let rows = recipe.tables.iter().map(|table| {
        let before = rows_before.get(&table.name).copied().unwrap_or(0);
        (table.name.clone(), (before, table.rows))
    });
    rows.filter(|(_, (before, after))| before < after).collect()
}

impl Load<'_, '_, '_, '_> {
    /// Appends to every table that has more rows than before; how many to each.
    fn append_all(
        &mut self,
        recipe: &mut Recipe,
        rows_before: &BTreeMap<String, u64>,
    ) -> Result<Vec<(String, u64)>, Failure> {
        let is_whole = matches!(self.facts().filling, Filling::Whole);
        let appended = self.append_marked(recipe, rows_before, is_whole);
        self.watch.progress.table_ends();
        self.session.clean_up();
        let appended = appended.map_err(|failure| {
            // On a lost connection there is no transaction to end.
            let _ = self.sql("ROLLBACK");
            let failure = match self.stop.exit_code() {
                Some(code) => Failure::with(Exit::Interrupted(code), "growing was interrupted"),
                None => failure,
            };
            failure.detail(if is_whole {
                "the tables are as they were: nothing was changed"
            } else {
                "incomplete tables are left: the next load drops them and starts again"
            })
        })?;
        let settles = self.request.pack.tables_pack().is_accounted();
        for (table, _) in &appended {
            for statement in self.product.dialect.after_load(table, settles) {
                self.sql(&statement)
                    .map_err(|e| trouble::server(&e, &format!("could not tidy up {table}")))?;
            }
        }
        if settles {
            self.checkpoint();
        }
        Ok(appended)
    }

    fn append_marked(
        &mut self,
        recipe: &mut Recipe,
        rows_before: &BTreeMap<String, u64>,
        is_whole: bool,
    ) -> Result<Vec<(String, u64)>, Failure> {
        let marking = |e| trouble::server(&e, "could not mark the tables");
        if is_whole {
            self.sql("BEGIN").map_err(marking)?
        } else {
            self.mark(recipe, mark::State::Loading).map_err(marking)?
        }
        let keys = |e| trouble::server(&e, "could not check the rows by the foreign keys");
        let aside = if is_whole {
            keys_aside::take(self.session, &growing(recipe, rows_before)).map_err(keys)?
        } else {
            Vec::new()
        };
        let mut appended = Vec::new();
        for at in 0..recipe.tables.len() {
            let table = &mut recipe.tables[at];
            let (name, rows) = (table.name.clone(), table.rows);
            let first = rows_before.get(&name).copied().unwrap_or(0);
            if rows <= first {
                continue;
            }
            self.watch.progress.table(&name, rows);
            let filling = self.facts().filling;
            let copy = format!("COPY {name} ({}) FROM STDIN", table.column_list());
            let copied = match filling {
                Filling::Whole => self.copy(&copy, table, first..rows)?,
                Filling::Batches { rows: batch } => {
                    let mut copied = 0;
                    let mut row = first;
                    while row < rows {
                        let end = rows.min(row.saturating_add(batch.max(1)));
                        copied += self.copy(&copy, table, row..end)?;
                        row = end;
                    }
                    copied
                }
                Filling::Committing { .. } => {
                    self.copy(&format!("{copy}{}", filling.options()), table, first..rows)?
                }
            };
            self.watch.progress.table_ends();
            let wanted = rows - first;
            if copied != wanted {
                return Err(Failure::new(format!(
                    "the server took {} rows of {name} and not {}",
                    text::count(copied),
                    text::count(wanted)
                )));
            }
            appended.push((name, wanted));
        }
        if !aside.is_empty() {
            self.watch.progress.step("checking foreign keys");
        }
        keys_aside::put_back(self.session, &aside).map_err(keys)?;
        self.mark(recipe, mark::State::Complete).map_err(marking)?;
        if is_whole {
            self.sql("COMMIT").map_err(marking)?;
        }
        Ok(appended)
    }
}
