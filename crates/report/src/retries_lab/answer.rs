//! The answer of the laboratory for retries: how the transaction is best written, and how sure that is.

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::retries_lab::{LabForm, LabPair, LabPoint, RetriesLab};
use pgdyno_spec::{experiment::retries_lab::PLAIN, text as figures};
use pgdyno_stats::{CompareOptions, MIN_REPEATS_TO_COMPARE, Sample, Verdict, compare};

use super::sections::{clients, title};

/// Where the page shows it.
pub(super) const SECTION: &str = "retries-lab";
/// So many forms that may be as good are named.
const PEERS_MAX: usize = 2;
/// So many other circumstances have a line of evidence each.
const POINTS_MAX: usize = 3;

/// The answer; `None`: no trial came to its end, and nothing says why.
pub fn answer(lab: &RetriesLab) -> Option<Answer> {
    let shown = most_contended(lab)?;
    let said = Said::of(shown);
    let several = lab.points.len() > 1;
    let mut evidence = said.evidence(shown);
    let others = lab
        .points
        .iter()
        .filter(|point| !std::ptr::eq(*point, shown));
    for point in others.take(POINTS_MAX) {
        let (figure, words) = Said::of(point).shortly();
        let words = format!("{}: {words}", title(lab, point));
        evidence.push(Proof::new(figure, words).at(SECTION, "Forms"));
    }
    let at = if several {
        format!(" ({})", title(lab, shown))
    } else {
        String::new()
    };
    Some(Answer {
        question: "What was asked: which form of the transaction wastes least under contention?"
            .to_owned(),
        sentence: said.sentence() + &at,
        state: match said.is {
            Is::Ahead { .. } | Is::Stay { .. } => AnswerState::Known,
            Is::Chance { .. } | Is::TooFew { .. } => AnswerState::CannotTell,
            Is::Alone(_) | Is::Nothing(_) => AnswerState::NotKnown,
        },
        careful: careful(lab, shown),
        sure: sure(lab, shown, &said),
        remedies: said.remedies(),
        evidence,
        ..Answer::default()
    })
}

/// Where most clients meet forms differ most: that is what was asked.
pub(super) fn most_contended(lab: &RetriesLab) -> Option<&LabPoint> {
    let clients_of = |point: &&LabPoint| point.given["clients"].as_u64().unwrap_or(1);
    // Of equals the first.
    lab.points.iter().rev().max_by_key(clients_of)
}

/// What a point's table means; `None`: there is nothing to compare.
pub(super) fn says(point: &LabPoint) -> Option<String> {
    let said = Said::of(point);
    let has_two = !matches!(said.is, Is::Alone(_) | Is::Nothing(_));
    has_two.then(|| said.sentence() + ".")
}

/// What can be said of the forms at a point.
struct Said<'a> {
    is: Is<'a>,
    /// Repeats of the form that has the fewest.
    repeats: usize,
    needs: u64,
}

