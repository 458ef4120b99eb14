//! The one that prepares is killed while all fill tables: another goes on where it was.

use pgdyno_platform::child::Signal;

use crate::crew::Crew;
use crate::filled::{
    Held, TPCB, interrupted, is_tpcb, preparing, start, tpcb_by_one, wait_until_loaded,
};

#[test]
fn another_goes_on_with_the_load_of_one_that_was_killed() {
    let by_one = tpcb_by_one("dead_loader_one");
    let crew = Crew::in_file("dead_loader");
    let mut all = start(&crew, TPCB, 3, 3);
    let held = Held::of(&crew);
    held.wait_for(&crew, 3);
    let killed = all[preparing(&crew)].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    held.let_go();
    // Long before it is missed the others have filled the tables.
    crew.target
        .wait_for("SELECT 1 FROM pgbench_accounts HAVING count(*) = 200000");
    let begun = "SELECT count(*) FROM word WHERE what = 'preparing'";
    assert_eq!(crew.value(begun), "1");
    wait_until_loaded(&crew, "pgbench_accounts");
    assert_eq!(crew.value(begun), "2");
    is_tpcb(&crew, &by_one);
    interrupted(all);
}
