//! The proxy between stock pgbench and a real server.

use std::net::SocketAddr;
use std::process::Command;

use pgdyno_testkit::{Kind, RecordingProxy, postgres, stock_pgbench};

#[test]
fn what_pgbench_sends_is_recorded_over_tcp_and_unix_alike() {
    let Some(pgbench) = stock_pgbench() else {
        pgdyno_testkit::skip!(
            "what_pgbench_sends_is_recorded_over_tcp_and_unix_alike",
            "no stock pgbench 18"
        );
    };
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = dir.path().join("script.sql");
    std::fs::write(&script, "\\set x random(1, 1000)\nSELECT :x + 1;\n").expect("written");
    let server = postgres().address();
    let to_unix = RecordingProxy::start(server.socket_path());
    let to_tcp = RecordingProxy::start(SocketAddr::from(([127, 0, 0, 1], server.port)));
    let unix = to_tcp.socket_dir().to_str().expect("it is ASCII");

    let streams = [("127.0.0.1", &to_unix), (unix, &to_tcp)].map(|(host, proxy)| {
        let output = Command::new(&pgbench)
            .args(["-n", "-c", "2", "-t", "5", "-M", "prepared"])
            .args(["--random-seed", "7", "-h", host, "-p"])
            .arg(proxy.port().to_string())
            .args(["-U", "postgres", "-f"])
            .arg(&script)
            .arg("postgres")
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable")
            .output()
            .expect("pgbench runs");
        assert!(output.status.success(), "{output:?}");
        let connections = proxy.settle();
        proxy.clear();
        assert_eq!(proxy.connections().len(), 0);
        // The first is pgbench's own, which asks for the version and the like.
        let clients: Vec<Vec<String>> = connections
            .iter()
            .filter(|connection| connection.kind == Kind::Session)
            .map(|connection| connection.described())
            .filter(|described| described[0].starts_with("Parse"))
            .collect();
        assert_eq!(clients.len(), 2, "{connections:?}");
        assert_eq!(connections[0].parameter("user"), Some("postgres"));
        clients
    });
    assert_eq!(streams[0], streams[1], "the same seed, the same statements");
    for client in &streams[0] {
        assert!(client[0].contains("SELECT $1 + 1;"), "{client:?}");
        let binds = client.iter().filter(|text| text.starts_with("Bind"));
        assert_eq!(binds.count(), 5);
        assert_eq!(client.last().map(String::as_str), Some("Terminate"));
    }
}

#[test]
fn a_server_that_is_gone_looks_like_one_that_hangs_up() {
    use std::io::Read;
    let proxy = RecordingProxy::start("/no/such/socket");
    let mut client = std::net::TcpStream::connect(proxy.tcp_address()).expect("it listens");
    let mut answer = Vec::new();
    assert_eq!(client.read_to_end(&mut answer).unwrap_or(0), 0);
    drop(client);
    assert_eq!(proxy.settle()[0].kind, Kind::Silent);
}
