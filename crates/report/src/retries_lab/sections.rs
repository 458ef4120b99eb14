//! What the laboratory for retries shows below its answer: the forms side by side, and which of their differences are
//! sure.

use pgdyno_model::document::retries_lab::{LabForm, LabPair, LabPoint, RetriesLab};
use pgdyno_model::document::section::{
    FigureBar, FigureTable, Section, SectionPart, TableCell, TableColumn, TableRow, Tone,
};
use pgdyno_spec::experiment::retries_lab::{WORKLOADS, written};
use pgdyno_spec::text as figures;
use serde_json::Value;

use super::answer::{SECTION, median, most_contended, repeats};
use super::pairs::repeats_needed_of;

/// Fewer retries for a commit than this are hardly any.
const HARDLY_ANY: f64 = 0.005;

pub(super) fn sections(lab: &RetriesLab) -> Vec<Section> {
    let mut forms: Vec<SectionPart> = lab
        .points
        .iter()
        .filter_map(|point| of_forms(lab, point).part())
        .collect();
    if !lab.says.is_empty() {
        forms.push(SectionPart::text("", lab.says.clone()));
    }
    let pairs: Vec<SectionPart> = lab
        .points
        .iter()
        .filter_map(|point| of_pairs(lab, point))
        .collect();
    let mut sections = vec![Section::new(SECTION, "Forms", "Forms", forms).lead(
        "One row a form, the best first. Upright line: of goodput the median over repeats, else of all repeats \
         together; bar: the 95 % interval of the median goodput from six repeats on, else from the least repeat to \
         the greatest; dots: the repeats. All axes begin at 0.",
    )];
    if !pairs.is_empty() {
        let lead = "Goodput of the first beside that of the second. All pairs are judged together, so that none \
                    differs by chance alone; grey: undecided. The axis is logarithmic.";
        sections
            .push(Section::new("pairs", "Pairs", "Which differences are sure?", pairs).lead(lead));
    }
    sections
}

pub(super) fn clients(given: &Value) -> String {
    figures::plural(given["clients"].as_u64().unwrap_or(1), "client")
}

/// The point's circumstances, as far as they differ from those of others.
pub(super) fn title(lab: &RetriesLab, point: &LabPoint) -> String {
    let varies = |name: &str| {
        let first = lab.points.first().map(|first| &first.given[name]);
        lab.points
            .iter()
            .any(|point| Some(&point.given[name]) != first)
    };
    let text = |name: &str| point.given[name].as_str();
    let mut parts = vec![clients(&point.given)];
    parts.extend(match (text("isolation"), point.isolation.as_deref()) {
        (Some(asked), Some(level)) if asked != level => {
            Some(format!("{level} ({asked} was requested)"))
        }
        (asked, level) => level.or(asked).map(str::to_owned),
    });
    if varies("retry") || varies("backoff") {
        parts.push(format!("retry {}", text("retry").unwrap_or("none")));
        parts.extend(
            text("backoff")
                .filter(|pauses| *pauses != "none")
                .map(|pauses| format!("backoff {pauses}")),
        );
    }
    let keys = point.given["params"]["foreign_keys"].as_bool();
    parts.extend(keys.map(|keys| {
        if keys {
            "foreign keys".to_owned()
        } else {
            "no foreign keys".to_owned()
        }
    }));
    parts.join(", ")
}

/// Where it was measured, and what.
pub(super) fn heading(lab: &RetriesLab) -> String {
    let Some(target) = &lab.target else {
        return String::new();
    };
    let workload = lab.workload.as_deref().unwrap_or_default();
    let mut parts = vec![workload.to_owned()];
    let scale = lab
        .variables
        .as_ref()
        .and_then(|variables| variables.get("scale"));
    parts.extend(scale.map(|scale| match scale.as_str() {
        scale if workload != WORKLOADS[0] => format!("scale {scale}: {scale} × 100,000 accounts"),
        "1" => "scale 1: all clients share one branch".to_owned(),
        scale => format!("scale {scale}: {scale} branches"),
    }));
    if let Some(version) = target.facts.version.known() {
        let short = version.split([',', '(']).next().unwrap_or_default();
        let short = short.split(" on ").next().unwrap_or_default();
        parts.push(short.trim_end().to_owned());
    }
    if let Some(trial) = &lab.trial {
        parts.extend(
            trial
                .duration_s
                .map(|seconds| format!("{} per trial", figures::seconds(seconds))),
        );
        let count = trial.transactions_per_client.map(figures::count);
        parts.extend(count.map(|count| format!("{count} transactions per client in each trial")));
        parts.extend((trial.max_tries > 1).then(|| format!("up to {} tries", trial.max_tries)));
    }
    format!("{}\n{}\n", target.title, parts.join("; "))
}

