//! What must hold however a command ends.

use std::fs;
use std::path::{Path, PathBuf};

use pgdyno_testkit::failing::{Call, Fault};

use crate::points::commands::{Case, check_stored, document};
use crate::points::scene::Scene;
use crate::support::{Ran, ran};

/// What is wrong with how a run ended of which a call failed.
pub fn judge(case: &Case, scene: &Scene, ran: &Ran, failed: Option<(&Call, Fault)>) -> Vec<String> {
    let mut wrong = Vec::new();
    // Stores first: looking at what is whole opens them.
    wrong.extend(stores(scene));
    let whole = (case.whole)(scene);
    match (ran.code, failed) {
        (Some(0), _) => {
            if let Err(missing) = whole
                && !(case.may_only_say && failed.is_some_and(|(call, _)| names(ran, call)))
            {
                wrong.push(format!("exit code 0, but {missing}"));
            }
        }
        (Some(101) | None, _) => wrong.push(format!("exit code {:?}", ran.code)),
        (Some(code), None) => wrong.push(format!("exit code {code} without a failure")),
        (Some(code), Some((call, fault))) => {
            if fault.is_harmless() && call.faults().contains(&fault) {
                wrong.push(format!(
                    "exit code {code}, though the call works when made again"
                ));
            }
            if !ran.stderr.to_lowercase().contains("error: ") {
                wrong.push("no error is printed".to_owned());
            }
            if !names(ran, call) {
                wrong.push("the error does not name the file".to_owned());
            }
        }
    }
    if ran.stderr.contains("panicked") {
        wrong.push("it panicked".to_owned());
    }
    if ran.code != Some(0) && !case.resumes {
        wrong.extend(loss(case, scene).err());
    }
    wrong
}

/// Whether what is printed names what the call was on: the file, standard output, threads.
fn names(ran: &Ran, call: &Call) -> bool {
    if call.name == "pthread_create" {
        return ran.stderr.contains("thread");
    }
    let name = call.path.file_name().unwrap_or_default().to_string_lossy();
    if name == "stdout.txt" {
        return ran.stderr.contains("standard output");
    }
    // Journals of SQLite, drafts, and files without a name are of the file or folder that was named.
    let ends = ["-wal", "-shm", "-journal"];
    let name = ends
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    let folder = call
        .path
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    ran.stderr.contains(name) || ran.stderr.contains(&folder)
}

/// Every notebook of the folder opens, is sound, and has no trial that claims to run.
pub fn stores(scene: &Scene) -> Vec<String> {
    let mut files = Vec::new();
    notebooks(&scene.folder(), &mut files);
    files
        .iter()
        .filter_map(|file| store(scene, file).err())
        .collect()
}

fn store(scene: &Scene, file: &Path) -> Result<(), String> {
    let name = file.display();
    let running = "SELECT count(*) AS n FROM trial WHERE state = 'running'";
    let path = file.to_str().expect("our name");
    let opened = ran(&mut scene.pgdyno(&["sql", running, "--json", "--store", path]));
    // What was not even begun is an empty file, or has no tables yet.
    let is_begun = fs::metadata(file).is_ok_and(|file| file.len() > 0);
    if opened.code != Some(0) && is_begun {
        return Err(format!("{name} does not open: {}", opened.stderr));
    }
    if is_begun && !opened.stdout.contains("0") {
        return Err(format!("{name} has a running trial: {}", opened.stdout));
    }
    let check = rusqlite::Connection::open(file).and_then(|notebook| {
        notebook.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
    });
    match check {
        Ok(answer) if answer == "ok" => Ok(()),
        check => Err(format!("{name} is not sound: {check:?}")),
    }
}

fn notebooks(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            notebooks(&path, found);
        } else if path.extension().is_some_and(|end| end == "sqlite") {
            found.push(path);
        }
    }
}

/// Whatever the workload committed is in a notebook or in a file that rescues it.
pub fn loss(case: &Case, scene: &Scene) -> Result<(), String> {
    let rows = scene.committed();
    if rows == 0 || (case.is_kept)(scene) {
        return Ok(());
    }
    let rescued = scene.rescued();
    if rescued.iter().any(|file| document(scene, file).is_ok()) {
        return Ok(());
    }
    let mut files = Vec::new();
    notebooks(&scene.folder(), &mut files);
    if files.iter().any(|file| check_stored(scene, file).is_ok()) {
        return Ok(());
    }
    Err(format!(
        "{rows} transactions are neither in a notebook nor rescued: {rescued:?}"
    ))
}
