//! Where the way to the server is what a load waits for, each generator brings a way of its own.

use std::process::Command;
use std::time::Instant;

use pgdyno_link::{Direction, Link, LinkProxy};

use crate::child::Running;
use crate::generators::crew::Crew;
use crate::generators::filled::content;
use crate::support::Database;

const LOAD: &str =
    "load ycsb --param recordcount=200000 --param fieldcount=2 --param fieldlength=100";
/// Of each line: some 46 MB go over it in six seconds.
const BYTES_PER_S: u64 = 8_000_000;

fn line() -> LinkProxy {
    let link = Link::to(pgdyno_testkit::postgres().address().socket_path());
    let link = link.bandwidth(Direction::ToServer, BYTES_PER_S);
    link.start().unwrap()
}

/// How long processes take to load together, in seconds.
fn load(crew: &Crew, database: &str, lines: &[LinkProxy]) -> f64 {
    let command = |(index, line): (usize, &LinkProxy)| {
        let together = match lines.len() {
            1 => String::new(),
            count => format!("--generators {count} --generator {index} --join k"),
        };
        crew.command(&format!("{LOAD} {together} --url {}", line.url(database)))
    };
    let commands: Vec<Command> = lines.iter().enumerate().map(command).collect();
    let began = Instant::now();
    let start = |mut command: Command| Running::start(&mut command);
    let all: Vec<Running> = commands.into_iter().map(start).collect();
    for ran in all.into_iter().map(Running::ended) {
        ran.expect(0, &["loaded"]);
    }
    began.elapsed().as_secs_f64()
}

#[test]
#[ignore = "wants a quiet machine: make test-long PART=generators"]
fn two_generators_load_faster_over_two_lines_than_one_over_one() {
    let crew = Crew::in_file("lines");
    let (one, two) = (Database::new("lines_one"), Database::new("lines_two"));
    let one_s = load(&crew, "lines_one", &[line()]);
    let two_s = load(&crew, "lines_two", &[line(), line()]);
    println!("one generator {one_s:.1} s, two {two_s:.1} s");
    let of = |db| content(db, &["usertable"]);
    assert_eq!(of(&one), of(&two));
    assert!(two_s < 0.75 * one_s, "{one_s} {two_s}");
}
