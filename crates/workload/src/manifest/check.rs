//! The rules for a manifest that TOML's types cannot express. Each is reported with its place and the way
//! out.

use super::{Column, Field, Manifest, Moment, Param, Scalar, Table, Weight, list};
use crate::{expression, figures, own_data, table_params};
use pgdyno_database::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};

/// What is wrong, each with the path of what it is about (`param.0.default`).
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<(String, String)>);

impl Problems {
    fn say(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push((path.into(), message.into()));
    }

    /// Says why, unless it is right.
    fn must(&mut self, path: impl Into<String>, result: Result<(), String>) {
        if let Err(message) = result {
            self.say(path, message);
        }
    }

    /// Says of every name after the first that it is there already.
    fn no_duplicates<'a>(&mut self, kind: &str, names: impl Iterator<Item = (String, &'a str)>) {
        let mut seen = std::collections::BTreeSet::new();
        for (path, name) in names {
            if name.is_empty() {
                self.say(path, format!("{kind}: a name is empty: give it one"));
            } else if !seen.insert(name) {
                let why = format!("{kind} \"{name}\" is defined twice: rename one, or take it out");
                self.say(path, why);
            }
        }
    }
}

/// The rules that TOML's types cannot express.
pub(super) fn check(m: &Manifest) -> Problems {
    let mut p = Problems::default();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if m.name.is_empty() || !m.name.bytes().all(is_plain) {
        let name = &m.name;
        p.say(
            "name",
            format!("name = \"{name}\": a pack's name is made of letters, digits, - and _"),
        );
    }
    if m.summary.trim().is_empty() || m.summary.contains('\n') {
        p.say("summary", "summary: expected one line");
    }
    check_params(&mut p, &m.params);
    check_scripts(&mut p, m);
    check_procedures(&mut p, m);
    check_mixes(&mut p, m);
    check_rest(&mut p, m);
    check_tables(&mut p, m);
    check_data_checks(&mut p, m);
    check_figures(&mut p, m);
    if let Some(base) = &m.uses
        && (!m.tables.is_empty() || m.schema.is_some() || m.after_load.is_some())
    {
        let why = format!(
            "uses = \"{base}\": a pack that works on another pack's tables has no table, schema \
             or after_load of its own: take these out, or uses"
        );
        p.say("uses", why);
    }
    if m.uses.is_none() && m.tables.is_empty() && (m.schema.is_some() || m.after_load.is_some()) {
        p.say(
            "schema",
            "schema: needs a [[table]] for each table that it creates",
        );
    }
    if !m.tables.is_empty() && m.schema.is_none() {
        let why = "schema is missing: a pack with a [[table]] needs the script that creates it, \
                   such as schema = \"schema.sql\"";
        p.say("table.0", why);
    }
    for (key, file) in [
        ("schema", &m.schema),
        ("after_load", &m.after_load),
        ("before_warmup", &m.before_warmup),
        ("before_history", &m.before_history),
        ("after_history", &m.after_history),
    ] {
        if let Some(file) = file {
            p.must(key, check_file_name(&format!("{key} = \"{file}\""), file));
        }
    }
    p
}

