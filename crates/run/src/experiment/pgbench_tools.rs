//! From a configuration of pgbench-tools (shell assignments) to an experiment. The file is read,
//! never executed: what only a shell could tell is left out, with a remark.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use pgdyno_spec::{
    Experiment, Failure,
    experiment::{Axis, Commented, Comments},
};

/// An experiment, and what the user should know about it.
#[derive(Debug)]
pub struct Converted {
    /// To be run like any other.
    pub made: Commented,
    /// What could not be taken over.
    pub remarks: Vec<String>,
}

/// pgbench-tools' scripts that pgdyno has as packs.
const PACKS: [(&str, &str); 6] = [
    ("select", "select-only"),
    ("insert", "insert"),
    ("insert-size", "insert-size"),
    ("update", "update"),
    ("nobranch", "nobranch"),
    ("tpc-b", "tpcb"),
];
/// The one that has a table of its own, under both names.
const WITHOUT_PGBENCH_TABLES: &str = "insert-size";

/// Reads the configuration; `folder` is where it is, with its scripts below.
///
/// # Errors
/// A line that is no assignment, a list that is not one of numbers, a script that is not there.
pub fn convert(name: &str, config: &str, folder: &Path) -> Result<Converted, Failure> {
    let mut config = Config::read(name, config)?;
    let script = Script::of(&config, folder)?;
    let mut experiment = script
        .workload(Experiment::named("pgbench-tools"), &config)
        .repeats(config.repeats()?);

    let (seconds, total) = (config.whole("RUNTIME")?, config.whole("TOTTRANS")?);
    if let Some(seconds) = seconds {
        experiment = experiment.fix("duration", seconds as f64);
    }
    // Of all clients together, unless a time is given.
    let total = total.filter(|_| seconds.is_none());
    if let Some(all) = total {
        config.remarks.push(format!(
            "TOTTRANS={all} is for all clients together; it was divided among them"
        ));
    }
    if config.text("PREPARED").is_some_and(|on| on != "0") {
        experiment = experiment.fix("query_mode", "prepared");
    }
    if let Some(target) = config.target() {
        experiment = experiment.fix("target", target);
    }
    if let Some(fillfactor) = config.whole("FILLFACTOR")?
        && fillfactor != 100
        && script.uses_pgbench_tables()
    {
        experiment = experiment.fix("params.fillfactor", fillfactor);
    }
    // A variable of the script, also when it is 0, blank or not there; pgdyno's packs have no such
    // parameter.
    if let Some(pages) = config.multiplier()?
        && matches!(script, Script::File { .. })
    {
        experiment = experiment.fix("params.multiplier", pages);
    }
    let scales = config.list("SCALES")?;
    if !script.uses_pgbench_tables() {
        config
            .remarks
            .push("SCALES: the rows of insert-size are sized by its own parameter".to_owned());
    } else if !scales.is_empty() {
        experiment = experiment.axis("params.scale", scales);
    }
    // As runset does before the tests of each scale.
    if script.uses_pgbench_tables() && config.text("SKIPINIT").as_deref() != Some("1") {
        experiment = experiment.replace_pgbench_tables();
    }
    experiment = config.load(experiment, total)?;
    if let Some(settle) = config.whole("RECOVERY")? {
        experiment = experiment.settle(Duration::from_secs(settle));
    }
    Ok(Converted {
        made: Commented {
            experiment,
            comments: Comments::heading("From a configuration of pgbench-tools."),
        },
        remarks: config.remarks,
    })
}

