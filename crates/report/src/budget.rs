//! Where the clients' time went, in the terminal: one bar of one character a part, in the order of a
//! request's way, and a table of the parts, the largest first. It needs no colour.

use pgdyno_model::document::{BudgetPart, Part, TimeBudget};
use pgdyno_spec::text as figures;

/// The bar's length, and that of the longest line.
const WIDTH: usize = 80;
/// So many parts have a row of their own, the one that is not attributed beside.
const ROWS_MAX: usize = 6;
/// Smaller ones are reported together.
const SHARE_MIN: f64 = 0.01;
/// Their sign in the bar.
const SMALL: char = '.';
const NOT_ATTRIBUTED: char = '?';
/// For the others, the largest first.
const MARKS: [char; ROWS_MAX] = ['#', '=', '+', '%', '~', 'o'];

/// As lines of text; none without any time.
pub fn text(budget: &TimeBudget) -> String {
    if budget.client_seconds <= 0.0 {
        return String::new();
    }
    let rows = rows(budget);
    let title = "WHERE THE CLIENTS’ TIME WENT";
    let clients = figures::plural(budget.clients, "client");
    let all = seconds(budget.client_seconds);
    let of = if budget.is_whole() {
        let elapsed = figures::significant(budget.elapsed_s, 3);
        format!("{clients} x {elapsed} s = {all} client-seconds")
    } else {
        format!("{clients} to their ends: {all} client-seconds")
    };
    let mut text = apart(title, &of) + &bar(budget, &rows);
    let columns = "    %  client-s  ms/commit";
    let phases: String = budget
        .phases
        .iter()
        .map(|phase| format!("{:>7}", short(&phase.name)))
        .collect();
    text += &apart(columns, &phases);
    for (row, mark) in &rows {
        let at = budget.parts.iter().position(|part| part.part == row.part);
        let shares = budget
            .phases
            .iter()
            .map(|phase| at.map_or(0.0, |at| phase.shares[at]));
        let us = row.us_per_commit;
        text += &line(
            row.share,
            row.client_s,
            us,
            &format!("{mark} {}", row.name),
            shares,
        );
    }
    text += &small(budget, &rows);
    let whole = budget.phases.iter().map(|_| 1.0);
    let us = budget.parts.iter().filter_map(|part| part.us_per_commit);
    let us = us.reduce(|a, b| a + b);
    text += &line(1.0, budget.client_seconds, us, "  all", whole);
    if let Some(why) = &budget.unseen {
        text += &format!("the server’s parts are not known: {why}\n");
    }
    text
}

/// What is said at the left, and what at the right.
fn apart(left: &str, right: &str) -> String {
    let used = left.chars().count() + right.chars().count();
    let text = format!("{left}{}{right}", " ".repeat(WIDTH.saturating_sub(used)));
    text.trim_end().to_owned() + "\n"
}

fn short(phase: &str) -> &str {
    match phase {
        "checkpoint" => "ckpt.",
        "first half" => "half 1",
        "second half" => "half 2",
        other => other,
    }
}

fn line(
    share: f64,
    client_s: f64,
    us_per_commit: Option<f64>,
    name: &str,
    shares: impl Iterator<Item = f64>,
) -> String {
    let percent = |share: f64| {
        if share < 1.0 {
            // Never rounded up to all.
            format!("{:.1}", (share * 100.0).min(99.9))
        } else {
            format!("{:.1}", share * 100.0)
        }
    };
    let ms = us_per_commit.map_or("–".to_owned(), |us| figures::significant(us / 1000.0, 3));
    let left = format!(
        "{:>5} {:>9} {ms:>10}   {name}",
        percent(share),
        seconds(client_s)
    );
    let right: String = shares
        .map(|share| format!("{:>7}", percent(share)))
        .collect();
    apart(&left, &right)
}

fn seconds(client_s: f64) -> String {
    figures::fixed(client_s, if client_s < 1000.0 { 1 } else { 0 })
}

/// The parts with a row of their own and their marks: the largest first, what is not attributed last.
fn rows(budget: &TimeBudget) -> Vec<(&BudgetPart, char)> {
    let is_unknown = |part: &&BudgetPart| part.part == Part::NotAttributed;
    let known = budget.parts.iter().filter(|part| !is_unknown(part));
    let mut known: Vec<&BudgetPart> = known.filter(|part| part.share >= SHARE_MIN).collect();
    known.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut rows: Vec<(&BudgetPart, char)> = known.into_iter().zip(MARKS).collect();
    let unknown = budget.parts.iter().find(is_unknown);
    rows.extend(unknown.map(|part| (part, NOT_ATTRIBUTED)));
    rows
}