fn check_params(p: &mut Problems, params: &[Param]) {
    let names = params.iter().enumerate().flat_map(|(i, param)| {
        let own = (format!("param.{i}.name"), param.name.as_str());
        let aliases = param.aliases.iter();
        let aliases = aliases.map(move |name| (format!("param.{i}.aliases"), name.as_str()));
        std::iter::once(own).chain(aliases)
    });
    p.no_duplicates("param", names);
    for (i, param) in params.iter().enumerate() {
        let at = format!("param \"{}\"", param.name);
        let path = |key: &str| format!("param.{i}.{key}");
        if !pgdyno_script::is_valid_name(&param.name) {
            let why = "name is not a variable's name (letters, digits and _)";
            p.say(path("name"), format!("{at}: {why}"));
        }
        if matches!(
            param.name.as_str(),
            "row" | "script" | "client_id" | "random_seed" | "default_seed" | "clients"
        ) {
            let why = "name is reserved: pgdyno sets this variable; choose another";
            p.say(path("name"), format!("{at}: {why}"));
        }
        p.must(path("only"), check_dialects(&at, &param.only));
        if !param.one_of.is_empty() && !matches!(param.default, Scalar::Text(_)) {
            let why = format!("{at}: one_of is for texts, but default is not a text");
            p.say(path("one_of"), why);
        }
        if let Some(file) = &param.count_by {
            let name = check_file_name(&format!("{at}: count_by = \"{file}\""), file);
            p.must(path("count_by"), name);
            if !matches!(param.default, Scalar::Int(_)) {
                let why = format!("{at}: count_by is for a whole number, but default is not one");
                p.say(path("count_by"), why);
            }
        }
        let numeric = matches!(param.default, Scalar::Int(_) | Scalar::Double(_));
        if !numeric && (param.min.is_some() || param.max.is_some()) {
            let key = if param.min.is_some() { "min" } else { "max" };
            let why = format!("{at}: min and max are for numbers, but default is not a number");
            p.say(path(key), why);
        } else if let (Some(min), Some(max)) = (param.min, param.max)
            && min > max
        {
            let why = format!("{at}: min = {min} is more than max = {max}: no value is left");
            p.say(path("min"), why);
        } else {
            let default = &param.default;
            let accepted = param.accept(&default.to_string());
            let accepted = accepted.map_err(|why| format!("{at}: default = {default}: {why}"));
            p.must(path("default"), accepted);
        }
        let dialects: Vec<String> = param.default_on.keys().cloned().collect();
        p.must(path("default_on"), check_dialects(&at, &dialects));
        for (dialect, value) in &param.default_on {
            let accepted = param.accept(&value.to_string());
            let accepted =
                accepted.map_err(|why| format!("{at}: default_on: {dialect} = {value}: {why}"));
            p.must(path("default_on"), accepted);
        }
    }
}

fn check_scripts(p: &mut Problems, m: &Manifest) {
    if m.scripts.is_empty() {
        let why = "script is missing: a pack has at least one [[script]] with name and file";
        p.say("script", why);
        return;
    }
    let names = m.scripts.iter().enumerate();
    p.no_duplicates(
        "script",
        names.map(|(i, s)| (format!("script.{i}.name"), s.name.as_str())),
    );
    for (i, s) in m.scripts.iter().enumerate() {
        let at = format!("script \"{}\"", s.name);
        let file = check_file_name(&format!("{at}: file = \"{}\"", s.file), &s.file);
        p.must(format!("script.{i}.file"), file);
        for (key, name) in [("retries", &s.retries), ("key", &s.key)] {
            if let Some(name) = name
                && !pgdyno_script::is_valid_name(name)
            {
                let why = format!(
                    "{at}: {key} = \"{name}\": expected a variable name (letters, digits and _)"
                );
                p.say(format!("script.{i}.{key}"), why);
            }
        }
        let unknown = |name: &&String| !m.procedures.iter().any(|p| p.name == **name);
        for name in s.calls.iter().filter(unknown) {
            let why = format!("{at}: calls: there is no [[procedure]] \"{name}\"");
            p.say(format!("script.{i}.calls"), why);
        }
    }
    if m.scripts.iter().all(|s| s.weight == Weight::Fixed(0)) {
        let why =
            "script: every weight is 0, so there is nothing to run: give one a weight above 0";
        p.say("script.0.weight", why);
    }
}