enum Script {
    /// A file of the user's.
    File { path: PathBuf },
    /// A pack in place of one of pgbench-tools' own.
    Pack(&'static str),
}

impl Script {
    fn of(config: &Config, folder: &Path) -> Result<Script, Failure> {
        let name = &config.name;
        let script = config.text("SCRIPT").unwrap_or_else(|| "select".to_owned());
        if let Some(options) = script.strip_prefix(':') {
            return Err(Failure::new(format!(
                "{name}: SCRIPT=:{options} gives pgbench options of its own, which is no workload"
            ))
            .hint("name one of the scripts: SCRIPT=\"tpc-b\""));
        }
        let directory = config.text("TESTDIR").unwrap_or_else(|| "tests".to_owned());
        let file = folder.join(directory).join(format!("{script}.sql"));
        if file.exists() && script != WITHOUT_PGBENCH_TABLES {
            let path = std::path::absolute(&file).unwrap_or(file);
            return Ok(Script::File { path });
        }
        let pack = PACKS.iter().find(|(theirs, _)| *theirs == script);
        pack.map(|(_, pack)| Script::Pack(pack)).ok_or_else(|| {
            Failure::new(format!(
                "{name}: SCRIPT={script}: there is no {}",
                file.display()
            ))
            .hint(format!(
                "pgdyno has packs in place of: {}",
                PACKS.map(|(theirs, _)| theirs).join(", ")
            ))
        })
    }

    fn uses_pgbench_tables(&self) -> bool {
        !matches!(self, Script::Pack(WITHOUT_PGBENCH_TABLES))
    }

    fn workload(&self, experiment: Experiment, config: &Config) -> Experiment {
        match self {
            Script::Pack(pack) => experiment.fix("workload", [*pack]),
            Script::File { path } => {
                let experiment = experiment.fix("workload", [path.to_string_lossy()]);
                match config.text("SKIPINIT").as_deref() {
                    Some("1") => experiment,
                    _ => experiment.fix("tables", "tpcb"),
                }
            }
        }
    }
}

/// The assignments, with those that a shell would have to compute left out.
struct Config {
    name: String,
    /// With the line of each.
    values: BTreeMap<String, (usize, String)>,
    remarks: Vec<String>,
}

impl Config {
    fn read(name: &str, text: &str) -> Result<Config, Failure> {
        let mut config = Config {
            name: name.to_owned(),
            values: BTreeMap::new(),
            remarks: Vec::new(),
        };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if rest.starts_with('#') {
                rest = rest
                    .split_once('\n')
                    .map_or("", |(_, below)| below.trim_start());
                continue;
            }
            let number = 1 + text[..text.len() - rest.len()].matches('\n').count();
            let line = rest.lines().next().unwrap_or_default().trim_end();
            let wrong = |what: &str| Failure::new(format!("{name}:{number}: {what}: {line}"));
            rest = rest.strip_prefix("export ").map_or(rest, str::trim_start);
            let assignment = rest.split_once('=').filter(|(key, _)| {
                let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                !key.is_empty() && key.chars().all(is_of_a_name)
            });
            let Some((key, value)) = assignment else {
                return Err(wrong("this is no assignment")
                    .hint("only NAME=VALUE is read; nothing is executed"));
            };
            let end = word_end(value).ok_or_else(|| wrong("a quote is not closed"))?;
            let (word, behind) = value.split_at(end);
            match config.value(word) {
                Ok(Some(value)) => {
                    config.values.insert(key.to_owned(), (number, value));
                }
                // What needs a shell matters only where it is one of those that are used.
                Ok(None) => {
                    config.values.remove(key);
                    if key.starts_with("TEST") && key != "TESTUSER" || key == "SCRIPT" {
                        config.remarks.push(format!(
                            "{name}:{number}: {key} would have to be executed; it was left out"
                        ));
                    }
                }
                Err(what) => return Err(wrong(what)),
            }
            rest = behind.trim_start();
        }
        Ok(config)
    }

