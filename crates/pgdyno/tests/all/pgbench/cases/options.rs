//! Command lines that end before a connection is made: what options say of themselves, and every
//! way to get one wrong.

use super::needs_stock;
use crate::pgbench::compare::{Case, Setting, case};

/// One select that needs no table.
const FILES: [(&str, &str); 2] = [("one.sql", "SELECT 1;\n"), ("empty.sql", "-- nothing\n\n")];

fn compare(database: &str, cases: &[Case]) {
    Setting::new(pgdyno_testkit::postgres(), database, &FILES).compare(cases);
}

fn cases(lines: &[&str]) -> Vec<Case> {
    lines.iter().map(|line| case(*line)).collect()
}

#[test]
fn what_options_say_of_themselves() {
    needs_stock!("what_options_say_of_themselves");
    compare(
        "options_say",
        &cases(&[
            "--version",
            "-V",
            "-V -c x",
            // Only the first argument is looked at before the rest.
            "-c 1 -V",
            "-c 1 --version",
            "-n --help",
            "-n -?",
            "-b list",
            "-blist",
            "--builtin list",
            "--builtin=list --nosuch",
            "-i -b list",
            "--show-script tpcb-like",
            "--show-script=simple-update",
            "--show-script select-only",
            "--show-script tp",
            "--show-script s",
            "--show-script nosuch",
            "--show se",
        ]),
    );
}

#[test]
fn values_that_are_no_values() {
    needs_stock!("values_that_are_no_values");
    let mut lines: Vec<String> = Vec::new();
    let numbers = [
        "-c",
        "-j",
        "-t",
        "-T",
        "-s",
        "-P",
        "-F",
        "-L",
        "-R",
        "--aggregate-interval",
        "--partitions",
        "--sampling-rate",
        "--max-tries",
        "--random-seed",
    ];
    // A unit after a time or a rate is no error to pgbench: with these it goes on to -z.
    for value in [
        "-1",
        "0",
        "x",
        "''",
        "3x",
        "99999999999",
        "99999999999999999999",
        "' 3'",
        "'3 '",
        "1e3",
        "0x10",
        "+",
    ] {
        lines.extend(numbers.iter().map(|option| format!("{option} {value} -z")));
    }
    let others = [
        "-F 9",
        "-F 101",
        "--sampling-rate 1.1",
        "-c 2000000000",
        "-M nosuch",
        "-M simp",
        "-M Simple",
        "-M ''",
        "-D x",
        "-D =3",
        "-D x=",
        "-D 'a b=3'",
        "-D 'a-b=3'",
        "-D ''",
        "-D ü=1 -z",
        "-D 1=2 -z",
        "--random-seed time1",
        "--random-seed 5 -z",
        "--random-seed 18446744073709551615 -z",
        "--random-seed 18446744073709551616 -z",
        "--random-seed ' 7' -z",
        "--partition-method nosuch",
        "--partition-method RANGE -z",
        "-I x",
        "-I dtz",
        "-I ''",
        "-I 'd t' -z",
        "-b nosuch",
        "-b s",
        "-b ''",
        "-b @2",
        "-b list@2",
        "-b tpcb-like@x",
        "-b tpcb-like@-1",
        "-b tpcb-like@",
        "-b tpcb-like@3x",
        "-b tpcb-like@2147483648",
        "-b tpcb-like@99999999999999999999",
        "-b se@0",
        "-f one.sql@0",
        "-f one.sql@x",
        "-f one.sql@0 -b tp@0",
        "-f nosuch.sql",
        "-f nosuch.sql@3",
        "-f ''",
        "-f .",
        "-f empty.sql",
        "-f one.sql -f empty.sql",
        "-N -S -b nosuch",
    ];
    lines.extend(others.map(str::to_owned));
    let cases: Vec<Case> = lines.into_iter().map(case).collect();
    compare("options_values", &cases);
}

