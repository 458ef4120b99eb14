//! Packs: the files of a folder in one text, each behind a line `--- NAME`. Whatever is in them is
//! refused with a reason or makes scripts, tables and procedures, in bounded time and memory.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::shipped;

/// What a template may make, beside the text that it is in.
const MADE_BYTES_MAX: usize = 9 << 20;

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut files = BTreeMap::new();
    let parts = text.split("--- ").filter(|part| !part.is_empty());
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        files.insert(name.trim().to_owned(), text.to_owned());
    }
    let pack = match Pack::new("mine".to_owned(), files, shipped::find) {
        Ok(pack) => pack,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mixes = pack.manifest.mixes.iter().map(|mix| Some(mix.name.clone()));
    for mix in std::iter::once(None).chain(mixes).take(3) {
        let _ = made(&pack, mix.as_deref());
    }
    assert_eq!(pack.content_hash(), pack.clone().content_hash());
}

fn made(pack: &Pack, mix: Option<&str>) -> Result<(), String> {
    let dialect = "postgresql";
    let params = Params::parse(pack, mix, &[])?.on(pack, dialect);
    let values = params.or_defaults(pack);
    for script in pack.scripts(mix, &values)? {
        assert!(
            script.text.len() < MADE_BYTES_MAX,
            "{} bytes",
            script.text.len()
        );
        let mut names = Names::new();
        // Every parameter's value can be a variable's.
        let _ = Language::Pgdyno.parse(&script.name, &script.text, &mut names);
    }
    pack.session_settings(dialect, &values)?;
    pack.made_procedures(&pack.manifest.procedures, dialect, &values)?;
    let tables = pack.made_tables(&values)?;
    let named = pack.clone().with_tables(&values)?;
    assert!(
        tables
            .iter()
            .map(|t| &t.name)
            .eq(named.tables().iter().map(|t| &t.name))
    );
    pack.needs(mix, &values)?;
    Ok(())
}
