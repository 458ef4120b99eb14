//! The rules for a manifest that TOML's types cannot express. Each is told with its place and the way
//! out.

use super::{Field, Manifest, Moment, Param, Scalar, Table, Weight, list};
use crate::{expression, figures, own_data, table_params};
use pgdyno_database::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};

/// The rules that TOML's types cannot express.
pub(super) fn check(m: &Manifest) -> Result<(), String> {
    if m.name.is_empty()
        || !m
            .name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    {
        return Err(format!(
            "name = \"{}\": a pack's name is made of letters, digits, - and _",
            m.name
        ));
    }
    if m.summary.trim().is_empty() || m.summary.contains('\n') {
        return Err("summary: expected one line".to_owned());
    }
    check_params(&m.params)?;
    check_scripts(m)?;
    check_tables(m)?;
    check_data_checks(m)?;
    check_figures(m)?;
    if let Some(base) = &m.uses
        && (!m.tables.is_empty() || m.schema.is_some() || m.after_load.is_some())
    {
        return Err(format!(
            "uses = \"{base}\": a pack that works on another pack's tables has no table, schema \
             or after_load of its own"
        ));
    }
    if m.uses.is_none() && m.tables.is_empty() && (m.schema.is_some() || m.after_load.is_some()) {
        return Err("schema: needs a [[table]] for each table that it creates".to_owned());
    }
    if !m.tables.is_empty() && m.schema.is_none() {
        return Err(
            "schema is missing: a pack with a [[table]] needs the script that creates it, \
             such as schema = \"schema.sql\""
                .to_owned(),
        );
    }
    for (key, file) in [
        ("schema", &m.schema),
        ("after_load", &m.after_load),
        ("before_warmup", &m.before_warmup),
    ] {
        if let Some(file) = file {
            check_file_name(&format!("{key} = \"{file}\""), file)?;
        }
    }
    Ok(())
}

fn check_params(params: &[Param]) -> Result<(), String> {
    let names = |p: &Param| [std::slice::from_ref(&p.name), &p.aliases].concat();
    let names: Vec<String> = params.iter().flat_map(names).collect();
    no_duplicates("param", names.iter().map(String::as_str))?;
    for p in params {
        let at = format!("param \"{}\"", p.name);
        if !pgdyno_script::is_valid_name(&p.name) {
            return Err(format!(
                "{at}: name is not a variable's name (letters, digits and _)"
            ));
        }
        if matches!(
            p.name.as_str(),
            "row" | "script" | "client_id" | "random_seed" | "default_seed"
        ) {
            return Err(format!("{at}: name is reserved: pgdyno sets this variable"));
        }
        check_dialects(&at, &p.only)?;
        if !p.one_of.is_empty() && !matches!(p.default, Scalar::Text(_)) {
            return Err(format!("{at}: one_of is for texts, and default is none"));
        }
        if let Some(file) = &p.count_by {
            check_file_name(&format!("{at}: count_by = \"{file}\""), file)?;
            if !matches!(p.default, Scalar::Int(_)) {
                return Err(format!(
                    "{at}: count_by is for a whole number, and default is none"
                ));
            }
        }
        let numeric = matches!(p.default, Scalar::Int(_) | Scalar::Double(_));
        if !numeric && (p.min.is_some() || p.max.is_some()) {
            return Err(format!(
                "{at}: min and max are for numbers, and default is none"
            ));
        }
        p.accept(&p.default.to_string())
            .map_err(|why| format!("{at}: default = {}: {why}", p.default))?;
        let dialects: Vec<String> = p.default_on.keys().cloned().collect();
        check_dialects(&at, &dialects)?;
        for (dialect, value) in &p.default_on {
            p.accept(&value.to_string())
                .map_err(|why| format!("{at}: default_on: {dialect} = {value}: {why}"))?;
        }
    }
    Ok(())
}

