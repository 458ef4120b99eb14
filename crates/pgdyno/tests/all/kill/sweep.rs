//! `sweep`: `--resume` measures each point once, beside those that were cut; settings are as they were.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::support::Database;

const TRIALS: &str =
    "duration = '400ms'\nreset.settle = 0\n[matrix]\nworkload = ['tpcb']\nclients = [1, 2]\n";

fn in_auto_conf(database: &Database) -> String {
    database.value(
        "SELECT coalesce(string_agg(name || '=' || setting, ' ' ORDER BY name), '') \
         FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'",
    )
}

pub fn on_a_named_server(count: usize) {
    let server = pgdyno_testkit::postgres_with(&[]);
    let admin = Database::on(&server, "kill_sweep_admin");
    admin.sql("ALTER SYSTEM SET bgwriter_delay = '250ms'");
    admin.sql("SELECT pg_reload_conf()");
    let before = in_auto_conf(&admin);
    let toml = format!("{TRIALS}settings.bgwriter_delay = ['111ms', '333ms']\n");
    let of = |database: &Database| format!("sweep e.toml --url {}", database.url);
    let whole = || {
        let home = Home::new();
        home.write("e.toml", &toml);
        let database = Database::on(&server, "kill_sweep");
        home.run(&of(&database))
            .expect(0, &["4 of 4 trials complete"]);
    };
    each("sweep, named server", count, whole, |moment| {
        let home = Home::new();
        home.write("e.toml", &toml);
        let database = Database::on(&server, &format!("kill_sweep_{}", moment.number));
        let line = of(&database);
        let resume = format!("{line} --resume");
        let cut = home.cut_at(moment, &line, &resume);
        home.notebook_has_all_until(&cut);
        if moment.heads {
            home.run("restore").expect(0, &[]);
            assert_eq!(in_auto_conf(&admin), before, "after pgdyno restore");
        }
        goes_on(&home, &resume, moment.again.is_some());
        assert_eq!(in_auto_conf(&admin), before, "after --resume");
        assert_eq!(admin.value("SHOW bgwriter_delay"), "250ms", "in effect");
        home.run("restore").expect(0, &["nothing to restore"]);
        home.is_clean_but_for(&["e.toml"]);
        cut.was_killed
    });
}

pub fn on_a_private_server(count: usize) {
    let toml = format!("{TRIALS}settings.shared_buffers = ['16MB', '32MB']\n");
    let line = format!("sweep e.toml {}", crate::kill::home::programs());
    let new = || {
        let home = Home::new();
        home.write("e.toml", &toml);
        home
    };
    let whole = || {
        new().run(&line).expect(0, &["4 of 4 trials complete"]);
    };
    each("sweep, private server", count, whole, |moment| {
        let home = new();
        let resume = format!("{line} --resume");
        let cut = home.cut_at(moment, &line, &resume);
        home.wait_for_no_process();
        home.notebook_has_all_until(&cut);
        goes_on(&home, &resume, moment.again.is_some());
        // With nothing left to measure that started no server, and only such a start cleans.
        let run = format!("run select-only -t 1 {}", crate::kill::home::programs());
        home.run(&run).expect(0, &[]);
        home.is_clean_but_for(&["e.toml"]);
        cut.was_killed
    });
}

/// `--resume` ends the experiment: each point once, beside one trial a kill that was cut.
#[track_caller]
fn goes_on(home: &Home, resume: &str, was_killed_twice: bool) {
    home.run_when_free(resume)
        .expect(0, &["4 of 4 trials complete"]);
    let points =
        "SELECT count(*) || ' ' || count(DISTINCT point) FROM trial WHERE state = 'complete'";
    assert_eq!(home.value(points), "4 4", "each once");
    assert_eq!(home.value("SELECT count(*) FROM experiment"), "1");
    let cut = home.value("SELECT count(*) FROM trial WHERE state <> 'complete'");
    assert!(
        cut.parse::<usize>().unwrap() <= 1 + usize::from(was_killed_twice),
        "{cut} cut"
    );
}
