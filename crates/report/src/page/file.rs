//! The file: the page as it was built, with a document in it.
//!
//! The document is JSON within a `<script type="application/json">`. No character of it can end that
//! element or begin another: each `<`, `>` and `&` is written as JSON's escape, so that hostile text
//! in a name, a statement or an error stays text.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use pgdyno_platform::file_system;
use pgdyno_spec::{Exit, Failure};

/// Built from web/, committed, and compared with a fresh build by the tests.
const PAGE: &str = include_str!("../../../../web/dist/report.html");
/// Where the document goes: the only one in the page.
const EMPTY: &str = "<script type=\"application/json\" id=\"data\">null</script>";
/// By this a file is known to be a report.
pub const BEGIN: &str = "<script type=\"application/json\" id=\"data\">";
pub const END: &str = "</script>";
/// A report's mark is looked for in so many bytes: reports are smaller than that.
const LOOK_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    /// Whether a file that is no report may be replaced.
    pub force: bool,
}

/// Writes the page with this document: whole, or not at all.
///
/// # Errors
/// The file cannot be written, or is something other than a report.
pub fn write(place: &Place, document: &impl Serialize) -> Result<(), Failure> {
    let page =
        page(document).map_err(|e| Failure::new(format!("a report that has no JSON: {e}")))?;
    let path = place.path.as_path();
    if !place.force {
        check(path)?;
    }
    let failed = |e: io::Error| {
        Failure::new(format!("cannot write {}: {e}", path.display())).with_missing_folder(path)
    };
    if path.file_name().is_none() || path.is_dir() {
        return Err(Failure::with(
            Exit::Usage,
            format!("{} is a directory, not a file", path.display()),
        )
        .hint("name a file: -o report.html"));
    }
    file_system::replace(path, page.as_bytes()).map_err(failed)
}

/// What lies there may only be a report: nothing that pgdyno did not make is lost.
fn check(path: &Path) -> Result<(), Failure> {
    let Ok(file) = std::fs::File::open(path) else {
        return Ok(());
    };
    let mut text = Vec::new();
    let read = io::Read::read_to_end(&mut io::Read::take(file, LOOK_BYTES), &mut text);
    let is_report = read.is_ok() && find(&text, BEGIN.as_bytes()).is_some();
    if is_report || text.is_empty() && !path.is_dir() {
        return Ok(());
    }
    if path.is_dir() {
        return Ok(());
    }
    Err(Failure::with(
        Exit::Usage,
        format!("{} exists already and is not a report", path.display()),
    )
    .hint("name another file with -o, or replace it with --force"))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// The page as a server gives it, and the policy for its header: other than a file it may ask this server,
/// and no other page may frame it.
///
/// # Errors
/// The document has no JSON.
pub fn served(document: &impl Serialize) -> serde_json::Result<(String, String)> {
    const META: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let page = page(document)?;
    let begin = page.find(META).map_or(0, |at| at + META.len());
    let policy = page[begin..].split('"').next().unwrap_or_default();
    let own = policy
        .replace(
            "default-src 'none'",
            "default-src 'none'; connect-src 'self'",
        )
        .replace("form-action 'none'", "form-action 'self'");
    let page = page.replacen(policy, &own, 1);
    Ok((page, own + "; frame-ancestors 'none'"))
}

/// The page with this document in it, which is written once: a long trial's has many megabytes.
fn page(document: &impl Serialize) -> serde_json::Result<String> {
    let (before, after) = PAGE.split_once(EMPTY).unwrap_or((PAGE, ""));
    let mut page = [before, BEGIN].concat().into_bytes();
    document.serialize(&mut Serializer::with_formatter(&mut page, InScript))?;
    page.extend([END, after].concat().into_bytes());
    String::from_utf8(page).map_err(serde::ser::Error::custom)
}

/// JSON that no HTML parser sees anything in. Outside of strings JSON has none of these characters.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let mut from = rest[at..].chars();
            if let Some(char) = from.next() {
                write!(writer, "\\u{:04x}", u32::from(char))?;
            }
            rest = from.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_page_takes_exactly_one_document() {
        assert_eq!(PAGE.matches(EMPTY).count(), 1);
        assert_eq!(PAGE.matches(BEGIN).count(), 1);
    }

    #[test]
    fn a_server_s_page_may_ask_its_server_alone() {
        let (page, policy) = served(&json!({ "title": "a" })).unwrap();
        assert!(policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"));
        assert!(
            policy.ends_with("form-action 'self'; frame-ancestors 'none'"),
            "{policy}"
        );
        let meta = policy.trim_end_matches("; frame-ancestors 'none'");
        assert!(page.contains(&format!("content=\"{meta}\"")), "{policy}");
        assert!(page.contains(&format!("{BEGIN}{{\"title\":\"a\"}}{END}")));
    }

    #[test]
    fn hostile_text_stays_text_and_comes_back_as_it_was() {
        let hostile =
            "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> &lt; \u{2028}";
        let document = json!({ "title": hostile });
        let page = page(&document).unwrap();
        assert_eq!(page.matches("alert(1)").count(), 2);
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"));
        let data = page.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
        assert!(!data.contains('<') && !data.contains('&'));
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), document);
    }

    #[test]
    fn only_a_report_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.html");
        let place = |force| Place {
            path: path.clone(),
            force,
        };
        write(&place(false), &json!({})).unwrap();
        write(&place(false), &json!({ "again": 1 })).unwrap();
        std::fs::write(&path, "my notes").unwrap();
        let failure = write(&place(false), &json!({})).unwrap_err();
        assert!(
            failure.message.contains("is not a report"),
            "{}",
            failure.message
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes");
        write(&place(true), &json!({})).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let place = |path: PathBuf| Place { path, force: false };
        let failure = write(&place(dir.path().to_owned()), &json!({})).unwrap_err();
        assert!(
            failure.message.contains("is a directory"),
            "{}",
            failure.message
        );
        let failure = write(&place(dir.path().join("no/r.html")), &json!({})).unwrap_err();
        assert!(failure.message.contains("no/r.html"), "{}", failure.message);
    }
}