enum Is<'a> {
    /// A form gives more than the one that it is held against; these may be as good as it.
    Ahead {
        best: &'a LabForm,
        reference: &'a LabForm,
        pair: &'a LabPair,
        peers: Vec<&'a str>,
    },
    /// The plain form is ahead of all others, or of the next.
    Stay {
        plain: &'a LabForm,
        next: &'a LabForm,
        pair: &'a LabPair,
        peers: Vec<&'a str>,
    },
    /// What differs may be chance.
    Chance {
        best: &'a LabForm,
        other: &'a LabForm,
        is_all: bool,
    },
    /// Too few repeats to say.
    TooFew {
        best: &'a LabForm,
        other: &'a LabForm,
    },
    Alone(&'a LabForm),
    Nothing(Option<&'a str>),
}

impl<'a> Said<'a> {
    fn of(point: &'a LabPoint) -> Self {
        let forms: Vec<&LabForm> = { point.forms.iter() }
            .filter(|form| median(form) > 0.0)
            .collect();
        let repeats = forms.iter().map(|form| repeats(form)).min().unwrap_or(0);
        let mut said = Self {
            is: Is::Nothing(None),
            repeats,
            needs: MIN_REPEATS_TO_COMPARE as u64,
        };
        let [best, ref others @ ..] = forms[..] else {
            let mut why = point.forms.iter().flat_map(|form| &form.not_run);
            said.is = Is::Nothing(why.next().map(String::as_str));
            return said;
        };
        let Some(next) = others.first() else {
            said.is = Is::Alone(best);
            return said;
        };
        let plain = others.iter().find(|form| form.form == PLAIN);
        let reference = match plain {
            Some(plain) => plain,
            None if best.form == PLAIN => next,
            None => others.last().unwrap_or(next),
        };
        let find = |other: &LabForm| {
            let mut pairs = point.pairs.iter();
            pairs.find(|pair| pair.first == best.form && pair.second == other.form)
        };
        let Some(pair) = find(reference) else {
            said.is = Is::Alone(best);
            return said;
        };
        let peers = || {
            let unsure = |other: &&&LabForm| find(other).is_none_or(|pair| pair.ahead.is_none());
            let peers = others.iter().filter(unsure);
            peers.map(|form| form.form.as_str()).collect()
        };
        let is_ahead = pair.ahead.as_deref() == Some(best.form.as_str());
        if let Some(needs) = pair.needs_repeats {
            said.needs = needs;
        }
        said.is = match (is_ahead, pair.needs_repeats) {
            (true, _) if best.form == PLAIN => Is::Stay {
                plain: best,
                next,
                pair,
                peers: peers(),
            },
            (true, _) => Is::Ahead {
                best,
                reference,
                pair,
                peers: peers(),
            },
            (false, Some(_)) => Is::TooFew {
                best,
                other: reference,
            },
            (false, None) => Is::Chance {
                best,
                other: reference,
                is_all: point.pairs.iter().all(|pair| pair.ahead.is_none()),
            },
        };
        said
    }

    fn sentence(&self) -> String {
        match &self.is {
            Is::Ahead {
                best,
                reference,
                pair,
                peers,
            } => format!(
                "Write it as `{}`{}: {} times the goodput of `{}`",
                best.form,
                or(peers),
                times(pair),
                reference.form
            ),
            Is::Stay { plain, peers, .. } => format!(
                "Stay with `{}`{}: no form gives more goodput",
                plain.form,
                or(peers)
            ),
            Is::Chance { is_all: true, .. } => {
                "No form is significantly better: all differences may be chance".to_owned()
            }
            Is::Chance { best, other, .. } if best.form == PLAIN => format!(
                "No form gives more goodput than `{PLAIN}`: `{}` may be as good",
                other.form
            ),
            Is::Chance { best, other, .. } => format!(
                "No form is significantly better than `{}`: the lead of `{}` may be chance",
                other.form, best.form
            ),
            Is::TooFew { best, .. } => match self.repeats {
                1 => "Cannot tell which form is best: one repeat of each is too few".to_owned(),
                n => format!(
                    "Cannot tell yet which form is best: `{}` leads in {n} repeats of each, a first \
                     look",
                    best.form
                ),
            },
            Is::Alone(form) => format!(
                "Not known which form is best: only `{}` was measured",
                form.form
            ),
            Is::Nothing(Some(why)) => format!("No form was measured: {why}"),
            Is::Nothing(None) => "No form was measured to the end".to_owned(),
        }
    }

    /// A figure and some words, for one point among several.
    fn shortly(&self) -> (String, String) {
        match &self.is {
            Is::Ahead {
                best,
                reference,
                pair,
                ..
            } => (
                format!("{} ×", times(pair)),
                format!("`{}` over `{}`", best.form, reference.form),
            ),
            Is::Stay { next, pair, .. } => (
                format!("{} ×", times(pair)),
                format!("`{PLAIN}` over the next, `{}`", next.form),
            ),
            _ => ("?".to_owned(), self.sentence()),
        }
    }

    fn evidence(&self, point: &LabPoint) -> Vec<Proof> {
        let forms = |figure: String, words: String| Proof::new(figure, words).at(SECTION, "Forms");
        let (best, other, pair) = match &self.is {
            Is::Ahead {
                best,
                reference,
                pair,
                ..
            } => (best, reference, Some(*pair)),
            Is::Stay {
                plain, next, pair, ..
            } => (plain, next, Some(*pair)),
            // One repeat is no figure to lead with.
            Is::TooFew { best, other } if self.repeats > 1 => (best, other, None),
            Is::Chance { best, other, .. } => (best, other, None),
            _ => return Vec::new(),
        };
        let (more, less) = (median(best), median(other));
        let rates = format!("{} and {}/s", figures::some(more), figures::some(less));
        let mut all = vec![match pair {
            Some(pair) => forms(
                by(pair),
                format!(
                    "goodput of `{}` over `{}`, {rates} in the median; {}",
                    best.form,
                    other.form,
                    interval(pair)
                ),
            ),
            None => forms(
                format!("{} ×", figures::some(more / less)),
                format!(
                    "median goodput of `{}` over `{}`, {rates}: not significant",
                    best.form, other.form
                ),
            ),
        }];
        let next = point
            .forms
            .iter()
            .find(|form| form.form != best.form && median(form) > 0.0);
        let next_pair = next.and_then(|next| {
            let mut pairs = point.pairs.iter();
            pairs.find(|pair| pair.first == best.form && pair.second == next.form)
        });
        if let Some(pair) = next_pair.filter(|pair| pair.second != other.form)
            && pair.difference.is_some()
        {
            let words = format!("over the next, `{}`; {}", pair.second, interval(pair));
            all.push(Proof::new(by(pair), words).at(SECTION, "Pairs"));
        }
        if let (Some(lost), Some(other_lost)) = (best.lost_time_share, other.lost_time_share)
            && (lost > 0.0 || other_lost > 0.0)
        {
            let words = format!(
                "of the time in tries is thrown away with `{}`; {} with `{}`",
                best.form,
                figures::share(other_lost),
                other.form
            );
            all.push(forms(figures::share(lost), words));
        }
        all
    }

    fn remedies(&self) -> Vec<String> {
        match &self.is {
            Is::TooFew { .. } => vec![format!(
                "`pgdyno lab retries --repeat {}` compares with intervals",
                self.needs
            )],
            Is::Chance { .. } => vec![format!(
                "more repeats or longer ones would show smaller differences: `--repeat {}`",
                self.repeats * 2
            )],
            _ => Vec::new(),
        }
    }
}

fn or(peers: &[&str]) -> String {
    match peers {
        [] => String::new(),
        few if few.len() <= PEERS_MAX => few.iter().map(|name| format!(" or `{name}`")).collect(),
        many => format!(" or one of {} that may be as good", many.len()),
    }
}

fn times(pair: &LabPair) -> String {
    figures::some(1.0 + pair.difference.unwrap_or(0.0))
}

/// By how much the first is ahead: `+6.1 %`; of twice as much and more the ratio, `5.50 ×`.
fn by(pair: &LabPair) -> String {
    match pair.difference.unwrap_or(0.0) {
        difference if difference < 1.0 => figures::change(difference),
        _ => format!("{} ×", times(pair)),
    }
}

fn interval(pair: &LabPair) -> String {
    let level = figures::roughly(pair.level);
    match pair.interval {
        Some((low, high)) if pair.difference.is_some_and(|it| it < 1.0) => format!(
            "{level} interval {} to {}",
            figures::change(low),
            figures::change(high)
        ),
        Some((low, high)) => format!(
            "{level} interval {} to {} ×",
            figures::some(1.0 + low),
            figures::some(1.0 + high)
        ),
        None => "no interval".to_owned(),
    }
}

pub(super) fn median(form: &LabForm) -> f64 {
    form.goodput_per_s.as_ref().map_or(0.0, |it| it.median)
}

pub(super) fn repeats(form: &LabForm) -> usize {
    form.goodput_per_s.as_ref().map_or(0, |it| it.repeats.len())
}

fn sure(lab: &RetriesLab, point: &LabPoint, said: &Said<'_>) -> Vec<Sure> {
    let mut all = Vec::new();
    let pairs = figures::plural(point.pairs.len() as u64, "pair");
    let family = format!("at a family-wise 5 % (Holm, {pairs})");
    if let Is::Ahead { best, peers, .. }
    | Is::Stay {
        plain: best, peers, ..
    } = &said.is
    {
        let others = point.forms.iter().filter(|form| median(form) > 0.0).count() - 1;
        all.push(match peers.len() {
            0 => Sure::held(
                format!("Ahead of {}", of_others(others)),
                format!("`{}`, {family}", best.form),
            ),
            n => Sure::limit(
                format!("Ahead of {} of {others}", others - n),
                format!("not distinguished from {} {family}", listed(peers)),
            ),
        });
    }
    let measured: Vec<&LabForm> = point
        .forms
        .iter()
        .filter(|form| median(form) > 0.0)
        .collect();
    match said.repeats as u64 {
        0 => {}
        n if measured.len() > 1
            && n < said.needs
            && !point.pairs.iter().any(|it| it.ahead.is_some()) =>
        {
            let repeats = match n {
                1 => "One repeat".to_owned(),
                n => format!("{n} repeats"),
            };
            let text = format!(
                "too few repeats: to compare {} forms takes {} of each",
                measured.len(),
                said.needs
            );
            all.push(Sure::limit(repeats, text));
        }
        n => all.push(Sure::held(
            figures::plural(n, "repeat"),
            "of each form, by turns".to_owned(),
        )),
    }
    all.extend(drift(lab));
    let asked = point.given["isolation"].as_str();
    if let (Some(asked), Some(is)) = (asked, point.isolation.as_deref())
        && asked != is
    {
        all.push(Sure::failed(
            "Another level than asked for",
            format!("{asked} was asked for, {is} was in effect"),
        ));
    }
    let missing: Vec<&str> = { point.forms.iter() }
        .filter(|form| median(form) == 0.0)
        .map(|form| form.form.as_str())
        .collect();
    if !missing.is_empty() && !measured.is_empty() {
        all.push(Sure::limit(
            "Not run",
            format!("{}: its row has the reason", listed(&missing)),
        ));
    }
    if lab.points.len() == 1 && !measured.is_empty() {
        let level = point.isolation.as_deref().or(asked).unwrap_or_default();
        let joint = if level.is_empty() { "" } else { ", " };
        all.push(Sure::limit(
            "Only here",
            format!(
                "{}{joint}{level}{}; for another contention measure again: `--clients`",
                clients(&point.given),
                rows(lab)
            ),
        ));
    }
    all
}

/// How many rows clients meet on.
fn rows(lab: &RetriesLab) -> String {
    let scale = lab.variables.as_ref().and_then(|all| all.get("scale"));
    scale.map_or_else(String::new, |scale| format!(", scale {scale}"))
}

fn of_others(others: usize) -> String {
    match others {
        1 => "the other".to_owned(),
        n => format!("all {n} others"),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Whether the second half of all trials gave something else than the first, each beside its form's median.
fn drift(lab: &RetriesLab) -> Option<Sure> {
    let mut shares: Vec<(u64, f64)> = Vec::new();
    for form in lab.points.iter().flat_map(|point| &point.forms) {
        let Some(goodput) = form
            .goodput_per_s
            .as_ref()
            .filter(|it| it.repeats.len() > 1)
        else {
            continue;
        };
        let repeats = form.repeats.iter().zip(&goodput.repeats);
        shares.extend(repeats.map(|(repeat, goodput_per_s)| {
            (
                repeat.order,
                goodput_per_s / goodput.median.max(f64::MIN_POSITIVE),
            )
        }));
    }
    shares.sort_by_key(|(order, _)| *order);
    let shares: Vec<f64> = shares.into_iter().map(|(_, share)| share).collect();
    let (early, late) = shares.split_at(shares.len() / 2);
    let (early, late) = (Sample::new(early).ok()?, Sample::new(late).ok()?);
    let compared = compare(&early, &late, &CompareOptions::default()).ok()?;
    Some(match (compared.verdict, compared.ratio) {
        (Verdict::Different { .. }, Some(ratio)) => Sure::failed(
            "Drift",
            format!(
                "goodput changed by {} from the first half of the trials to the second",
                figures::change(ratio.estimate - 1.0)
            ),
        ),
        (Verdict::NoSignificantDifference, _) => Sure::held(
            "No drift",
            "the second half of the trials does not differ significantly from the first",
        ),
        _ => return None,
    })
}

/// What is left undone even so, and where there was nothing to retry.
fn careful(lab: &RetriesLab, point: &LabPoint) -> Option<String> {
    let best = point.forms.iter().find(|form| median(form) > 0.0)?;
    let retries = point
        .forms
        .iter()
        .any(|form| form.retries + form.server_retries > 0);
    let weak = lab.says.iter().find(|says| says.starts_with("Under "));
    match (best.given_up, weak) {
        (0, Some(weak)) => Some(weak.trim_end_matches('.').to_owned()),
        (0, None) if !retries => Some(
            "there were no retries at all: forms differ in round trips and in how long locks are \
             held"
                .to_owned(),
        ),
        (0, None) => None,
        (given_up, _) => Some(format!(
            "with `{}` {} of the transactions are given up",
            best.form,
            figures::percent(given_up, best.transactions)
        )),
    }
}
