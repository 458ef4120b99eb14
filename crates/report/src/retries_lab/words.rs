//! What the tables mean, in words that claim no more than the repeats support.

use pgdyno_stats::{Sample, Verdict};
use serde_json::Value;

use super::pairs::{self, Pairs};
use super::{Form, Point, Results};
use pgdyno_spec::{experiment::retries_lab::PLAIN, text as figures};

/// Fewer retries for a commit than this are hardly any.
const HARDLY_ANY: f64 = 0.005;

impl Results {
    /// What is to be said of all points.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let measured = || self.points.iter().flat_map(|point| &point.forms);
        let repeats = measured().map(|form| form.goodputs.len()).max();
        let most = measured().filter_map(Form::retries_per_commit);
        let most = most.fold(0.0, f64::max);
        let is_weak = |point: &Point| {
            let level = point.level();
            level.is_some_and(|level| matches!(level, "read committed" | "read uncommitted"))
        };
        if repeats.is_some() && most < HARDLY_ANY && self.points.iter().all(is_weak) {
            remarks.push(format!(
                "Under {} there are hardly any retries here (at most {most:.3} per commit): \
                 forms differ in round trips and in how long locks are held. To compare forms \
                 with retries: pgdyno lab retries --isolation serializable",
                self.points
                    .first()
                    .and_then(Point::level)
                    .unwrap_or_default()
            ));
        }
        let most_forms = self.points.iter().map(|point| point.measured().len()).max();
        let need = pairs::repeats_needed_of(most_forms.unwrap_or(0));
        if let Some(repeats) = repeats.filter(|n| *n > 0 && *n < need) {
            let repeats = match repeats {
                1 => "One repeat is".to_owned(),
                _ => format!("{repeats} repeats are"),
            };
            remarks.push(format!(
                "{repeats} a first look and no verdict: --repeat {need} compares with intervals."
            ));
        }
        remarks
    }
}

impl Point {
    /// The isolation level: as it was found, else as it was asked for.
    fn level(&self) -> Option<&str> {
        self.isolation
            .as_deref()
            .or(self.given["isolation"].as_str())
    }

    /// What to do, as far as the repeats can tell.
    pub(super) fn sentence(&self) -> Option<String> {
        let measured = self.measured();
        let all = Pairs::of(&measured);
        let (best, others) = measured.split_first()?;
        let plain = others.iter().find(|form| form.name == PLAIN);
        let other = match (best.name == PLAIN, plain) {
            (false, Some(plain)) => plain,
            // Nothing does better than what is there: the best of the others says so.
            (true, _) => others.first()?,
            (false, None) => others.last()?,
        };
        let gain = gain(&all, best, other)?;
        let clients = clients(&self.given);
        let (best_name, other_name) = (&best.name, &other.name);
        Some(match gain {
            Gain::None(why) if best.name == PLAIN => format!(
                "At {clients} no form gives more goodput than `{PLAIN}` on this server; \
                 `{other_name}` shows no significant difference ({why})."
            ),
            Gain::None(why) => format!(
                "At {clients} no form is clearly best on this server: `{best_name}` and \
                 `{other_name}` show no significant difference ({why})."
            ),
            Gain::Times(_) if best.name == PLAIN => format!(
                "At {clients} stay with `{PLAIN}`: on this server no form gives more goodput{}.",
                given_up(best)
            ),
            Gain::Times(times) => format!(
                "At {clients} use `{best_name}`{}: on this server it gives {times} the goodput of \
                 `{other_name}`{}{}.",
                peers(&all, best, others),
                retries(other, best),
                given_up(best)
            ),
        })
    }
}

pub(super) fn clients(given: &Value) -> String {
    figures::plural(given["clients"].as_u64().unwrap_or(1), "client")
}

/// How much more one sample is than another.
enum Gain {
    Times(String),
    /// Nothing that the repeats would support, and why.
    None(String),
}

