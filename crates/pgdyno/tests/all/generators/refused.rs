//! What is no trial of several generators, and who may not join one.

use pgdyno_platform::child::Signal;

use crate::child::{Running, wait_until};
use crate::generators::crew::Crew;

/// One that waits for another.
fn waiting(crew: &Crew, line: &str) -> Running {
    let one = crew.start(line);
    wait_until("it waits", || {
        crew.number("SELECT count(*) FROM word WHERE what = 'ready'") == Some(1)
    });
    one
}

#[test]
fn a_foreign_generator_is_refused_with_the_reason() {
    let crew = Crew::in_file("refused_join");
    let script = crew.write("one.sql", "SELECT 1;\n");
    let line = |more: &str| format!("run {script} --join key --generators 2 {more}");
    let one = waiting(&crew, &line("-c 4 -T 60 --generator 1"));
    let refused = |more: &str, texts: &[&str]| {
        crew.start(&line(more)).ended().expect(2, texts);
    };
    let twice = [
        "generator 1 of key was there already",
        "--join with another key",
    ];
    refused("-c 4 -T 60 --generator 1", &twice);
    let no_such = ["there is no generator 2 of 2: the first is 0"];
    refused("-c 4 -T 60 --generator 2", &no_such);
    let clients = [
        "key is a trial of another load: clients 4 there, 8 here",
        "--join KEY",
    ];
    refused("-c 8 -T 60", &clients);
    refused("-c 4 -T 30", &["duration_s 60.0 there, 30.0 here"]);
    refused("-c 4 -T 60 -R 10", &["rate_per_s not set there, 10.0 here"]);
    refused("-c 4 -T 60 --seed 7", &["another --seed"]);
    let other = crew.write("other.sql", "SELECT 2;\n");
    let other = format!("run {other} --join key --generators 2 -c 4 -T 60");
    crew.start(&other)
        .ended()
        .expect(2, &["key is a trial of another load: workload"]);
    crew.write("one.sql", "SELECT 3;\n");
    let content = ["key is a trial of another load: its scripts have another content, or it has"];
    refused("-c 4 -T 60", &content);
    crew.write("one.sql", "SELECT 1;\n");
    let count = format!("run {script} --join key --generators 3 -c 4 -T 60");
    crew.start(&count)
        .ended()
        .expect(2, &["key is a trial of 2 generators, not of 3"]);
    // None of them took the place that is left.
    assert_eq!(crew.value("SELECT count(*) FROM generator"), "1");
    one.signal(Signal::Interrupt);
    one.ended();
}

#[test]
fn one_too_many_is_refused_also_when_one_of_them_has_died() {
    let crew = Crew::in_file("refused_full");
    let script = crew.write("one.sql", "SELECT 1;\n");
    let line = format!("run {script} --join key --generators 2 -c 2 -T 60");
    let mut two: Vec<Running> = (0..2).map(|_| crew.start(&line)).collect();
    wait_until("both measure", || {
        crew.number("SELECT count(*) FROM word WHERE what = 'start'") == Some(1)
    });
    let full = "all 2 generators of key have come";
    crew.start(&line).ended().expect(2, &[full]);
    two.remove(0).signal(Signal::Kill);
    crew.start(&line)
        .ended()
        .expect(2, &[full, "a generator that died cannot come back"]);
    two.remove(0).signal(Signal::Kill);
}

#[test]
fn what_several_generators_cannot_do_is_refused_before_they_meet() {
    let crew = Crew::in_file("refused_before");
    let script = crew.write("one.sql", "SELECT 1;\n");
    for (line, text) in [
        (
            "-c 2 -T 1 --generators 3",
            "3 generators cannot share 2 clients",
        ),
        ("-c 4 -T 1 --generators 2 --warmup auto", "--warmup auto"),
        ("-c 4 -T 1 --generators 2 --no-store", "--no-store"),
        ("-c 4 -T 1 --generators 1", "from 2 to 100000"),
        ("-c 4 -T 1 --join key", "--generators"),
    ] {
        let line = format!("run {script} {line}");
        crew.start(&line).ended().expect(2, &[text]);
    }
    let wrong = crew
        .command(&format!("run {script} -c 4 -T 1 --generators 2"))
        .args(["--url", &crew.target.url])
        .env("PMI_RANK", "two")
        .output()
        .unwrap();
    crate::support::ended(wrong).expect(2, &["PMI_RANK=two is no number of a generator"]);
    assert_eq!(crew.number("SELECT count(*) FROM meeting").unwrap_or(0), 0);
}

#[test]
fn a_private_server_of_one_of_them_is_refused() {
    let crew = Crew::in_file("refused_private");
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let line = format!("run tpcb -c 2 -T 1 --generators 2 --pg-bindir {bindir}");
    let cache = pgdyno_testkit::home();
    let mut command = crew.command(&line);
    let ran = crate::support::ran(command.envs(pgdyno_testkit::own_cache(cache.path())));
    ran.expect(
        2,
        &[
            "a server that all of them reach, not a private one",
            "--url",
        ],
    );
    assert!(crew.listed().is_empty());
}
