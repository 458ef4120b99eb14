//! Transaction blocks whose state is not what it should be.

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{FAILED, LOST, Scenario, WELL, answering, sends, sends_and};

fn within(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    answering(name, sends(messages), codes).script("BEGIN;\nSELECT 1 AS marked;\nEND;\n")
}

fn at_commit(name: &'static str, steps: Vec<Step>, codes: (i32, i32)) -> Scenario {
    answering(name, steps, codes).script("BEGIN;\nSELECT 1;\nCOMMIT /* marked */;\n")
}

fn result() -> Vec<u8> {
    [described(&["a"]), row(&["1"]), complete("SELECT 1")].concat()
}

#[test]
fn a_block_is_what_the_server_says_of_it() {
    let commit = || complete("COMMIT");
    let open = "end of script reached without completing the last transaction";
    // pgbench counts a script that leaves a block open, and believes a COMMIT that says ROLLBACK.
    conduct::both(vec![
        within("idle within a block", &[result(), ready(b'I')], WELL),
        within("failed without an error", &[result(), ready(b'E')], WELL),
        within(
            "an error, and still in the block",
            &[server_text(b'E', "ERROR", "22012", "by zero"), ready(b'T')],
            FAILED,
        )
        .says("by zero"),
        at_commit(
            "in a transaction after COMMIT",
            sends(&[commit(), ready(b'T')]),
            FAILED,
        )
        .says(open)
        .commits(0, 1),
        at_commit(
            "failed after COMMIT",
            sends(&[commit(), ready(b'E')]),
            FAILED,
        )
        .says(open)
        .commits(0, 1),
        // A deferred constraint, say.
        at_commit(
            "an error at COMMIT",
            sends(&[server_text(b'E', "ERROR", "23503", "deferred"), ready(b'I')]),
            FAILED,
        )
        .says("deferred"),
        answering(
            "in a transaction that was not begun",
            sends(&[result(), ready(b'T')]),
            FAILED,
        )
        .says(open)
        .commits(0, 1),
        answering(
            "in a failed one that was not begun",
            sends(&[result(), ready(b'E')]),
            FAILED,
        )
        .says(open)
        .commits(0, 1),
        at_commit(
            "ROLLBACK as an answer to COMMIT",
            sends(&[complete("ROLLBACK"), ready(b'I')]),
            (0, 0),
        )
        .commits(0, 1),
        at_commit(
            "COMMIT, and then an error",
            sends(&[
                commit(),
                server_text(b'E', "ERROR", "XX000", "or not"),
                ready(b'I'),
            ]),
            FAILED,
        )
        .says("or not"),
        at_commit("COMMIT without an end", sends(&[ready(b'I')]), LOST),
    ]);
}

#[test]
fn a_commit_that_is_not_answered_is_unknown() {
    conduct::both(vec![
        at_commit("closes at COMMIT", vec![Step::Close], LOST),
        at_commit("resets at COMMIT", vec![Step::Reset], LOST),
        at_commit(
            "closes behind COMMIT",
            sends_and(&[complete("COMMIT")], Step::Close),
            LOST,
        ),
        at_commit(
            "garbage at COMMIT",
            sends_and(&[vec![0xff; 100]], Step::Stall),
            LOST,
        ),
        at_commit("silence at COMMIT", vec![Step::Stall], (130, 130)).interrupted(),
    ]);
}