/// Of two forms that were measured; `None`: one was not.
fn gain(all: &Pairs, more: &Form, less: &Form) -> Option<Gain> {
    if let Some(compared) = all.get(&more.name, &less.name)
        && compared.verdict.can_tell()
    {
        return Some(match (compared.verdict, compared.ratio) {
            (Verdict::Different { .. }, Some(ratio)) => Gain::Times(format!(
                "{} × ({} interval {} to {} ×)",
                figures::some(ratio.estimate),
                figures::roughly(ratio.interval.level),
                figures::some(ratio.interval.low),
                figures::some(ratio.interval.high)
            )),
            _ => Gain::None("no significant difference".to_owned()),
        });
    }
    let (more, less) = (more.sample()?, less.sample()?);
    let repeats = more.values().len().min(less.values().len());
    let range = |sample: &Sample| {
        (
            sample.sorted()[0],
            sample.sorted()[sample.values().len() - 1],
        )
    };
    let ((more_min, more_max), (less_min, less_max)) = (range(&more), range(&less));
    if more_min <= less_max {
        return Some(Gain::None("their repeats overlap".to_owned()));
    }
    let times = more.median() / less.median();
    Some(Gain::Times(match repeats {
        1 => format!("{times:.1} × (in one repeat)"),
        _ => format!(
            "{times:.1} × ({:.1} to {:.1} × over {repeats} repeats)",
            more_min / less_max,
            more_max / less_min
        ),
    }))
}

/// The forms that may be as good as the best one.
fn peers(all: &Pairs, best: &Form, others: &[&Form]) -> String {
    let is_peer = |form: &&&Form| matches!(gain(all, best, form), Some(Gain::None(_)));
    let names = others.iter().filter(is_peer);
    let names: Vec<String> = names.map(|form| format!("`{}`", form.name)).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" (or {}: no significant difference)", names.join(", ")),
    }
}

/// How retries change from one form to another, where there are any.
fn retries(from: &Form, to: &Form) -> String {
    let (Some(was), Some(is)) = (from.retries_per_commit(), to.retries_per_commit()) else {
        return String::new();
    };
    if was.max(is) < HARDLY_ANY {
        return String::new();
    }
    let word = match is.total_cmp(&was) {
        std::cmp::Ordering::Less => "fall",
        _ => "rise",
    };
    format!("; retries {word} from {was:.2} to {is:.2} per commit")
}