#[test]
fn options_that_do_not_go_together() {
    needs_stock!("options_that_do_not_go_together");
    compare(
        "options_together",
        &cases(&[
            "-t 1 -T 1",
            "--sampling-rate 0.5",
            "-l --sampling-rate 0.5 --aggregate-interval 1",
            "--aggregate-interval 1",
            "--log-prefix x",
            "-l -T 2 --aggregate-interval 3",
            "-l -T 5 --aggregate-interval 2",
            "--progress-timestamp",
            "--max-tries 0",
            "--max-tries 0 -t 5",
            "--max-tries x",
            "-i -c 1",
            "-i -C",
            "-i -S",
            "-i -N",
            "-i -b se",
            "-i -f one.sql",
            "-i -t 5",
            "-i -T 5",
            "-i -r",
            "-i -l",
            "-i -j 1",
            "-i -L 5",
            "-i -M simple",
            "-i -P 1",
            "-i -R 5",
            "-i -v",
            "-i -D a=b",
            "-i --sampling-rate 0.5",
            "-i --aggregate-interval 1",
            "-i --progress-timestamp",
            "-i --log-prefix x",
            "-i --random-seed 5",
            "-i --failures-detailed",
            "-i --max-tries 2",
            "-i --verbose-errors",
            "-i --exit-on-abort",
            "-i --partition-method range",
            "-i --partitions 0 --partition-method hash",
            "-F 50",
            "-I d",
            "-q",
            "--foreign-keys",
            "--unlogged-tables",
            "--tablespace x",
            "--index-tablespace x",
            "--partitions 2",
            "--partition-method hash",
            // Of several complaints the first one in pgbench's order.
            "-c 0 -j x",
            "-j x -c 0",
            "-t 1 -T 1 -F 50",
            "-i -c 1 a b",
            "-q a b",
            "-f nosuch.sql -c x",
            "-c x -f nosuch.sql",
            "--nosuch -V",
            "-i -c 1 --partition-method hash",
        ]),
    );
}

#[test]
fn options_by_getopts_habits() {
    needs_stock!("options_by_getopts_habits");
    let mut all = cases(&[
        "--nosuch",
        "--nosuch=3",
        "-z",
        "-rz",
        "-rSz",
        "-nz -V",
        "--client",
        "-c",
        "-nc",
        "-Sf",
        "--file",
        "--no-vacuum=3",
        "--connect=",
        "--initialize=yes",
        "--c 3",
        "--p 3",
        "--pro 3",
        "--t 3",
        "--s 3",
        "--re",
        "--partition 3",
        "--d x",
        "--f x",
        "--i",
        "--in",
        "--l",
        "--m",
        "--u",
        "--v",
        "--h",
        "--co=3",
        "--",
        "-- a b",
        "-- --nosuch more",
        "a b",
        "a b c",
        "-d a b",
        "-d a b c",
        "a -c 1 b -n",
        "a -n -z",
        "- -z",
        "-",
        "--= 3",
        "-c1x",
        "-c=1",
        "--client =1",
        "-W nosuch",
        "-W foo=3",
    ]);
    all.extend([
        case("a -c 3").env("POSIXLY_CORRECT", "1"),
        case("-z").env("POSIXLY_CORRECT", "1"),
        case("a -z").env("POSIXLY_CORRECT", "1"),
        case("-c").env("POSIXLY_CORRECT", "1"),
        case("-V").env("PGBENCH_RANDOM_SEED", "nosuch"),
        case("-z").env("PGBENCH_RANDOM_SEED", "nosuch"),
        case("-z").env("PGBENCH_RANDOM_SEED", "5"),
        case("-z").env("PGBENCH_RANDOM_SEED", "-5"),
        case("-z").env("PGBENCH_RANDOM_SEED", " "),
        case("-z").env("PGBENCH_RANDOM_SEED", "rand").any_seed(),
        case("-z --random-seed=x")
            .env("PGBENCH_RANDOM_SEED", "time")
            .any_seed(),
        case("--random-seed=6 -z").env("PGBENCH_RANDOM_SEED", "5"),
        case("--random-seed=rand -z").any_seed(),
        case("--random-seed=time -z").any_seed(),
        case("-c x").env("PG_COLOR", "always"),
        case("-t 1 -T 1").env("PG_COLOR", "always"),
        case("-z").env("PG_COLOR", "always"),
        case("-I x").env("PG_COLOR", "always"),
        case("--random-seed=7 -b nosuch").env("PG_COLOR", "always"),
        case("-c x").env("PG_COLOR", "auto"),
        case("-c x").env("PG_COLOR", "nosuch"),
        case("-I x")
            .env("PG_COLOR", "always")
            .env("PG_COLORS", "error=01;33:note=02;27"),
    ]);
    compare("options_getopt", &all);
}
