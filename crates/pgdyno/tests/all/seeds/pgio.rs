//! pgio's lines. Its scripts are bash's, and run by the name `sh` where the article was written.

use std::path::Path;

use crate::seeds::compare::{compare, peer, said};
use crate::seeds::pgbench::needs_stock;
use crate::seeds::shape::Columns;
use crate::seeds::shell::Shell;
use crate::seeds::table::{self, Beside, Line, Tool};
use crate::support::{Database, Ran};

/// The article's lines, in their order.
fn article(shell: &mut Shell) -> Vec<(&'static Line, Ran)> {
    // `. pgio/pgio.conf` sets it in the article's shell.
    shell.set("CONNECT_STRING", &shell.url());
    table::of(Tool::Pgio)
        .map(|line| (line, shell.run(line)))
        .collect()
}

#[test]
fn seed_1_pgio_is_fetched_changed_set_up_run_and_grown() {
    needs_stock!("seed_1_pgio_is_fetched_changed_set_up_run_and_grown");
    let server = pgdyno_testkit::postgres_with(&[]);
    let database = Database::on(&server, "yugabyte");
    let mut shell = Shell::ours(&server, "yugabyte");
    let ours = article(&mut shell);
    let scripts = ["setup.sh", "runit.sh"].map(|name| shell.read(&format!("pgio/{name}")));
    assert!(
        scripts.iter().all(|script| script.contains("pgio")),
        "{scripts:?}"
    );

    let theirs = peer("PGDYNO_PEER_PGIO").map(|pgio| {
        let server = pgdyno_testkit::postgres_with(&[]);
        Database::on(&server, "yugabyte");
        let mut shell = Shell::theirs(&server, "yugabyte");
        shell.set("PEER", &pgio.display().to_string());
        shell.program("sh", Path::new("/bin/bash"));
        article(&mut shell)
    });
    for (at, (line, ran)) in ours.iter().enumerate() {
        match line.beside {
            Beside::Recorded => {
                assert_eq!(ran.code, Some(0), "{ran:#?}");
                let theirs = theirs.as_ref().map(|all| said(&all[at].1));
                compare(line, &said(ran), theirs.as_deref(), Columns::Free);
            }
            // grep finds nothing.
            Beside::Nothing(_) if line.name.contains("grep") => {
                assert_eq!(ran.code, Some(1), "{ran:#?}")
            }
            _ => assert_eq!(ran.code, Some(0), "{ran:#?}"),
        }
    }
    let rows = |name: &str| {
        ours.iter()
            .find(|(line, _)| line.name == name)
            .map(|(_, ran)| ran.stdout.clone())
    };
    assert!(
        rows("pgio-count").is_some_and(|text| text.contains("\n 16384\n")),
        "{ours:?}"
    );
    assert_eq!(
        database.value("SELECT count(*) FROM pgio1"),
        (6 * 16384).to_string()
    );
}