fn check_mixes(p: &mut Problems, m: &Manifest) {
    let names = m.mixes.iter().enumerate();
    p.no_duplicates(
        "mix",
        names.map(|(i, mix)| (format!("mix.{i}.name"), mix.name.as_str())),
    );
    let scripts = || m.scripts.iter().map(|s| s.name.as_str());
    for (i, mix) in m.mixes.iter().enumerate() {
        let at = format!("mix \"{}\"", mix.name);
        for script in mix.weights.keys() {
            if !scripts().any(|name| name == script) {
                let why = format!(
                    "{at}: weights: there is no script \"{script}\" (there are: {})",
                    list(scripts())
                );
                p.say(format!("mix.{i}.weights.{script}"), why);
            }
        }
        let is_zero = |weight: &Weight| *weight == Weight::Fixed(0);
        if !mix.weights.is_empty() && mix.weights.values().all(is_zero) {
            let why = format!("{at}: weights: at least one must be above 0");
            p.say(format!("mix.{i}.weights"), why);
        }
        if mix.weights.is_empty() && mix.params.is_empty() {
            let why = format!("{at}: weights or params are required");
            p.say(format!("mix.{i}"), why);
        }
    }
}

/// What is explained, settings and rules.
fn check_rest(p: &mut Problems, m: &Manifest) {
    let units = m.explains.iter().enumerate();
    p.no_duplicates(
        "explain",
        units.map(|(i, e)| (format!("explain.{i}.unit"), e.unit.as_str())),
    );
    for (i, e) in m.explains.iter().enumerate() {
        let at = format!("explain \"{}\": file = \"{}\"", e.unit, e.file);
        p.must(format!("explain.{i}.file"), check_file_name(&at, &e.file));
    }
    let names = m.settings.iter().enumerate();
    p.no_duplicates(
        "setting",
        names.map(|(i, s)| (format!("setting.{i}.name"), s.name.as_str())),
    );
    for (i, setting) in m.settings.iter().enumerate() {
        let at = format!("setting \"{}\"", setting.name);
        let only = check_dialects(&at, &setting.only);
        p.must(format!("setting.{i}.only"), only);
        // A custom setting has a dot.
        let mut parts = setting.name.split('.');
        let name = parts.try_for_each(|part| check_made_name(&at, part));
        p.must(format!("setting.{i}.name"), name);
    }
    for (i, refusal) in m.refusals.iter().enumerate() {
        let at = format!("refuse number {}", i + 1);
        let unknown = |name: &&String| !m.scripts.iter().any(|s| s.name == **name);
        for name in refusal.scripts.iter().filter(unknown) {
            let scripts = list(m.scripts.iter().map(|s| s.name.as_str()));
            let why =
                format!("{at}: scripts: there is no script \"{name}\" (there are: {scripts})");
            p.say(format!("refuse.{i}.scripts"), why);
        }
    }
}

fn check_data_checks(p: &mut Problems, m: &Manifest) {
    let names = m.checks.iter().enumerate();
    p.no_duplicates(
        "check",
        names.map(|(i, c)| (format!("check.{i}.name"), c.name.as_str())),
    );
    for (i, check) in m.checks.iter().enumerate() {
        let at = format!("check \"{}\"", check.name);
        let path = |key: &str| format!("check.{i}.{key}");
        match (&check.query, &check.file) {
            (Some(_), None) => {}
            (None, Some(file)) => {
                let name = check_file_name(&format!("{at}: file = \"{file}\""), file);
                p.must(path("file"), name);
            }
            _ => p.say(path("query"), format!("{at}: give either query or file")),
        }
        if check.unchanged && check.returns.is_some() {
            let why = format!("{at}: give either returns or unchanged");
            p.say(path("unchanged"), why);
        }
        if check.unchanged && check.at.contains(&Moment::Before) {
            let why = format!(
                "{at}: at: unchanged compares with what was there before, so \"before\" says \
                 nothing: take it out"
            );
            p.say(path("at"), why);
        }
        if !(0.1..=86_400.0).contains(&check.every_s) {
            let every_s = check.every_s;
            let why = format!("{at}: every_s = {every_s}: from 0.1 to 86400 seconds");
            p.say(path("every_s"), why);
        }
        p.must(path("only"), check_dialects(&at, &check.only));
    }
}

