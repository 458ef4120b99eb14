//! `pgdyno.toml` and `pgdyno config`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};

/// pgdyno in a folder, whose configuration files count.
fn within(folder: &Path, args: &[&str]) -> Command {
    let mut command = pgdyno(args);
    command
        .env_remove("PGDYNO_CONFIG")
        .env_remove("PGDYNO_STORE");
    command.env("XDG_CONFIG_HOME", folder.join("home/.config"));
    command
        .env("HOME", folder.join("home"))
        .current_dir(folder.join("project/sub"));
    command
}

fn settings(ran: &Ran) -> Vec<[String; 3]> {
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let row = |it: &Value| [text(&it["name"]), text(&it["value"]), text(&it["from"])];
    all.as_array().expect("a list").iter().map(row).collect()
}

#[test]
fn what_the_project_and_the_user_say_is_in_effect_unless_something_nearer_says_otherwise() {
    let db = Database::new("configured");
    let folder = tempfile::tempdir().unwrap();
    let [project, users] = ["project/pgdyno.toml", "home/.config/pgdyno/pgdyno.toml"]
        .map(|name| folder.path().join(name));
    fs::create_dir_all(folder.path().join("project/sub")).unwrap();
    fs::create_dir_all(users.parent().unwrap()).unwrap();
    let text = format!(
        "url = \"{}\"\nstore = \"notes.sqlite\"\ntags = [\"mine\"]\n",
        db.url
    );
    fs::write(&project, text).unwrap();
    fs::write(&users, "tags = [\"all\"]\nobserve = \"none\"\n").unwrap();

    let shown =
        ran(within(folder.path(), &["config", "--json"]).env_remove("PGHOST")).expect(0, &[]);
    let [url, store, tags, observe] = settings(&shown).try_into().expect("four");
    assert!(url[1].contains("/configured"), "{url:?}");
    assert!(store[1].ends_with("project/notes.sqlite"), "{store:?}");
    assert_eq!(tags[1], "mine");
    assert_eq!(observe[1], "none");
    for (setting, by) in [
        (url, &project),
        (store, &project),
        (tags, &project),
        (observe, &users),
    ] {
        assert_eq!(
            Path::new(&setting[2]).canonicalize().unwrap(),
            by.canonicalize().unwrap()
        );
    }

    // A trial is on that server, in that notebook, with those tags and its own, and observes nothing.
    fs::write(folder.path().join("project/sub/one.sql"), "SELECT 1;\n").unwrap();
    let run = ["run", "one.sql", "-t", "3", "--tag", "other", "--json"];
    let trial = ran(&mut within(folder.path(), &run)).expect(0, &[]);
    let trial: Value = serde_json::from_str(&trial.stdout).unwrap();
    assert_eq!(trial["target"]["kind"], "named", "{trial:#}");
    let rows = ["sql", "--csv", "SELECT tag FROM tag ORDER BY tag"];
    let rows = ran(&mut within(folder.path(), &rows)).expect(0, &[]);
    assert_eq!(rows.stdout, "tag\nmine\nother\n");
    assert!(folder.path().join("project/notes.sqlite").exists());
    let series = ["sql", "--csv", "SELECT count(*) AS n FROM series"];
    assert_eq!(
        ran(&mut within(folder.path(), &series))
            .expect(0, &[])
            .stdout,
        "n\n0\n"
    );

    // The environment and the command line go before it.
    let mut by_environment = within(folder.path(), &["config", "--json"]);
    by_environment
        .env("PGHOST", "db9")
        .env("PGDYNO_STORE", "/tmp/other.sqlite");
    let [url, store, _, _]: [_; 4] = settings(&ran(&mut by_environment).expect(0, &[]))
        .try_into()
        .expect("four");
    assert_eq!(
        (url[2].as_str(), store[2].as_str()),
        ("$PGHOST", "$PGDYNO_STORE")
    );
    let named = [
        "run",
        "one.sql",
        "-t",
        "1",
        "--url",
        "host=/nowhere",
        "--no-store",
    ];
    ran(&mut within(folder.path(), &named)).expect(3, &["/nowhere"]);
}

#[test]
fn a_mistake_stops_what_it_would_change_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("project/sub")).unwrap();
    fs::write(folder.path().join("project/pgdyno.toml"), "stroe = \"x\"\n").unwrap();
    for args in [&["ls"][..], &["config"], &["run", "tpcb"]] {
        let texts = [
            "pgdyno.toml:1:1",
            "did you mean `store`?",
            "PGDYNO_CONFIG= pgdyno …",
        ];
        ran(&mut within(folder.path(), args)).expect(2, &texts);
    }
    for args in [
        &["help"][..],
        &["--version"],
        &["completions", "bash"],
        &["pgbench", "--version"],
    ] {
        ran(&mut within(folder.path(), args)).expect(0, &[]);
    }
    let mut named = within(folder.path(), &["ls"]);
    ran(named.env("PGDYNO_CONFIG", "/nowhere.toml"))
        .expect(2, &["/nowhere.toml: there is no such file"]);
    let mut none = within(folder.path(), &["config"]);
    ran(none.env("PGDYNO_CONFIG", "")).expect(0, &["no pgdyno.toml was found", "a private server"]);
}