/// What is left undone even so.
fn given_up(form: &Form) -> String {
    match form.work.given_up {
        0 => String::new(),
        count => format!(
            "; even so {} of its transactions are given up",
            figures::percent(count, form.total)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::{Latencies, Work};
    use serde_json::json;

    fn form(name: &str, goodputs: &[f64], retries: u64, server_retries: u64) -> Form {
        Form {
            name: name.to_owned(),
            goodputs: goodputs.to_vec(),
            repeats: Vec::new(),
            latencies: Latencies::default(),
            committed: 100,
            retries,
            total: 100,
            failed: 0,
            work: Work {
                server_retries,
                ..Work::default()
            },
            server_restarts: None,
            troubles: Vec::new(),
        }
    }

    fn point(clients: u32, forms: Vec<Form>) -> Point {
        Point {
            given: json!({ "clients": clients, "isolation": "serializable" }),
            isolation: None,
            forms,
        }
    }

    fn sentence(forms: Vec<Form>) -> String {
        point(32, forms).sentence().unwrap()
    }

    #[test]
    fn the_best_form_is_named_with_what_it_gains() {
        assert_eq!(
            sentence(vec![
                form("statements", &[1000.0, 980.0], 83, 0),
                form("cte", &[4000.0, 4200.0], 0, 2),
            ]),
            "At 32 clients use `cte`: on this server it gives 4.1 × (4.0 to 4.3 × over 2 repeats) the \
             goodput of `statements`; retries fall from 0.83 to 0.02 per commit."
        );
        let peers = sentence(vec![
            form("statements", &[10.0, 11.0], 0, 0),
            form("cte", &[40.0, 42.0], 0, 0),
            form("batch", &[41.0, 39.0], 0, 0),
            form("pipeline", &[30.0, 31.0], 0, 0),
        ]);
        let want =
            "At 32 clients use `cte` (or `batch`: no significant difference): on this server";
        assert!(peers.starts_with(want), "{peers}");
        let one = sentence(vec![
            form("statements", &[1000.0], 0, 0),
            form("cte", &[2000.0], 0, 0),
        ]);
        assert!(
            one.ends_with("2.0 × (in one repeat) the goodput of `statements`."),
            "{one}"
        );
    }

    #[test]
    fn five_repeats_are_compared_with_an_interval() {
        let text = sentence(vec![
            form("statements", &[100.0, 101.0, 99.0, 100.5, 99.5], 0, 0),
            form("batch", &[200.0, 202.0, 198.0, 201.0, 199.0], 0, 0),
        ]);
        assert!(
            text.contains("2.00 × (95 % interval 1.97 to 2.03 ×)"),
            "{text}"
        );
        // Their ranges overlap, and so do they.
        let text = sentence(vec![
            form("statements", &[100.0, 104.0, 96.0, 100.5, 99.5], 0, 0),
            form("batch", &[100.0, 105.0, 95.0, 101.0, 99.0], 0, 0),
        ]);
        assert!(text.contains("shows no significant"), "{text}");
        assert!(text.contains("no significant difference"), "{text}");
    }

    #[test]
    fn what_the_repeats_do_not_support_is_not_claimed() {
        let text = sentence(vec![
            form("statements", &[100.0, 130.0], 0, 0),
            form("cte", &[120.0, 140.0], 0, 0),
        ]);
        assert_eq!(
            text,
            "At 32 clients no form is clearly best on this server: `cte` and `statements` show no \
             significant difference (their repeats overlap)."
        );
        let text = sentence(vec![
            form("statements", &[100.0, 130.0], 0, 0),
            form("cte", &[90.0, 99.0], 0, 0),
        ]);
        assert_eq!(
            text,
            "At 32 clients stay with `statements`: on this server no form gives more goodput."
        );
        assert_eq!(point(1, vec![form("cte", &[1.0], 0, 0)]).sentence(), None);
        assert_eq!(point(1, vec![form("cte", &[], 0, 0)]).sentence(), None);
    }

    #[test]
    fn what_is_given_up_is_said_beside_the_gain() {
        let mut cte = form("cte", &[200.0], 10, 0);
        cte.work.given_up = 25;
        let text = sentence(vec![form("statements", &[100.0], 0, 0), cte]);
        assert!(
            text.ends_with(
                "rise from 0.00 to 0.10 per commit; even so 25.0 % of its \
                            transactions are given up."
            ),
            "{text}"
        );
    }

    #[test]
    fn a_form_that_could_not_be_run_is_a_row_with_its_reason() {
        let mut procedure = form("procedure", &[], 0, 0);
        procedure.troubles.push("it has no procedures".to_owned());
        let mut half = form("cte", &[10.0], 0, 0);
        half.troubles.push("the disk was full".to_owned());
        let results = Results {
            points: vec![point(
                1,
                vec![procedure, half, form("statements", &[20.0], 0, 0)],
            )],
            target: None,
            complete: 0,
        };
        let document = results.document();
        let text = super::super::text(&document, 110);
        // The answer comes first.
        let (_, text) = text.split_once("\n\n").unwrap();
        let text = &format!("\n{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1 client, serializable");
        assert!(lines[3].starts_with("statements"), "{text}");
        assert!(lines[4].starts_with("cte "), "{text}");
        assert!(
            lines[5].starts_with("procedure ") && lines[5].ends_with("– it has no procedures"),
            "{text}"
        );
        assert_eq!(lines[6], "cte: not in every trial: the disk was full");
        let json = serde_json::to_value(&document).unwrap();
        assert_eq!(
            json["points"][0]["forms"][2]["not_run"][0],
            "it has no procedures"
        );
        assert!(json["points"][0]["forms"][2]["goodput_per_s"].is_null());
    }

    #[test]
    fn the_level_that_was_found_is_said_and_what_was_asked_for() {
        let mut ignored = point(4, vec![form("cte", &[1.0], 0, 0)]);
        ignored.isolation = Some("repeatable read".to_owned());
        let results = Results {
            points: vec![ignored],
            target: None,
            complete: 0,
        };
        let text = super::super::text(&results.document(), 110);
        assert!(
            text.contains("\n\n4 clients, repeatable read (serializable was requested)\n"),
            "{text}"
        );
    }

    #[test]
    fn few_retries_under_a_weak_level_are_said_with_the_way_on() {
        let weak = |retries| Results {
            points: vec![Point {
                given: json!({ "clients": 32 }),
                isolation: Some("read committed".to_owned()),
                forms: vec![form("statements", &[20.0; 5], retries, 0)],
            }],
            target: None,
            complete: 0,
        };
        let remarks = weak(0).remarks();
        assert_eq!(remarks.len(), 1);
        assert!(
            remarks[0].contains("--isolation serializable"),
            "{remarks:?}"
        );
        assert_eq!(weak(10).remarks(), Vec::<String>::new());
    }
}