fn check_scripts(m: &Manifest) -> Result<(), String> {
    if m.scripts.is_empty() {
        return Err(
            "script is missing: a pack has at least one [[script]] with name and file".to_owned(),
        );
    }
    no_duplicates("script", m.scripts.iter().map(|s| s.name.as_str()))?;
    for s in &m.scripts {
        check_file_name(
            &format!("script \"{}\": file = \"{}\"", s.name, s.file),
            &s.file,
        )?;
        for (key, name) in [("retries", &s.retries), ("key", &s.key)] {
            if let Some(name) = name
                && !pgdyno_script::is_valid_name(name)
            {
                return Err(format!(
                    "script \"{}\": {key} = \"{name}\": expected a variable name (letters, \
                     digits and _)",
                    s.name
                ));
            }
        }
    }
    if m.scripts.iter().all(|s| s.weight == Weight::Fixed(0)) {
        return Err("script: every weight is 0, so there is nothing to run".to_owned());
    }
    check_procedures(m)?;
    no_duplicates("explain", m.explains.iter().map(|e| e.unit.as_str()))?;
    for e in &m.explains {
        check_file_name(
            &format!("explain \"{}\": file = \"{}\"", e.unit, e.file),
            &e.file,
        )?;
    }
    no_duplicates("mix", m.mixes.iter().map(|x| x.name.as_str()))?;
    for mix in &m.mixes {
        for script in mix.weights.keys() {
            if !m.scripts.iter().any(|s| s.name == *script) {
                return Err(format!(
                    "mix \"{}\": weights: there is no script \"{script}\" (there are: {})",
                    mix.name,
                    list(m.scripts.iter().map(|s| s.name.as_str()))
                ));
            }
        }
        let is_zero = |weight: &Weight| *weight == Weight::Fixed(0);
        if !mix.weights.is_empty() && mix.weights.values().all(is_zero) {
            return Err(format!(
                "mix \"{}\": weights: at least one must be above 0",
                mix.name
            ));
        }
        if mix.weights.is_empty() && mix.params.is_empty() {
            return Err(format!(
                "mix \"{}\": weights or params are required",
                mix.name
            ));
        }
    }
    no_duplicates("setting", m.settings.iter().map(|s| s.name.as_str()))?;
    for setting in &m.settings {
        let at = format!("setting \"{}\"", setting.name);
        check_dialects(&at, &setting.only)?;
        // A custom setting has a dot.
        setting
            .name
            .split('.')
            .try_for_each(|part| check_made_name(&at, part))?;
    }
    for (i, refusal) in m.refusals.iter().enumerate() {
        let at = format!("refuse number {}", i + 1);
        let unknown = |name: &&String| !m.scripts.iter().any(|s| s.name == **name);
        if let Some(name) = refusal.scripts.iter().find(unknown) {
            return Err(format!("{at}: scripts: there is no script \"{name}\""));
        }
    }
    Ok(())
}

fn check_data_checks(m: &Manifest) -> Result<(), String> {
    no_duplicates("check", m.checks.iter().map(|c| c.name.as_str()))?;
    for check in &m.checks {
        let at = format!("check \"{}\"", check.name);
        match (&check.query, &check.file) {
            (Some(_), None) => {}
            (None, Some(file)) => check_file_name(&format!("{at}: file = \"{file}\""), file)?,
            _ => return Err(format!("{at}: give either query or file")),
        }
        if check.unchanged && check.returns.is_some() {
            return Err(format!("{at}: give either returns or unchanged"));
        }
        if check.unchanged && check.at.contains(&Moment::Before) {
            return Err(format!(
                "{at}: at: unchanged compares with what was there before, so \"before\" says nothing"
            ));
        }
        if !(0.1..=86_400.0).contains(&check.every_s) {
            return Err(format!(
                "{at}: every_s = {}: from 0.1 to 86400 seconds",
                check.every_s
            ));
        }
        check_dialects(&at, &check.only)?;
    }
    Ok(())
}

