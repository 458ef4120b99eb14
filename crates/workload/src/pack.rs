//! A pack in memory: its manifest, its files and, when it works on another pack's tables, that
//! pack. It makes no difference from here on whether it was shipped in the binary or is a folder.
//!
//! Not for: where packs come from (`shipped.rs`, `folder.rs`), what the user chose (`params.rs`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pgdyno_script::{Language, Names, ScriptErrorKind};
use pgdyno_spec::suggest::did_you_mean;
use sha2::{Digest, Sha256};

use super::checks::{MadeCheck, Wants};
use super::expression;
use super::manifest::{
    self, Manifest, ManifestError, Mix, Moment, Param, Procedure, ScriptEntry, Table, Weight,
};
use super::mix::WeightedScript;
use super::needs::Needs;
use super::template::{self, Context};

/// The sum of weights that are expressions: fine enough for any share that a run can tell.
const WEIGHTS_SUM: f64 = 1e9;

/// The most tables, procedures or columns that one `each` makes.
const EACH_MAX: u64 = 10_000;

/// The most columns that all tables have together.
const COLUMNS_MAX: usize = 100_000;

/// A workload as a folder of plain files.
#[derive(Debug, Clone)]
pub struct Pack {
    /// What the pack says about itself.
    pub manifest: Manifest,
    /// Every file by its name, `pack.toml` included.
    pub files: BTreeMap<String, String>,
    /// The folder as a user would name it, for messages.
    pub place: String,
    /// The folder that it is; a pack in the binary has none, and no data of its own.
    pub folder: Option<PathBuf>,
    /// The pack named by `uses`, whose tables and parameters are also this one's.
    base: Option<Box<Pack>>,
}

