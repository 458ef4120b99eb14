//! `run`: its private server is gone, its seconds are there, and a named server's rows tell how many
//! transactions those must have.

use crate::kill::home::{self, Cut, Home, seconds};
use crate::kill::moments::each;
use crate::support::Database;

const RUN: &str = "run tpcb -c 2 -R 100 -T 2 --warmup 500ms";

pub fn on_a_private_server(count: usize) {
    let line = format!("{RUN} {}", home::programs());
    let whole = || {
        Home::new().run(&line).expect(0, &[]);
    };
    each("run, private server", count, whole, |moment| {
        let home = Home::new();
        let cut = home.cut_at(moment, &line, &line);
        home.wait_for_no_process();
        home.notebook_has_all_until(&cut);
        home.run(&line).expect(0, &["kept as trial"]);
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}

pub fn on_a_named_server(count: usize) {
    let line = |database: &Database| format!("{RUN} --url {}", database.url);
    let whole = || {
        Home::new()
            .run(&line(&Database::new("kill_run")))
            .expect(0, &[]);
    };
    each("run, named server", count, whole, |moment| {
        let (home, database) = (
            Home::new(),
            Database::new(&format!("kill_run_{}", moment.number)),
        );
        let line = line(&database);
        let cut = home.cut(&line, moment.at, moment.whole_group);
        no_client(&database);
        home.notebook_has_all_until(&cut);
        if cut.was_killed && home.has_notebook() {
            let kept = home.value("SELECT coalesce(sum(committed), 0) FROM second");
            kept_is_what_the_server_has(kept.parse().unwrap(), &database, &cut);
        }
        if let Some(after) = moment.again {
            home.cut(&line, after, moment.whole_group);
        }
        home.run_when_free(&line).expect(0, &["kept as trial"]);
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}

/// The server has seen that its clients are gone.
pub fn no_client(database: &Database) {
    database.wait_for(
        "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND datname = current_database() AND backend_type = 'client backend')",
    );
}

/// So many transactions were kept: all that the server committed until about two seconds before the
/// kill, and none that it did not commit.
#[track_caller]
pub fn kept_is_what_the_server_has(kept: u64, database: &Database, cut: &Cut) {
    if database.value("SELECT to_regclass('pgbench_history') IS NULL") == "t" {
        return assert_eq!(kept, 0);
    }
    let rows = format!(
        "SELECT count(*) FILTER (WHERE mtime < to_timestamp({})::timestamp), count(*) \
         FROM pgbench_history WHERE mtime >= to_timestamp({})::timestamp",
        seconds(cut.at) - 2.5,
        seconds(cut.began)
    );
    let rows = database.value(&rows);
    let (earlier, all) = rows.split_once('|').unwrap();
    let (earlier, all): (u64, u64) = (earlier.parse().unwrap(), all.parse().unwrap());
    assert!(
        (earlier..=all).contains(&kept),
        "{kept} kept, {earlier} to {all} there"
    );
}

/// The mark by which later starts know a server's directory goes last.
#[test]
fn a_server_whose_removal_is_cut_off_is_removed_by_the_next_start() {
    let line = format!("run tpcb -t 1 {}", home::programs());
    let home = Home::new();
    // The order of files in a directory differs from one to the next.
    for _ in 0..3 {
        home.cut_at_removal(&line);
        home.wait_for_no_process();
    }
    home.run(&line).expect(0, &["kept as trial"]);
    home.is_clean_but_for(&[]);
}
