//! The generators of a trial: a row each in the terminal, and who weakened the result.

use pgdyno_model::client_bound::CLIENT_BOUND_SHARE;
use pgdyno_model::document::answer::Sure;
use pgdyno_model::document::{Generator, GeneratorEnd, Generators};
use pgdyno_spec::text::{self, DASH};

use super::table::Table;

/// More rows than this are left out from the middle: those that say something are among them.
const ROWS_MAX: usize = 32;

/// So many who weakened it are named.
const NAMED_MAX: usize = 4;

/// Whether several generators gave one result, and who weakened it.
pub fn sure(all: &Generators) -> Vec<Sure> {
    let mut sure = Vec::new();
    let (named, more) = weak(all, |one| {
        !matches!(one.end, GeneratorEnd::Complete | GeneratorEnd::Running)
    });
    for one in named {
        let text = match one.until_us {
            0 => "nothing of it is in the result".to_owned(),
            us => format!(
                "nothing of it after {} s: what its clients would have done is missing",
                text::fixed(us as f64 / 1e6, 1)
            ),
        };
        sure.push(Sure::failed(
            format!("{} {}", name(one), one.end.words()),
            text,
        ));
    }
    if more > 0 {
        let more = text::plural(more as u64, "other");
        sure.push(Sure::failed(
            format!("{more} not whole"),
            "named in the table",
        ));
    }
    let is_over = all.list.iter().all(|one| one.end != GeneratorEnd::Running);
    if sure.is_empty() && is_over {
        let count = text::count(all.list.len() as u64);
        let asked = text::count(all.asked.into());
        sure.push(Sure::held(
            "Whole",
            format!("{count} of {asked} measured to the end"),
        ));
    }
    let (named, more) = weak(all, is_bound);
    for one in named {
        let busy = one.busiest_share.map_or_else(String::new, text::share);
        sure.push(Sure::failed(
            format!("{} was short of CPU", name(one)),
            format!("its busiest thread needed one for {busy} of the time: its share is too low, and late"),
        ));
    }
    if more > 0 {
        let more = text::plural(more as u64, "other");
        sure.push(Sure::failed(
            format!("{more} short of CPU"),
            "named in the table",
        ));
    }
    if let Some(spread_us) = all.start_spread_us {
        let uncertain = all.start_uncertainty_us.map(|us| text::time(us as f64));
        let uncertain = uncertain.map_or_else(String::new, |us| format!(" ± {us}"));
        let words = format!(
            "{}{uncertain} from first to last",
            text::time(spread_us as f64)
        );
        sure.push(if spread_us <= Generators::APART_MAX_US {
            Sure::held("Common start", words)
        } else {
            Sure::failed("No common start", words)
        });
    } else {
        sure.push(Sure::limit(
            "Start not known",
            "their clocks could not be compared",
        ));
    }
    sure.push(Sure::held(
        "Exact merge",
        "histograms are added by second and script, never averaged",
    ));
    sure
}

/// Those of whom this is so, as far as they are named, and how many more there are.
fn weak(all: &Generators, is_so: fn(&Generator) -> bool) -> (Vec<&Generator>, usize) {
    let mut weak: Vec<&Generator> = all.list.iter().filter(|one| is_so(one)).collect();
    let more = weak.len().saturating_sub(NAMED_MAX);
    weak.truncate(NAMED_MAX);
    (weak, more)
}

fn is_bound(one: &Generator) -> bool {
    one.busiest_share
        .is_some_and(|share| share >= CLIENT_BOUND_SHARE)
}

fn name(one: &Generator) -> String {
    format!("Generator {}", one.generator)
}

/// A row a generator, and what is known of their start.
pub fn text(all: &Generators, width: usize) -> String {
    let mut table = Table::default();
    let heading = [
        "generator",
        "clients",
        "committed",
        "share",
        "tx/s",
        "CPU, s",
        "busiest",
        "adds, ms",
        "began, ms",
        "until, s",
        "",
    ];
    table.row(heading);
    let committed: u64 = all.list.iter().map(|one| one.committed).sum();
    let shown = shown(&all.list);
    for one in &shown {
        table.row(row(one, committed));
    }
    let mut lines = table.text(width);
    if shown.len() < all.list.len() {
        let hidden = text::plural((all.list.len() - shown.len()) as u64, "generator");
        lines += &format!("{hidden} that measured to the end, not shown\n");
    }
    if let Some(spread_us) = all.start_spread_us {
        let uncertain_us = all.start_uncertainty_us.unwrap_or_default();
        lines += &format!(
            "they began within {} ± {} of each other\n",
            text::time(spread_us as f64),
            text::time(uncertain_us as f64)
        );
    }
    lines
}

/// Of many only those that did not measure to the end, and the first of the others.
fn shown(list: &[Generator]) -> Vec<&Generator> {
    let missing = list.iter().filter(|one| one.end != GeneratorEnd::Complete);
    let mut shown: Vec<&Generator> = missing.collect();
    let complete = list.iter().filter(|one| one.end == GeneratorEnd::Complete);
    shown.extend(complete.take(ROWS_MAX.saturating_sub(shown.len())));
    shown.sort_by_key(|one| one.generator);
    shown
}