/// Those without a row, together.
fn small(budget: &TimeBudget, rows: &[(&BudgetPart, char)]) -> String {
    let is_small = |part: &&BudgetPart| rows.iter().all(|(row, _)| row.part != part.part);
    let all: Vec<&BudgetPart> = budget.parts.iter().filter(is_small).collect();
    if all.is_empty() {
        return String::new();
    }
    let sum = |of: fn(&BudgetPart) -> f64| all.iter().map(|part| of(part)).sum::<f64>();
    let largest = all.iter().map(|part| part.share).fold(0.0, f64::max);
    let name = match &all[..] {
        [one] => format!("{SMALL} {}", one.name),
        _ => format!(
            "{SMALL} {} parts, each ≤ {:.1}",
            all.len(),
            (largest * 1000.0).ceil() / 10.0
        ),
    };
    let us = all.iter().filter_map(|part| part.us_per_commit);
    let us = us.reduce(|a, b| a + b);
    let shares = budget.phases.iter().map(|phase| {
        let parts = budget.parts.iter().zip(&phase.shares);
        let small = parts.filter(|(part, _)| is_small(part));
        small.map(|(_, share)| share).sum()
    });
    line(
        sum(|part| part.share),
        sum(|part| part.client_s),
        us,
        &name,
        shares,
    )
}

/// A character for each eightieth: where it begins decides whose it is.
fn bar(budget: &TimeBudget, rows: &[(&BudgetPart, char)]) -> String {
    let mark = |part: Part| {
        let row = rows.iter().find(|(row, _)| row.part == part);
        row.map_or(SMALL, |(_, mark)| *mark)
    };
    let mut text = String::new();
    let mut end = 0.0;
    for part in &budget.parts {
        end += part.share * WIDTH as f64;
        while text.chars().count() < (end.round() as usize).min(WIDTH) {
            text.push(mark(part.part));
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::BudgetPhase;

    fn part(part: Part, share: f64) -> BudgetPart {
        BudgetPart {
            part,
            name: part.name().to_owned(),
            share,
            interval: None,
            client_s: share * 1920.0,
            us_per_commit: Some(share * 10_310.0),
            source: String::new(),
        }
    }

    fn budget() -> TimeBudget {
        let shares = [
            (Part::GeneratorWait, 0.006),
            (Part::Wire, 0.04),
            (Part::ServerCpu, 0.13),
            (Part::ServerWait, 0.021),
            (Part::RowLocks, 0.246),
            (Part::LightweightLocks, 0.044),
            (Part::Wal, 0.46),
            (Part::DataReads, 0.011),
            (Part::Slru, 0.005),
            (Part::NotAttributed, 0.037),
        ];
        let parts: Vec<BudgetPart> = shares.map(|(of, share)| part(of, share)).into();
        let phase = |name: &str| BudgetPhase {
            name: name.to_owned(),
            from_us: 0,
            to_us: 1,
            shares: parts.iter().map(|part| part.share).collect(),
        };
        TimeBudget {
            clients: 32,
            elapsed_s: 60.0,
            client_seconds: 1920.0,
            blocks: 30,
            phases: ["before", "checkpoint", "after"].map(phase).into(),
            parts,
            unseen: None,
            added: Vec::new(),
        }
    }

    #[test]
    fn the_bar_keeps_the_order_of_a_request_and_the_table_that_of_size() {
        let text = text(&budget());
        let expected = "\
WHERE THE CLIENTS’ TIME WENT          32 clients x 60.0 s = 1,920 client-seconds
~~~~++++++++++oo===================%%%%#####################################.???
    %  client-s  ms/commit                                  before  ckpt.  after
 46.0     883.2       4.74   # WAL and commit                 46.0   46.0   46.0
 24.6     472.3       2.54   = Row locks                      24.6   24.6   24.6
 13.0     249.6       1.34   + Server on a CPU                13.0   13.0   13.0
  4.4      84.5      0.454   % Lightweight locks               4.4    4.4    4.4
  4.0      76.8      0.412   ~ On the wire                     4.0    4.0    4.0
  2.1      40.3      0.217   o Server waiting for a CPU        2.1    2.1    2.1
  3.7      71.0      0.381   ? Not attributed                  3.7    3.7    3.7
  2.2      42.2      0.227   . 3 parts, each ≤ 1.1             2.2    2.2    2.2
100.0     1,920       10.3     all                           100.0  100.0  100.0
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn clients_that_ended_before_the_last_transaction_are_not_multiplied_by_all_the_time() {
        let budget = TimeBudget {
            client_seconds: 1500.0,
            ..budget()
        };
        let text = text(&budget);
        let title = text.lines().next().unwrap();
        assert!(
            title.ends_with(" 32 clients to their ends: 1,500 client-seconds"),
            "{title}"
        );
        assert!(title.chars().count() <= 80, "{title}");
    }

    #[test]
    fn no_time_is_no_budget() {
        assert_eq!(super::text(&TimeBudget::default()), "");
    }
}
