//! `lab retries`: the same command once more compares all forms, with procedures that the one that was
//! killed had made.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::support::Database;

pub fn on_a_named_server(count: usize) {
    let of = |database: &Database| {
        let url = &database.url;
        format!("lab retries -c 2 -T 400ms --repeat 1 --forms procedure,statements,cte --url {url}")
    };
    let whole = || {
        Home::new()
            .run(&of(&Database::new("kill_lab")))
            .expect(0, &["2 clients, read committed"]);
    };
    each("lab", count, whole, |moment| {
        let home = Home::new();
        let line = of(&Database::new(&format!("kill_lab_{}", moment.number)));
        let cut = home.cut_at(moment, &line, &line);
        home.notebook_has_all_until(&cut);
        home.run_when_free(&line)
            .expect(0, &["2 clients, read committed"]);
        let newest = "SELECT count(*) FROM trial WHERE state = 'complete' \
                      AND experiment = (SELECT max(number) FROM experiment)";
        assert_eq!(home.value(newest), "3");
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}
