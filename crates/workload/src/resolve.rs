//! From what the user typed after `run` to a workload: a pack by name or folder, or script files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::manifest::ManifestError;
use super::mix::WeightedScript;
use super::needs::Needs;
use super::pack::Pack;
use super::{folder, script_files, shipped};
use pgdyno_spec::{Exit, Failure, suggest::nearest};

/// What is to be run, wherever it came from.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The pack's name, or the files as typed.
    pub name: String,
    /// The pack, when it is one: it brings parameters and tables.
    pub pack: Option<Pack>,
    /// The mix that was asked for.
    pub mix: Option<String>,
    /// What transactions are drawn from, in this order.
    pub scripts: Vec<WeightedScript>,
    /// What they need beside their tables.
    pub needs: Needs,
}

/// A pack by its name or its folder's path.
pub fn pack(name: &str) -> Result<Pack, ManifestError> {
    // A bare word is a shipped pack's name, even when a folder is called the same.
    if shipped::exists(name) || !(name.contains('/') || folder::exists(name)) {
        shipped::find(name)
    } else {
        folder::find(name)
    }
}

/// The same for a name that was typed.
///
/// # Errors
/// No pack has this name ([`Exit::Usage`]), or it has a mistake.
pub fn typed_pack(name: &str) -> Result<Pack, Failure> {
    let exit = if shipped::exists(name) || folder::exists(name) {
        Exit::Failed
    } else {
        Exit::Usage
    };
    pack(name).map_err(|e| Failure::with(exit, e.to_string()))
}

/// Reads `WORKLOAD` or `SCRIPT[@WEIGHT]…`. A pack's scripts are still to be made
/// ([`Workload::make`]): that depends on the parameters.
///
/// # Errors
/// No workload has this name ([`Exit::Usage`]), or it has a mistake.
pub fn workload(args: &[String], mix: Option<&str>) -> Result<Workload, Failure> {
    let usage = |text| Failure::with(Exit::Usage, text);
    if let [name] = args
        && (shipped::exists(name) || folder::exists(name))
    {
        let pack = typed_pack(name)?;
        mix.map(|name| pack.mix(name)).transpose().map_err(usage)?;
        return Ok(Workload {
            name: pack.name().to_owned(),
            pack: Some(pack),
            mix: mix.map(str::to_owned),
            scripts: Vec::new(),
            needs: Needs::default(),
        });
    }
    if let [file] = args
        && file.ends_with(".toml")
    {
        return Err(usage(format!(
            "{file} is no script; an experiment is run by pgdyno sweep {file}"
        )));
    }
    // `--json out.json`, as other programs take it.
    if let [_, file] = args
        && (file.ends_with(".json") || file.ends_with(".html"))
    {
        return Err(usage(format!(
            "{file} is not a script or a pack; to write a result there: --json={file}; a page: pgdyno report \
             -o {file}"
        )));
    }
    for arg in args {
        let name = script_files::split_weight(arg).map_or(arg.as_str(), |(file, _)| file);
        if shipped::exists(name) || folder::exists(name) {
            if let Some(failure) = other_word(args) {
                return Err(failure);
            }
            return Err(usage(if args.len() == 1 {
                format!("{arg}: a pack has no weight; weights are for script files")
            } else {
                format!(
                    "{name} is a pack, which cannot run with other scripts: copy it (pgdyno pack show {name} \
                     --to DIR) and add your scripts, or give script files only; a database is --url \
                     dbname=NAME, or -d NAME"
                )
            }));
        }
    }
    if let Some(mix) = mix {
        return Err(usage(format!(
            "--mix {mix}: only packs have mixes; script files take FILE@WEIGHT"
        )));
    }
    // A bare word was meant as a pack's name.
    if let [name] = args
        && !name.contains(['.', '/', '@'])
        && name != "-"
        && !std::path::Path::new(name).exists()
    {
        return Err(usage(match shipped::find(name) {
            Err(e) => e.to_string(),
            // Not reached: the name was looked for above.
            Ok(_) => format!("{name}: there is no such pack or file"),
        }));
    }
    Ok(Workload {
        name: args.join(" "),
        pack: None,
        mix: None,
        scripts: script_files::read(args).map_err(|failure| with_way_out(args, failure))?,
        needs: Needs::default(),
    })
}

