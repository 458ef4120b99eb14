//! The packs inside the binary: the folder /workloads as it was when pgdyno was built. They go
//! through the same checks as a user's folder and have no privileges.

use include_dir::{Dir, include_dir};

use super::manifest::{self, ManifestError};
use super::pack::Pack;

static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// The names of all shipped packs, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = WORKLOADS
        .dirs()
        .filter_map(|d| d.path().file_name()?.to_str())
        .collect();
    names.sort_unstable();
    names
}

/// Whether a shipped pack has this name.
pub fn exists(name: &str) -> bool {
    names().contains(&name)
}

/// The shipped pack of this name.
pub fn find(name: &str) -> Result<Pack, ManifestError> {
    let Some(dir) = names()
        .contains(&name)
        .then(|| WORKLOADS.get_dir(name))
        .flatten()
    else {
        return Err(ManifestError {
            file: name.to_owned(),
            message: format!(
                "there is no such pack in pgdyno (there are: {}); name a folder of your own with \
                 its path, such as ./{name}",
                manifest::list(names().into_iter())
            ),
        });
    };
    let files = dir
        .files()
        .filter_map(|f| {
            let name = f.path().file_name()?.to_str()?;
            Some((name.to_owned(), f.contents_utf8()?.to_owned()))
        })
        .collect();
    Pack::new(name.to_owned(), files, find)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_pack_is_sound_and_named_like_its_folder() {
        let names = names();
        for want in [
            "insert",
            "insert-size",
            "nobranch",
            "select-only",
            "simple-update",
            "tpcb",
            "update",
        ] {
            assert!(names.contains(&want), "{want} is not shipped");
        }
        for name in names {
            let pack = find(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(pack.name(), name);
            let values = pack.values_of(None).unwrap();
            assert!(!pack.scripts(None, &values).unwrap().is_empty());
            assert!(
                !pack.manifest.description.is_empty(),
                "{name} needs a description"
            );
        }
    }

    #[test]
    fn a_pack_that_uses_another_has_its_tables_and_parameters() {
        let pack = find("select-only").unwrap();
        assert_eq!(pack.tables_pack().name(), "tpcb");
        assert_eq!(pack.tables().len(), 4);
        assert!(pack.param("scale").is_some());
        assert_ne!(pack.content_hash(), find("tpcb").unwrap().content_hash());
    }

    #[test]
    fn an_unknown_name_lists_the_packs() {
        let e = find("tbcp").unwrap_err().to_string();
        assert!(e.contains("tpcb") && e.contains("./tbcp"), "{e}");
    }
}
