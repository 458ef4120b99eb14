//! COPY where none was asked for.

use pgdyno_testkit::hostile::{Step, complete, ready, server_message};

use crate::hostile::conduct;
use crate::hostile::scenario::{FAILED, LOST, answering, sends, sends_and};

#[test]
fn a_copy_that_was_not_asked_for_ends_the_client() {
    let begins = |tag| server_message(tag, &[0, 0, 1, 0, 0]);
    let not = "COPY is not supported in ";
    let line = server_message(b'd', b"1\n");
    conduct::both(vec![
        answering(
            "wants the rows of a COPY",
            sends_and(&[begins(b'G')], Step::Stall),
            FAILED,
        )
        .says(not),
        answering(
            "sends the rows of a COPY",
            sends_and(&[begins(b'H')], Step::Stall),
            FAILED,
        )
        .says(not),
        answering(
            "sends rows of a COPY for ever",
            sends_and(&[begins(b'H')], Step::Flood(line.clone())),
            FAILED,
        )
        .says(not),
        answering(
            "wants and sends rows for ever",
            sends_and(&[begins(b'W')], Step::Flood(line.clone())),
            FAILED,
        )
        .says(not),
        answering(
            "wants 65,535 columns",
            sends_and(&[server_message(b'G', &[0, 255, 255])], Step::Stall),
            FAILED,
        )
        .says(not),
        answering(
            "a COPY of no form",
            sends_and(&[server_message(b'G', b"")], Step::Stall),
            LOST,
        )
        .says("message type \"G\""),
        answering(
            "rows of a COPY that has not begun",
            sends(&[line, complete("COPY 1"), ready(b'I')]),
            LOST,
        )
        .says("first received character was \"d\""),
        answering(
            "the end of a COPY that has not begun",
            sends(&[server_message(b'c', b""), complete("COPY 1"), ready(b'I')]),
            LOST,
        )
        .says("first received character was \"c\""),
    ]);
}
