//! `run` with the notebook on a server: what waits on this host is sent by `store push`, all of it and
//! once.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::kill::run::{kept_is_what_the_server_has, no_client};
use crate::support::Database;

pub fn with_a_notebook_on_a_server(count: usize) {
    let of = |database: &Database| {
        format!(
            "run tpcb -c 2 -R 100 -T 2 --warmup 500ms --url {}",
            database.url
        )
    };
    let new = |number: &str| {
        let notes = Database::new(&format!("kill_notes{number}"));
        let home = Home::with_store(&notes.url);
        home.run(&format!("store init {}", notes.url))
            .expect(0, &["made a notebook"]);
        (home, notes, Database::new(&format!("kill_team{number}")))
    };
    let (home, _notes, database) = new("");
    let whole = || {
        home.run(&of(&database)).expect(0, &["kept as trial 1"]);
    };
    each("run, notebook on a server", count, whole, |moment| {
        let (home, notes, database) = new(&format!("_{}", moment.number));
        let line = of(&database);
        let cut = home.cut(&line, moment.at, moment.whole_group);
        no_client(&database);
        if let Some(after) = moment.again {
            home.cut("store push", after / 10, moment.whole_group);
        }
        home.run("store push").expect(0, &[]);
        let states = "SELECT coalesce(string_agg(DISTINCT state, ' '), '') FROM trial";
        let states = notes.value(states);
        assert!(["", "aborted", "complete"].contains(&&*states), "{states}");
        let wrong = "SELECT count(*) FROM trial t WHERE committed IS DISTINCT FROM (SELECT \
                     coalesce(sum(committed), 0) FROM second s WHERE s.trial = t.number AND NOT warmup)";
        assert_eq!(
            notes.value(wrong),
            "0",
            "trials whose seconds do not come to their totals"
        );
        if cut.was_killed {
            let kept = notes.value("SELECT coalesce(sum(committed), 0) FROM second");
            kept_is_what_the_server_has(kept.parse().unwrap(), &database, &cut);
        }
        let check = home.run("store check").expect(0, &[]);
        assert!(!check.stdout.contains("waiting"), "{check:?}");
        home.run(&line).expect(0, &["kept as trial"]);
        home.is_clean_but_for(&["data/pgdyno/waiting/"]);
        cut.was_killed
    });
}
