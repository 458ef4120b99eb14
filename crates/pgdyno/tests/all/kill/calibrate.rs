//! `calibrate`: the same command once more goes to its end.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::support::Database;

pub fn on_a_named_server(count: usize) {
    let of = |database: &Database| {
        let url = &database.url;
        format!(
            "calibrate {url} -T 500ms --only-baseline --param recordcount=1000 --name here \
             --expect read=1h,update=1h,round-trip=1h,commit=1h"
        )
    };
    let whole = || {
        let database = Database::new("kill_calibrate");
        Home::new().run(&of(&database)).expect(0, &["baseline met"]);
    };
    each("calibrate", count, whole, |moment| {
        let home = Home::new();
        let line = of(&Database::new(&format!("kill_calibrate_{}", moment.number)));
        let cut = home.cut_at(moment, &line, &line);
        home.notebook_has_all_until(&cut);
        home.run_when_free(&line).expect(0, &["baseline met"]);
        home.run("show --experiment here")
            .expect(0, &["baseline met"]);
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}
