//! The notebook is away for 20 s in the middle of a trial: nothing is lost.

use std::thread;
use std::time::Duration;

use pgdyno_link::{Direction, Link};

use crate::child::{Running, wait_until};
use crate::generators::crew::{Crew, ends, notes, number};
use crate::support::{Database, sql};

const AWAY: Duration = Duration::from_secs(20);

/// Three measure while it goes away and comes back.
fn nothing_is_lost(crew: &Crew, goes: impl FnOnce(), comes: impl FnOnce()) {
    crew.target.sql("CREATE TABLE done (client int)");
    let script = crew.write("done.sql", "INSERT INTO done VALUES (:client_id);\n");
    let line = format!("run {script} -c 6 -T 28 --generators 3");
    let all: Vec<Running> = (0..3).map(|_| crew.start(&line)).collect();
    wait_until("they measure", || {
        crew.number("SELECT count(*) FROM second")
            .is_some_and(|n| n > 5)
    });
    goes();
    thread::sleep(AWAY);
    comes();
    for ran in all.into_iter().map(Running::ended).collect::<Vec<_>>() {
        ran.expect(0, &["kept as trial 4"]);
    }
    let whole = crew.whole("complete");
    assert_eq!(ends(&whole), ["complete"; 3]);
    let rows = crew.target.value("SELECT count(*) FROM done");
    assert_eq!(number(&whole["measured"]["committed"]).to_string(), rows);
    assert!(whole["seconds"].as_array().unwrap().len() >= 28);
}

#[test]
#[ignore = "takes a minute: make test-long PART=generators"]
fn a_notebook_that_restarts_in_the_middle_has_all() {
    let crew = Crew::on_server("away_restart");
    let admin = |text: &str| sql(&notes().address().url(), text);
    let goes = || {
        admin("ALTER DATABASE away_restart ALLOW_CONNECTIONS false");
        admin(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = 'away_restart'",
        );
    };
    let comes = || admin("ALTER DATABASE away_restart ALLOW_CONNECTIONS true");
    nothing_is_lost(&crew, goes, comes);
}

#[test]
#[ignore = "takes a minute: make test-long PART=generators"]
fn a_notebook_that_does_not_answer_in_the_middle_has_all() {
    let (target, direct) = (
        Database::new("away_hole"),
        Database::on(notes(), "away_hole"),
    );
    let link = Link::to(notes().address().socket_path()).start().unwrap();
    let mut crew = Crew::of(target, direct.url);
    let through = link.url("away_hole");
    // The test itself reads it directly.
    crew.says = Some(through);
    let block = || {
        link.block(Direction::ToServer);
        link.block(Direction::ToClient);
    };
    let unblock = || {
        link.unblock(Direction::ToServer);
        link.unblock(Direction::ToClient);
    };
    nothing_is_lost(&crew, block, unblock);
}
