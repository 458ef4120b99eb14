//! Whether what is shown follows from what was counted. Nothing is believed that can be computed: totals from
//! seconds, percentiles from histograms, documents from the notebook, hashes from bytes.
//!
//! It cannot know whether what was counted ever happened: a forger who changes everything alike leaves nothing
//! that does not agree. Against that a signature helps, or the hash of the whole in another place.

mod arithmetic;
mod checker;
mod files;
mod latencies;
mod page;
mod rows;
mod shown;
mod text;
mod workloads;

use std::path::Path;

use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;
use serde::Serialize;

use crate::bundle::{self, Bundle};
use crate::export::trials_of;
use checker::Checker;

pub use text::text;

/// What came of it: what `pgdyno verify --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    pub format: u32,
    pub file: String,
    pub kind: Kind,
    /// Whether all that was checked agrees.
    pub agrees: bool,
    /// The version of the pgdyno that made the bundle or the page, where it says so.
    pub made_by: Option<String>,
    /// The hash of the whole, as it is: of a bundle as its manifest has it, else of the file.
    pub sha256: String,
    /// How many trials there are.
    pub trials: usize,
    pub checked: Checked,
    pub disagreements: Vec<Disagreement>,
    /// What was not looked at.
    pub not_checked: Vec<NotChecked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Bundle,
    Notebook,
    /// `pgdyno report`, `pgdyno compare --html`
    Page,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Figures that were computed again, from histograms, counts and times.
    pub recomputed: u64,
    /// Other values of documents that are as the notebook has them: names, settings, facts, samples.
    pub read_again: u64,
    /// Relations that must hold of any trial: sums, orders, bounds.
    pub relations: u64,
    pub hashes: u64,
}

/// Something that does not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// The trial, by its number there and the beginning of its UUID; `null`: of no single one.
    pub trial: Option<String>,
    /// The file or table that has it.
    pub place: String,
    pub what: String,
    pub shown: String,
    pub recomputed: String,
}

/// Something that was not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotChecked {
    pub what: String,
    pub why: String,
}

/// Checks a bundle, a notebook's file or a report's page.
///
/// # Errors
/// It is none of these, or cannot be read ([`Exit::Usage`]).
pub fn verify(path: &Path) -> Result<Verified, Failure> {
    let mut checker = Checker::default();
    let (kind, made_by, sha256, trials) = match () {
        () if bundle::is_one(path) => of_bundle(&mut checker, path)?,
        () if page::is_one(path) => page::verify(&mut checker, path)?,
        () => of_notebook(&mut checker, path)?,
    };
    checker.not(
        "whether what was counted ever happened",
        "a consistent forgery agrees with itself; against it, keep the SHA-256 where its maker cannot change it, \
         or have the file signed",
    );
    let found = checker.finish();
    Ok(Verified {
        format: 1,
        file: path.display().to_string(),
        kind,
        agrees: found.disagreements.is_empty(),
        made_by,
        sha256,
        trials,
        checked: found.checked,
        disagreements: found.disagreements,
        not_checked: found.not_checked,
    })
}

type Of = (Kind, Option<String>, String, usize);

fn of_bundle(checker: &mut Checker, path: &Path) -> Result<Of, Failure> {
    let bundle = Bundle::read(path)?;
    files::check(checker, &bundle);
    let unpacked = bundle.notebook()?;
    let unreadable = |failure: Failure| {
        Failure {
            exit: Exit::Usage,
            message: format!("{}: its notebook cannot be read", path.display()),
            ..failure.clone()
        }
        .detail(failure.message)
    };
    let store = Store::unjudged(&unpacked.file).map_err(unreadable)?;
    let mut trials = bundle.manifest.trials.len();
    if rows::check(checker, &store).map_err(unreadable)? {
        shown::check(checker, &bundle, &store).map_err(unreadable)?;
        workloads::check(checker, &bundle, &store).map_err(unreadable)?;
        trials = trials_of(&store).map_err(unreadable)?.len();
    }
    for one in &bundle.manifest.missing {
        checker.not(&one.what, &format!("it is not in the bundle: {}", one.why));
    }
    let made_by = bundle.manifest.pgdyno.version.clone();
    Ok((
        Kind::Bundle,
        Some(made_by),
        bundle.manifest.sha256.clone(),
        trials,
    ))
}

fn of_notebook(checker: &mut Checker, path: &Path) -> Result<Of, Failure> {
    let unreadable = |mut failure: Failure| {
        // The file was named here, not with --store.
        failure.hints.retain(|hint| !hint.contains("--store"));
        failure.exit = Exit::Usage;
        failure.hint(
            "pgdyno verify reads bundles (pgdyno export --bundle), notebooks and reports' pages",
        )
    };
    let bytes = std::fs::read(path)
        .map_err(|e| unreadable(Failure::new(format!("cannot read {}: {e}", path.display()))))?;
    let store = Store::unjudged(path).map_err(unreadable)?;
    let trials = if rows::check(checker, &store).map_err(unreadable)? {
        trials_of(&store).map_err(unreadable)?.len()
    } else {
        0
    };
    checker.not(
        "what was shown of its trials",
        "a notebook has none of it: a bundle has",
    );
    checker.not(
        "packs and scripts",
        "a notebook has their hashes and commands, not their files: a bundle has",
    );
    Ok((Kind::Notebook, None, bundle::sha256(&bytes), trials))
}