impl Pack {
    /// Checks a pack's files against its manifest. `find_base` finds the pack named by `uses`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(
        place: String,
        files: BTreeMap<String, String>,
        find_base: impl FnOnce(&str) -> Result<Pack, ManifestError>,
    ) -> Result<Pack, ManifestError> {
        let fallback = ManifestError {
            file: place.clone(),
            line: None,
            message: "it cannot be read".to_owned(),
        };
        let (pack, wrong) = Self::all_of(place, files, find_base);
        match (pack, wrong.into_iter().next()) {
            (Some(pack), None) => Ok(pack),
            (_, first) => Err(first.unwrap_or(fallback)),
        }
    }

    /// The same, and all that is wrong: without a pack where its manifest cannot be read at all.
    pub fn all_of(
        place: String,
        files: BTreeMap<String, String>,
        find_base: impl FnOnce(&str) -> Result<Pack, ManifestError>,
    ) -> (Option<Pack>, Vec<ManifestError>) {
        let file = format!("{place}/{}", manifest::FILE_NAME);
        let Some(text) = files.get(manifest::FILE_NAME) else {
            let message = "no such file; every pack needs one: `pgdyno pack new` makes a pack";
            let missing = ManifestError {
                file,
                line: None,
                message: message.to_owned(),
            };
            return (None, vec![missing]);
        };
        let (manifest, mut wrong) = manifest::parse_all(&file, text);
        let Some(manifest) = manifest else {
            return (None, wrong);
        };
        let say = |path: &str, message: String| ManifestError {
            file: file.clone(),
            line: Some(manifest.lines.line(path)),
            message,
        };
        for (path, name) in named_files(&manifest) {
            // A path is refused as such.
            if !files.contains_key(&name) && !name.contains(['/', '\\']) {
                let key = path.split('.').next().unwrap_or_default();
                let there = manifest::list(files.keys().map(String::as_str));
                let why =
                    format!("{key}: there is no file \"{name}\" in the pack (there are: {there})");
                wrong.push(say(&path, why));
            }
        }
        let base = match manifest.uses.as_deref().map(find_base) {
            None => None,
            Some(Ok(base)) => Some(Box::new(base)),
            Some(Err(error)) => {
                wrong.push(match error.line {
                    // In the manifest that is being read.
                    None if error.file == file => say("uses", error.message),
                    _ => error,
                });
                None
            }
        };
        let of_base = |name: &str| base.as_ref().filter(|base| base.param(name).is_some());
        for (i, p) in manifest.params.iter().enumerate() {
            if let Some(base) = of_base(&p.name) {
                let (name, base) = (&p.name, base.name());
                let why = format!("param \"{name}\": {base} has a parameter of this name already");
                wrong.push(say(&format!("param.{i}.name"), why));
            }
        }
        let is_whole = manifest.uses.is_none() || base.is_some();
        let pack = Pack {
            manifest,
            files,
            place,
            folder: None,
            base,
        };
        for (i, mix) in pack.manifest.mixes.iter().enumerate() {
            for (path, why) in pack.wrong_params_of(mix).into_iter().filter(|_| is_whole) {
                wrong.push(ManifestError {
                    file: file.clone(),
                    line: Some(pack.manifest.lines.line(&format!("mix.{i}.params.{path}"))),
                    message: why,
                });
            }
        }
        (Some(pack), wrong)
    }

    /// What is wrong with a mix's parameters, by their names.
    fn wrong_params_of(&self, mix: &Mix) -> Vec<(String, String)> {
        let wrong = mix.params.iter().filter_map(|(name, value)| {
            let at = format!("mix \"{}\": params: {name} = {value}", mix.name);
            let why = match self.param(name) {
                None => {
                    let params = self.params();
                    let there = manifest::list(params.iter().map(|p| p.name.as_str()));
                    format!("{at}: there is no param \"{name}\" (there are: {there})")
                }
                Some(param) => {
                    let wrong = param.accept(&value.to_string()).err()?;
                    format!("{at}: {wrong}")
                }
            };
            Some((name.clone(), why))
        });
        wrong.collect()
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The pack that describes the tables: this one, or the one it works on.
    pub fn tables_pack(&self) -> &Pack {
        self.base.as_ref().map_or(self, |b| b.tables_pack())
    }

    /// Whether runs are accounted for: what the storage layer does is compared with what the work units
    /// are expected to read.
    pub fn is_accounted(&self) -> bool {
        !self.manifest.explains.is_empty()
    }

    /// The pack that it names by `uses`.
    pub fn base(&self) -> Option<&Pack> {
        self.base.as_deref()
    }

    /// The tables this pack works on, in the order in which they are filled.
    pub fn tables(&self) -> &[Table] {
        &self.tables_pack().manifest.tables
    }

    /// Every parameter: those of the tables' pack first.
    pub fn params(&self) -> Vec<&Param> {
        let mut all = self.base.as_ref().map_or(Vec::new(), |b| b.params());
        all.extend(&self.manifest.params);
        all
    }

    /// The parameters that mean something on this dialect.
    pub fn params_on(&self, dialect: &str) -> Vec<&Param> {
        let mut params = self.params();
        params.retain(|param| param.is_for(dialect));
        params
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params().into_iter().find(|p| p.name == name)
    }

    /// The parameter of this name or alias.
    pub fn param_called(&self, name: &str) -> Option<&Param> {
        let is_it = |p: &&Param| p.name == name || p.aliases.iter().any(|alias| alias == name);
        self.params().into_iter().find(is_it)
    }

    /// The text of a file named by the manifest, in its variant for `dialect` if there is one:
    /// beside `schema.sql` that is `schema.cockroachdb.sql`. Also the name of the file taken.
    pub fn sql_file(&self, name: &str, dialect: &str) -> Option<(String, &str)> {
        let variant = match name.rsplit_once('.') {
            Some((stem, ending)) => format!("{stem}.{dialect}.{ending}"),
            None => format!("{name}.{dialect}"),
        };
        [variant, name.to_owned()]
            .into_iter()
            .find_map(|n| self.files.get(&n).map(|text| (n, text.as_str())))
    }

    /// A text of the pack's, made from the parameters; `place` is for messages.
    pub fn made(
        &self,
        place: &str,
        text: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<String, String> {
        let context = Context {
            values,
            define: &self.manifest.define,
            files: &self.files,
        };
        template::expand(place, text, context).map(Into::into)
    }

    /// The script of a file, in its variant for `dialect`, as one that is always drawn; nothing where the pack
    /// has no such file.
    ///
    /// # Errors
    /// A template that cannot be expanded.
    pub fn script_file(
        &self,
        name: &str,
        dialect: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Option<WeightedScript>, String> {
        let Some((file, text)) = self.sql_file(name, dialect) else {
            return Ok(None);
        };
        let file = format!("{}/{file}", self.place);
        let text = self.made(&file, text, values)?;
        Ok(Some(WeightedScript::plain(&file, text, 1)))
    }

    /// What a reader of any result must know.
    pub fn notice(&self, values: &BTreeMap<String, String>) -> Option<Result<String, String>> {
        let place = format!("{}/{}: notice", self.place, manifest::FILE_NAME);
        let notice = self.manifest.notice.as_ref()?;
        Some(self.made(&place, notice, values))
    }

    /// The same pack with the tables that these parameters give it; their columns are as they were.
    ///
    /// # Errors
    /// A mistake in a template, or a name that no table can have.
    pub fn with_tables(mut self, values: &BTreeMap<String, String>) -> Result<Pack, String> {
        if let Some(base) = self.base.take() {
            self.base = Some(Box::new(base.with_tables(values)?));
        }
        self.manifest.tables = self.named_tables(values)?;
        Ok(self)
    }

    /// This pack's own tables by the names that these parameters give them.
    fn named_tables(&self, values: &BTreeMap<String, String>) -> Result<Vec<Table>, String> {
        let mut named = Vec::new();
        for table in &self.manifest.tables {
            let place = self.place_of("table", &table.name);
            for values in self.each(&place, table.each.as_deref(), values)? {
                let mut made = table.clone();
                made.each = None;
                made.place.clone_from(&place);
                made.name = self.made(&place, &table.name, &values)?;
                let rows = table.rows.as_deref();
                made.rows = rows
                    .map(|text| self.made(&place, text, &values))
                    .transpose()?;
                let from = table.from.as_deref();
                made.from = from
                    .map(|text| self.made(&place, text, &values))
                    .transpose()?;
                manifest::check_made_name(&place, &made.name)?;
                named.push(made);
            }
        }
        Ok(named)
    }

    /// The tables that these parameters give the pack, with their columns.
    pub fn made_tables(&self, values: &BTreeMap<String, String>) -> Result<Vec<Table>, String> {
        let pack = self.tables_pack();
        let mut tables = pack.named_tables(values)?;
        let mut columns = 0;
        for table in &mut tables {
            for column in std::mem::take(&mut table.columns) {
                let place = format!("{}: column \"{}\"", table.place, column.name);
                for values in pack.each(&place, column.each.as_deref(), values)? {
                    columns += 1;
                    if columns > COLUMNS_MAX {
                        return Err(format!(
                            "{place}: the tables have more than {COLUMNS_MAX} columns"
                        ));
                    }
                    let made_text = |text: &str| pack.made(&place, text, &values);
                    let mut made = column.clone();
                    made.each = None;
                    made.name = made_text(&column.name)?;
                    made.value = column.value.as_deref().map(made_text).transpose()?;
                    made.text = column.text.as_deref().map(made_text).transpose()?;
                    table.columns.push(made);
                }
            }
        }
        Ok(tables)
    }

    /// The procedures of these that the parameters give the pack, each with the statement that
    /// creates it on this dialect.
    ///
    /// # Errors
    /// A mistake in a template, or a name that no procedure can have.
    pub fn made_procedures(
        &self,
        needed: &[Procedure],
        dialect: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, String> {
        let mut procedures = Vec::new();
        for procedure in needed {
            // Pack::new has made sure that the file is there.
            let Some((file, text)) = self.sql_file(&procedure.file, dialect) else {
                continue;
            };
            let place = self.place_of("procedure", &procedure.name);
            for values in self.each(&place, procedure.each.as_deref(), values)? {
                let name = self.made(&place, &procedure.name, &values)?;
                manifest::check_made_name(&place, &name)?;
                let text = self.made(&format!("{}/{file}", self.place), text, &values)?;
                procedures.push((name, text));
            }
        }
        Ok(procedures)
    }

    /// The settings that the clients' sessions begin with on this dialect.
    ///
    /// # Errors
    /// A mistake in a condition or a template.
    pub fn session_settings(
        &self,
        dialect: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut settings = BTreeMap::new();
        for setting in &self.manifest.settings {
            let place = self.place_of("setting", &setting.name);
            let is_here = setting.only.is_empty() || setting.only.iter().any(|d| d == dialect);
            // Elsewhere the parameters of its condition may not be there either.
            let holds = is_here
                && match &setting.when {
                    Some(when) => expression::condition(&place, when, values)?,
                    None => true,
                };
            if holds {
                let value = self.made(&place, &setting.value, values)?;
                settings.insert(setting.name.clone(), value);
            }
        }
        Ok(settings)
    }

    /// What must hold of the data that these parameters describe, on this dialect.
    ///
    /// # Errors
    /// A mistake in a condition or a template.
    pub fn made_checks(
        &self,
        dialect: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<MadeCheck>, String> {
        let mut made = Vec::new();
        for check in &self.manifest.checks {
            let place = self.place_of("check", &check.name);
            let is_here = check.only.is_empty() || check.only.iter().any(|d| d == dialect);
            let holds = is_here
                && match &check.when {
                    Some(when) => expression::condition(&place, when, values)?,
                    None => true,
                };
            if !holds {
                continue;
            }
            for values in self.each(&place, check.each.as_deref(), values)? {
                let filled = |key: &str, text: &str| {
                    self.made(&self.place_at("check", &check.name, key), text, &values)
                };
                // Pack::new has made sure that the file is there.
                let file = check.file.as_deref();
                let file = file.and_then(|file| self.sql_file(file, dialect));
                let (place, query) = match (&check.query, &file) {
                    (Some(query), _) => {
                        let place = self.place_at("check", &check.name, "query");
                        (place, query.as_str())
                    }
                    (None, Some((file, query))) => (format!("{}/{file}", self.place), *query),
                    (None, None) => continue,
                };
                let query = self.made(&place, query, &values)?;
                one_statement(&place, &query)?;
                let returns = check.returns.as_deref();
                let returns = returns.map(|text| filled("returns", text)).transpose()?;
                made.push(MadeCheck {
                    name: filled("name", &check.name)?,
                    help: filled("help", &check.help)?,
                    query,
                    wants: match (check.unchanged, returns) {
                        (true, _) => Wants::Unchanged,
                        (false, Some(value)) => Wants::Value(value),
                        (false, None) => Wants::NoRow,
                    },
                    at: match check.at.as_slice() {
                        [] => vec![Moment::After],
                        at => at.to_vec(),
                    },
                    every: Duration::from_secs_f64(check.every_s),
                });
            }
        }
        Ok(made)
    }

    /// The values with the loop's variable, once for each of its numbers; without a loop once.
    fn each(
        &self,
        place: &str,
        each: Option<&str>,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<BTreeMap<String, String>>, String> {
        let Some(each) = each else {
            return Ok(vec![values.clone()]);
        };
        let (name, from, to) = template::range(place, each, values)?;
        if from <= to && to.abs_diff(from) >= EACH_MAX {
            return Err(format!(
                "{place}: each: {from} to {to} are more than {EACH_MAX}"
            ));
        }
        let with = |number: i64| {
            let mut values = values.clone();
            values.insert(name.clone(), number.to_string());
            values
        };
        Ok((from..=to).map(with).collect())
    }

    /// Where something of the manifest is, for messages: file, line, what it is and its name.
    pub(super) fn place_of(&self, what: &str, name: &str) -> String {
        self.place_at(what, name, "")
    }

    /// The same of one of its keys.
    pub(super) fn place_at(&self, what: &str, name: &str, key: &str) -> String {
        let m = &self.manifest;
        let number = match what {
            "table" => m.tables.iter().position(|t| t.name == name),
            "script" => m.scripts.iter().position(|s| s.name == name),
            "mix" => m.mixes.iter().position(|x| x.name == name),
            "check" => m.checks.iter().position(|c| c.name == name),
            "figure" => m.figures.iter().position(|f| f.name == name),
            "setting" => m.settings.iter().position(|s| s.name == name),
            "procedure" => m.procedures.iter().position(|p| p.name == name),
            "param" => m.params.iter().position(|p| p.name == name),
            _ => None,
        };
        let number = number.map_or(name.to_owned(), |number| number.to_string());
        let line = m.lines.line(&format!("{what}.{number}.{key}"));
        let key = if key.is_empty() { "" } else { ": " }.to_owned() + key;
        let file = manifest::FILE_NAME;
        match what {
            "refuse" => format!("{}/{file}:{line}: refuse{key}", self.place),
            _ => format!("{}/{file}:{line}: {what} \"{name}\"{key}", self.place),
        }
    }

    /// The scripts with their own weights or those of a mix, for these parameters; scripts of weight
    /// 0 are left out.
    pub fn scripts(
        &self,
        mix: Option<&str>,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<WeightedScript>, String> {
        let scripts = self.drawn(mix, values)?.into_iter();
        scripts
            .map(|(s, weight)| {
                let file = format!("{}/{}", self.place, s.file);
                let mut values = values.clone();
                values.insert("script".to_owned(), s.name.clone());
                Ok(WeightedScript {
                    name: s.name.clone(),
                    text: self.made(&file, &self.files[&s.file], &values)?,
                    file,
                    weight,
                    retries: s.retries.clone(),
                    role: s.role.clone(),
                    must_find: s.must_find,
                    key: s.key.clone(),
                })
            })
            .collect()
    }

    /// What the same scripts need beside their tables.
    pub fn needs(
        &self,
        mix: Option<&str>,
        values: &BTreeMap<String, String>,
    ) -> Result<Needs, String> {
        let mut needs = Needs::default();
        for (script, _) in self.drawn(mix, values)? {
            needs.add(script, &self.manifest.procedures);
        }
        Ok(needs)
    }

    /// The mix of this name.
    pub fn mix(&self, name: &str) -> Result<&Mix, String> {
        let mixes = &self.manifest.mixes;
        mixes.iter().find(|m| m.name == name).ok_or_else(|| {
            if mixes.is_empty() {
                format!("pack {} has no mixes", self.name())
            } else {
                format!(
                    "pack {} has no mix \"{name}\" ({}there are: {})",
                    self.name(),
                    did_you_mean(name, mixes.iter().map(|m| m.name.as_str())),
                    manifest::list(mixes.iter().map(|m| m.name.as_str()))
                )
            }
        })
    }

    /// The scripts that a mix draws, each with its weight.
    fn drawn(
        &self,
        mix: Option<&str>,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<(&ScriptEntry, u32)>, String> {
        let mix = mix.map(|name| self.mix(name)).transpose()?;
        let weight = |s: &ScriptEntry| {
            let weight = match mix {
                Some(mix) if !mix.weights.is_empty() => mix.weights.get(&s.name),
                _ => Some(&s.weight),
            };
            match weight {
                None => Ok((0.0, false)),
                Some(Weight::Fixed(weight)) => Ok((f64::from(*weight), false)),
                Some(Weight::Expression(text)) => {
                    let place = match mix {
                        Some(mix) => self.place_at("mix", &mix.name, "weights"),
                        None => self.place_at("script", &s.name, "weight"),
                    };
                    let weight = expression::number(&place, text, values)?;
                    if weight >= 0.0 && weight.is_finite() {
                        Ok((weight, true))
                    } else {
                        Err(format!("{place}: {weight} is no weight"))
                    }
                }
            }
        };
        let scripts = self.manifest.scripts.iter();
        let drawn: Result<Vec<_>, String> = scripts
            .map(|s| weight(s).map(|(w, made)| (s, w, made)))
            .collect();
        let mut drawn = drawn?;
        drawn.retain(|(_, weight, _)| *weight > 0.0);
        let sum: f64 = drawn.iter().map(|(_, weight, _)| weight).sum();
        if drawn.is_empty() {
            let first = self.manifest.scripts.first().map_or("", |s| &s.name);
            return Err(format!(
                "{}: with these parameters every weight is 0, so there is nothing to run",
                self.place_at("script", first, "weight")
            ));
        }
        if drawn.iter().all(|(_, _, made)| !made) {
            let drawn = drawn.into_iter();
            return Ok(drawn.map(|(s, weight, _)| (s, weight as u32)).collect());
        }
        let in_proportion = |weight: f64| ((weight / sum * WEIGHTS_SUM).round() as u32).max(1);
        let mut weights: Vec<(&ScriptEntry, u32)> = Vec::new();
        weights.extend(drawn.iter().map(|(s, w, _)| (*s, in_proportion(*w))));
        let divisor = weights.iter().fold(0, |a, (_, b)| divisor(a, *b)).max(1);
        weights
            .iter_mut()
            .for_each(|(_, weight)| *weight /= divisor);
        Ok(weights)
    }

    /// SHA-256 in hexadecimal over the names and contents of all files, those of the pack it works
    /// on included: two results with the same hash ran the same workload.
    pub fn content_hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut pack = Some(self);
        while let Some(p) = pack {
            for (name, text) in &p.files {
                // Lengths go in too, so that moving text between files changes the hash.
                hash.update((name.len() as u64).to_le_bytes());
                hash.update(name);
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text);
            }
            pack = p.base.as_deref();
        }
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// The files that a manifest names, each with the path of the key that does.
fn named_files(m: &Manifest) -> Vec<(String, String)> {
    let sql = [
        ("schema", &m.schema),
        ("after_load", &m.after_load),
        ("before_warmup", &m.before_warmup),
        ("before_history", &m.before_history),
        ("after_history", &m.after_history),
    ];
    let sql = sql.into_iter();
    let mut named: Vec<(String, String)> = sql
        .filter_map(|(key, file)| file.as_ref().map(|file| (key.to_owned(), file.clone())))
        .collect();
    let mut add = |what: &str, key: &str, i: usize, file: Option<&String>| {
        named.extend(file.map(|file| (format!("{what}.{i}.{key}"), file.clone())));
    };
    let scripts = m.scripts.iter().enumerate();
    scripts.for_each(|(i, s)| add("script", "file", i, Some(&s.file)));
    let procedures = m.procedures.iter().enumerate();
    procedures.for_each(|(i, p)| add("procedure", "file", i, Some(&p.file)));
    let params = m.params.iter().enumerate();
    params.for_each(|(i, p)| add("param", "count_by", i, p.count_by.as_ref()));
    let explains = m.explains.iter().enumerate();
    explains.for_each(|(i, e)| add("explain", "file", i, Some(&e.file)));
    let checks = m.checks.iter().enumerate();
    checks.for_each(|(i, c)| add("check", "file", i, c.file.as_ref()));
    named
}

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Whether a check's query is one statement: several would see several moments.
fn one_statement(place: &str, query: &str) -> Result<(), String> {
    let count = match Language::Pgdyno.parse(place, query, &mut Names::new()) {
        Ok(script) => script.commands.len(),
        Err(e) if e.kind == ScriptErrorKind::Empty => 0,
        // What else is wrong with it the server says.
        Err(_) => 1,
    };
    match count {
        1 => Ok(()),
        0 => Err(format!(
            "{place}: there is no statement in it: a check is one query"
        )),
        count => Err(format!(
            "{place}: there are {count} statements in it: a check is one query, which sees one \
             moment; make a [[check]] of each"
        )),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn no_base(name: &str) -> Result<Pack, ManifestError> {
        Err(ManifestError {
            file: name.to_owned(),
            line: None,
            message: "no base in this test".to_owned(),
        })
    }

    /// A pack from (name, text) pairs.
    pub fn pack(files: &[(&str, &str)]) -> Result<Pack, ManifestError> {
        let files = files.iter().map(|(n, t)| (n.to_string(), t.to_string()));
        Pack::new("x".to_owned(), files.collect(), no_base)
    }

    const TWO: &str = "name='x'\nsummary='s'\nscript=[{name='a',file='a.sql'},{name='b',file='b.sql',weight=0}]\n\
                       mix=[{name='m',weights={b=7}}]";

    #[test]
    fn a_mix_replaces_the_scripts_own_weights() {
        let p = pack(&[("pack.toml", TWO), ("a.sql", "A"), ("b.sql", "B")]).unwrap();
        let names = |mix| {
            let scripts = p.scripts(mix, &BTreeMap::new()).unwrap();
            scripts
                .into_iter()
                .map(|s| (s.name, s.weight))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), [("a".to_owned(), 1)]);
        assert_eq!(names(Some("m")), [("b".to_owned(), 7)]);
        let e = p.scripts(Some("z"), &BTreeMap::new()).unwrap_err();
        assert!(e.contains("no mix \"z\" (there are: m)"), "{e}");
    }

    #[test]
    fn each_makes_no_more_than_a_database_can_take() {
        let columns = "columns=[{name='c{{i}}',value='1',each='i 1 9000'}]";
        let tables = |each: &str| {
            let text = format!(
                "name='x'\nsummary='s'\nschema='a.sql'\nscript=[{{name='a',file='a.sql'}}]\n\
                 table=[{{name='t{{{{j}}}}',each='{each}',rows='1',{columns}}}]"
            );
            let pack = pack(&[("pack.toml", &text), ("a.sql", "SELECT 1;")]).unwrap();
            pack.made_tables(&BTreeMap::new())
                .map(|tables| tables.len())
        };
        assert_eq!(tables("j 1 11"), Ok(11));
        let e = tables("j 1 12").unwrap_err();
        assert!(e.contains("more than 100000 columns"), "{e}");
        let e = tables("j 1 10001").unwrap_err();
        assert!(e.ends_with("each: 1 to 10001 are more than 10000"), "{e}");
        let e = tables("j -9223372036854775808 9223372036854775807").unwrap_err();
        assert!(e.contains("are more than 10000"), "{e}");
    }

    #[test]
    fn a_file_that_the_manifest_names_must_be_there() {
        let e = pack(&[("pack.toml", TWO), ("a.sql", "A")])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "x/pack.toml:3: script: there is no file \"b.sql\" in the pack (there are: a.sql, \
             pack.toml)"
        );
        let e = pack(&[("a.sql", "A")]).unwrap_err().to_string();
        assert!(e.contains("no such file"), "{e}");
    }

    #[test]
    fn a_dialect_takes_its_own_file_when_there_is_one() {
        let p = pack(&[
            ("pack.toml", TWO),
            ("a.sql", "A"),
            ("b.sql", "B"),
            ("a.cockroachdb.sql", "C"),
        ])
        .unwrap();
        assert_eq!(
            p.sql_file("a.sql", "postgresql"),
            Some(("a.sql".to_owned(), "A"))
        );
        assert_eq!(
            p.sql_file("a.sql", "cockroachdb"),
            Some(("a.cockroachdb.sql".to_owned(), "C"))
        );
        assert_eq!(p.sql_file("c.sql", "cockroachdb"), None);
    }

    #[test]
    fn the_content_hash_follows_the_content() {
        let a = pack(&[("pack.toml", TWO), ("a.sql", "A"), ("b.sql", "B")]).unwrap();
        let b = pack(&[("pack.toml", TWO), ("a.sql", "AB"), ("b.sql", "")]).unwrap();
        assert_eq!(a.content_hash(), a.clone().content_hash());
        assert_ne!(a.content_hash(), b.content_hash());
        assert_eq!(a.content_hash().len(), 64);
    }
}
