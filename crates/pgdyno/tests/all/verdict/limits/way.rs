//! Between client and server.

use std::thread;
use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link};
use pgdyno_testkit::pool::PoolingProxy;

use super::{Limit, READ};
use crate::verdict::processes::Frozen;
use crate::verdict::stage::{Made, Stage};

pub const LIMITS: &[Limit] = &[
    Limit {
        name: "far server",
        made: "a proxy, 2 ms each way; one row by its key, 2 clients",
        right: &["network"],
        partly: &[],
        make: far_server,
    },
    Limit {
        name: "late answers, chatty transaction",
        made: "a proxy, 3 ms ± 2 on the way back only; five reads in a transaction, 4 clients",
        right: &["network"],
        partly: &[],
        make: late_answers,
    },
    Limit {
        name: "narrow way back",
        made: "a proxy, 5 MB/s; rows of 1 MB, 4 clients",
        right: &["bandwidth"],
        partly: &[],
        make: narrow_way_back,
    },
    Limit {
        name: "narrow way there",
        made: "a proxy, 3 MB/s; statements of 100 kB, 4 clients",
        right: &["bandwidth"],
        partly: &[],
        make: narrow_way_there,
    },
    Limit {
        name: "serial pooler",
        made: "a pooling proxy with one session; one row by its key, 8 clients",
        right: &["pooler"],
        partly: &[],
        make: serial_pooler,
    },
    Limit {
        name: "small pool",
        made: "a pooling proxy with two sessions; statements of 4 ms, 16 clients",
        right: &["pooler"],
        partly: &["other-waits"],
        make: small_pool,
    },
    Limit {
        name: "frozen server",
        made: "all of the server's processes stopped for 3 of 9 s; one row by its key, 4 clients",
        right: &["server-stopped"],
        partly: &[],
        make: frozen_server,
    },
];

fn far_server(stage: &Stage) -> Made {
    let delay = Delay::of(Duration::from_millis(2));
    let link = Link::to(stage.upstream())
        .delay(Direction::ToServer, delay.clone())
        .delay(Direction::ToClient, delay);
    let link = link.start().unwrap();
    Ok(stage
        .trial(READ, &["-c", "2"])
        .through(&link.url("limits"))
        .run())
}

fn late_answers(stage: &Stage) -> Made {
    let ms = Duration::from_millis;
    let delay = Delay::of(ms(3)).with_jitter(ms(2), 7);
    let link = Link::to(stage.upstream()).delay(Direction::ToClient, delay);
    let link = link.start().unwrap();
    let script = format!("BEGIN;\n{}END;\n", READ.repeat(5));
    Ok(stage
        .trial(&script, &["-c", "4"])
        .through(&link.url("limits"))
        .run())
}

fn narrow_way_back(stage: &Stage) -> Made {
    let link = Link::to(stage.upstream()).bandwidth(Direction::ToClient, 5_000_000);
    let link = link.start().unwrap();
    let script = "\\set id random(1, 4)\nSELECT filler FROM wide WHERE id = :id;\n";
    Ok(stage
        .trial(script, &["-c", "4"])
        .through(&link.url("limits"))
        .run())
}

fn narrow_way_there(stage: &Stage) -> Made {
    let link = Link::to(stage.upstream()).bandwidth(Direction::ToServer, 3_000_000);
    let link = link.start().unwrap();
    let script = format!("SELECT length('{}');\n", "x".repeat(100_000));
    Ok(stage
        .trial(&script, &["-c", "4"])
        .through(&link.url("limits"))
        .run())
}

fn serial_pooler(stage: &Stage) -> Made {
    let pool = PoolingProxy::start(stage.upstream(), 1).unwrap();
    Ok(stage
        .trial(READ, &["-c", "8"])
        .through(&pool.url("limits"))
        .run())
}

fn small_pool(stage: &Stage) -> Made {
    let pool = PoolingProxy::start(stage.upstream(), 2).unwrap();
    let script = "SELECT pg_sleep(0.004);\n";
    Ok(stage
        .trial(script, &["-c", "16"])
        .through(&pool.url("limits"))
        .run())
}

fn frozen_server(stage: &Stage) -> Made {
    let trial = stage.trial(READ, &["-c", "4"]).seconds("9");
    Ok(thread::scope(|scope| {
        let server = stage.server.pid();
        scope.spawn(move || {
            thread::sleep(Duration::from_secs(3));
            let _frozen = Frozen::all_of(server);
            thread::sleep(Duration::from_secs(3));
        });
        trial.run()
    }))
}
