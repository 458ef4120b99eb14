//! Values that a script keeps (`\gset`, `\aset`) and that are none.

use pgdyno_testkit::hostile::{Step, complete, described, ready, row, server_message};

use crate::hostile::conduct;
use crate::hostile::scenario::{FAILED, LOST, Scenario, WELL, answering, sends, sends_and};

fn result(messages: &[Vec<u8>]) -> Vec<Step> {
    sends(&[messages.concat(), complete("SELECT 1"), ready(b'I')])
}

/// The only value of column `a`.
fn value(name: &'static str, value: &str, codes: (i32, i32)) -> Scenario {
    stored(name, &[described(&["a"]), row(&[value])], codes)
}

fn stored(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    answering(name, result(messages), codes).script("SELECT 1 AS marked \\gset\nSELECT :a;\n")
}

/// The value is used in an expression.
fn number(name: &'static str, text: &str, codes: (i32, i32)) -> Scenario {
    value(name, text, codes).script("SELECT 1 AS marked \\gset\n\\set b :a + 1\nSELECT :b;\n")
}

#[test]
fn values_that_are_no_numbers_end_the_script() {
    conduct::both(vec![
        number("a number", "41", WELL),
        number("a word", "seven", FAILED),
        number("nothing", "", FAILED),
        number("a number of 2^63", "9223372036854775808", FAILED),
        number("a number of 30 digits", &"9".repeat(30), FAILED),
        number("the greatest number", "9223372036854775807", FAILED),
        number("1e999", "1e999", FAILED),
        number("a number with a zero byte", "4\x001", FAILED),
        number("a number that a terminal obeys", "\x1b[2J1", FAILED).on_terminal(),
        number("a number in other digits", "٤٢", FAILED),
    ]);
}

#[test]
fn results_that_are_not_one_row_are_none() {
    let two = [row(&["1"]), row(&["2"])].concat();
    let long = "x".repeat(20_000);
    let many = vec!["a"; 60_000];
    let ones = vec!["1"; 60_000];
    conduct::both(vec![
        stored("no row to keep", &[described(&["a"])], FAILED),
        stored("two rows to keep", &[described(&["a"]), two], FAILED),
        stored("no result to keep", &[], FAILED),
        stored(
            "a name that is none",
            &[described(&["\x1b[2J"]), row(&["1"])],
            FAILED,
        )
        .on_terminal(),
        stored(
            "a name of no characters",
            &[described(&[""]), row(&["1"])],
            FAILED,
        ),
        stored(
            "a name of 20 kB",
            &[described(&[&long]), row(&["1"])],
            FAILED,
        ),
        stored(
            "60,000 columns to keep",
            &[described(&many), row(&ones)],
            LOST,
        ),
        value(
            "a statement of 900 kB",
            &format!("'{}'", "x".repeat(900_000)),
            WELL,
        ),
        value("a value that is an injection", "1; SELECT 'no", FAILED),
        answering(
            "a value of 512 MB to keep",
            sends_and(
                &[described(&["a"]), b"D\x20\0\0\x0a\0\x01\x20\0\0\0".to_vec()],
                Step::Flood(vec![b'x']),
            ),
            LOST,
        )
        .script("SELECT 1 AS marked \\gset\n")
        .says("67108864 bytes is the limit"),
        answering(
            "NULL to keep",
            result(&[
                described(&["a"]),
                server_message(b'D', &[0, 1, 255, 255, 255, 255]),
            ]),
            WELL,
        )
        .script("SELECT 1 AS marked \\gset\nSELECT ':a';\n"),
    ]);
}
