//! A pack in memory: its manifest, its files and, when it works on another pack's tables, that
//! pack. It makes no difference from here on whether it was shipped in the binary or is a folder.
//!
//! Not for: where packs come from (`shipped.rs`, `folder.rs`), what the user chose (`params.rs`).

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::manifest::{self, Manifest, ManifestError, Param, Table};
use super::mix::WeightedScript;

/// A workload as a folder of plain files.
#[derive(Debug, Clone)]
pub struct Pack {
    /// What the pack says about itself.
    pub manifest: Manifest,
    /// Every file by its name, `pack.toml` included.
    pub files: BTreeMap<String, String>,
    /// The folder as a user would name it, for messages.
    pub place: String,
    /// The pack named by `uses`, whose tables and parameters are also this one's.
    base: Option<Box<Pack>>,
}

impl Pack {
    /// Checks a pack's files against its manifest. `find_base` finds the pack named by `uses`.
    pub fn new(
        place: String,
        files: BTreeMap<String, String>,
        find_base: impl FnOnce(&str) -> Result<Pack, ManifestError>,
    ) -> Result<Pack, ManifestError> {
        let file = format!("{place}/{}", manifest::FILE_NAME);
        let fail = |message: String| ManifestError {
            file: file.clone(),
            message,
        };
        let text = files
            .get(manifest::FILE_NAME)
            .ok_or_else(|| fail("there is no such file, and every pack has one".to_owned()))?;
        let manifest = manifest::parse(&file, text)?;
        let scripts = manifest.scripts.iter().map(|s| ("script", &s.file));
        let sql = [
            ("schema", &manifest.schema),
            ("after_load", &manifest.after_load),
        ];
        let sql = sql.iter().filter_map(|(k, f)| f.as_ref().map(|f| (*k, f)));
        for (key, name) in scripts.chain(sql) {
            if !files.contains_key(name) {
                return Err(fail(format!(
                    "{key}: there is no file \"{name}\" in the pack (there are: {})",
                    manifest::list(files.keys().map(String::as_str))
                )));
            }
        }
        let base = match &manifest.uses {
            None => None,
            Some(name) => Some(Box::new(find_base(name)?)),
        };
        if let Some(base) = &base
            && let Some(p) = manifest
                .params
                .iter()
                .find(|p| base.param(&p.name).is_some())
        {
            return Err(fail(format!(
                "param \"{}\": {} has a parameter of this name already",
                p.name,
                base.name()
            )));
        }
        Ok(Pack {
            manifest,
            files,
            place,
            base,
        })
    }

    /// The pack's name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The pack that describes the tables: this one, or the one it works on.
    pub fn tables_pack(&self) -> &Pack {
        self.base.as_ref().map_or(self, |b| b.tables_pack())
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

    /// The scripts with their own weights or those of a mix; scripts of weight 0 are left out.
    pub fn scripts(&self, mix: Option<&str>) -> Result<Vec<WeightedScript>, String> {
        let mixes = &self.manifest.mixes;
        let mix = match mix {
            None => None,
            Some(name) => Some(mixes.iter().find(|m| m.name == name).ok_or_else(|| {
                if mixes.is_empty() {
                    format!("pack {} has no mixes", self.name())
                } else {
                    format!(
                        "pack {} has no mix \"{name}\" (there are: {})",
                        self.name(),
                        manifest::list(mixes.iter().map(|m| m.name.as_str()))
                    )
                }
            })?),
        };
        let weight = |s: &manifest::ScriptEntry| match mix {
            None => s.weight,
            Some(mix) => mix.weights.get(&s.name).copied().unwrap_or(0),
        };
        Ok(self
            .manifest
            .scripts
            .iter()
            .filter(|s| weight(s) > 0)
            .map(|s| WeightedScript {
                name: s.name.clone(),
                file: format!("{}/{}", self.place, s.file),
                text: self.files[&s.file].clone(),
                weight: weight(s),
                retries: s.retries.clone(),
            })
            .collect())
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn no_base(name: &str) -> Result<Pack, ManifestError> {
        Err(ManifestError {
            file: name.to_owned(),
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
            let scripts = p.scripts(mix).unwrap();
            scripts
                .into_iter()
                .map(|s| (s.name, s.weight))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), [("a".to_owned(), 1)]);
        assert_eq!(names(Some("m")), [("b".to_owned(), 7)]);
        let e = p.scripts(Some("z")).unwrap_err();
        assert!(e.contains("no mix \"z\" (there are: m)"), "{e}");
    }

    #[test]
    fn a_file_that_the_manifest_names_must_be_there() {
        let e = pack(&[("pack.toml", TWO), ("a.sql", "A")])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "x/pack.toml: script: there is no file \"b.sql\" in the pack (there are: a.sql, pack.toml)"
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
