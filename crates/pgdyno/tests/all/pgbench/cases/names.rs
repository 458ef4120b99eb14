//! The ways to call the program: by a path, by a link to it, as a verb of pgdyno.

use std::os::unix::process::CommandExt;
use std::process::Command;

use pgdyno_testkit::stock_pgbench;

use super::needs_stock;
use crate::pgbench::programs::{command, under_test};
use crate::support::{pgdyno, ran};

const LINES: [&[&str]; 6] = [
    &["-V"],
    &["-b", "list"],
    &["-c", "x"],
    &["-z"],
    &["--nosuch"],
    &["a", "b", "c"],
];

/// Both say the same when called like this.
fn compare(mut theirs: Command, mut ours: Command) {
    let (theirs, ours) = (ran(&mut theirs), ran(&mut ours));
    assert_eq!(ours.stderr, theirs.stderr);
    assert_eq!(ours.stdout, theirs.stdout);
    assert_eq!(ours.code, theirs.code);
}

#[test]
fn a_path_is_part_of_what_getopt_says() {
    needs_stock!("a_path_is_part_of_what_getopt_says");
    let stock = stock_pgbench().expect("just asked for");
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in ["/some/where/pgbench", "./pgbench", "../a b/pgbench"] {
        for line in LINES {
            let [theirs, ours] = [&stock, &under_test()].map(|program| {
                let mut command = command(program, dir.path());
                command.arg0(name).args(line);
                command
            });
            compare(theirs, ours);
        }
    }
}

#[test]
fn the_verb_says_what_pgbench_says() {
    needs_stock!("the_verb_says_what_pgbench_says");
    let stock = stock_pgbench().expect("just asked for");
    let dir = tempfile::tempdir().expect("a temporary directory");
    for line in LINES {
        let mut theirs = command(&stock, dir.path());
        theirs.args(line);
        let mut ours = pgdyno(&["pgbench"]);
        ours.args(line).env("LC_ALL", "C");
        compare(theirs, ours);
    }
}

#[test]
fn a_link_is_enough() {
    // No word of ours: the system hands over the path of the link.
    let ran = ran(Command::new(under_test()).arg("-V"));
    ran.expect(0, &["pgbench (PostgreSQL) 18"]);
}
