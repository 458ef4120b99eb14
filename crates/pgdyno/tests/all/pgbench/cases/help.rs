//! `--help` lists all of pgbench's options in its words, before those that are pgdyno's own.

use pgdyno_testkit::stock_pgbench;

use super::needs_stock;
use crate::pgbench::programs;
use crate::support::ran;

#[test]
fn help_has_all_of_pgbench_in_its_order() {
    needs_stock!("help_has_all_of_pgbench_in_its_order");
    let stock = stock_pgbench().expect("just asked for");
    let dir = tempfile::tempdir().expect("a temporary directory");
    for option in ["--help", "-?"] {
        let help = |program| {
            let ran = ran(programs::command(program, dir.path()).arg(option));
            ran.expect(0, &[])
        };
        let theirs = help(&stock);
        let ours = help(&programs::under_test());
        assert_eq!(ours.stderr, theirs.stderr);
        let mut rest = ours.stdout.lines();
        for line in theirs.stdout.lines() {
            assert!(
                rest.any(|our| our == line),
                "{option}: not here or not in its place: {line:?}\n{}",
                ours.stdout
            );
        }
    }
}