fn check_figures(m: &Manifest) -> Result<(), String> {
    no_duplicates("figure", m.figures.iter().map(|f| f.name.as_str()))?;
    for figure in &m.figures {
        let at = format!("figure \"{}\"", figure.name);
        let is_script = |name: &&String| m.scripts.iter().any(|script| script.name == **name);
        if let Some(name) = figure.scripts.iter().find(|name| !is_script(name)) {
            return Err(format!("{at}: scripts: there is no [[script]] \"{name}\""));
        }
        let optional = [&figure.at_least, &figure.at_most, &figure.enough];
        let texts = optional.into_iter().flatten().chain([&figure.value]);
        // Found here, and not when the run is over.
        for text in texts {
            expression::parse(&at, text, &mut pgdyno_script::Names::new())?;
            let is_known = |name: &str| {
                figures::VARIABLES.contains(&name)
                    || m.params.iter().any(|param| param.name == name)
                    || m.scripts
                        .iter()
                        .any(|s| figures::of_script(&s.name) == name)
            };
            if let Some(name) = table_params::variables(text).find(|name| !is_known(name)) {
                return Err(format!(
                    "{at}: there is no :{name} (there are: {}, committed_SCRIPT, and the parameters)",
                    figures::VARIABLES.join(", ")
                ));
            }
        }
    }
    Ok(())
}

/// The names of the dialects, as `only` and the variants of files have them.
pub(crate) fn dialects() -> [&'static str; 3] {
    [&POSTGRESQL, &COCKROACHDB, &YUGABYTEDB].map(|dialect| dialect.name)
}

fn check_dialects(at: &str, only: &[String]) -> Result<(), String> {
    let dialects = dialects();
    match only.iter().find(|name| !dialects.contains(&name.as_str())) {
        None => Ok(()),
        Some(other) => Err(format!(
            "{at}: there is no dialect \"{other}\" (there are: {})",
            dialects.join(", ")
        )),
    }
}

fn check_procedures(m: &Manifest) -> Result<(), String> {
    no_duplicates("procedure", m.procedures.iter().map(|p| p.name.as_str()))?;
    for p in &m.procedures {
        let at = format!("procedure \"{}\"", p.name);
        check_sql_name(&at, &p.name)?;
        check_file_name(&format!("{at}: file = \"{}\"", p.file), &p.file)?;
        if !m.scripts.iter().any(|s| s.calls.contains(&p.name)) {
            return Err(format!(
                "{at}: no script calls it; name it there: calls = [\"{}\"]",
                p.name
            ));
        }
    }
    for s in &m.scripts {
        let unknown = |name: &&String| !m.procedures.iter().any(|p| p.name == **name);
        if let Some(name) = s.calls.iter().find(unknown) {
            return Err(format!(
                "script \"{}\": calls: there is no [[procedure]] \"{name}\"",
                s.name
            ));
        }
    }
    Ok(())
}

/// Without quoting rules a name is one thing in SQL, in messages and in the catalog. One that is
/// made from parameters is checked when it is made.
fn check_sql_name(at: &str, name: &str) -> Result<(), String> {
    match name.contains("{{") {
        true => Ok(()),
        false => check_made_name(at, name),
    }
}

/// What [`check_sql_name`] asks of a name that is complete.
pub fn check_made_name(at: &str, name: &str) -> Result<(), String> {
    let is_plain = name
        .bytes()
        .enumerate()
        .all(|(i, b)| b.is_ascii_lowercase() || b == b'_' || (i > 0 && b.is_ascii_digit()));
    if name.is_empty() || name.len() > 63 || !is_plain {
        return Err(format!(
            "{at}: name: use lower-case letters, digits and _ (up to 63), starting with no digit"
        ));
    }
    Ok(())
}

