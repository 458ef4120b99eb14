//! Answers to a plain statement that are none, or are odd ones.

use std::time::Duration;

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{FAILED, LOST, Scenario, WELL, answering, sends, sends_and};

const INCOMPLETE: &str = "has not completed this one";

/// An answer that ends as it should.
fn answers(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    let end = [complete("SELECT 1"), ready(b'I')].concat();
    answering(name, sends(&[messages.concat(), end]), codes)
}

/// One that ends as soon as it is taken for what it is.
fn breaks(name: &'static str, message: Vec<u8>, words: &str) -> Scenario {
    answers(name, &[message], LOST).says(words)
}

/// A row of one value, which says that it is so long.
fn value(length: i32, bytes: &[u8]) -> Vec<u8> {
    server_message(b'D', &[&[0, 1], &length.to_be_bytes()[..], bytes].concat())
}

fn header(tag: u8, length: i32) -> Vec<u8> {
    [&[tag], &length.to_be_bytes()[..]].concat()
}

#[test]
fn rows_that_are_not_as_described_are_no_answer() {
    let one = || described(&["a"]);
    let disagree = "message contents do not agree with length in message type \"D\"";
    conduct::both(vec![
        breaks(
            "rows without columns",
            row(&["1"]),
            "without prior row description",
        ),
        breaks(
            "a column too few",
            [described(&["a", "b"]), row(&["1"])].concat(),
            "1 columns in place of 2",
        ),
        breaks(
            "a column too many",
            [one(), row(&["1", "2"])].concat(),
            "2 columns in place of 1",
        ),
        breaks(
            "a row of 65,535 columns",
            [one(), row(&[""; 65_535])].concat(),
            "65535 columns in place of 1",
        ),
        breaks(
            "a value of length -2",
            [one(), value(-2, b"")].concat(),
            disagree,
        ),
        breaks(
            "a value of length -2^31",
            [one(), value(i32::MIN, b"x")].concat(),
            disagree,
        ),
        breaks(
            "a value longer than its row",
            [one(), value(100, b"x")].concat(),
            disagree,
        ),
        breaks(
            "a value shorter than its row",
            [one(), value(1, b"xyz")].concat(),
            disagree,
        ),
        breaks(
            "rows behind the result",
            [one(), complete("SELECT 0"), row(&["1"])].concat(),
            "without prior row description",
        ),
        breaks(
            "65,535 columns that are not there",
            server_message(b'T', &[255, 255]),
            "message type \"T\"",
        ),
        breaks(
            "columns without a number",
            server_message(b'T', b""),
            "message type \"T\"",
        ),
        breaks(
            "a column's name without an end",
            server_message(b'T', b"\0\x01name"),
            "message type \"T\"",
        ),
    ]);
}

#[test]
fn messages_that_have_no_place_are_no_answer() {
    let received = |tag: &str| format!("first received character was \"{tag}\"");
    conduct::both(vec![
        answering("nothing but ready", sends(&[ready(b'I')]), LOST).says(INCOMPLETE),
        answering(
            "rows without an end",
            sends(&[described(&["a"]), row(&["1"]), ready(b'I')]),
            LOST,
        )
        .says(INCOMPLETE),
        breaks(
            "ready for something unknown",
            ready(0x1b),
            "message type \"Z\"",
        )
        .on_terminal(),
        breaks(
            "an authentication",
            server_message(b'R', &[0; 4]),
            &received("R"),
        ),
        breaks("a key", server_message(b'K', &[0; 8]), &received("K")),
        breaks(
            "a message of no type",
            server_message(0x1b, b"x"),
            &received("\\x1b"),
        )
        .on_terminal(),
        breaks(
            "a function's result",
            server_message(b'V', &[0; 4]),
            &received("V"),
        ),
        breaks(
            "protocols to choose from",
            server_message(b'v', &[0; 8]),
            &received("v"),
        ),
        breaks(
            "a command without an end",
            server_message(b'C', b"SELECT 1"),
            "message type \"C\"",
        ),
        breaks(
            "a command of 40 kB",
            complete(&"x".repeat(40_000)),
            "lost synchronization",
        ),
        breaks("a length of 0", header(b'C', 0), "lost synchronization"),
        breaks("a length of 3", header(b'T', 3), "lost synchronization"),
        breaks("a length of -1", header(b'D', -1), "lost synchronization"),
        breaks(
            "a length of -2^31",
            header(b'E', i32::MIN),
            "lost synchronization",
        ),
        breaks(
            "a suspended portal",
            server_message(b's', b""),
            &received("s"),
        ),
        answering(
            "HTTP for ever",
            vec![Step::Flood(b"HTTP/1.1 400 Bad Request\r\n".to_vec())],
            LOST,
        ),
    ]);
}