fn check_figures(p: &mut Problems, m: &Manifest) {
    let names = m.figures.iter().enumerate();
    p.no_duplicates(
        "figure",
        names.map(|(i, f)| (format!("figure.{i}.name"), f.name.as_str())),
    );
    for (i, figure) in m.figures.iter().enumerate() {
        let at = format!("figure \"{}\"", figure.name);
        let path = |key: &str| format!("figure.{i}.{key}");
        let is_script = |name: &&String| m.scripts.iter().any(|script| script.name == **name);
        for name in figure.scripts.iter().filter(|name| !is_script(name)) {
            let why = format!("{at}: scripts: there is no [[script]] \"{name}\"");
            p.say(path("scripts"), why);
        }
        let optional = [
            ("at_least", &figure.at_least),
            ("at_most", &figure.at_most),
            ("enough", &figure.enough),
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(key, text)| Some((key, text.as_ref()?)));
        // Found here, and not when the run is over.
        for (key, text) in optional.chain([("value", &figure.value)]) {
            p.must(path(key), check_figure(&at, m, text));
        }
    }
}

fn check_figure(at: &str, m: &Manifest, text: &str) -> Result<(), String> {
    expression::parse(at, text, &mut pgdyno_script::Names::new())?;
    let is_known = |name: &str| {
        figures::VARIABLES.contains(&name)
            || m.params.iter().any(|param| param.name == name)
            || m.scripts
                .iter()
                .any(|s| figures::of_script(&s.name) == name)
    };
    match table_params::variables(text).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{at}: there is no :{name} (there are: {}, committed_SCRIPT, and the parameters)",
            figures::VARIABLES.join(", ")
        )),
    }
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

fn check_procedures(p: &mut Problems, m: &Manifest) {
    let names = m.procedures.iter().enumerate();
    p.no_duplicates(
        "procedure",
        names.map(|(i, one)| (format!("procedure.{i}.name"), one.name.as_str())),
    );
    for (i, one) in m.procedures.iter().enumerate() {
        let at = format!("procedure \"{}\"", one.name);
        p.must(
            format!("procedure.{i}.name"),
            check_sql_name(&at, &one.name),
        );
        let file = check_file_name(&format!("{at}: file = \"{}\"", one.file), &one.file);
        p.must(format!("procedure.{i}.file"), file);
        if !m.scripts.iter().any(|s| s.calls.contains(&one.name)) {
            let name = &one.name;
            let why = format!("{at}: no script calls it; name it there: calls = [\"{name}\"]");
            p.say(format!("procedure.{i}.name"), why);
        }
    }
}