fn row(one: &Generator, committed: u64) -> [String; 11] {
    let known = |text: Option<String>| text.unwrap_or_else(|| DASH.to_owned());
    let host = one
        .host
        .as_deref()
        .map(|host| text::shown(host).into_owned());
    let clock_us = one.clock.map_or(0, |clock| clock.uncertainty_us);
    let began = one.began_late_us.map(|late_us| {
        let (late, clock) = (
            text::ms_shortly(late_us as f64),
            text::ms_shortly(clock_us as f64),
        );
        format!("+{late} ± {clock}")
    });
    let end = match one.end {
        GeneratorEnd::Complete if is_bound(one) => "client-bound",
        GeneratorEnd::Complete => "",
        other => other.words(),
    };
    [
        format!("{} {}", one.generator, known(host)),
        text::count(one.clients.into()),
        text::count(one.committed),
        text::percent(one.committed, committed),
        text::rate(one.goodput_per_s),
        known(one.cpu_us.map(|us| text::fixed(us as f64 / 1e6, 2))),
        known(one.busiest_share.map(text::share)),
        known(one.added_mean_us.map(text::ms_shortly)),
        known(began),
        text::fixed(one.until_us as f64 / 1e6, 1),
        end.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::ClockReading;
    use pgdyno_model::document::answer::SureState;

    fn generator(generator: u32, end: GeneratorEnd) -> Generator {
        Generator {
            generator,
            end,
            trial: Some(7),
            host: Some("gen-a".to_owned()),
            clients: 1000,
            committed: 719_334,
            goodput_per_s: 5994.0,
            cpu_us: Some(73_000_000),
            busiest_share: Some(0.61),
            lag_max_us: Some(100),
            added_mean_us: Some(30.0),
            began_late_us: Some(4000),
            clock: Some(ClockReading {
                offset_us: -3,
                uncertainty_us: 400,
            }),
            clock_drift_us: Some(1),
            until_us: 120_000_000,
            committed_by_second: Vec::new(),
        }
    }

    fn all(list: Vec<Generator>) -> Generators {
        Generators {
            asked: list.len() as u32,
            list,
            start_spread_us: Some(7000),
            start_uncertainty_us: Some(900),
        }
    }

    #[test]
    fn each_generator_has_a_row_and_who_died_is_named() {
        let died = Generator {
            cpu_us: None,
            busiest_share: None,
            until_us: 88_000_000,
            ..generator(1, GeneratorEnd::Died)
        };
        let shown = text(&all(vec![generator(0, GeneratorEnd::Complete), died]), 200);
        let row = |number: &str| {
            let mut lines = shown.lines();
            let line = lines
                .find(|line| line.trim_start().starts_with(number))
                .unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row("0 "),
            "0 gen-a 1,000 719,334 50.0 % 5,994.0 73.00 61.0 % 0.03 +4 ± 0.4 120.0"
        );
        assert!(
            row("1 ").ends_with("– – 0.03 +4 ± 0.4 88.0 died"),
            "{shown}"
        );
        assert!(
            shown.contains("they began within 7.00 ms ± 900 µs"),
            "{shown}"
        );
    }

    #[test]
    fn who_weakened_the_one_result_is_named() {
        let died = Generator {
            until_us: 88_000_000,
            ..generator(3, GeneratorEnd::Died)
        };
        let bound = Generator {
            busiest_share: Some(0.91),
            ..generator(2, GeneratorEnd::Complete)
        };
        let shown = |all: &Generators| -> Vec<String> {
            let all = sure(all).into_iter();
            let mark = |it: &Sure| match it.state {
                SureState::Held => "✓",
                SureState::Failed => "✗",
                SureState::Limit => "○",
            };
            all.map(|it| format!("{} {}", mark(&it), it.name)).collect()
        };
        let whole = || generator(0, GeneratorEnd::Complete);
        assert_eq!(
            shown(&all(vec![whole(), bound.clone(), died])),
            [
                "✗ Generator 3 died",
                "✗ Generator 2 was short of CPU",
                "✓ Common start",
                "✓ Exact merge"
            ]
        );
        let row = text(&all(vec![bound]), 200);
        assert!(row.contains("client-bound"), "{row}");
        let mut apart = all(vec![whole(), whole()]);
        apart.start_spread_us = Some(2_000_000);
        assert_eq!(
            shown(&apart),
            ["✓ Whole", "✗ No common start", "✓ Exact merge"]
        );
        apart.start_spread_us = None;
        assert_eq!(shown(&apart)[1], "○ Start not known");
        let none = || generator(1, GeneratorEnd::NeverArrived);
        let many = all((0..7).map(|_| none()).collect());
        assert_eq!(shown(&many)[4], "✗ 3 others not whole");
    }

    #[test]
    fn of_a_thousand_those_that_are_missing_are_shown() {
        let mut list: Vec<Generator> = (0..1000)
            .map(|number| generator(number, GeneratorEnd::Complete))
            .collect();
        list[900].end = GeneratorEnd::NeverArrived;
        let shown = text(&all(list), 200);
        assert!(shown.contains("never arrived"), "{shown}");
        assert!(
            shown.contains("968 generators that measured to the end"),
            "{shown}"
        );
    }
}
