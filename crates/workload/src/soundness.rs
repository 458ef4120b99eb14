//! All that is wrong with a pack, as far as it can be checked without a server: `pgdyno pack check`. What a load or a
//! run would come upon one after the other is made here for every dialect, mix and script, with the defaults.
//!
//! Not for: what only a server knows (SQL); a load tells that with file and line.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_script::{Language, Names, Op, Script, ScriptErrorKind};

use super::manifest::{self, ManifestError};
use super::pack::Pack;
use super::params::Params;
use super::recipe::{Form, Recipe};
use super::{expression, folder, refusal, shipped, statements};

/// Variables that each run sets.
const SET_BY_PGDYNO: [&str; 5] = [
    "script",
    "client_id",
    "random_seed",
    "default_seed",
    "clients",
];

/// Reads a pack, a shipped one by its name or a folder by its path, and finds all that is wrong with it.
pub fn check(name: &str) -> (Option<Pack>, Vec<ManifestError>) {
    let is_shipped = shipped::exists(name);
    let (pack, mut wrong) = if is_shipped {
        match shipped::find(name) {
            Ok(pack) => (Some(pack), Vec::new()),
            Err(error) => (None, vec![error]),
        }
    } else {
        folder::find_all(name)
    };
    if let Some(pack) = &pack {
        wrong.extend(files_of_no_dialect(pack));
        // What is made of a manifest with mistakes says the same again in other words.
        if wrong.is_empty() {
            wrong.extend(made(pack));
        }
    }
    (pack, wrong)
}

/// Files that look like a dialect's variant of one that is named, and are of no dialect.
fn files_of_no_dialect(pack: &Pack) -> Vec<ManifestError> {
    let dialects = manifest::dialects();
    let mut wrong = Vec::new();
    for name in pack.files.keys() {
        let mut parts = name.rsplitn(3, '.');
        let (Some(ending), Some(dialect), Some(stem)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let of = format!("{stem}.{ending}");
        if pack.files.contains_key(&of) && !dialects.contains(&dialect) {
            wrong.push(ManifestError {
                file: format!("{}/{name}", pack.place),
                line: None,
                message: format!(
                    "there is no dialect \"{dialect}\", so nothing reads it: call it {stem}.{}.{ending}",
                    dialects.join(&format!(".{ending}, {stem}."))
                ),
            });
        }
    }
    wrong
}

/// What cannot be made of a pack with its defaults.
fn made(pack: &Pack) -> Vec<ManifestError> {
    let mut mistakes = Mistakes::default();
    let mixes = pack
        .manifest
        .mixes
        .iter()
        .map(|mix| Some(mix.name.as_str()));
    let mixes: Vec<Option<&str>> = std::iter::once(None).chain(mixes).collect();
    for dialect in manifest::dialects() {
        for (at, mix) in mixes.iter().enumerate() {
            let params = match Params::parse(pack, *mix, &[]) {
                Ok(params) => params.on(pack, dialect),
                Err(why) => {
                    mistakes.say(why);
                    continue;
                }
            };
            let mut values = params.or_defaults(pack);
            values.retain(|name, _| pack.param(name).is_none_or(|p| p.is_for(dialect)));
            // As in a run.
            values.insert("clients".to_owned(), "1".to_owned());
            // Parameters that a mix sets may leave the weights to the user's.
            let made = at.checked_sub(1).map(|at| &pack.manifest.mixes[at]);
            if made.is_none_or(|mix| !mix.weights.is_empty()) {
                mistakes.must(pack.scripts(*mix, &values).map(drop));
            }
            mistakes.must(rules(pack, &values, dialect));
            if at == 0 {
                tables(pack, dialect, &values, &mut mistakes);
                texts(pack, dialect, &values, &mut mistakes);
            }
        }
    }
    mistakes.wrong
}

/// What has been reported, each once: dialects and mixes share most of it.
#[derive(Default)]
struct Mistakes {
    seen: BTreeSet<String>,
    wrong: Vec<ManifestError>,
}

impl Mistakes {
    fn must<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|why| self.say(why)).ok()
    }

    fn say(&mut self, text: String) {
        if self.seen.insert(text.clone()) {
            self.wrong.push(located(text));
        }
    }
}

/// A message that begins with its place, taken apart: `FILE:LINE: …` or `FILE: …`.
fn located(text: String) -> ManifestError {
    let (place, message) = text.split_once(": ").unwrap_or(("", &text));
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) if line.parse::<usize>().is_ok() => (file, line.parse().ok()),
        _ => (place, None),
    };
    ManifestError {
        file: file.to_owned(),
        line,
        message: message.to_owned(),
    }
}

