//! Whether the database has what it acknowledged, as text.

use pgdyno_model::Fact;
use pgdyno_model::document::{LostWrite, Sums, Truth};
use pgdyno_spec::text;

/// So many lost writes are printed.
const SHOWN_MAX: usize = 5;

/// The lines; those about lost writes first.
pub fn text(truth: &Fact<Truth>) -> String {
    let truth = match truth {
        Fact::Known(truth) => truth,
        Fact::Unknown(why) => {
            return format!("receipts     not known whether writes were lost: {why}\n");
        }
    };
    let mut lines = String::new();
    if truth.lost > 0 {
        let (lost, of) = (text::count(truth.lost), text::count(truth.acknowledged));
        lines += &format!(
            "LOST WRITES  {lost} of {of} acknowledged transactions are not in the database\n"
        );
        for lost in truth.lost_first.iter().take(SHOWN_MAX) {
            lines += &format!("             {}\n", one(lost));
        }
        let more = truth.lost - truth.lost_first.len().min(SHOWN_MAX) as u64;
        if more > 0 {
            lines += &format!("             and {} more\n", text::count(more));
        }
    }
    let all = match truth.lost {
        0 => ", all in the database",
        _ => "",
    };
    lines += &format!(
        "receipts     {} acknowledged{all}",
        text::count(truth.acknowledged)
    );
    if truth.in_doubt > 0 {
        let (landed, unknown) = (truth.in_doubt_landed, truth.in_doubt);
        lines += &format!(
            "; {} unknown: {} committed, {} not",
            text::count(unknown),
            text::count(landed),
            text::count(unknown - landed)
        );
    }
    if truth.failed_landed > 0 {
        lines += &format!(
            "; {} failed and committed",
            text::count(truth.failed_landed)
        );
    }
    if truth.twice > 0 {
        lines += &format!("; {} there twice", text::count(truth.twice));
    }
    lines += &match truth.sums.as_ref() {
        Some(Fact::Known(sums)) if sums.agree() => "; sums agree\n".to_owned(),
        Some(Fact::Known(sums)) => format!("; SUMS DISAGREE: {}\n", grown(sums)),
        Some(Fact::Unknown(why)) => format!("; {why}\n"),
        None => "\n".to_owned(),
    };
    lines
}

fn one(lost: &LostWrite) -> String {
    format!(
        "client {}, its transaction {}, acknowledged {}",
        lost.client,
        text::count(lost.number),
        when(lost)
    )
}

/// When it was acknowledged, as closely as that is known.
fn when(lost: &LostWrite) -> String {
    let by = text::decimal_seconds(lost.by_us as i64);
    match lost.within_us {
        0 => format!("at {by} s"),
        within => {
            let from = text::decimal_seconds((lost.by_us - within) as i64);
            format!("between {from} and {by} s")
        }
    }
}

fn grown(sums: &Sums) -> String {
    let grown = sums.grown.iter();
    let grown = grown.map(|(table, by)| format!("{table} has grown by {by}"));
    grown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_writes_come_first_with_their_clients_and_times() {
        let mut truth = Truth {
            acknowledged: 1200,
            in_doubt: 3,
            in_doubt_landed: 1,
            sums: Some(Fact::Known(Sums {
                grown: vec![("a".to_owned(), 5), ("b".to_owned(), 5)],
            })),
            ..Truth::default()
        };
        let plain = |truth: &Truth| text(&Fact::Known(truth.clone())).replace('\u{a0}', " ");
        assert_eq!(
            plain(&truth),
            "receipts     1,200 acknowledged, all in the database; 3 unknown: 1 committed, 2 not; \
             sums agree\n"
        );
        truth.lost = 7;
        truth.lost_first = vec![LostWrite {
            client: 3,
            number: 812,
            by_us: 10_400_000,
            within_us: 1_000_000,
        }];
        truth.sums = None;
        let reported = plain(&truth);
        assert!(
            reported.starts_with("LOST WRITES  7 of 1,200 acknowledged"),
            "{reported}"
        );
        assert!(
            reported.contains("client 3, its transaction 812, acknowledged between 9.4"),
            "{reported}"
        );
        assert!(reported.contains("and 6 more\n"), "{reported}");
        let unknown = text(&Fact::Unknown("the server is a standby".to_owned()));
        assert!(
            unknown.contains("not known whether writes were lost: the server"),
            "{unknown}"
        );
    }
}
