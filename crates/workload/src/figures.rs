//! Figures that a pack makes of a trial (`[[figure]]`): expressions over what its scripts did.
//!
//! Not for: printing (`report/figures_of_pack`), keeping (`store`).

use std::collections::BTreeMap;

use pgdyno_measurement::{Phase, ScriptInterval};
use pgdyno_model::document::PackFigure;
use pgdyno_script::Value;

use super::expression;
use super::manifest::FigureEntry;
use super::pack::Pack;

/// What expressions see beside the parameters; figures of the scripts that the figure names.
pub(super) const VARIABLES: [&str; 11] = [
    "committed",
    "per_s",
    "failed",
    "all_committed",
    "elapsed_s",
    "clients",
    "mean_ms",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
];

/// What is not known of a run, in expressions.
const NULL: &str = "null";

/// The figures of a run whose scripts have these names; `values` are the parameters and `clients`.
pub fn of(
    pack: &Pack,
    scripts: &[&str],
    measured: &Phase,
    values: &BTreeMap<String, String>,
) -> Vec<PackFigure> {
    let figures = pack.manifest.figures.iter();
    figures
        .filter_map(
            |figure| match made(pack, figure, scripts, measured, values) {
                Ok(made) => made,
                Err(why) => Some(PackFigure {
                    unknown: Some(why),
                    ..empty(figure)
                }),
            },
        )
        .collect()
}

fn empty(figure: &FigureEntry) -> PackFigure {
    PackFigure {
        name: figure.name.clone(),
        help: figure.help.clone(),
        unit: figure.unit.clone(),
        value: None,
        at_least: None,
        at_most: None,
        within: None,
        unknown: None,
    }
}

/// `None` where the figure is none of these parameters'.
fn made(
    pack: &Pack,
    figure: &FigureEntry,
    scripts: &[&str],
    measured: &Phase,
    values: &BTreeMap<String, String>,
) -> Result<Option<PackFigure>, String> {
    let place = pack.place_of("figure", &figure.name);
    if let Some(when) = &figure.when
        && !expression::condition(&place, when, values)?
    {
        return Ok(None);
    }
    let mut all = values.clone();
    all.extend(variables(pack, figure, scripts, measured));
    let number = |text: &str| match expression::value(&place, text, &all)? {
        Value::Int(number) => Ok(Some(number as f64)),
        Value::Double(number) => Ok(Some(number).filter(|number| number.is_finite())),
        Value::Null => Ok(None),
        _ => Err(format!("{place}: \"{text}\" is not a number")),
    };
    let limit = |text: &Option<String>| text.as_deref().map_or(Ok(None), number);
    let mut made = PackFigure {
        at_least: limit(&figure.at_least)?,
        at_most: limit(&figure.at_most)?,
        ..empty(figure)
    };
    let has_enough = match &figure.enough {
        Some(enough) => expression::condition(&place, enough, &all)?,
        None => true,
    };
    if has_enough {
        made.value = number(&figure.value)?;
    }
    match made.value {
        Some(value) if made.at_least.is_some() || made.at_most.is_some() => {
            let is_enough = made.at_least.is_none_or(|least| value >= least);
            made.within = Some(is_enough && made.at_most.is_none_or(|most| value <= most));
        }
        Some(_) => {}
        None => made.unknown = Some("too few transactions".to_owned()),
    }
    Ok(Some(made))
}