fn rules(pack: &Pack, values: &BTreeMap<String, String>, dialect: &str) -> Result<(), String> {
    for (number, rule) in pack.manifest.refusals.iter().enumerate() {
        if !refusal::matters_on(pack, rule, dialect) {
            continue;
        }
        let place = pack.place_at("refuse", &number.to_string(), "when");
        let holds = expression::condition(&place, &rule.when, values)?;
        let place = pack.place_at("refuse", &number.to_string(), "why");
        let why = pack.made(&place, &rule.why, values)?;
        if holds && rule.scripts.is_empty() {
            return Err(format!(
                "{place}: the defaults are refused ({why}): change them, or the rule"
            ));
        }
    }
    Ok(())
}

fn tables(pack: &Pack, dialect: &str, values: &BTreeMap<String, String>, mistakes: &mut Mistakes) {
    let Some(mut recipe) = mistakes.must(Recipe::new(pack.tables_pack(), dialect, values)) else {
        return;
    };
    mistakes.must(recipe.schema());
    mistakes.must(recipe.after_load());
    for table in &mut recipe.tables {
        // The first row and the last: where an expression is wrong, it mostly is there.
        let last = table.rows;
        for row in [1, last].into_iter().filter(|row| (1..=last).contains(row)) {
            mistakes.must(table.push_row(row, Form::Copy, &mut Vec::new()));
        }
    }
}

/// Scripts, whether or not they are drawn, and all that is asked of a server.
fn texts(pack: &Pack, dialect: &str, values: &BTreeMap<String, String>, mistakes: &mut Mistakes) {
    let mut parsed = Vec::new();
    for script in &pack.manifest.scripts {
        let place = format!("{}/{}", pack.place, script.file);
        let mut values = values.clone();
        values.insert("script".to_owned(), script.name.clone());
        let Some(text) = mistakes.must(pack.made(&place, &pack.files[&script.file], &values))
        else {
            continue;
        };
        let mut names = Names::new();
        match Language::Pgdyno.parse(&place, &text, &mut names) {
            Ok(script) => parsed.push((place, script, names)),
            Err(error) => mistakes.say(match error.kind {
                ScriptErrorKind::Empty => {
                    format!("{place}: there is no statement in it: write one")
                }
                ScriptErrorKind::Condition { .. } => {
                    format!("{place}:{}: {}", error.line, error.message)
                }
                _ => error.to_string(),
            }),
        }
    }
    undefined(pack, &parsed, mistakes);
    let m = &pack.manifest;
    if let Some(file) = &m.after_history {
        let script = mistakes
            .must(pack.script_file(file, dialect, values))
            .flatten();
        if let Some(script) = script
            && let Err(error) =
                Language::Pgdyno.parse(&script.file, &script.text, &mut Names::new())
        {
            mistakes.say(error.to_string());
        }
    }
    let explained = m.explains.iter().map(|explain| &explain.file);
    let before = m.before_warmup.iter().chain(&m.before_history);
    for file in before.chain(explained) {
        mistakes.must(statements::of_file(pack, file, dialect, values));
    }
    mistakes.must(pack.session_settings(dialect, values));
    mistakes.must(pack.made_checks(dialect, values));
    mistakes.must(pack.made_procedures(&m.procedures, dialect, values));
}

/// Variables that a meta command reads and nothing sets: no parameter, no other command of the pack (clients
/// keep what a script of theirs has set), and no column behind a `\gset`.
fn undefined(pack: &Pack, scripts: &[(String, Script, Names)], mistakes: &mut Mistakes) {
    let params = pack.params().into_iter().map(|param| param.name.as_str());
    let mut set: BTreeSet<&str> = params.chain(SET_BY_PGDYNO).collect();
    let mut columns = Vec::new();
    for (_, script, names) in scripts {
        for command in &script.commands {
            set.extend(command.op.sets().map(|slot| names.name(slot)));
            if let Op::Sql(sql) = &command.op
                && let Some(gset) = &sql.gset
            {
                columns.push((gset.prefix.as_str(), sql.text.to_lowercase()));
            }
        }
    }
    // Which columns there are the server knows: those that the statement may have are supposed.
    let has_word = |text: &str, word: &str| {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|one| one == word)
    };
    let may_be_column = |name: &str| {
        columns.iter().any(|(prefix, text)| {
            name.strip_prefix(prefix)
                .is_some_and(|column| text.contains('*') || has_word(text, &column.to_lowercase()))
        })
    };
    for (place, script, names) in scripts {
        for command in &script.commands {
            for slot in command.op.reads() {
                let name = names.name(slot);
                if !set.contains(name) && !may_be_column(name) {
                    mistakes.say(format!(
                        "{place}:{}: undefined variable \"{name}\": no [[param]] has this name and no \
                         command sets it",
                        command.line
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
