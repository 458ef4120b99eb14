//! Encrypted connections.

use std::net::SocketAddr;
use std::sync::Arc;

use pgdyno_drive::Drive;
use pgdyno_server::{Listen, Options, Server};
use pgdyno_wire::tls::{self, TlsConfig, TlsOptions, Verify};
use pgdyno_wire::{Addr, Encryption};

use crate::support::*;

/// A server that speaks TLS, with the certificate to trust.
fn tls_server() -> (Server, String) {
    let server = Server::start(
        &Options {
            bindir: Some(pgdyno_testkit::installation_with_tls().bindir.clone()),
            settings: vec!["fsync=off".parse().unwrap()],
            listen: Listen::Loopback(0),
            cache: Some(pgdyno_testkit::cache()),
            ..Options::default()
        },
        &mut |_| {},
    );
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let pem = pgdyno_testkit::certify(&server, "localhost");
    let mut admin = admin_at(server.address().socket_path(), &[]);
    admin.execute("alter system set ssl = on").unwrap();
    admin.execute("select pg_reload_conf()").unwrap();
    wait_until(&mut admin, "select (current_setting('ssl') = 'on')::int");
    (server, pem)
}

#[test]
fn large_results_and_pipelines_pass_through_tls() {
    let (server, pem) = tls_server();
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port));
    let mut candidate = candidate_at(Addr::Tcp(address), &[]);
    let mut login = (*candidate.login).clone();
    let options = TlsOptions {
        verify: Verify::ChainAndHost,
        roots: tls::roots(pem.as_bytes()).unwrap(),
        ..TlsOptions::new("localhost")
    };
    login.encryption = Encryption::Tls(Arc::new(TlsConfig::new(&options).unwrap()));
    candidate.login = Arc::new(login);
    let large = "select repeat('x', 500000);\nselect repeat('y', 100000) as y \\gset\n";
    let encrypted = "select 1 / ssl::int from pg_stat_ssl where pid = pg_backend_pid();\n";
    let pipeline = format!(
        "\\startpipeline\n{}\\endpipeline\n",
        format!("select repeat('r', 5000), '{}';\n", "s".repeat(2000)).repeat(100)
    );
    for mode in MODES {
        let pipeline = if mode == pgdyno_spec::QueryMode::Simple {
            ""
        } else {
            &pipeline
        };
        let recording = run_well(&Drive {
            endpoints: vec![vec![candidate.clone()]],
            clients: 3,
            threads: 2,
            until: transactions(2),
            ..drive_in(mode, &format!("{large}{encrypted}{pipeline}"))
        });
        assert_eq!(counts(&recording).committed, 6);
    }
    let recording = run_well(&Drive {
        endpoints: vec![vec![candidate]],
        connection_per_transaction: true,
        until: transactions(3),
        ..drive(encrypted)
    });
    assert_eq!(recording.connections.latencies.count(), 3);
}
