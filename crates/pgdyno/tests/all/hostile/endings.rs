//! Connections that end in the middle, and servers that never answer: Ctrl-C ends what nothing else
//! does.

use std::time::Duration;

use pgdyno_platform::child::Signal;
use pgdyno_testkit::hostile::{Step, When, complete, described, ready, row, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{INTERRUPTED, LOST, Scenario, answering, scenario, sends_and};

/// Nothing but a signal ends it.
fn waits(name: &'static str, steps: Vec<Step>) -> Scenario {
    answering(name, steps, INTERRUPTED).interrupted()
}

#[test]
fn a_connection_that_ends_within_an_answer_is_lost() {
    let half = || [described(&["a"]), b"D\0\0\0\x0a\0".to_vec()].concat();
    conduct::both(vec![
        answering("closes in place of an answer", vec![Step::Close], LOST),
        answering("resets in place of an answer", vec![Step::Reset], LOST),
        answering(
            "closes within a message",
            sends_and(&[half()], Step::Close),
            LOST,
        ),
        answering(
            "resets within a message",
            sends_and(&[half()], Step::Reset),
            LOST,
        ),
        answering(
            "closes before it is ready",
            sends_and(&[complete("SELECT 1")], Step::Close),
            LOST,
        ),
        answering(
            "announces 1 GB and closes",
            sends_and(
                &[
                    described(&["a"]),
                    b"D\x3f\xff\xff\xff\0\x01\x3f\xff\xff\xf5x".to_vec(),
                ],
                Step::Close,
            ),
            LOST,
        ),
        // Buenavista's, over a parameter.
        answering(
            "an error that is not FATAL, and closes",
            sends_and(
                &[server_text(b'E', "ERROR", "XX000", "index out of range")],
                Step::Close,
            ),
            LOST,
        )
        .run_says("the connection is lost after \"index out of range\""),
        answering("closes again and again", vec![Step::Close], (3, 2))
            .options("-c 4 -t 1")
            .counts(4),
        scenario(
            "closes, and is connected to again",
            When::Asked("marked"),
            vec![Step::Close],
            // Not lost at the end, when no client needs a connection any more.
            (1, 2),
        )
        .options("-c 2 -t 3")
        .run_options("--reconnect")
        .counts(6),
    ]);
}

#[test]
fn an_interrupt_ends_what_nothing_else_does() {
    let mut terminated = waits("silence, and SIGTERM", vec![Step::Stall]);
    terminated.signal = Some(Signal::Terminate);
    terminated.codes = (143, 143);
    let slowly = Duration::from_millis(20);
    conduct::both(vec![
        terminated,
        waits("silence in place of an answer", vec![Step::Stall]),
        waits(
            "silence within a message",
            sends_and(&[b"D\0\0".to_vec()], Step::Stall),
        ),
        waits(
            "silence behind the rows",
            sends_and(&[described(&["a"]), row(&["1"])], Step::Stall),
        ),
        waits(
            "silence behind the last word",
            sends_and(&[server_text(b'E', "FATAL", "57P01", "gone")], Step::Stall),
        ),
        waits(
            "silence before it is ready",
            sends_and(&[complete("SELECT 1")], Step::Stall),
        ),
        waits(
            "silence behind 1 GB that is announced",
            sends_and(
                &[
                    described(&["a"]),
                    b"D\x3f\xff\xff\xff\0\x01\x3f\xff\xff\xf5x".to_vec(),
                ],
                Step::Stall,
            ),
        ),
        waits(
            "rows for ever",
            sends_and(&[described(&["a"])], Step::Flood(row(&["value"]))),
        ),
        waits(
            "a byte now and then",
            sends_and(&[described(&["a"])], Step::Trickle(row(&["value"]), slowly)),
        ),
        waits(
            "a notice now and then",
            vec![Step::Trickle(
                server_text(b'N', "NOTICE", "00000", "x"),
                slowly,
            )],
        ),
        waits("silence to 30 clients", vec![Step::Stall])
            .options("-c 30 -t 1")
            .counts(30),
        waits("silence beyond the end of the run", vec![Step::Stall]).options("-c 1 -T 1"),
        waits(
            "takes nothing more",
            vec![
                Step::Send(
                    [
                        described(&["a"]),
                        row(&["1"]),
                        complete("SELECT 1"),
                        ready(b'I'),
                    ]
                    .concat(),
                ),
                Step::Deaf,
            ],
        )
        .script(format!(
            "SELECT 1 AS marked;\nSELECT '{}';\n",
            "x".repeat(15 << 20)
        )),
        scenario(
            "silence at the start",
            When::Connected,
            vec![Step::Stall],
            INTERRUPTED,
        )
        .interrupted()
        .counts(0),
    ]);
}
