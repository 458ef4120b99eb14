//! Answers that are large or never end: they take no memory.

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{LOST, Scenario, WELL, answering, sends_and};

/// A row of one value of so many megabytes.
fn row_of(name: &'static str, megabytes: u32) -> Scenario {
    let value = megabytes << 20;
    let head = [
        &b"D"[..],
        &(10 + value).to_be_bytes(),
        &[0, 1],
        &value.to_be_bytes(),
    ]
    .concat();
    let steps = vec![
        Step::Send([described(&["a"]), head].concat()),
        Step::Times(megabytes as usize, vec![b'x'; 1 << 20]),
        Step::Send([complete("SELECT 1"), ready(b'I')].concat()),
    ];
    answering(name, steps, WELL)
}

fn rows(name: &'static str, times: usize) -> Scenario {
    let steps = vec![
        Step::Send(described(&["a"])),
        Step::Times(times, row(&["value"]).repeat(10_000)),
        Step::Send([complete("SELECT 1"), ready(b'I')].concat()),
    ];
    answering(name, steps, WELL)
}

fn for_ever(name: &'static str, message: Vec<u8>) -> Scenario {
    answering(name, vec![Step::Flood(message)], LOST)
        .says("bytes of messages without data in one answer")
}

#[test]
fn large_answers_pass_by() {
    let notice = server_text(b'N', "NOTICE", "00000", &"hello ".repeat(4000));
    conduct::both(vec![
        row_of("a row of 300 MB", 300),
        rows("2 million rows", 200),
        // pgbench shows what came first.
        for_ever("notices for ever", notice).prints((1 << 20) + (64 << 10)),
    ]);
}

#[test]
#[ignore = "takes a minute of CPU: make test-long PART=hostile"]
fn the_largest_answers_pass_by() {
    let long = "hello ".repeat(4000);
    let error = server_text(b'E', "ERROR", "XX000", &long);
    let setting = server_message(b'S', format!("name\0{long}\0").as_bytes());
    let notification = server_message(b'A', format!("\0\0\0\x01{long}\0\0").as_bytes());
    let result = [described(&["a"]), complete("SELECT 0")].concat();
    conduct::both(vec![
        row_of("a row of 1023 MB", 1023),
        rows("20 million rows", 2000),
        for_ever("errors for ever", error).prints((1 << 20) + (64 << 10)),
        for_ever("settings for ever", setting),
        for_ever("notifications for ever", notification),
        for_ever("columns for ever", described(&vec!["name"; 1600])),
        for_ever("results for ever", result),
        for_ever("empty statements for ever", server_message(b'I', b"")),
        answering(
            "rows for ever, and Ctrl-C",
            sends_and(
                &[described(&["a"; 1600])],
                Step::Flood(row(&["value"; 1600])),
            ),
            (130, 130),
        )
        .interrupted(),
    ]);
}
