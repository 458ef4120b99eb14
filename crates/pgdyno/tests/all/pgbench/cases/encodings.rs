//! Scripts that are not UTF-8: octets reach the server, the shell and the reader as they are.

use std::path::Path;

use pgdyno_testkit::{postgres, stock_pgbench};

use super::needs_stock;
use crate::pgbench::mask::{self, Mask};
use crate::pgbench::{diff, programs};
use crate::support::Database;

const FILES: [(&str, &[u8]); 10] = [
    (
        "text.sql",
        b"SELECT 'caf\xe9' AS x;\nSELECT '\xff\xfe', :client_id;\n",
    ),
    (
        "variable.sql",
        b"\\set \xe4 5\nSELECT :\xe4;\nSELECT ':nosuch\xe9';\n",
    ),
    ("store.sql", b"SELECT 7 AS \"\xe9\" \\gset\nSELECT :\xe9;\n"),
    (
        "shell.sql",
        b"\\shell printf '\xe9' >&2\n\\setshell v echo 3 \xe9\nSELECT 1;\n",
    ),
    ("function.sql", b"\\set x 1 + \xe9(3)\n"),
    ("syntax.sql", b"\\set x 1 + \xe9\xe9 + )\n"),
    ("word.sql", b"\\sleep 1 \xff\xfe\n"),
    ("command.sql", b"\\nosuch\xff a b\n"),
    ("undefined.sql", b"\\set x :\xe9\nSELECT 1;\n"),
    (
        "characters.sql",
        "SELECT 'größe \u{10ff85} \u{10ffff}';\n".as_bytes(),
    ),
];

/// What a program prints, each octet a character, so that no two are taken for one.
fn printed(program: &Path, database: &str, encoding: &str, mode: &str, file: &str) -> String {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // Longer than what a report shows of a statement.
    let long = [b"SELECT '".as_slice(), &[0xe9; 130], b"';\n"].concat();
    std::fs::write(dir.path().join("long.sql"), long).expect("a new directory");
    for (name, octets) in FILES {
        std::fs::write(dir.path().join(name), octets).expect("a new directory");
    }
    let mut command = programs::command(program, dir.path());
    let output = programs::at(&mut command, postgres(), database)
        .env("PGCLIENTENCODING", encoding)
        .args(["-n", "-r", "-t", "2", "-M", mode, "-f", file])
        .output()
        .expect("it runs");
    let text = |octets: &[u8]| {
        let characters: String = octets.iter().copied().map(char::from).collect();
        mask::text(&characters, Mask::default())
    };
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    format!("{:?}\n{stdout}{stderr}", output.status.code())
}

#[test]
fn octets_of_a_script_go_out_as_they_are() {
    needs_stock!("octets_of_a_script_go_out_as_they_are");
    let (stock, ours) = (
        stock_pgbench().expect("just asked for"),
        programs::under_test(),
    );
    let database = "encodings";
    Database::new(database);
    for (encoding, mode) in [
        ("LATIN1", "simple"),
        ("LATIN1", "extended"),
        ("LATIN1", "prepared"),
        // The server says which octet it does not understand.
        ("UTF8", "simple"),
    ] {
        for file in FILES.map(|(name, _)| name).into_iter().chain(["long.sql"]) {
            let theirs = printed(&stock, database, encoding, mode, file);
            let ours = printed(&ours, database, encoding, mode, file);
            let lines = diff::lines(&theirs, &ours);
            assert!(
                lines.is_empty(),
                "{encoding} {mode} {file}\n{}",
                lines.join("\n")
            );
        }
    }
}
