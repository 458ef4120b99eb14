//! `slob sweep`: the same command once more goes to its end, with the tables that are there.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::support::Database;

pub fn on_a_named_server(count: usize) {
    // The smallest set is a quarter of it.
    let server = pgdyno_testkit::postgres_with(&["shared_buffers=16MB"]);
    let of = |database: &Database| {
        let url = &database.url;
        format!("slob sweep --max-size 16MB -T 300ms --warmup 100ms --url {url}")
    };
    let whole = || {
        let database = Database::on(&server, "kill_slob");
        Home::new()
            .run(&of(&database))
            .expect(0, &["a logical read"]);
    };
    each("slob sweep", count, whole, |moment| {
        let home = Home::new();
        let line = of(&Database::on(
            &server,
            &format!("kill_slob_{}", moment.number),
        ));
        let cut = home.cut_at(moment, &line, &line);
        home.notebook_has_all_until(&cut);
        home.run_when_free(&line).expect(0, &["a logical read"]);
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}