fn of_forms(lab: &RetriesLab, point: &LabPoint) -> FigureTable {
    let has_range = point.forms.iter().any(|form| repeats(form) > 1);
    let mut columns = vec![
        TableColumn::words("form"),
        TableColumn::bars("goodput/s", "more is better"),
    ];
    columns.extend(has_range.then(|| TableColumn::figure("range").folded()));
    columns.extend([
        TableColumn::figure("p50 ms").folded(),
        TableColumn::bars("p99 ms", "of service times, less is better"),
        TableColumn::bars("retries/commit", "by clients, less is better"),
        TableColumn::figure("by server").folded(),
        TableColumn::figure("given up").folded(),
        TableColumn::bars("thrown away", "% of the time in tries, less is better"),
        TableColumn::figure("committed").deep(),
        TableColumn::figure("failed").deep(),
        TableColumn::words("trials").deep(),
    ]);
    let mut table = FigureTable::new(title(lab, point), columns);
    table.fold = "p50, retries by the server, given up, trials".to_owned();
    let (measured, others): (Vec<&LabForm>, Vec<&LabForm>) =
        point.forms.iter().partition(|form| repeats(form) > 0);
    let is_asked = most_contended(lab).is_some_and(|most| std::ptr::eq(most, point));
    for (place, form) in measured.iter().enumerate() {
        let row = row(&mut table, form, has_range);
        if place == 0 && median(form) > 0.0 {
            row.tone = Tone::Good;
            // Nothing of one repeat is a headline.
            row.is_headline = is_asked && repeats(form) > 1;
        }
    }
    for form in others {
        let why = form.not_run.join("; ");
        let row = table.row([name(form)]);
        row.missing = if why.is_empty() {
            "not run".to_owned()
        } else {
            why
        };
    }
    let partly = measured.iter().filter(|form| !form.not_run.is_empty());
    let partly = partly.map(|form| {
        format!(
            "{}: not in every trial: {}",
            form.form,
            form.not_run.join("; ")
        )
    });
    table.notes = partly.collect();
    table
}

fn name(form: &LabForm) -> TableCell {
    TableCell::from(format!("`{}`", form.form)).note(written(&form.form))
}

fn row<'t>(table: &'t mut FigureTable, form: &LabForm, has_range: bool) -> &'t mut TableRow {
    let dash = || figures::DASH.to_owned();
    let ms = |us: Option<u64>| us.map_or_else(dash, figures::ms);
    // Of all repeats together, beside those of each.
    let bars = |text: String, value: Option<f64>, each: Vec<f64>| {
        let ends = FigureBar::range(&each);
        TableCell::from(text).bar(value, ends, each)
    };
    let each = |of: fn(&super::LabRepeat) -> Option<f64>| {
        form.repeats.iter().filter_map(of).collect::<Vec<f64>>()
    };
    let goodput = form.goodput_per_s.as_ref();
    let rate = goodput.map_or_else(dash, |of| figures::rate(of.median));
    let mut cells = vec![
        name(form),
        TableCell::from(rate).bar(
            goodput.map(|of| of.median),
            goodput.map(|of| of.interval.unwrap_or((of.min, of.max))),
            goodput.map_or_else(Vec::new, |of| of.repeats.clone()),
        ),
    ];
    if has_range {
        let range =
            goodput.map(|of| format!("{}–{}", figures::rate(of.min), figures::rate(of.max)));
        cells.push(range.unwrap_or_else(dash).into());
    }
    let lost = form.lost_time_share.unwrap_or(0.0);
    cells.extend([
        ms(form.service.p50_us).into(),
        bars(
            ms(form.service.p99_us),
            form.service.p99_us.map(|us| us as f64 / 1e3),
            each(|repeat| repeat.p99_us.map(|us| us as f64 / 1e3)),
        ),
        bars(
            ratio(form.retries_per_commit),
            form.retries_per_commit,
            each(|repeat| repeat.retries_per_commit),
        ),
        ratio(form.server_retries_per_commit).into(),
        figures::percent(form.given_up, form.transactions).into(),
        bars(
            figures::share(lost),
            Some(lost * 100.0),
            each(|repeat| repeat.lost_time_share.map(|share| share * 100.0)),
        ),
        figures::count(form.committed).into(),
        figures::count(form.failed).into(),
        TableCell::trials(form.repeats.iter().filter_map(|repeat| repeat.trial)),
    ]);
    table.row(cells)
}

