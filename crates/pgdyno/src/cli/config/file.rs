//! `pgdyno.toml`: where it is, and what it may say.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use pgdyno_model::notebook::check_tag;
use pgdyno_platform::user;
use pgdyno_run::experiment::toml_text::Source;
use pgdyno_spec::{
    Exit, Failure, Wish,
    defaults::{Defaults, Said},
    secret::Address,
    suggest::with_meant_field,
};

/// Its name in a project's folder and in the user's.
pub const NAME: &str = "pgdyno.toml";

/// Names another file; empty: none is read.
pub const VARIABLE: &str = "PGDYNO_CONFIG";

/// A longer file is not one of pgdyno's.
const BYTES_MAX: u64 = 64 << 10;

/// What a file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    url: Option<String>,
    store: Option<String>,
    tags: Option<Vec<Spanned<String>>>,
    observe: Option<Spanned<Observe>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "auto, none, or names: [\"host\", \"pg.waits\"]")]
enum Observe {
    Words(String),
    List(Vec<String>),
}

/// The files that count for this process, the one that has the say first.
///
/// That is the file that `PGDYNO_CONFIG` names; without it the project's, then the user's.
///
/// # Errors
/// The file that was named is not there.
pub fn places() -> Result<Vec<PathBuf>, Failure> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        return match named.as_os_str().is_empty() {
            true => Ok(Vec::new()),
            false if named.exists() => Ok(vec![named]),
            false => Err(Failure::with(
                Exit::Usage,
                format!("{VARIABLE}={}: there is no such file", named.display()),
            )
            .hint(format!(
                "unset it, or leave it empty to read none: {VARIABLE}="
            ))),
        };
    }
    let here = env::current_dir().unwrap_or_default();
    let home = env::var_os("HOME").map(PathBuf::from);
    let users = user::config_home().map(|config| config.join("pgdyno").join(NAME));
    let mut found = Vec::from_iter(projects(&here, home.as_deref()));
    found.extend(users.filter(|path| path.is_file() && !found.contains(path)));
    Ok(found)
}

/// The project's: in this folder or the nearest one above it, up to the one that is under version control or
/// the user's home. What belongs to others, as in /tmp, is not obeyed.
fn projects(here: &Path, home: Option<&Path>) -> Option<PathBuf> {
    for folder in here.ancestors() {
        let file = folder.join(NAME);
        if let Ok(its) = fs::metadata(&file)
            && its.is_file()
            && (its.uid() == user::uid() || its.uid() == 0)
        {
            return Some(file);
        }
        if folder.join(".git").exists() || Some(folder) == home {
            break;
        }
    }
    None
}

/// What these files say, the first of them first.
///
/// # Errors
/// One cannot be read, or says what it must not.
pub fn read(places: &[PathBuf]) -> Result<Defaults, Failure> {
    let mut all = Defaults::default();
    for place in places {
        let text = match text_of(place) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => {
                let text = format!("{} cannot be read: {e}", place.display());
                return Err(way_out(Failure::with(Exit::Usage, text)));
            }
        };
        let of = parse(place, &text).map_err(way_out)?;
        all.url = all.url.or(of.url);
        all.store = all.store.or(of.store);
        all.tags = all.tags.or(of.tags);
        all.observe = all.observe.or(of.observe);
    }
    Ok(all)
}

/// The text of a file that is no longer than one that a person wrote.
fn text_of(place: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(place)?;
    file.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        Err(io::Error::other(format!(
            "it is longer than {} KiB",
            BYTES_MAX >> 10
        )))
    } else {
        Ok(text)
    }
}

fn way_out(failure: Failure) -> Failure {
    Failure {
        exit: Exit::Usage,
        ..failure
    }
    .hint(format!(
        "its format: pgdyno config --help; to ignore it: {VARIABLE}= pgdyno …"
    ))
}

fn parse(place: &Path, text: &str) -> Result<Defaults, Failure> {
    let name = place.display().to_string();
    let source = Source { name: &name, text };
    let file: File = toml::from_str(text).map_err(|e| mistake(source, &e))?;
    for tag in file.tags.iter().flatten() {
        check_tag(tag.get_ref()).map_err(|e| {
            source.wrong(tag.span(), &format!("{}: {}", e.message, e.hints.join(" ")))
        })?;
    }
    if let Some(observe) = &file.observe {
        let words = observe.get_ref().words();
        words
            .parse::<Wish>()
            .map_err(|why| source.wrong(observe.span(), &why))?;
    }
    // A path is beside the file, wherever pgdyno is called.
    let folder = place.parent().unwrap_or(Path::new(""));
    let store = file.store.map(
        |store| match pgdyno_store::place::server(Path::new(&store)) {
            Some(_) => PathBuf::from(store),
            None => folder.join(store),
        },
    );
    let by = place.to_owned();
    Ok(Defaults {
        url: file.url.map(|url| said(Address::from(url), &by)),
        store: store.map(|store| said(store, &by)),
        tags: file
            .tags
            .map(|tags| said(tags.into_iter().map(Spanned::into_inner).collect(), &by)),
        observe: file
            .observe
            .map(|observe| said(observe.get_ref().words(), &by)),
    })
}

