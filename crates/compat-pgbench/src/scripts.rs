//! The scripts of a run as `-b`, `-f`, `-N` and `-S` name them. The built-in ones are pgdyno's
//! packs, by pgbench's names.

use pgdyno_script::{Names, Script};

use super::flavour::Flavour;
use super::messages::Stop;
use pgdyno_workload::params::Params;
use pgdyno_workload::{script_files, shipped};

/// Most scripts of one run, as in pgbench. Native runs take more (`script_files::SCRIPTS_MAX`).
const MAX_SCRIPTS: usize = 128;
/// pgbench takes scripts of any length; here one that has no end is an error before it has all of the
/// memory.
const SCRIPT_MIB_MAX: u64 = 128;

struct Builtin {
    name: &'static str,
    title: &'static str,
    pack: &'static str,
}

const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        title: "<builtin: TPC-B (sort of)>",
        pack: "tpcb",
    },
    Builtin {
        name: "simple-update",
        title: "<builtin: simple update>",
        pack: "simple-update",
    },
    Builtin {
        name: "select-only",
        title: "<builtin: select only>",
        pack: "select-only",
    },
];

/// The list that `-b list` prints.
pub fn list() -> String {
    let line = |builtin: &Builtin| format!("  {:>13}: {}\n", builtin.name, builtin.title);
    let lines: String = BUILTINS.iter().map(line).collect();
    format!("Available builtin scripts:\n{lines}\n")
}

/// What `--show-script` prints.
///
/// # Errors
/// There is no such script.
pub fn show(name: &str, flavour: &Flavour) -> Result<String, Stop> {
    let builtin = find(name)?;
    let (name, title) = (builtin.name, builtin.title);
    Ok(format!("-- {name}: {title}\n{}\n", text(builtin, flavour)?))
}

/// Whether a script of this title is built in: its rows are those of `pgbench -i`.
pub fn is_builtin(title: &str) -> bool {
    BUILTINS.iter().any(|builtin| builtin.title == title)
}

fn find(name: &str) -> Result<&'static Builtin, Stop> {
    let fitting: Vec<&Builtin> = BUILTINS
        .iter()
        .filter(|builtin| builtin.name.starts_with(name))
        .collect();
    let error = match fitting.as_slice() {
        [builtin] => return Ok(builtin),
        [] => format!("no builtin script found for name \"{name}\""),
        several => format!(
            "ambiguous builtin name: {} builtin scripts found for prefix \"{name}\"",
            several.len()
        ),
    };
    Err(Stop::fatal(error).raw(list()))
}

fn text(builtin: &Builtin, flavour: &Flavour) -> Result<String, Stop> {
    let pack = shipped::find(builtin.pack).map_err(|error| Stop::fatal(error.to_string()))?;
    let values = Params::values_of(&pack, None).map_err(Stop::fatal)?;
    let scripts = pack.scripts(None, &values).map_err(Stop::fatal)?;
    let text = scripts.iter().map(|script| script.text.as_str());
    Ok(flavour.renamed(&text.collect::<String>()))
}

/// The scripts of a run with their weights, in the order of the command line.
#[derive(Debug, Default)]
pub struct Scripts {
    pub list: Vec<(Script, u64)>,
    /// The names of their variables.
    pub names: Names,
    /// Their texts, in the same order.
    pub texts: Vec<String>,
    /// Whether one of them is built in, so that the standard tables are needed.
    pub uses_builtin: bool,
}

impl Scripts {
    /// `-b NAME[@W]`.
    ///
    /// # Errors
    /// There is no such script, or its weight is malformed.
    pub fn add_builtin(&mut self, option: &str, flavour: &Flavour) -> Result<(), Stop> {
        let (name, weight) = script_files::split_weight(option).map_err(Stop::fatal)?;
        let builtin = find(name)?;
        self.uses_builtin = true;
        self.add(builtin.title, &text(builtin, flavour)?, weight)
    }

    /// `-f FILE[@W]`.
    ///
    /// # Errors
    /// The file cannot be read or has no end, there is a mistake in it, or its weight is malformed.
    pub fn add_file(&mut self, option: &str) -> Result<(), Stop> {
        let (file, weight) = script_files::split_weight(option).map_err(Stop::fatal)?;
        let octets = script_files::octets(file, SCRIPT_MIB_MAX)
            .map_err(|failure| Stop::fatal(failure.message))?;
        self.add(file, &pgdyno_script::escape(&octets), weight)
    }

    /// The sum of the weights.
    pub fn total_weight(&self) -> u64 {
        self.list.iter().map(|(_, weight)| weight).sum()
    }

    fn add(&mut self, name: &str, text: &str, weight: u32) -> Result<(), Stop> {
        let script = pgdyno_script::parse(name, text, &mut self.names)
            .map_err(|error| Stop::fatal(error.to_string()))?;
        if self.list.len() >= MAX_SCRIPTS {
            let text = format!("at most {MAX_SCRIPTS} SQL scripts are allowed");
            return Err(Stop::fatal(text));
        }
        self.list.push((script, u64::from(weight)));
        self.texts.push(text.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flavour::{PGBENCH, YSQL_BENCH};
    use crate::messages::{Kind, Line};

    #[test]
    fn a_builtin_is_named_by_any_prefix_that_only_it_has() {
        let mut scripts = Scripts::default();
        scripts.add_builtin("tpcb", &PGBENCH).unwrap();
        scripts.add_builtin("se@3", &PGBENCH).unwrap();
        assert_eq!(scripts.list[0].0.name, "<builtin: TPC-B (sort of)>");
        assert_eq!(scripts.list[1].1, 3);
        assert_eq!(scripts.total_weight(), 4);
        assert!(scripts.uses_builtin);
        for (name, error) in [
            ("x", "no builtin script found for name \"x\""),
            (
                "s",
                "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"",
            ),
        ] {
            let stop = scripts.add_builtin(name, &PGBENCH).unwrap_err();
            let lines = [
                Line::Message(Kind::Error, error.to_owned()),
                Line::Raw(list()),
            ];
            assert_eq!(stop.lines, lines);
        }
    }

    #[test]
    fn a_builtin_names_the_tables_of_its_program() {
        let shown = show("select-only", &YSQL_BENCH).unwrap();
        assert!(shown.contains("FROM ysql_bench_accounts WHERE"), "{shown}");
        assert!(!shown.contains("pgbench_accounts"), "{shown}");
    }
}