/// Words beside a pack that are a value of its parameters, or a unit that a blank parts from its number.
fn other_word(args: &[String]) -> Option<Failure> {
    let mut words = args.iter().filter(|word| !Path::new(word).exists());
    words.find_map(|word| {
        let failure = Failure::with(Exit::Usage, format!("\"{word}\" is no script"));
        let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if let Some((name, _)) = word.split_once('=') {
            let is_one = !name.is_empty() && is_name(name);
            return is_one.then(|| failure.hint(format!("a parameter is --param {word}")));
        }
        let is_unit = UNITS.contains(&word.as_str());
        is_unit.then(|| {
            failure.hint("write a unit right after its number: -T 60s, -L 20ms, --warmup 2m")
        })
    })
}

/// What is no script's name.
const UNITS: [&str; 14] = [
    "us", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minutes", "h",
    "hour", "hours",
];

/// Of files that are not there: one of nearly the same name beside them, and what a workload is named by.
fn with_way_out(args: &[String], failure: Failure) -> Failure {
    if let Some(other) = other_word(args) {
        return other;
    }
    let names = args.iter();
    let names =
        names.map(|arg| script_files::split_weight(arg).map_or(arg.as_str(), |(file, _)| file));
    let mut missing = names.filter(|name| *name != "-" && !Path::new(name).exists());
    let Some(missing) = missing.next().map(Path::new) else {
        return failure;
    };
    let folder = match missing.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let beside = fs::read_dir(folder).into_iter().flatten().flatten();
    let beside: Vec<String> = beside
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let name = missing.file_name().and_then(|name| name.to_str());
    let near = name.and_then(|name| nearest(name, beside.iter().map(String::as_str)));
    let failure = match near {
        Some(near) => failure.hint(format!(
            "did you mean {}?",
            missing.with_file_name(near).display()
        )),
        None => failure,
    };
    failure.hint("a script is a file, as mine.sql; a workload has a name: pgdyno pack list")
}

impl Workload {
    /// Makes a pack's scripts and what they need for these parameters; says whether that changed
    /// anything.
    ///
    /// # Errors
    /// A mistake in the pack that only these parameters bring to light.
    pub fn make(&mut self, values: &BTreeMap<String, String>) -> Result<bool, String> {
        let Some(pack) = &self.pack else {
            return Ok(false);
        };
        let mix = self.mix.as_deref();
        let (scripts, needs) = (pack.scripts(mix, values)?, pack.needs(mix, values)?);
        let changes = scripts != self.scripts || needs != self.needs;
        (self.scripts, self.needs) = (scripts, needs);
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    fn get(args: &[&str], mix: Option<&str>) -> Result<Workload, Failure> {
        let args: Vec<_> = args.iter().map(|s| s.to_string()).collect();
        let mut workload = workload(&args, mix)?;
        if let Some(pack) = workload.pack.clone() {
            let values = Params::values_of(&pack, mix).map_err(Failure::new)?;
            workload.make(&values).map_err(Failure::new)?;
        }
        Ok(workload)
    }

    #[test]
    fn a_pack_and_script_files_come_in_the_same_form() {
        let pack = get(&["tpcb"], None).unwrap();
        assert_eq!((pack.name.as_str(), pack.scripts.len()), ("tpcb", 1));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tpcb.sql");
        std::fs::write(&file, &pack.scripts[0].text).unwrap();
        let files = get(&[&format!("{}@3", file.display())], None).unwrap();
        assert_eq!(files.scripts[0].text, pack.scripts[0].text);
        assert_eq!((files.scripts[0].weight, files.pack.is_none()), (3, true));
    }

    #[test]
    fn what_cannot_be_run_is_said_with_the_way_out() {
        for (args, mix, want) in [
            (&["tcpb"][..], None, "did you mean tpcb?"),
            (&["tpcb@2"], None, "has no weight"),
            (&["tpcb", "a.sql"], None, "cannot run with other scripts"),
            (&["a.sql"], Some("b"), "only packs have mixes"),
            (&["insert"], Some("b"), "no mixes"),
            (&["tpcb"], Some("b"), "(there are: statements, batch, cte, "),
            (
                &["/nowhere.sql"],
                None,
                "could not open file \"/nowhere.sql\"",
            ),
        ] {
            let e = get(args, mix).unwrap_err();
            assert_eq!(e.exit, Exit::Usage);
            assert!(e.message.contains(want), "{args:?}: {e}");
        }
    }
}
