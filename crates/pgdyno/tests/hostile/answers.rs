//! Answers to a plain statement that are none, or are odd ones.

use std::time::Duration;

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message, server_text};

use crate::conduct;
use crate::scenario::{FAILED, LOST, Scenario, WELL, answering, sends, sends_and};

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

#[test]
fn errors_of_any_form_are_errors() {
    let error = |name, fields: &[u8], words: &str| {
        answering(
            name,
            sends(&[server_message(b'E', fields), ready(b'I')]),
            FAILED,
        )
        .says(words)
    };
    let text = |text: &str| server_text(b'E', "ERROR", "XX000", text);
    conduct::both(vec![
        error("an error without fields", b"\0", ""),
        error("an error of nothing", b"", ""),
        error("an error without an end", b"SERROR\0CXX000\0Mno end", ""),
        error("an error of unknown fields", b"SERROR\0CXX000\0\x01a\0\xffb\0?c\0Mstrange\0\0", "strange"),
        error("an error that is no UTF-8", b"SERROR\0CXX000\0M\xff\xfe\xfd\0\0", "\u{fffd}"),
        error("an error of a class that a terminal obeys", b"SERROR\0C\x1b[2J\x07\0Mclass\0\0", "class").on_terminal(),
        error("an error of no class", b"SERROR\0C\0Mclass\0\0", "class"),
        error("an error of a class of 500 characters", &[b"SERROR\0C", &[b'x'; 500][..], b"\0Mclass\0\0"].concat(), "class"),
        error("an error without a severity", b"CXX000\0Mno severity\0\0", "no severity"),
        error("an error at character -5", b"SERROR\0CXX000\0Mplace\0P-5\0\0", "place"),
        error("an error at character 2^70", b"SERROR\0CXX000\0Mplace\0P1180591620717411303424\0\0", "place"),
        error("an error in a query within", b"SERROR\0CXX000\0Mplace\0p3\0q\xff\x1b[2J\0\0", "place").on_terminal(),
        error("an error that a terminal obeys", b"SERROR\0CXX000\0Mno \x1b]0;owned\x07\x1b[2J\r\xc2\x9b31m \xe2\x80\xae\0D\x1b[1A\0H\x08\0\0", "no ").on_terminal(),
        error("an error of many lines", format!("SERROR\0CXX000\0M{}\0\0", "line\n".repeat(3_000)).as_bytes(), "line"),
        answering("an error twice", sends(&[text("one"), text("two"), ready(b'I')]), FAILED),
        answering("an error behind the rows", sends(&[described(&["a"]), row(&["1"]), text("late"), ready(b'I')]), FAILED).says("late"),
        answering("an error behind the end", sends(&[complete("SELECT 1"), text("late"), ready(b'I')]), FAILED).says("late"),
        answering("an error that may be tried again, for ever", sends(&[server_text(b'E', "ERROR", "40001", "again"), ready(b'I')]), (0, 0))
            .options("-c 1 -t 1 --max-tries 20")
            .commits(0, 0),
        answering("the last word, and then it closes", sends_and(&[server_text(b'E', "FATAL", "57P01", "that was it")], Step::Close), LOST).says("that was it"),
        answering("the last word, and then it is ready", sends(&[server_text(b'E', "FATAL", "57P01", "it was not"), ready(b'I')]), LOST).says("it was not"),
        // pgbench shows all of it.
        answering("an error of 900 kB", sends(&[text(&"no ".repeat(300 << 10)), ready(b'I')]), FAILED).prints(1 << 20),
        answering("an error of 10 MB", sends(&[text(&"no ".repeat(3 << 20)), ready(b'I')]), LOST).says("1048576 bytes is the limit"),
        answering("an error of 512 MB", sends_and(&[header(b'E', 1 << 29)], Step::Flood(vec![b'x'])), LOST).says("1048576 bytes is the limit"),
    ]);
}
