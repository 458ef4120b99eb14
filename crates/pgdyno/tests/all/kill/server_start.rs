//! `server start`: whether or not the server came up, the next start has one that runs, and it can be
//! stopped and removed.

use crate::kill::home::{self, Home};
use crate::kill::moments::each;

pub fn of_the_kept_server(count: usize) {
    let start = format!("server start {}", home::programs());
    let whole = || {
        Home::new().run(&start).expect(0, &["postgresql://"]);
    };
    each("server start", count, whole, |moment| {
        let home = Home::new();
        let cut = home.cut_at(moment, &start, &start);
        home.run(&start).expect(0, &["postgresql://"]);
        home.run("server status").expect(0, &["running"]);
        home.run("server stop --discard")
            .expect(0, &["is stopped", "removed"]);
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}
