//! YCSB's and go-ycsb's lines: no article types one, but one chooses its workload.

use std::path::{Path, PathBuf};

use pgdyno_server::Server;

use crate::seeds::compare::{compare, peer, said};
use crate::seeds::shape::Columns;
use crate::seeds::shell::Shell;
use crate::seeds::table::{self, Tool};
use crate::support::Database;

/// The table that YCSB's manual tells to make.
const BY_HAND: &str = "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, \
    FIELD1 TEXT, FIELD2 TEXT, FIELD3 TEXT, FIELD4 TEXT, FIELD5 TEXT, FIELD6 TEXT, FIELD7 TEXT, \
    FIELD8 TEXT, FIELD9 TEXT)";

/// A folder with the workload that both tools ship, and the database to run it on.
fn prepared(server: &Server, tool: Tool, mut shell: Shell) -> Shell {
    Database::on(server, "ycsb").sql(BY_HAND);
    let class = match tool {
        Tool::Ycsb => "site.ycsb.workloads.CoreWorkload",
        _ => "core",
    };
    shell.write(
        "workloads/workloada",
        &format!(
            "recordcount=1000\noperationcount=1000\nworkload={class}\n\nreadallfields=true\n\n\
             readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\n\n\
             requestdistribution=zipfian\n"
        ),
    );
    let port = server.address().port;
    let properties = match tool {
        Tool::Ycsb => format!(
            "db.driver=org.postgresql.Driver\ndb.url=jdbc:postgresql://localhost:{port}/ycsb\n\
             db.user=postgres\ndb.passwd=\n"
        ),
        _ => format!(
            "pg.host=localhost\npg.port={port}\npg.user=postgres\npg.db=ycsb\npg.sslmode=disable\n"
        ),
    };
    shell.write("db.properties", &properties);
    shell.set("JDBC", "postgresql.jar");
    shell
}

/// The text with properties in their order, since go-ycsb prints them in any, and without what depends
/// on chance: the unit of a run's time, and the remark on the one key that go-ycsb's zipfian asks for
/// and no load inserts.
fn in_order(text: &str) -> String {
    let without_unit = |line: &'_ str| {
        if line.starts_with("Run finished") {
            line.trim_end_matches(['m', 's']).to_owned()
        } else {
            line.to_owned()
        }
    };
    let lines = text
        .lines()
        .filter(|line| !line.contains(" found no row, "));
    let mut lines: Vec<String> = lines.map(without_unit).collect();
    for properties in lines.chunk_by_mut(|a, b| a.starts_with('"') && b.starts_with('"')) {
        properties.sort_unstable();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The folder of a recording's tool.
const HERE: &str = "YCSB";

/// Runs a tool's lines; `installed` puts the tool itself from its folder into a shell.
fn compare_tools(tool: Tool, peer: Option<PathBuf>, installed: impl Fn(Shell, &Path) -> Shell) {
    let server = pgdyno_testkit::postgres_with(&[]);
    let ours = prepared(&server, tool, Shell::ours(&server, "ycsb"));
    // Dropped after the shell.
    let other = peer.is_some().then(|| pgdyno_testkit::postgres_with(&[]));
    let theirs = peer.as_ref().zip(other.as_ref()).map(|(folder, server)| {
        let shell = prepared(server, tool, Shell::theirs(server, "ycsb"));
        (installed(shell, folder), folder.display().to_string())
    });
    for line in table::of(tool) {
        let ran = ours.run(line).expect(0, &[]);
        let theirs = theirs.as_ref().map(|(shell, folder)| {
            let said = said(&shell.run(line)).replace(folder, HERE);
            in_order(&said)
        });
        compare(
            line,
            &in_order(&said(&ran)),
            theirs.as_deref(),
            Columns::Free,
        );
    }
}

#[test]
fn a_workload_of_ycsbs_is_loaded_and_run() {
    let peer = peer("PGDYNO_PEER_YCSB");
    compare_tools(Tool::Ycsb, peer, |mut shell, ycsb| {
        let program = ycsb.join("bin/ycsb");
        shell.script(
            "ycsb",
            &format!("exec python3 {} \"$@\"", program.display()),
        );
        let driver = ycsb.join("../jdbc/postgresql-42.7.4.jar");
        shell.set("JDBC", &driver.display().to_string());
        shell
    });
}

#[test]
fn a_workload_of_go_ycsbs_is_loaded_and_run() {
    let peer = peer("PGDYNO_PEER_GO_YCSB");
    compare_tools(Tool::GoYcsb, peer, |shell, go| {
        shell.program("go-ycsb", &go.join("bin/go-ycsb"));
        shell
    });
}
