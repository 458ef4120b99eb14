//! Connections that are refused: for their number, the role, the password, the database, the certificate.

use std::thread::sleep;
use std::time::Duration;

use super::{CALM, ERRORS, Fault, LOST, NO_FAULT, all_lost, ended};
use crate::child::wait_until;
use crate::faults::scene::Scene;
use crate::faults::server::Setup;

/// So long new connections are refused.
const AWHILE: Duration = Duration::from_millis(1000);

/// All sessions end while this holds, and may come back when the other has been done.
fn refused(scene: &Scene, statement: &str, undo: &str) {
    scene.server.sql_in("postgres", statement);
    scene.terminate(1000);
    sleep(AWHILE);
    scene.server.sql_in("postgres", undo);
}

/// Another certificate, and all sessions end.
fn certified(scene: &Scene, exchange: impl FnOnce()) {
    exchange();
    scene.server.reload();
    scene.terminate(1000);
}

const WITH_TLS: Setup = Setup {
    settings: "",
    tls: true,
    password: false,
};

const WITH_PASSWORD: Setup = Setup {
    settings: "",
    tls: false,
    password: true,
};

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "connection limit",
        how: "`CONNECTION LIMIT 40` for the role for 1 s, all sessions terminated",
        strike: |scene| {
            let limit = |n: i32| format!("ALTER ROLE bench CONNECTION LIMIT {n}");
            refused(scene, &limit(40), &limit(-1));
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "max_connections",
        how: "`max_connections = 60` in a trial of 4 s",
        setup: Setup {
            settings: "max_connections=60\n",
            ..NO_FAULT.setup
        },
        seconds: Some(4),
        clients: 0,
        // `--reconnect` is for connections that were lost: the first ones must succeed. Which words the
        // server has for it depends on how many connections begin at once.
        codes: [3, 3, 1, 1],
        words: &["could not create connection for client", "FATAL: "],
        ..NO_FAULT
    },
    Fault {
        name: "login forbidden",
        how: "`NOLOGIN` for 1 s, all sessions terminated",
        strike: |scene| refused(scene, "ALTER ROLE bench NOLOGIN", "ALTER ROLE bench LOGIN"),
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "password changed",
        how: "another password for 1 s, all sessions terminated",
        setup: WITH_PASSWORD,
        strike: |scene| {
            let password = |word: &str| format!("ALTER ROLE bench PASSWORD '{word}'");
            refused(scene, &password("second"), &password("first"));
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "password changed for good",
        how: "another password in a trial of 4 s, all sessions terminated",
        setup: WITH_PASSWORD,
        seconds: Some(4),
        strike: |scene| {
            let server = &scene.server;
            server.sql("ALTER ROLE bench PASSWORD 'second'");
            scene.terminate(1000);
        },
        codes: [3, 3, 2, 0],
        ..NO_FAULT
    },
    Fault {
        name: "role dropped",
        how: "`DROP OWNED`, `DROP ROLE` while it works",
        strike: |scene| {
            scene.server.sql("DROP OWNED BY bench");
            scene.server.sql("DROP ROLE bench");
        },
        codes: ERRORS,
        words: &["permission denied for table done"],
        shows: ended,
        ..NO_FAULT
    },
    Fault {
        name: "database renamed",
        how: "`ALTER DATABASE … RENAME`, its name again after 1 s",
        strike: |scene| {
            let run = |statement: &str| scene.server.sql_in("postgres", statement);
            run("ALTER DATABASE faults ALLOW_CONNECTIONS false");
            wait_until("an empty database", || {
                scene.terminate(1000);
                let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'faults'";
                run(query) == "0"
            });
            run("ALTER DATABASE faults RENAME TO moved");
            sleep(AWHILE);
            run("ALTER DATABASE moved RENAME TO faults");
            run("ALTER DATABASE faults ALLOW_CONNECTIONS true");
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "certificate renewed",
        how: "verify-full; another certificate of the same authority, all sessions terminated",
        setup: WITH_TLS,
        strike: |scene| certified(scene, || scene.server.renew_certificate()),
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "certificate replaced",
        how: "verify-full; a certificate of another authority for 1 s, all sessions terminated",
        setup: WITH_TLS,
        strike: |scene| {
            certified(scene, || scene.server.use_certificate(1));
            sleep(AWHILE);
            scene.server.use_certificate(0);
            scene.server.reload();
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "encrypted",
        how: "verify-full; nothing else: what the two above differ from",
        setup: WITH_TLS,
        codes: CALM,
        shows: super::unharmed,
        ..NO_FAULT
    },
];
