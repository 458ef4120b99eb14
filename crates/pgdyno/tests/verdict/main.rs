//! The verdict on trials whose limit is made on purpose, on a real PostgreSQL: ten limits, each in two
//! strengths, so that no rule is fitted to one number.
//!
//! They use all of the machine, so they run one after the other.

mod limits;
#[path = "../doors/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other doors, each of which uses a part"
)]
mod support;

use limits::{Limit, Stage};

/// What may be said of a trial.
#[derive(Debug, PartialEq)]
enum Said {
    /// The limit that was made.
    Right,
    /// That it is not known.
    NotKnown,
    /// Another one.
    Wrong(String),
}

/// Nine of ten are to be told, in both strengths, and none of them wrongly.
#[test]
fn limits_that_are_made_on_purpose_are_told_and_none_is_told_wrongly() {
    let stage = Stage::new();
    let mut report = String::new();
    let (mut right, mut wrong, mut judged) = (0, 0, 0);
    for limit in Limit::ALL {
        for strength in [1, 2] {
            let Some(json) = stage.run(limit, strength) else {
                let name = format!("verdict: {limit:?}");
                pgdyno_testkit::record_skip(&name, "the machine has no second CPU");
                continue;
            };
            judged += 1;
            let verdict = &json["verdict"];
            let said = match verdict["limit"].as_str().unwrap_or("nothing at all") {
                code if limit.codes().contains(&code) => Said::Right,
                "not-known" => Said::NotKnown,
                other => Said::Wrong(other.to_owned()),
            };
            right += u32::from(said == Said::Right);
            wrong += u32::from(matches!(said, Said::Wrong(_)));
            let line = format!("{limit:?} {strength}: {said:?}\n");
            print!("{line}");
            report += &line;
            if said != Said::Right {
                report += &format!("{verdict:#}\n");
            }
        }
    }
    assert_eq!(wrong, 0, "{report}");
    assert!(right * 10 >= judged * 9, "{right} of {judged}\n{report}");
}