/// What the figure's scripts did.
fn variables(
    pack: &Pack,
    figure: &FigureEntry,
    scripts: &[&str],
    measured: &Phase,
) -> Vec<(String, String)> {
    let mut sum = ScriptInterval::default();
    let mut per_s = 0.0;
    for (number, (name, script)) in scripts.iter().zip(&measured.scripts).enumerate() {
        if figure.scripts.is_empty() || figure.scripts.iter().any(|of| of == name) {
            sum.merge(script);
            per_s += measured.goodput_per_s_of(number);
        }
    }
    // With a rate as users wait for it.
    let latency = sum.response.as_ref().unwrap_or(&sum.service);
    let ms = |us: Option<f64>| us.map_or(NULL.to_owned(), |us| double(us / 1000.0));
    let percentile = |percent| ms(latency.percentile_us(percent).map(|us| us as f64));
    let mut all: Vec<(String, String)> = Vec::new();
    for script in &pack.manifest.scripts {
        let place = scripts.iter().position(|name| *name == script.name);
        let its = place.and_then(|place| measured.scripts.get(place));
        let committed = its.map_or(0, |script| script.counts.committed);
        all.push((of_script(&script.name), committed.to_string()));
    }
    let variables = [
        ("committed", sum.counts.committed.to_string()),
        ("per_s", double(per_s)),
        (
            "failed",
            sum.counts.failed.values().sum::<u64>().to_string(),
        ),
        ("all_committed", measured.all().counts.committed.to_string()),
        ("elapsed_s", double(measured.asked_us() as f64 / 1e6)),
        ("mean_ms", ms(latency.mean_us())),
        ("p50_ms", percentile(50.0)),
        ("p90_ms", percentile(90.0)),
        ("p95_ms", percentile(95.0)),
        ("p99_ms", percentile(99.0)),
    ];
    all.extend(variables.map(|(name, value)| (name.to_owned(), value)));
    all
}

/// The variable with what was committed of a script.
pub(super) fn of_script(name: &str) -> String {
    format!("committed_{}", name.replace('-', "_"))
}

/// As the language of scripts reads a double: with a point.
fn double(number: f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tests::pack;

    /// The figures of a pack with this `[[figure]]`, after so many transactions of 2 ms by each script.
    fn figure(entry: &str, committed: u64) -> PackFigure {
        let manifest = format!(
            "name='x'\nsummary='s'\nparam=[{{name='n',default=3,help='h'}}]\n\
             script=[{{name='a',file='a.sql'}},{{name='b',file='a.sql'}}]\n\
             [[figure]]\nname='f'\nhelp='h'\nunit='ms'\n{entry}"
        );
        let pack = pack(&[("pack.toml", &manifest), ("a.sql", "SELECT 1;")]).unwrap();
        let mut script = ScriptInterval::default();
        script.counts.committed = committed;
        (0..committed).for_each(|_| script.service.record(2000));
        let measured = Phase {
            elapsed_us: 2_000_000,
            scripts: vec![script.clone(), script],
            ..Phase::default()
        };
        let values = BTreeMap::from([("n".to_owned(), "3".to_owned())]);
        of(&pack, &["a", "b"], &measured, &values).remove(0)
    }

    #[test]
    fn a_figure_is_of_its_scripts_and_judged_by_its_limits() {
        let within = figure("value=':committed * :n'\nscripts=['b']\nat_most='30'", 10);
        assert_eq!((within.value, within.within), (Some(30.0), Some(true)));
        let both = figure("value=':committed'\nat_least=':n * 7'", 10);
        assert_eq!((both.value, both.within), (Some(20.0), Some(false)));
        let share = figure(
            "value='100.0 * :committed / :all_committed'\nscripts=['a']",
            10,
        );
        assert_eq!((share.value, share.within), (Some(50.0), None));
        let other = figure(
            "value=':committed_b'\nscripts=['a']\nat_least=':p90_ms'",
            10,
        );
        assert_eq!((other.value, other.within), (Some(10.0), None));
        let rate = figure("value=':per_s * 60'\nscripts=['a']", 10);
        assert_eq!(rate.value, Some(300.0));
        let mean = figure("value=':mean_ms'", 1).value.unwrap();
        assert!((mean - 2.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn what_rests_on_too_little_is_not_shown() {
        // A percentile needs ten transactions above it.
        let p90 = figure("value=':p90_ms'\nscripts=['a']\nat_most='5'", 99);
        assert_eq!((p90.value, p90.within), (None, None));
        assert_eq!(p90.unknown.as_deref(), Some("too few transactions"));
        assert!(
            figure("value=':p90_ms'\nscripts=['a']", 100)
                .value
                .is_some()
        );
        let few = figure("value=':committed'\nenough=':all_committed >= 21'", 10);
        assert_eq!(few.unknown.as_deref(), Some("too few transactions"));
        // 0 / 0 is no figure.
        assert_eq!(figure("value='0.0 / :committed'", 0).value, None);
    }
}
