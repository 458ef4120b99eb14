//! One seed, one stream of statements: from run to run, and as stock pgbench's.

use std::process::Command;

use pgdyno_drive::Drive;
use pgdyno_spec::QueryMode;
use pgdyno_testkit::{RecordingProxy, skip, stock_pgbench};
use pgdyno_wire::Addr;

use crate::support::*;

const SCRIPTS: [(&str, u64); 3] = [
    (
        "\\set n random(1, 1000000)\n\\set g random_gaussian(1, 1000, 3)\nselect :client_id, :n;\nselect :g, :n;\n",
        3,
    ),
    (
        "\\set z random_zipfian(1, 100, 1.1)\n\\if :z > 3\nselect :z;\n\\else\nselect -1;\n\\endif\n",
        2,
    ),
    ("begin;\nselect :client_id + 100;\nend;\n", 1),
];

fn ours(proxy: &RecordingProxy, mode: QueryMode) -> Vec<Vec<String>> {
    run_well(&Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(proxy.tcp_address()), &[])]],
        clients: 3,
        threads: 3,
        seed: 4711,
        until: transactions(30),
        ..mix(&SCRIPTS, mode)
    });
    proxy.take_sessions()
}

#[test]
fn the_same_seed_sends_the_same_statements_again() {
    let proxy = RecordingProxy::start(socket());
    let first = ours(&proxy, QueryMode::Simple);
    assert_eq!(first.len(), 3);
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert_eq!(first, ours(&proxy, QueryMode::Simple));
}

#[test]
fn the_same_seed_sends_what_stock_pgbench_sends() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "the_same_seed_sends_what_stock_pgbench_sends",
            "no stock pgbench 18"
        );
    };
    let proxy = RecordingProxy::start(socket());
    let dir = std::env::temp_dir().join(format!("pgdyno-same-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for (mode, name) in MODES.into_iter().zip(["simple", "extended", "prepared"]) {
        let mut command = Command::new(&pgbench);
        command.args(["-n", "-c", "3", "-j", "3", "-t", "30", "-M", name]);
        command.args(["--random-seed", "4711", "-U", "postgres", "-h", "127.0.0.1"]);
        command.args(["-p", &proxy.port().to_string()]);
        for (index, (text, weight)) in SCRIPTS.iter().enumerate() {
            let path = dir.join(format!("{index}.sql"));
            std::fs::write(&path, text).unwrap();
            command.args(["-f", &format!("{}@{weight}", path.display())]);
        }
        command.arg("postgres");
        command
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let theirs = proxy.take_sessions();
        let ours = ours(&proxy, mode);
        assert_eq!(theirs.len(), 3);
        for (theirs, ours) in theirs.iter().zip(&ours) {
            let differs = theirs.iter().zip(ours).position(|(a, b)| a != b);
            let at = differs.unwrap_or(0);
            assert_eq!(theirs.get(at), ours.get(at), "{mode:?}: message {at}");
            assert_eq!(theirs.len(), ours.len(), "{mode:?}");
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}
