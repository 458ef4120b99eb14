//! The packs and scripts of a bundle beside what its trials say of them.

use pgdyno_spec::{Failure, TargetSpec};
use pgdyno_store::Store;
use pgdyno_workload::script_files::split_weight;

use super::checker::Checker;
use super::rows::name;
use crate::bundle::{self, Bundle, What, sha256};
use crate::export::trials_of;

/// Whether they are what was run.
pub fn check(checker: &mut Checker, bundle: &Bundle, store: &Store) -> Result<(), Failure> {
    for one in &bundle.manifest.workloads {
        checker.of(None, &one.path);
        match one.what {
            What::Script => {
                let hash = bundle.parts.get(&one.path).map(|text| sha256(text));
                let hash = hash.unwrap_or_else(|| "not in the bundle".to_owned());
                checker.hash(
                    format!("SHA-256 of script {}", one.name),
                    &one.sha256,
                    &hash,
                );
            }
            What::Pack => match bundle.pack(one) {
                Ok(pack) => {
                    let what = format!("content hash of pack {}", one.name);
                    checker.hash(what, &one.sha256, &pack.content_hash());
                }
                Err(why) => checker.holds(false, format!("pack {}", one.name), why, "a pack"),
            },
        }
    }
    let root = bundle::scratch()?;
    for trial in trials_of(store)? {
        let typed = trial.spec.workload.iter();
        let typed = typed.map(|typed| split_weight(typed).map_or(typed.as_str(), |(file, _)| file));
        let found: Option<Vec<_>> = typed
            .map(|typed| bundle.workload(typed, trial.number))
            .collect();
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            let said = format!("trial {} ", trial.number);
            if !bundle
                .manifest
                .missing
                .iter()
                .any(|one| one.what.contains(&said))
            {
                checker.of(Some(name(&trial)), bundle::MANIFEST);
                checker.holds(
                    false,
                    "what it ran",
                    "not in the bundle",
                    "there, or named as missing",
                );
            }
            continue;
        };
        if let Some(kept) = &trial.pack_sha256 {
            for one in &found {
                checker.of(Some(name(&trial)), &one.path);
                checker.hash(format!("pack {}", one.name), &one.sha256, kept);
            }
        }
        checker.of(Some(name(&trial)), "command");
        // Packs may have other statements for other products.
        let dialect = store.outcome(trial.number)?.facts.dialect;
        if trial.pack_sha256.is_some() && dialect != "postgresql" {
            checker.not(
                &format!("the commands of trial {}", name(&trial)),
                &format!("its pack is made for {dialect} on the server"),
            );
            continue;
        }
        let Ok(workload) = bundle.laid_out(trial.number, &trial.spec, root.path()) else {
            // Said with its hash.
            continue;
        };
        let spec = pgdyno_spec::TrialSpec {
            workload,
            target: TargetSpec::default(),
            ..trial.spec.clone()
        };
        let kept = store.outcome(trial.number)?.recording.scripts;
        match bundle.has_commands(&spec, &kept) {
            Ok(agrees) => checker.value(
                "commands of its scripts",
                "others",
                "those of the files in the bundle",
                agrees,
            ),
            Err(why) => checker.not(&format!("the commands of trial {}", name(&trial)), &why),
        }
    }
    Ok(())
}