fn ratio(of: Option<f64>) -> String {
    of.map_or_else(|| figures::DASH.to_owned(), |ratio| format!("{ratio:.2}"))
}

fn measured(point: &LabPoint) -> Vec<&LabForm> {
    point
        .forms
        .iter()
        .filter(|form| median(form) > 0.0)
        .collect()
}

/// Neighbours in the order of the forms, and the first beside the last; the others are below the fold.
fn of_pairs(lab: &RetriesLab, point: &LabPoint) -> Option<SectionPart> {
    let title = title(lab, point);
    let forms = measured(point);
    let needs = point.pairs.first()?.needs_repeats;
    if let Some(needs) = needs.filter(|_| point.pairs.iter().all(|pair| pair.interval.is_none())) {
        let repeats = forms.iter().map(|form| repeats(form)).min().unwrap_or(0);
        let line = format!(
            "Too few repeats: {} of each form; to tell {} forms apart takes {needs}: `pgdyno lab retries --repeat {needs}`",
            figures::plural(repeats as u64, "repeat"),
            forms.len(),
        );
        return Some(SectionPart::text(&title, vec![line]).deep());
    }
    let mut columns = TableColumn::named("pair", ["difference", "95 % interval"]);
    columns.extend([TableColumn::ratios(""), TableColumn::words("ahead")]);
    let mut table = FigureTable::new(title, columns);
    let place = |name: &str| forms.iter().position(|form| form.form == name).unwrap_or(0);
    for pair in &point.pairs {
        let (first, second) = (place(&pair.first), place(&pair.second));
        let is_near = second == first + 1 || (first == 0 && second + 1 == forms.len());
        let row = table.row(cells(pair));
        row.is_folded = !is_near;
        row.tone = if pair.ahead.is_some() {
            Tone::Good
        } else {
            Tone::Quiet
        };
    }
    let others = table.rows.iter().filter(|row| row.is_folded).count();
    table.fold = format!("The other {}", figures::plural(others as u64, "pair"));
    table.part().map(SectionPart::deep)
}

fn cells(pair: &LabPair) -> [TableCell; 5] {
    let change = |of: Option<f64>| of.map_or_else(|| figures::DASH.to_owned(), figures::change);
    let ends = pair
        .interval
        .map(|(low, high)| format!("{} to {}", figures::change(low), figures::change(high)));
    let ahead = match (&pair.ahead, pair.needs_repeats) {
        (Some(ahead), _) => format!("`{ahead}`"),
        (None, None) => "cannot tell".to_owned(),
        (None, Some(needs)) => format!("cannot tell: it takes {needs} repeats"),
    };
    [
        format!("`{}` to `{}`", pair.first, pair.second).into(),
        TableCell::from(change(pair.difference)).tone(Tone::Strong),
        TableCell::from(ends.unwrap_or_else(|| figures::DASH.to_owned())).tone(Tone::Quiet),
        TableCell::default().bar(pair.difference, pair.interval, Vec::new()),
        ahead.into(),
    ]
}

/// What is to be said of all points.
pub(super) fn remarks(points: &[LabPoint]) -> Vec<String> {
    let mut remarks = Vec::new();
    let forms = || points.iter().flat_map(|point| &point.forms);
    let retries =
        forms().filter_map(|form| Some(form.retries_per_commit? + form.server_retries_per_commit?));
    let most_retries = retries.fold(0.0, f64::max);
    let level = |point: &LabPoint| {
        point
            .isolation
            .clone()
            .or(point.given["isolation"].as_str().map(str::to_owned))
    };
    let weak = |point: &LabPoint| {
        level(point).filter(|level| matches!(level.as_str(), "read committed" | "read uncommitted"))
    };
    let repeats = forms().map(repeats).max();
    if let Some(level) = points.first().and_then(weak)
        && most_retries < HARDLY_ANY
        && repeats.is_some()
        && points.iter().all(|point| weak(point).is_some())
    {
        remarks.push(format!(
            "Under {level} there are hardly any retries here (at most {most_retries:.3} per commit): forms differ in \
             round trips and in how long locks are held. To compare forms with retries: pgdyno lab retries \
             --isolation serializable"
        ));
    }
    let most_forms = points.iter().map(|point| measured(point).len()).max();
    let need = repeats_needed_of(most_forms.unwrap_or(0));
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