    /// One word as a shell reads it: quotes, backslashes, variables set before. `None` when a
    /// command is in it.
    fn value(&self, text: &str) -> Result<Option<String>, &'static str> {
        let mut value = String::new();
        let mut chars = text.chars().peekable();
        let mut quote: Option<char> = None;
        while let Some(c) = chars.next() {
            match (c, quote) {
                ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
                (_, Some('\'')) => value.push(c),
                ('"', None) | ('\'', None) => quote = Some(c),
                ('`', _) => return Ok(None),
                // The line goes on in the next one.
                ('\\', _) if chars.next_if_eq(&'\n').is_some() => {}
                ('\\', _) => value.extend(chars.next()),
                ('$', _) => {
                    let braces = chars.next_if_eq(&'{').is_some();
                    if chars.peek() == Some(&'(') {
                        return Ok(None);
                    }
                    let mut name = String::new();
                    while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                        name.push(c);
                    }
                    if braces && chars.next() != Some('}') {
                        return Err("only $NAME and ${NAME} are understood");
                    }
                    match self.values.get(&name) {
                        Some((_, known)) => value += known,
                        None => return Ok(None),
                    }
                }
                (';' | '|' | '&' | '<' | '>' | '(', None) => {
                    return Err("only plain assignments are understood");
                }
                (c, _) => value.push(c),
            }
        }
        Ok(Some(value))
    }

    fn text(&self, key: &str) -> Option<String> {
        let (_, value) = self.values.get(key)?;
        Some(value.clone()).filter(|value| !value.is_empty())
    }

    fn list(&self, key: &str) -> Result<Vec<u64>, Failure> {
        let Some((line, value)) = self.values.get(key) else {
            return Ok(Vec::new());
        };
        let numbers = value.split_whitespace().map(|word| {
            word.parse().ok().filter(|n: &u64| *n > 0).ok_or_else(|| {
                let name = &self.name;
                Failure::new(format!(
                    "{name}:{line}: {key}: \"{word}\" is not a positive whole number"
                ))
            })
        });
        numbers.collect()
    }

    fn whole(&self, key: &str) -> Result<Option<u64>, Failure> {
        let Some((line, value)) = self.values.get(key) else {
            return Ok(None);
        };
        match value.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let name = &self.name;
                Failure::new(format!(
                    "{name}:{line}: {key}: \"{text}\" is not a whole number"
                ))
            }),
        }
    }

    /// The variable `multiplier`, in pages. pgbench-tools gives none below 0.
    fn multiplier(&self) -> Result<Option<u64>, Failure> {
        match self.text("MULTI") {
            Some(text) if text.trim().starts_with('-') => Ok(None),
            _ => Ok(Some(self.whole("MULTI")?.unwrap_or(0))),
        }
    }

    /// Threads for so many clients: the greatest number up to MAX_WORKERS that divides them, and one
    /// without it.
    fn workers(&self, clients: u64) -> Result<u64, Failure> {
        let most = match self.text("MAX_WORKERS").as_deref().map(str::trim) {
            Some("auto") => pgdyno_platform::host::cpus() as u64,
            _ => self.whole("MAX_WORKERS")?.unwrap_or(1),
        };
        let divides = |threads: &u64| clients.is_multiple_of(*threads);
        Ok((1..=most.min(clients)).rev().find(divides).unwrap_or(1))
    }

    fn repeats(&self) -> Result<u32, Failure> {
        let times = self.whole("SETTIMES")?.unwrap_or(3);
        // Beyond that it is too many in any case.
        Ok(u32::try_from(times).unwrap_or(u32::MAX))
    }

    /// How many clients, and what each of them does: at a rate, or `total` transactions of all of
    /// them together.
    fn load(&self, experiment: Experiment, total: Option<u64>) -> Result<Experiment, Failure> {
        let clients = self.list("SETCLIENTS")?;
        let clients = if clients.is_empty() { vec![1] } else { clients };
        let (rates, each) = (self.list("SETRATES")?, self.list("CLIENTRATES")?);
        let mut experiment = experiment;
        let threads: Vec<u64> = clients
            .iter()
            .map(|clients| self.workers(*clients))
            .collect::<Result<_, _>>()?;
        let is_one = threads.iter().all(|count| *count == threads[0]);
        if is_one {
            experiment = experiment.fix("threads", threads[0]);
        }
        let has_rates = !rates.is_empty() && each.is_empty();
        // Rates by client go up with the clients, counts for all clients down, threads divide them.
        let of_each: Vec<Option<u64>> = if each.is_empty() {
            vec![None]
        } else {
            each.into_iter().map(Some).collect()
        };
        let mut steps = Vec::new();
        for (clients, threads) in clients.into_iter().zip(threads) {
            for rate in &of_each {
                let rate = rate.map(|rate| ("rate", Value::from((clients * rate) as f64)));
                let count = total.map(|all| ("transactions", Value::from((all / clients).max(1))));
                let threads = (!is_one).then(|| ("threads", Value::from(threads)));
                let step = [
                    Some(("clients", Value::from(clients))),
                    threads,
                    rate,
                    count,
                ];
                let step = step.into_iter().flatten();
                steps.push(step.map(|(name, value)| (name.to_owned(), value)).collect());
            }
        }
        experiment.axes.push(Axis(steps));
        if has_rates {
            experiment = experiment.axis("rate", rates.iter().map(|rate| *rate as f64));
        }
        Ok(experiment)
    }

    /// The server, when the configuration names one.
    fn target(&self) -> Option<String> {
        let database = self.text("TESTDB");
        if let Some(uri) = database.as_ref().filter(|db| db.contains("://")) {
            return Some(uri.clone());
        }
        let parts = [
            ("host", self.text("TESTHOST")),
            ("port", self.text("TESTPORT")),
            ("user", self.text("TESTUSER")),
            ("dbname", database),
        ];
        let parts = parts.into_iter().filter_map(|(name, value)| {
            let value = value?.replace('\\', "\\\\").replace('\'', "\\'");
            Some(format!("{name}='{value}'"))
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// Where a word of a shell ends, in bytes: at a blank or an end of a line that is in no quotes and in no
/// command. `None` when quotes or a command stay open.
fn word_end(text: &str) -> Option<usize> {
    // What would close the quotes and commands that are open, the innermost last.
    let mut open: Vec<char> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (c, open.last()) {
            (c, Some(close)) if c == *close => {
                open.pop();
            }
            (_, Some('\'')) => {}
            ('\\', _) => {
                chars.next()?;
            }
            ('$', _) if chars.next_if(|(_, c)| *c == '(').is_some() => open.push(')'),
            ('"' | '`', _) | ('\'', None | Some(')')) => open.push(c),
            (c, None) if c.is_whitespace() => return Some(at),
            _ => {}
        }
    }
    open.is_empty().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::Plan;
    use crate::experiment::testing::planned;
    use pgdyno_workload::shipped;

    /// What pgbench-tools ships, as far as it matters here.
    const SHIPPED: &str = "\
BASEDIR=`pwd`
BENCHBIN=`which pgbench`
STATEDIR=\"$BASEDIR\"

# These values are for pgbench 9.6 - 13
TESTDIR=\"tests\"
SKIPINIT=0
TESTHOST=localhost
TESTUSER=`whoami`
TESTPORT=5432
TESTDB=pgbench
RESULTHOST=\"$TESTHOST\"
MAX_WORKERS=\"auto\"
#MAX_WORKERS=\"\"
SCRIPT=\"select\"
SCALES=\"1 10 100 1000\"
SETCLIENTS=\"1 2 4 8 16 32\"
SETTIMES=3
FILLFACTOR=\"100\"
RUNTIME=60
TOTTRANS=\"\"
SETRATES=\"\"
CLIENTRATES=\"\"
PREPARED=0
MULTI=0
RECOVERY=10
DISKLIST=\"sda\"
";

    fn plan(config: &str, folder: &Path) -> Result<(String, Plan, Vec<String>), String> {
        let converted = convert("config", config, folder).map_err(|e| e.to_string())?;
        let plan = planned(&converted.made);
        Ok((converted.made.to_toml(), plan, converted.remarks))
    }

    #[test]
    fn the_configuration_that_pgbench_tools_ships_becomes_its_grid() {
        let (toml, plan, remarks) = self::plan(SHIPPED, Path::new("/nowhere")).unwrap();
        assert_eq!(plan.slots.len(), 72, "{toml}");
        assert_eq!(remarks, [""; 0]);
        let point = &plan.points[0].point;
        assert_eq!(
            point.target(),
            Some("host='localhost' port='5432' dbname='pgbench'")
        );
        assert!(toml.contains("workload = \"select-only\"") && toml.contains("settle = \"10s\""));
        assert!(toml.contains("replace_pgbench_tables = true"), "{toml}");
        let kept = SHIPPED.replace("SKIPINIT=0", "SKIPINIT=1");
        let (toml, ..) = self::plan(&kept, Path::new("/nowhere")).unwrap();
        assert!(!toml.contains("replace_pgbench_tables"), "{toml}");
        assert!(PACKS.iter().all(|(_, pack)| shipped::exists(pack)));
    }

    #[test]
    fn its_scripts_are_taken_from_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tests")).unwrap();
        let script = "\\set aid random(1, 100000 * :scale)\nSELECT :aid;\n";
        std::fs::write(dir.path().join("tests/mine.sql"), script).unwrap();
        let config = SHIPPED
            .replace("\"select\"", "\"mine\"")
            .replace("PREPARED=0", "PREPARED=1");
        let (toml, plan, _) = plan(&config, dir.path()).unwrap();
        assert!(
            toml.contains("tables = \"tpcb\"") && toml.contains("\"prepared\""),
            "{toml}"
        );
        let tables = plan.points[0].tables.as_ref().unwrap();
        assert_eq!(tables.made_with["scale"], "1");
    }

    #[test]
    fn rates_by_client_and_counts_for_all_of_them_go_with_the_clients() {
        let rates = "SCRIPT=tpc-b\nSCALES=1\nSETCLIENTS=\"1 4\"\nCLIENTRATES='10 20'\nRUNTIME=5\n";
        let (toml, plan, _) = self::plan(rates, Path::new("/nowhere")).unwrap();
        assert!(
            toml.contains("clients = [1, 1, 4, 4]\nrate = [10, 20, 40, 80]"),
            "{toml}"
        );
        assert_eq!(plan.points.len(), 4);
        let counts = "SCRIPT=tpc-b\nSETCLIENTS=\"1 4\"\nTOTTRANS=1000\nRUNTIME=\"\"\nSETRATES=50\n";
        let (toml, plan, remarks) = self::plan(counts, Path::new("/nowhere")).unwrap();
        assert!(
            toml.contains("transactions = [1000, 250]") && toml.contains("rate = [50]"),
            "{toml}"
        );
        assert_eq!((plan.points.len(), remarks.len()), (2, 1));
    }

    #[test]
    fn a_word_ends_where_a_shell_ends_it() {
        for (config, want) in [
            ("SCALES=\"1\n2\"", "scale = [1, 2]"),
            ("SCALES='1\n  2\n'", "scale = [1, 2]"),
            ("SCALES=\"1 \\\n2\"", "scale = [1, 2]"),
            ("SCALES=1\\\n0", "scale = [10]"),
            ("SCALES=\"1 2\" # what's ours", "scale = [1, 2]"),
            ("export SCALES=\"3\n4\" SETTIMES=2", "scale = [3, 4]"),
            ("# a \"comment\nSCALES='1 2'", "scale = [1, 2]"),
            (
                "DISKLIST=\"$(ls /dev |\n  grep \"sd\")\"\nSCALES=7",
                "scale = [7]",
            ),
            ("SIZES=\"1\n2\"\nSCALES=\"$SIZES 3\"", "scale = [1, 2, 3]"),
            ("SCALES=\"1 2\"\r\nSETTIMES=1\r\n", "scale = [1, 2]"),
        ] {
            let (toml, ..) = plan(&format!("SCRIPT=tpc-b\n{config}\n"), Path::new("/nowhere"))
                .unwrap_or_else(|e| panic!("{config}: {e}"));
            assert!(toml.contains(want), "{config}: {toml}");
        }
        let e = plan("SCRIPT=tpc-b\nSCALES='1\n2\nx'\nY=(", Path::new("/nowhere"))
            .err()
            .unwrap();
        assert!(e.contains("config:5: only plain assignments"), "{e}");
    }

    #[test]
    fn threads_divide_the_clients_as_benchwarmer_has_it() {
        let cpus = pgdyno_platform::host::cpus();
        for (workers, clients, want) in [
            ("", "4", "threads = 1"),
            ("MAX_WORKERS=\"\"", "4", "threads = 1"),
            ("MAX_WORKERS=2", "3", "threads = 1"),
            ("MAX_WORKERS=4", "6", "threads = 3"),
            ("MAX_WORKERS=8", "2", "threads = 2"),
            ("MAX_WORKERS=0", "2", "threads = 1"),
            ("MAX_WORKERS=4", "1 2 8 9", "threads = [1, 2, 4, 3]"),
            ("MAX_WORKERS=1", "1 2 8 9", "threads = 1"),
        ] {
            let config = format!("SCRIPT=tpc-b\n{workers}\nSETCLIENTS=\"{clients}\"\nRUNTIME=1");
            let (toml, ..) = plan(&config, Path::new("/nowhere")).unwrap();
            assert!(toml.contains(want), "{config}: {toml}");
        }
        let config = format!("SCRIPT=tpc-b\nMAX_WORKERS=auto\nSETCLIENTS={cpus}\nRUNTIME=1");
        let (toml, ..) = plan(&config, Path::new("/nowhere")).unwrap();
        assert!(toml.contains(&format!("threads = {cpus}")), "{toml}");
        let e = plan("SCRIPT=tpc-b\nMAX_WORKERS=many", Path::new("/nowhere"))
            .err()
            .unwrap();
        assert!(
            e.contains("MAX_WORKERS: \"many\" is not a whole number"),
            "{e}"
        );
    }

    #[test]
    fn the_variable_multiplier_is_there_as_pgbench_tools_gives_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tests")).unwrap();
        let script = "SELECT :multiplier + 1;\n";
        std::fs::write(dir.path().join("tests/pages.sql"), script).unwrap();
        for (multi, want) in [
            ("MULTI=0", Some("multiplier = 0")),
            ("MULTI=\"\"", Some("multiplier = 0")),
            ("", Some("multiplier = 0")),
            ("MULTI=5", Some("multiplier = 5")),
            ("MULTI=-1", None),
        ] {
            let config = format!("SCRIPT=pages\nSKIPINIT=1\nRUNTIME=1\n{multi}\n");
            let (toml, ..) = plan(&config, dir.path()).unwrap();
            match want {
                Some(want) => assert!(toml.contains(want), "{multi}: {toml}"),
                None => assert!(!toml.contains("multiplier"), "{multi}: {toml}"),
            }
        }
    }

    #[test]
    fn nothing_is_executed_and_what_is_no_assignment_is_named() {
        let (_, _, remarks) = plan(
            "SCRIPT=tpc-b\nTESTHOST=$(hostname)\nTESTDB=`rm -rf x`\n",
            Path::new("/nowhere"),
        )
        .unwrap();
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        for (config, want) in [
            ("rm -rf /", "config:1: this is no assignment"),
            ("A=1; rm x", "only plain assignments"),
            ("A=\"1", "a quote is not closed"),
            ("A=${B:-1}", "only $NAME and ${NAME}"),
            ("SCRIPT=tpc-b\nSCALES=\"1 x\"", "config:2: SCALES: \"x\""),
            (
                "SCRIPT=tpc-b\nRUNTIME=1m",
                "RUNTIME: \"1m\" is not a whole number",
            ),
            ("SCRIPT=mine", "/nowhere/tests/mine.sql"),
            ("SCRIPT=':-i -s 1'", "no workload"),
        ] {
            let e = plan(config, Path::new("/nowhere"))
                .err()
                .unwrap_or_else(|| panic!("{config}"));
            assert!(e.contains(want), "{config}: {e}");
        }
    }
}