#[test]
fn odd_answers_are_answers() {
    let result = || {
        [
            described(&["a", "b"]),
            row(&["1", "2"]),
            complete("SELECT 1"),
        ]
        .concat()
    };
    let tag = |name, tag: &[u8]| {
        answering(
            name,
            sends(&[server_message(b'C', &[tag, b"\0"].concat()), ready(b'I')]),
            WELL,
        )
    };
    let null = server_message(b'D', &[0, 1, 255, 255, 255, 255]);
    let columns = vec!["\x1b[2J"; 1600];
    conduct::both(vec![
        answering(
            "an empty statement",
            sends(&[server_message(b'I', b""), ready(b'I')]),
            WELL,
        ),
        answers(
            "more results than statements",
            &[result().repeat(100)],
            WELL,
        ),
        answers("a NULL", &[described(&["a"]), null], WELL),
        answers(
            "zero bytes within values",
            &[described(&["a"]), row(&["\0\0\0"])],
            WELL,
        ),
        answers("no columns, and a row", &[described(&[]), row(&[])], WELL),
        answers(
            "columns of one name",
            &[described(&columns), row(&vec!["\x07"; 1600])],
            WELL,
        )
        .on_terminal(),
        answers(
            "columns twice",
            &[described(&["a"]), described(&["a", "b"]), row(&["1", "2"])],
            WELL,
        ),
        answers(
            "100,000 rows",
            &[described(&["a"]), row(&["x"]).repeat(100_000)],
            WELL,
        ),
        tag("no command", b""),
        tag(
            "a command of 2^80 rows",
            b"SELECT 1208925819614629174706176",
        ),
        tag("a command of -1 rows", b"INSERT 0 -1"),
        tag("a command that is no UTF-8", b"\xff\xfe 1"),
        tag("a command that a terminal obeys", b"\x1b[2J 7").on_terminal(),
        tag("a command of 20 kB", &[b'x'; 20_000]),
        answering(
            "a byte at a time",
            vec![Step::Slowly(
                [result(), ready(b'I')].concat(),
                Duration::from_millis(1),
            )],
            WELL,
        ),
    ]);
}

/// An error of class XX000 with these fields besides.
fn error(name: &'static str, fields: &[u8]) -> Scenario {
    let fields = [b"SERROR\0CXX000\0", fields].concat();
    answering(
        name,
        sends(&[server_message(b'E', &fields), ready(b'I')]),
        FAILED,
    )
}

/// An error of these fields alone.
fn bare_error(name: &'static str, fields: &[u8]) -> Scenario {
    answering(
        name,
        sends(&[server_message(b'E', fields), ready(b'I')]),
        FAILED,
    )
}

#[test]
fn errors_of_any_form_are_errors() {
    let place = |name, fields: &[u8]| error(name, &[b"Mplace\0", fields].concat()).says("place");
    let class = |name, class: &[u8]| {
        let fields = [b"SERROR\0C", class, b"\0Mclass\0\0"].concat();
        bare_error(name, &fields).says("class")
    };
    let evil = b"Mno \x1b]0;owned\x07\x1b[2J\r\xc2\x9b31m \xe2\x80\xae\0D\x1b[1A\0H\x08\0\0";
    let lines = format!("M{}\0\0", "line\n".repeat(3_000));
    conduct::both(vec![
        bare_error("an error without fields", b"\0"),
        bare_error("an error of nothing", b""),
        bare_error("an error without a severity", b"CXX000\0Mno severity\0\0").says("no severity"),
        error("an error without an end", b"Mno end"),
        error("an error of unknown fields", b"\x01a\0\xffb\0?c\0Mstrange\0\0").says("strange"),
        error("an error that is no UTF-8", b"M\xff\xfe\xfd\0\0").says("\u{fffd}"),
        error("an error that a terminal obeys", evil)
            .says("no ")
            .on_terminal(),
        error("an error of many lines", lines.as_bytes()).says("line"),
        class("an error of a class that a terminal obeys", b"\x1b[2J\x07").on_terminal(),
        class("an error of no class", b""),
        class("an error of a class of 500 characters", &[b'x'; 500]),
        place("an error at character -5", b"P-5\0\0"),
        place("an error at character 2^70", b"P1180591620717411303424\0\0"),
        place("an error in a query within", b"p3\0q\xff\x1b[2J\0\0").on_terminal(),
    ]);
}

#[test]
fn errors_at_any_place_are_errors() {
    let text = |text: &str| server_text(b'E', "ERROR", "XX000", text);
    let fatal = || server_text(b'E', "FATAL", "57P01", "that was it");
    let rows = || [described(&["a"]), row(&["1"])].concat();
    let at = |name, messages: &[Vec<u8>], codes| {
        answering(name, sends(&[messages.concat(), ready(b'I')]), codes)
    };
    let limit = "1048576 bytes is the limit";
    let long = |times| text(&"no ".repeat(times));
    let again = server_text(b'E', "ERROR", "40001", "again");
    let announced = sends_and(&[header(b'E', 1 << 29)], Step::Flood(vec![b'x']));
    conduct::both(vec![
        at("an error twice", &[text("one"), text("two")], FAILED),
        at("an error behind the rows", &[rows(), text("late")], FAILED).says("late"),
        at(
            "an error behind the end",
            &[complete("SELECT 1"), text("late")],
            FAILED,
        )
        .says("late"),
        // A failed transaction is a figure.
        at("an error that may be tried again, for ever", &[again], WELL)
            .options("-c 1 -t 1 --max-tries 20")
            .commits(0, 0),
        answering(
            "the last word, and then it closes",
            sends_and(&[fatal()], Step::Close),
            LOST,
        )
        .says("that was it"),
        at("the last word, and then it is ready", &[fatal()], LOST).says("that was it"),
        // pgbench shows all of it.
        at("an error of 900 kB", &[long(300 << 10)], FAILED).prints(1 << 20),
        at("an error of 10 MB", &[long(3 << 20)], LOST).says(limit),
        answering("an error of 512 MB", announced, LOST).says(limit),
    ]);
}
