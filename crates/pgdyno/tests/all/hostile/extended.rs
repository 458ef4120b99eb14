//! Answers in the extended protocol, prepared and in pipelines, that are none.

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{FAILED, LOST, Scenario, WELL, answering, sends};

const INCOMPLETE: &str = "has not completed this one";

fn extended(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    answering(name, sends(messages), codes).options("-c 1 -t 1 -M extended")
}

/// The answer to Parse alone.
fn prepares(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    answering(name, sends(messages), codes).options("-c 1 -t 1 -M prepared")
}

/// The answer to the use of a statement that was prepared.
fn uses(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    let steps = vec![
        Step::Send([parsed(), ready(b'I')].concat()),
        Step::Await,
        Step::Send(messages.concat()),
    ];
    answering(name, steps, codes).options("-c 1 -t 1 -M prepared")
}

fn piped(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    extended(name, messages, codes)
        .script("\\startpipeline\nSELECT 1 AS marked;\nSELECT 2;\n\\endpipeline\n")
}

fn parsed() -> Vec<u8> {
    server_message(b'1', b"")
}

fn bound() -> Vec<u8> {
    server_message(b'2', b"")
}

fn result() -> Vec<u8> {
    [described(&["a"]), row(&["1"]), complete("SELECT 1")].concat()
}

#[test]
fn statements_that_are_not_prepared_are_not_executed() {
    conduct::both(vec![
        prepares("ready without preparing", &[ready(b'I')], LOST).says(INCOMPLETE),
        prepares("rows in place of preparing", &[result(), ready(b'I')], LOST),
        prepares(
            "an error in place of preparing",
            &[server_text(b'E', "ERROR", "42601", "no"), ready(b'I')],
            FAILED,
        )
        .says("no"),
        prepares(
            "prepared twice",
            &[parsed(), ready(b'I'), parsed(), ready(b'I')],
            LOST,
        ),
        prepares(
            "an answer behind the preparing",
            &[parsed(), ready(b'I'), bound(), result(), ready(b'I')],
            LOST,
        ),
        prepares(
            "authentication in place of preparing",
            &[server_message(b'R', &[0; 4])],
            LOST,
        )
        .says("first received character was \"R\""),
        uses(
            "a prepared statement",
            &[bound(), result(), ready(b'I')],
            WELL,
        ),
        uses("ready without executing", &[bound(), ready(b'I')], LOST).says(INCOMPLETE),
        uses(
            "nothing but ready for a prepared statement",
            &[ready(b'I')],
            LOST,
        )
        .says(INCOMPLETE),
        uses(
            "prepared again in place of executed",
            &[parsed(), ready(b'I')],
            LOST,
        )
        .says(INCOMPLETE),
        uses(
            "a statement that is not there",
            &[
                server_text(b'E', "ERROR", "26000", "prepared statement does not exist"),
                ready(b'I'),
            ],
            FAILED,
        )
        .says("does not exist"),
    ]);
}

#[test]
fn answers_of_the_extended_protocol_are_complete_or_none() {
    let no_data = || server_message(b'n', b"");
    let suspended = || server_message(b's', b"");
    conduct::both(vec![
        extended(
            "an answer in its order",
            &[parsed(), bound(), result(), ready(b'I')],
            WELL,
        ),
        extended(
            "no data, and then rows",
            &[
                parsed(),
                bound(),
                no_data(),
                row(&["1"]),
                complete("SELECT 1"),
                ready(b'I'),
            ],
            LOST,
        )
        .says("without prior row description"),
        extended(
            "a portal that is suspended",
            &[
                parsed(),
                bound(),
                described(&["a"]),
                row(&["1"]),
                suspended(),
                ready(b'I'),
            ],
            LOST,
        ),
        extended(
            "bound and not executed",
            &[parsed(), bound(), ready(b'I')],
            LOST,
        )
        .says(INCOMPLETE),
        extended(
            "no data and not executed",
            &[parsed(), bound(), no_data(), ready(b'I')],
            LOST,
        )
        .says(INCOMPLETE),
        extended(
            "closed and not executed",
            &[server_message(b'3', b""), ready(b'I')],
            LOST,
        )
        .says(INCOMPLETE),
        extended(
            "parameters that are not there",
            &[server_message(b't', &[255, 255])],
            LOST,
        )
        .says("message type \"t\""),
        extended(
            "parameters without a number",
            &[server_message(b't', b"")],
            LOST,
        )
        .says("message type \"t\""),
    ]);
}

#[test]
fn pipelines_are_answered_to_their_end_or_not_at_all() {
    let whole = || [parsed(), bound(), result()].concat();
    conduct::both(vec![
        piped("a pipeline", &[whole().repeat(2), ready(b'I')], WELL),
        piped("half a pipeline", &[whole(), ready(b'I')], LOST).says(INCOMPLETE),
        piped("nothing of a pipeline", &[ready(b'I')], LOST).says(INCOMPLETE),
        piped(
            "more than a pipeline",
            &[whole().repeat(3), ready(b'I')],
            LOST,
        ),
        piped(
            "a pipeline that is ready too soon",
            &[whole(), ready(b'I'), whole(), ready(b'I')],
            LOST,
        ),
        piped(
            "a pipeline that is ready twice",
            &[whole().repeat(2), ready(b'I'), ready(b'I')],
            LOST,
        ),
        piped(
            "an error in a pipeline",
            &[
                whole(),
                server_text(b'E', "ERROR", "22012", "by zero"),
                ready(b'I'),
            ],
            FAILED,
        )
        .says("by zero"),
    ]);
}
