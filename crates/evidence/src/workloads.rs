//! What was run: the files of packs and scripts, found where a trial had them, and laid out to be run again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pgdyno_measurement::ScriptRecord;
use pgdyno_model::notebook::TrialRow;
use pgdyno_run::prepare;
use pgdyno_spec::{Exit, Failure, TargetSpec, TrialSpec};
use pgdyno_store::Store;
use pgdyno_workload::manifest::{FILE_NAME, ManifestError};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::script_files::{SCRIPT_MIB_MAX, octets, split_weight};
use pgdyno_workload::{resolve, shipped};

use crate::bundle::{Bundle, Bundled, Missing, Parts, What, sha256};

/// Of a hash in names of files.
const SHORT: usize = 12;

/// Adds the files of what these trials have run, as far as they are still what was run; what is not is missing.
pub fn collect(
    store: &Store,
    trials: &[TrialRow],
    parts: &mut Parts,
    missing: &mut Vec<Missing>,
) -> Result<Vec<Bundled>, Failure> {
    let mut found: BTreeMap<(String, String), Bundled> = BTreeMap::new();
    for trial in trials {
        let number = trial.number;
        let mut lacks = |why: String| {
            missing.push(Missing {
                what: format!("what trial {number} ran ({})", trial.workload),
                why,
            });
        };
        if trial.spec.workload.is_empty() {
            lacks(format!(
                "it was run by another command, and notebooks do not store its scripts: {}",
                trial.command
            ));
            continue;
        }
        let files = match &trial.pack_sha256 {
            Some(sha256) => {
                pack_of(&trial.spec.workload, sha256).map(|pack| vec![of_pack(&pack.0, pack.1)])
            }
            None => scripts_of(store, trial),
        };
        match files {
            Err(why) => lacks(why),
            Ok(files) => {
                for (one, its) in files {
                    parts.extend(its);
                    let key = (one.typed.clone(), one.sha256.clone());
                    found.entry(key).or_insert(one).trials.push(number);
                }
            }
        }
    }
    let mut found: Vec<Bundled> = found.into_values().collect();
    found.iter_mut().for_each(|one| one.trials.dedup());
    Ok(found)
}

/// The pack of this name, if it is still what it was.
fn pack_of(workload: &[String], sha256: &str) -> Result<(String, Pack), String> {
    let name = workload.first().cloned().unwrap_or_default();
    let pack = resolve::pack(&name).map_err(|e| e.to_string())?;
    if pack.content_hash() == sha256 {
        Ok((name, pack))
    } else {
        Err(format!(
            "the files of {name} are no longer those that were run"
        ))
    }
}

/// Its files, and those of the packs that it uses.
fn of_pack(typed: &str, pack: Pack) -> (Bundled, Parts) {
    let mut parts = Parts::new();
    let mut add = |pack: &Pack| {
        let path = format!(
            "packs/{}-{}",
            file_name(pack.name()),
            short(&pack.content_hash())
        );
        for (name, text) in &pack.files {
            parts.insert(format!("{path}/{name}"), text.clone().into_bytes());
        }
        path
    };
    let path = add(&pack);
    let uses = pack.base().map(&mut add);
    let one = Bundled {
        typed: typed.to_owned(),
        what: What::Pack,
        name: pack.name().to_owned(),
        sha256: pack.content_hash(),
        path,
        uses,
        trials: Vec::new(),
    };
    (one, parts)
}

/// The scripts of a trial, if their commands are still those that were run.
fn scripts_of(store: &Store, trial: &TrialRow) -> Result<Vec<(Bundled, Parts)>, String> {
    let kept = store
        .outcome(trial.number)
        .map_err(|failure| failure.message)?;
    let mut texts = BTreeMap::new();
    for typed in &trial.spec.workload {
        let file = split_weight(typed).map_or(typed.as_str(), |(file, _)| file);
        if file == "-" {
            return Err("it was read from standard input".to_owned());
        }
        texts.insert(
            file,
            octets(file, SCRIPT_MIB_MAX).map_err(|failure| failure.message)?,
        );
    }
    if compiled(&trial.spec)? != commands(&kept.recording.scripts) {
        let files: Vec<&str> = texts.into_keys().collect();
        return Err(format!(
            "the commands of {} are no longer those that were run",
            files.join(", ")
        ));
    }
    let bundled = texts.into_iter().map(|(file, text)| {
        let hash = sha256(&text);
        let name = Path::new(file).file_name().unwrap_or_default();
        let name = file_name(&name.to_string_lossy());
        let path = format!("scripts/{}/{name}", short(&hash));
        let one = Bundled {
            typed: file.to_owned(),
            what: What::Script,
            name,
            sha256: hash,
            path: path.clone(),
            uses: None,
            trials: Vec::new(),
        };
        (one, Parts::from([(path, text)]))
    });
    Ok(bundled.collect())
}

