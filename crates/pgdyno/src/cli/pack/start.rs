//! `pgdyno pack new`: a folder that loads and runs at once.

use std::path::Path;

use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::{manifest, shipped};

use super::{as_typed, find, write};

/// The files of a new pack: `NAME` and `TABLE` stand for its names.
const FILES: [(&str, &str); 4] = [
    ("pack.toml", include_str!("start/pack.toml")),
    ("schema.sql", include_str!("start/schema.sql")),
    ("read.sql", include_str!("start/read.sql")),
    ("write.sql", include_str!("start/write.sql")),
];

/// Makes the folder; what to do with it.
pub(super) fn new(dir: &Path, from: Option<&str>, table: Option<&str>) -> Result<String, Failure> {
    let usage = |why: String| Failure::with(Exit::Usage, why);
    let name = dir
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(usage(format!(
            "{}: a workload's name, the last part of its folder, is made of letters, digits, - and _",
            dir.display()
        )));
    }
    if shipped::exists(name) {
        return Err(usage(format!(
            "there is a workload {name} in pgdyno, which its name alone would run: give yours another name"
        )));
    }
    let files: Vec<(String, String)> = match from {
        Some(from) => {
            let pack = find(from)?;
            let line = format!("name = \"{}\"", pack.name());
            let mut files = pack.files;
            if let Some(text) = files.get_mut(manifest::FILE_NAME) {
                *text = text.replacen(&line, &format!("name = \"{name}\""), 1);
            }
            files.into_iter().collect()
        }
        None => {
            let of_name = name.to_lowercase().replace('-', "_");
            let table = table.unwrap_or(&of_name);
            manifest::check_made_name("--table", table).map_err(usage)?;
            let made = |text: &str| text.replace("TABLE_NAME", table).replace("PACK_NAME", name);
            let files = FILES.iter();
            files
                .map(|(name, text)| ((*name).to_owned(), made(text)))
                .collect()
        }
    };
    write(
        dir,
        files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )?;
    let path = as_typed(dir);
    Ok(format!(
        "{name} is in {}\n\n  pgdyno pack check {path}    after each change\n  pgdyno run {path}           \
         loads and runs it on a private server; --url names another\n",
        dir.display()
    ))
}