fn said<T>(value: T, by: &Path) -> Said<T> {
    Said {
        value,
        by: by.to_owned(),
    }
}

impl Observe {
    fn words(&self) -> String {
        match self {
            Observe::Words(words) => words.clone(),
            Observe::List(names) => names.join(","),
        }
    }
}

/// What TOML's reader says, with what may have been meant.
fn mistake(source: Source<'_>, error: &toml::de::Error) -> Failure {
    let what = with_meant_field(error.message());
    source.wrong(error.span().unwrap_or(0..0), &what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse(Path::new("/p/pgdyno.toml"), text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn paths_are_beside_the_file_and_servers_are_not_paths() {
        let store = |text: &str| {
            let read = parse(Path::new("/p/pgdyno.toml"), text).unwrap();
            read.store.unwrap().value
        };
        assert_eq!(store("store = 'a.sqlite'"), Path::new("/p/a.sqlite"));
        assert_eq!(store("store = '/b.sqlite'"), Path::new("/b.sqlite"));
        assert_eq!(
            store("store = 'postgresql://h/n'"),
            Path::new("postgresql://h/n")
        );
    }

    #[test]
    fn a_mistake_has_its_place_and_what_may_have_been_meant() {
        let text = wrong("url = 'x'\nstroe = 'y'");
        assert!(text.contains("pgdyno.toml:2:1"), "{text}");
        assert!(text.contains("did you mean `store`?"), "{text}");
        let text = wrong("tags = ['a b']");
        assert!(
            text.contains("pgdyno.toml:1:9: \"a b\" cannot be a tag"),
            "{text}"
        );
        let text = wrong("observe = ['auto', 'pg']");
        assert!(text.contains("auto and none cannot be combined"), "{text}");
        let text = wrong("observe = 3");
        assert!(
            text.contains("pgdyno.toml:1:11: auto, none, or names"),
            "{text}"
        );
        // What may hold a password is not shown.
        let text = wrong("url = 'postgresql://me:s3cret@h' x");
        assert!(
            text.contains("pgdyno.toml:1:") && !text.contains("s3cret"),
            "{text}"
        );
    }

    #[test]
    fn the_projects_file_is_found_from_below_and_not_beyond_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("project/a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(dir.path().join(NAME), "").unwrap();
        assert_eq!(projects(&deep, None), Some(dir.path().join(NAME)));
        fs::create_dir(dir.path().join("project/.git")).unwrap();
        assert_eq!(projects(&deep, None), None);
        fs::write(dir.path().join("project/a/pgdyno.toml"), "").unwrap();
        assert_eq!(
            projects(&deep, None),
            Some(dir.path().join("project/a/pgdyno.toml"))
        );
        assert_eq!(
            projects(dir.path(), Some(dir.path())),
            Some(dir.path().join(NAME))
        );
    }

    #[test]
    fn a_file_that_is_none_of_pgdynos_is_refused_in_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(NAME);
        for (octets, says) in [
            (vec![b'#'; 65 << 10], "longer than 64 KiB"),
            (b"url = '\xff'".to_vec(), "valid UTF-8"),
        ] {
            fs::write(&file, octets).unwrap();
            let e = super::read(std::slice::from_ref(&file)).unwrap_err();
            assert!(e.to_string().contains(says) && e.exit == Exit::Usage, "{e}");
        }
        assert!(super::read(&[dir.path().to_owned()]).is_err());
    }

    #[test]
    fn the_first_file_has_the_say_value_by_value() {
        let dir = tempfile::tempdir().unwrap();
        let [project, user] = ["p.toml", "u.toml"].map(|name| dir.path().join(name));
        fs::write(&project, "tags = ['mine']").unwrap();
        fs::write(&user, "tags = ['all']\nurl = 'postgresql://h/d'").unwrap();
        let read = read(&[project.clone(), user.clone()]).unwrap();
        assert_eq!(read.tags, Some(said(vec!["mine".to_owned()], &project)));
        assert_eq!(read.url.unwrap().by, user);
    }
}