/// The commands of the scripts that this trial would run.
fn compiled(spec: &TrialSpec) -> Result<Vec<Vec<(String, bool)>>, String> {
    // What disturbs it, and where, has no part in its scripts.
    let spec = TrialSpec {
        disturb: Default::default(),
        target: TargetSpec::default(),
        ..spec.clone()
    };
    let checked = prepare::check(&spec).map_err(|failure| failure.message)?;
    Ok(commands(&checked.script_records()))
}

/// Commands by script; their names depend on where a script lies.
fn commands(scripts: &[ScriptRecord]) -> Vec<Vec<(String, bool)>> {
    let of = |script: &ScriptRecord| {
        let commands = script.statements.iter();
        commands.map(|one| (one.text.clone(), one.is_sql)).collect()
    };
    scripts.iter().map(of).collect()
}

/// A name that every file system takes.
pub(crate) fn file_name(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
        '.' => c,
        _ => '_',
    };
    let name: String = text.chars().map(plain).take(80).collect();
    if name.trim_matches('.').is_empty() {
        "unnamed".to_owned()
    } else {
        name.trim_start_matches('.').to_owned()
    }
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

impl Bundle {
    /// The pack or script that a trial of the bundle names so; `sha256` is that of its pack.
    pub fn workload(&self, typed: &str, trial: i64) -> Option<&Bundled> {
        let mut all = self.manifest.workloads.iter();
        all.find(|one| one.typed == typed && one.trials.contains(&trial))
    }

    /// A pack of the bundle, made of its files.
    ///
    /// # Errors
    /// It is not there, or makes no pack.
    pub fn pack(&self, bundled: &Bundled) -> Result<Pack, String> {
        let files = |path: &str| -> Result<BTreeMap<String, String>, String> {
            let folder = format!("{path}/");
            let mut files = BTreeMap::new();
            for (name, bytes) in &self.parts {
                if let Some(name) = name.strip_prefix(&folder) {
                    let text = String::from_utf8(bytes.clone());
                    let text = text.map_err(|_| format!("{path}/{name} is no UTF-8"))?;
                    files.insert(name.to_owned(), text);
                }
            }
            Ok(files)
        };
        let of = |path: &str, base: Option<Pack>| {
            Pack::new(path.to_owned(), files(path)?, |uses| {
                base.ok_or_else(|| ManifestError {
                    file: format!("{path}/{FILE_NAME}"),
                    line: None,
                    message: format!("uses = \"{uses}\": that pack is not in the bundle"),
                })
            })
            .map_err(|e| e.to_string())
        };
        let base = bundled
            .uses
            .as_deref()
            .map(|path| of(path, None))
            .transpose()?;
        of(&bundled.path, base)
    }

    /// Whether a trial's commands are those of the scripts of the bundle. `root` is where these were laid out.
    ///
    /// # Errors
    /// That cannot be said, and why.
    pub fn has_commands(&self, spec: &TrialSpec, kept: &[ScriptRecord]) -> Result<bool, String> {
        Ok(compiled(spec)? == commands(kept))
    }

