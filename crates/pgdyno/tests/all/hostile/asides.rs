//! What comes beside an answer: notices, notifications, settings.

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{LOST, Scenario, WELL, answering, sends, sends_and};

const EVIL: &str = "\x1b]0;owned\x07\x1b[2Jover\rwritten \u{9b}31m \u{202e}";

fn beside(name: &'static str, asides: Vec<u8>) -> Scenario {
    let answer = [
        described(&["a"]),
        row(&["1"]),
        complete("SELECT 1"),
        ready(b'I'),
    ]
    .concat();
    answering(name, sends(&[asides, answer]), WELL)
}

fn notice(text: &str) -> Vec<u8> {
    server_text(b'N', "NOTICE", "00000", text)
}

fn notification(channel: &str) -> Vec<u8> {
    server_message(b'A', format!("\0\0\0\x01{channel}\0payload\0").as_bytes())
}

fn setting(name: &str, value: &str) -> Vec<u8> {
    server_message(b'S', format!("{name}\0{value}\0").as_bytes())
}

#[test]
fn what_comes_beside_an_answer_does_not_change_it() {
    // pgbench shows them, up to 1 MiB.
    let shown = (1 << 20) + (64 << 10);
    conduct::both(vec![
        beside("a notice that a terminal obeys", notice(EVIL)).on_terminal(),
        beside("20,000 notices of one text", notice("hello").repeat(20_000)).prints(shown),
        beside(
            "20,000 notices of as many texts",
            (0..20_000)
                .flat_map(|n| notice(&format!("{n} {EVIL}")))
                .collect(),
        )
        .prints(2 * shown)
        .on_terminal(),
        beside("a notice of 900 kB", notice(&"x".repeat(900_000))).prints(shown),
        beside("a notice without fields", server_message(b'N', b"\0")),
        beside(
            "a notice without an end",
            server_message(b'N', b"SNOTICE\0Mno end"),
        ),
        beside(
            "100,000 notifications",
            notification("channel").repeat(100_000),
        ),
        beside("a notification that a terminal obeys", notification(EVIL)).on_terminal(),
        beside(
            "20,000 settings of as many names",
            (0..20_000)
                .flat_map(|n| setting(&format!("n{n}"), "v"))
                .collect(),
        ),
        beside(
            "a setting of another encoding",
            setting("client_encoding", "SQL_ASCII"),
        ),
        beside(
            "another version in between",
            setting("server_version", EVIL),
        )
        .on_terminal(),
    ]);
}

#[test]
fn what_is_none_beside_an_answer_ends_the_connection() {
    conduct::both(vec![
        answering(
            "a notification without an end",
            sends(&[server_message(b'A', b"\0\0\0\x01x")]),
            LOST,
        )
        .says("message type \"A\""),
        answering(
            "a setting without a value",
            sends(&[server_message(b'S', b"name\0")]),
            LOST,
        )
        .says("message type \"S\""),
        answering(
            "a notice of 512 MB",
            sends_and(&[b"N\x20\0\0\0".to_vec()], Step::Flood(vec![b'x'])),
            LOST,
        )
        .says("1048576 bytes is the limit"),
    ]);
}
