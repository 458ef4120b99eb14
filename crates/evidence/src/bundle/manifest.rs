//! What a bundle says of itself: `manifest.json`.

use std::path::Path;

use pgdyno_spec::{Exit, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Parts, no_bundle, sha256};

pub const FORMAT: &str = "pgdyno-bundle";
/// The form's version: grows when a reader of an earlier one would be misled.
pub const VERSION: u64 = 1;
/// The manifest's own hash while it is computed.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub version: u64,
    /// Of the whole: SHA-256 of this file's text with 64 zeros in this place.
    pub sha256: String,
    pub pgdyno: Maker,
    /// The trials, in the order of their numbers here.
    pub trials: Vec<BundledTrial>,
    /// The experiments that they belong to.
    pub experiments: Vec<BundledExperiment>,
    pub workloads: Vec<Bundled>,
    pub shown: Vec<Shown>,
    /// What is not here, and why.
    pub missing: Vec<Missing>,
    /// All other files of the bundle, by name.
    pub parts: Vec<Part>,
}

/// The pgdyno that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    pub version: String,
    /// Of which commit it was built; `null` where it was built from a checkout.
    pub commit: Option<String>,
}

/// A trial of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledTrial {
    /// Its number in the bundle's notebook.
    pub number: i64,
    /// The same in every notebook.
    pub uuid: String,
    /// Its number in the notebook that it comes from.
    pub was: i64,
}

/// An experiment of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledExperiment {
    /// The same in every notebook.
    pub uuid: String,
    pub name: String,
    /// Its file, with which `pgdyno sweep` runs it; `null` where none is known.
    pub path: Option<String>,
}

/// A pack or a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundled {
    /// As the trial names it: a pack, its folder, or a script's file without its weight.
    pub typed: String,
    pub what: What,
    /// The pack's name; of a script that of its file.
    pub name: String,
    /// Of a pack its content hash, as in `pack_sha256` of the trial; of a script that of its file.
    pub sha256: String,
    /// The pack's folder, or the script's file.
    pub path: String,
    /// The folder of the pack whose tables it uses, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<String>,
    pub trials: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A folder with a manifest.
    Pack,
    Script,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub path: String,
    /// The command that prints it.
    pub command: String,
    /// The trials that it is of, or the experiment's UUID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<i64>,
    /// The experiment that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Of a comparison: the trials of B, beside which `trials` are those of A.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<i64>,
}

/// Something that a reader would look for in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub what: String,
    pub why: String,
}

/// A file of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Manifest {
    /// The same with the hashes of these parts, and of the whole.
    pub fn sealed(mut self, parts: &Parts) -> Self {
        let parts = parts.iter().map(|(path, bytes)| Part {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: sha256(bytes),
        });
        self.parts = parts.collect();
        NO_HASH.clone_into(&mut self.sha256);
        self.sha256 = sha256(self.text().as_bytes());
        self
    }

    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.map_or_else(|_| String::new(), |text| text + "\n")
    }

    /// The hash of the whole as it follows from this text of it.
    pub fn whole_of(&self, text: &str) -> String {
        sha256(text.replacen(&self.sha256, NO_HASH, 1).as_bytes())
    }
}

/// Refuses what is no manifest, and those of a newer form.
pub fn check_version(text: &str, path: &Path) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(text)
        .map_err(|e| no_bundle(path, &format!("its manifest.json is no JSON ({e})")))?;
    if value["format"] != FORMAT {
        return Err(no_bundle(path, "its manifest.json is of something else"));
    }
    match value["version"].as_u64() {
        Some(1..=VERSION) => Ok(()),
        found => {
            let found = found.map_or("unknown".to_owned(), |found| found.to_string());
            let text = format!("{}: this bundle is of version {found}", path.display());
            let by = value["pgdyno"]["version"]
                .as_str()
                .unwrap_or("a newer pgdyno");
            Err(Failure::with(Exit::Usage, text)
                .detail(format!(
                    "this pgdyno reads versions up to {VERSION}; the bundle was made by {by}"
                ))
                .hint("use the pgdyno that made it, or a newer one"))
        }
    }
}