    /// Lays out what a trial ran below `root`, and gives the trial with what it is to run from there: a pack that
    /// this pgdyno has with the same content is named as it is.
    ///
    /// # Errors
    /// The bundle does not have it; it is not what was run; it cannot be written.
    pub fn laid_out(
        &self,
        number: i64,
        spec: &TrialSpec,
        root: &Path,
    ) -> Result<Vec<String>, Failure> {
        let mut workload = Vec::new();
        for typed in &spec.workload {
            let file = split_weight(typed).map_or(typed.as_str(), |(file, _)| file);
            let bundled = self
                .workload(file, number)
                .ok_or_else(|| self.lacks(number, file))?;
            let path = self.lay_out(bundled, root)?;
            workload.push(format!("{path}{}", &typed[file.len()..]));
        }
        Ok(workload)
    }

    /// Lays out one pack or script, and gives the name by which it is run from there.
    ///
    /// # Errors
    /// It is not what was run; it cannot be written.
    pub fn lay_out(&self, bundled: &Bundled, root: &Path) -> Result<String, Failure> {
        let place = self.path.display();
        match bundled.what {
            What::Script => {
                let text = self.parts.get(&bundled.path).ok_or_else(|| {
                    Failure::new(format!("{place} has no {}", bundled.path))
                        .hint("what does not agree: pgdyno verify FILE")
                })?;
                if sha256(text) != bundled.sha256 {
                    return Err(self.not_what_was_run(bundled));
                }
                let file = root.join(&bundled.path);
                put(&file, text)?;
                Ok(file.display().to_string())
            }
            What::Pack => {
                let pack = self
                    .pack(bundled)
                    .map_err(|why| Failure::new(format!("{place}: {why}")))?;
                if pack.content_hash() != bundled.sha256 {
                    return Err(self.not_what_was_run(bundled));
                }
                if let Ok(own) = shipped::find(pack.name())
                    && own.content_hash() == bundled.sha256
                {
                    return Ok(pack.name().to_owned());
                }
                let folder = root.join(&bundled.path);
                put_pack(&pack, &folder, root)?;
                let there = resolve::pack(&folder.display().to_string());
                match there {
                    Ok(there) if there.content_hash() == bundled.sha256 => {
                        Ok(folder.display().to_string())
                    }
                    Ok(_) => Err(self.not_what_was_run(bundled).detail(format!(
                        "it uses a pack that this pgdyno has otherwise, made by pgdyno {}",
                        self.manifest.pgdyno.version
                    ))),
                    Err(e) => Err(Failure::new(format!("{place}: {e}"))),
                }
            }
        }
    }

    fn lacks(&self, number: i64, file: &str) -> Failure {
        let text = format!(
            "{} does not have what trial {number} ran: {file}",
            self.path.display()
        );
        let failure = Failure::with(Exit::Usage, text);
        let whose = format!("trial {number} ");
        let missing = self.manifest.missing.iter();
        let failure = missing
            .filter(|one| one.what.contains(&whose))
            .fold(failure, |failure, one| failure.detail(one.why.clone()));
        failure.hint("pgdyno import FILE takes its trials into the notebook; its files must come from elsewhere")
    }

    fn not_what_was_run(&self, bundled: &Bundled) -> Failure {
        let (place, name) = (self.path.display(), &bundled.name);
        Failure::new(format!(
            "{place}: {name} is not what was run: its hash is another"
        ))
        .hint("what else does not agree: pgdyno verify FILE")
    }
}

/// A pack and what it uses, as folders that find each other.
fn put_pack(pack: &Pack, folder: &Path, root: &Path) -> Result<(), Failure> {
    for (name, text) in &pack.files {
        put(&folder.join(name), text.as_bytes())?;
    }
    let (Some(base), Some(uses)) = (pack.base(), pack.manifest.uses.as_deref()) else {
        return Ok(());
    };
    if !uses.contains('/') {
        return Ok(());
    }
    let beside = inside(&folder.join(uses), root).ok_or_else(|| {
        Failure::new(format!(
            "{}: it uses a pack outside of the bundle: {uses}",
            pack.name()
        ))
        .hint("put both packs side by side, and run the pack from there")
    })?;
    put_pack(base, &beside, root)
}

/// The path without `..`, where that does not lead out.
fn inside(path: &Path, root: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    (plain.starts_with(root) && plain != root).then_some(plain)
}

fn put(file: &Path, text: &[u8]) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
    written.map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", file.display()))
            .hint("make room, or name another directory for data: XDG_DATA_HOME")
    })
}