fn check_tables(m: &Manifest) -> Result<(), String> {
    no_duplicates("table", m.tables.iter().map(|t| t.name.as_str()))?;
    for t in &m.tables {
        let at = format!("table \"{}\"", t.name);
        check_sql_name(&at, &t.name)?;
        if t.by_ranges && !t.is_filled() {
            return Err(format!("{at}: by_ranges is for tables with rows"));
        }
        check_files(&at, t)?;
        if t.columns.iter().all(|column| column.hidden) {
            return Err(format!("{at}: columns: at least one is needed"));
        }
        no_duplicates(
            &format!("{at}: column"),
            t.columns.iter().map(|c| c.name.as_str()),
        )?;
        for c in &t.columns {
            let filled = usize::from(c.value.is_some()) + usize::from(c.text.is_some());
            let at = format!("{at}: column \"{}\"", c.name);
            if c.field.is_some() && (t.from.is_none() || filled > 0) {
                return Err(format!(
                    "{at}: field is for columns that take one of the table's files (from = …), \
                     without value and text"
                ));
            }
            match (&c.field, t.header) {
                (Some(Field::Number(0)), _) => {
                    return Err(format!("{at}: field = 0: the first field is 1"));
                }
                (Some(Field::Name(name)), Some(false)) => {
                    return Err(format!(
                        "{at}: field = \"{name}\": without a header fields have numbers, from 1"
                    ));
                }
                _ => {}
            }
            if c.hidden && c.value.is_none() {
                return Err(format!("{at}: hidden is for columns with a value"));
            }
            if c.hidden && m.params.iter().any(|param| param.name == c.name) {
                return Err(format!(
                    "{at}: there is a parameter of this name: a hidden column needs another one"
                ));
            }
            match (&t.rows, filled) {
                _ if t.from.is_some() && filled <= 1 => {}
                (Some(_), 1) | (None, 0) => {}
                (Some(_), _) => {
                    return Err(format!(
                        "{at}: give either value (an expression) or text (a constant)"
                    ));
                }
                (None, _) => {
                    return Err(format!(
                        "{at}: value and text are only used when the table has rows"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// What is said of a table's files.
fn check_files(at: &str, t: &Table) -> Result<(), String> {
    let options = [
        ("delimiter", &t.delimiter),
        ("quote", &t.quote),
        ("escape", &t.escape),
    ];
    let Some(from) = &t.from else {
        let given = options.into_iter().chain([("null", &t.null)]);
        let mut given = given.filter_map(|(key, value)| value.as_ref().map(|_| key));
        let header = t.header.map(|_| "header");
        return match given.next().or(header) {
            Some(key) => Err(format!(
                "{at}: {key} is for tables that are loaded from files: from = \"….csv\""
            )),
            None => Ok(()),
        };
    };
    if t.rows.is_some() {
        return Err(format!("{at}: give either rows or from"));
    }
    if !from.contains("{{") && !own_data::is_within(from) {
        return Err(format!(
            "{at}: from = \"{from}\": name files in the pack's own folder or below it, such as \
             \"data/*.csv\"; put pack.toml beside the data"
        ));
    }
    for (key, text) in options {
        let is_byte = |text: &String| {
            text.len() == 1 && text.is_ascii() && !text.contains(['\n', '\r', '\0'])
        };
        if let Some(text) = text.as_ref().filter(|text| !is_byte(text)) {
            return Err(format!(
                "{at}: {key} = {text:?}: expected one ASCII character"
            ));
        }
    }
    let delimiter = t.delimiter.as_deref().unwrap_or(",");
    let quote = t.quote.as_deref().unwrap_or("\"");
    if delimiter == quote {
        return Err(format!("{at}: delimiter and quote must not be the same"));
    }
    let null = t.null.as_deref().unwrap_or("");
    if null.contains([delimiter, quote, "\n", "\r"].map(|text| text.chars().next().unwrap_or('\n')))
    {
        return Err(format!(
            "{at}: null = {null:?}: it must have no delimiter, quote or line end in it"
        ));
    }
    Ok(())
}

/// Packs are flat: a name with a path in it could reach outside the folder.
fn check_file_name(at: &str, file: &str) -> Result<(), String> {
    if file.is_empty() || file.starts_with('.') || file.contains(['/', '\\']) {
        return Err(format!(
            "{at}: name a file in the pack's own folder, without a path"
        ));
    }
    Ok(())
}

fn no_duplicates<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(format!("{kind}: a name is empty"));
        }
        if !seen.insert(name) {
            return Err(format!("{kind} \"{name}\" is defined twice"));
        }
    }
    Ok(())
}