/// Without quoting rules a name is one thing in SQL, in messages and in the catalog. One that is
/// made from parameters is checked when it is made.
fn check_sql_name(at: &str, name: &str) -> Result<(), String> {
    if name.contains("{{") {
        Ok(())
    } else {
        check_made_name(at, name)
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

fn check_tables(p: &mut Problems, m: &Manifest) {
    let names = m.tables.iter().enumerate();
    p.no_duplicates(
        "table",
        names.map(|(i, t)| (format!("table.{i}.name"), t.name.as_str())),
    );
    for (i, t) in m.tables.iter().enumerate() {
        let at = format!("table \"{}\"", t.name);
        let path = |key: &str| format!("table.{i}.{key}");
        p.must(path("name"), check_sql_name(&at, &t.name));
        if t.by_ranges && !t.is_filled() {
            let why = format!("{at}: by_ranges is for tables with rows: give rows or from");
            p.say(path("by_ranges"), why);
        }
        check_files(p, i, &at, t);
        p.must(path("name"), check_each(&at, t.each.is_some(), &t.name));
        if t.columns.iter().all(|column| column.hidden) {
            let why = format!("{at}: columns: at least one is needed");
            p.say(path("columns"), why);
        }
        let names = t.columns.iter().enumerate();
        p.no_duplicates(
            &format!("{at}: column"),
            names.map(|(j, c)| (path(&format!("columns.{j}.name")), c.name.as_str())),
        );
        for (j, c) in t.columns.iter().enumerate() {
            let at = format!("{at}: column \"{}\"", c.name);
            p.must(path(&format!("columns.{j}")), check_column(&at, m, t, c));
            let name = path(&format!("columns.{j}.name"));
            p.must(name, check_each(&at, c.each.is_some(), &c.name));
        }
    }
}

/// Of several that are made by numbers each has a name of its own.
fn check_each(at: &str, has_each: bool, name: &str) -> Result<(), String> {
    if has_each && !name.contains("{{") {
        return Err(format!(
            "{at}: each makes several of this name: write the number in it, such as {name}_{{{{i}}}}"
        ));
    }
    Ok(())
}

fn check_column(at: &str, m: &Manifest, t: &Table, c: &Column) -> Result<(), String> {
    let filled = usize::from(c.value.is_some()) + usize::from(c.text.is_some());
    if c.field.is_some() && (t.from.is_none() || filled > 0) {
        return Err(format!(
            "{at}: field is for columns that take one of the table's files (from = …), without \
             value and text"
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
        _ if t.from.is_some() && filled <= 1 => Ok(()),
        (Some(_), 1) | (None, 0) => Ok(()),
        (Some(_), _) => Err(format!(
            "{at}: give either value (an expression) or text (a constant)"
        )),
        (None, _) => Err(format!(
            "{at}: value and text are only used when the table has rows: give it rows = \"…\""
        )),
    }
}

/// What is said of a table's files.
fn check_files(p: &mut Problems, i: usize, at: &str, t: &Table) {
    let path = |key: &str| format!("table.{i}.{key}");
    let options = [
        ("delimiter", &t.delimiter),
        ("quote", &t.quote),
        ("escape", &t.escape),
    ];
    let Some(from) = &t.from else {
        let given = options.into_iter().chain([("null", &t.null)]);
        let given = given.filter_map(|(key, value)| value.as_ref().map(|_| key));
        for key in given.chain(t.header.map(|_| "header")) {
            let why = "is for tables that are loaded from files: from = \"….csv\"";
            p.say(path(key), format!("{at}: {key} {why}"));
        }
        return;
    };
    if t.rows.is_some() {
        p.say(path("rows"), format!("{at}: give either rows or from"));
    }
    let takes = |column: &Column| column.value.is_none() && column.text.is_none();
    if !t.columns.is_empty() && !t.columns.iter().any(takes) {
        let why = format!(
            "{at}: from = \"{from}\": no column takes a field of it: leave out the value of those that do"
        );
        p.say(path("from"), why);
    }
    if !from.contains("{{") && !own_data::is_within(from) {
        let why = format!(
            "{at}: from = \"{from}\": name files in the pack's own folder or below it, such as \
             \"data/*.csv\"; put pack.toml beside the data"
        );
        p.say(path("from"), why);
    }
    for (key, text) in options {
        let is_byte = |text: &String| {
            text.len() == 1 && text.is_ascii() && !text.contains(['\n', '\r', '\0'])
        };
        if let Some(text) = text.as_ref().filter(|text| !is_byte(text)) {
            let why = format!("{at}: {key} = {text:?}: expected one ASCII character");
            p.say(path(key), why);
        }
    }
    let delimiter = t.delimiter.as_deref().unwrap_or(",");
    let quote = t.quote.as_deref().unwrap_or("\"");
    if delimiter == quote {
        let why = format!("{at}: delimiter and quote must not be the same");
        p.say(path("delimiter"), why);
    }
    let null = t.null.as_deref().unwrap_or("");
    let parts = [delimiter, quote, "\n", "\r"].into_iter();
    if { parts }.any(|part| !part.is_empty() && null.contains(part)) {
        let why =
            format!("{at}: null = {null:?}: it must have no delimiter, quote or line end in it");
        p.say(path("null"), why);
    }
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
