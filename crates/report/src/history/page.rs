//! As a page of its own: one drawing and one table, which need no script. Colours and type are those of the report's
//! page; the drawing's text is in the page, so that it can be read and searched.

use std::fmt::Write;

use pgdyno_model::document::history::History;

use super::figure;
use super::text::{HEADS, day, facts, masked, row, sentence, unit};

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 320.0;
/// Left, top, right, bottom of the plot.
const MARGIN: (f64, f64, f64, f64) = (70.0, 22.0, 12.0, 34.0);

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--ink:#12181e;--ink2:#46515c;--line:#dfe4e8;--a:#1c55a6;--b:#ac4705}\
@media(prefers-color-scheme:dark){:root{--bg:#12171c;--ink:#e9edf1;--ink2:#b4bec7;--line:#29323a;--a:#8db4ff;--b:#e95203}}\
body{margin:24px auto;max-width:1100px;padding:0 16px;background:var(--bg);color:var(--ink);\
font:14px/21px system-ui,sans-serif;font-variant-numeric:tabular-nums}\
h1{font-size:21px;line-height:26px}p{color:var(--ink2)}svg{width:100%;height:auto}\
table{border-collapse:collapse;font-size:13px}th,td{padding:6px 12px 6px 0;text-align:right;border-bottom:1px solid var(--line)}\
th:first-child,td:first-child{text-align:left}\
.t{fill:var(--ink2);font-size:11.5px}.g{stroke:var(--line)}.d{fill:var(--a)}.m{stroke:var(--ink);stroke-width:2}\
.c{stroke:var(--b);stroke-dasharray:4 3}.n{fill:var(--b);font-size:13px;font-weight:650}";

pub fn page(document: &History) -> String {
    let title = escaped(&sentence(document));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src \
         'none'; style-src 'unsafe-inline'\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<main>\n\
         <h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&facts(document))
    );
    page += &drawing(document);
    let _ = writeln!(
        page,
        "<p>{}; a dot a trial, a line at each level's median; the axis does not begin at 0</p>",
        unit(document)
    );
    page += &table(document);
    if let Some(masked) = masked(document) {
        let _ = writeln!(page, "<p>{}</p>", escaped(&masked));
    }
    for left_out in &document.left_out {
        let _ = writeln!(
            page,
            "<p>Left out: {} trials, {}</p>",
            left_out.trials, left_out.why
        );
    }
    page + "</main>\n</html>\n"
}

fn drawing(document: &History) -> String {
    let Some(metric) = figure(&document.figure) else {
        return String::new();
    };
    let values: Vec<f64> = document.trials.iter().map(|trial| trial.value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (left, top, right, bottom) = MARGIN;
    let (width, height) = (WIDTH - left - right, HEIGHT - top - bottom);
    let x = |index: f64| left + (index + 0.5) / values.len().max(1) as f64 * width;
    let y = |value: f64| {
        if high > low {
            top + (high - value) / (high - low) * height
        } else {
            top + height / 2.0
        }
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&sentence(document))
    );
    for value in [low, 0.5 * (low + high), high] {
        let at = y(value);
        let _ = writeln!(
            svg,
            "<line class=\"g\" x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"t\" \
             x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left + width,
            left - 8.0,
            at + 4.0,
            escaped(&metric.shown(value))
        );
    }
    for (index, trial) in document.trials.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<circle class=\"d\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>trial {}, {}: {}</title></circle>",
            x(index as f64),
            y(trial.value),
            trial.number,
            escaped(&trial.started),
            escaped(&metric.shown(trial.value))
        );
    }
    let mut start = 0;
    for (number, change) in document.changes.iter().enumerate() {
        let at = x(change.index as f64 - 0.5);
        let level = y(change.before);
        let _ = writeln!(
            svg,
            "<line class=\"m\" x1=\"{:.1}\" x2=\"{at:.1}\" y1=\"{level:.1}\" y2=\"{level:.1}\"/><line class=\"c\" \
             x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{:.1}\"/><text class=\"n\" x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{}</text>",
            x(start as f64 - 0.5),
            top + height,
            top - 8.0,
            number + 1
        );
        start = change.index;
    }
    if let Some(last) = document.changes.last() {
        let level = y(last.after);
        let _ = writeln!(
            svg,
            "<line class=\"m\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{level:.1}\" y2=\"{level:.1}\"/>",
            x(start as f64 - 0.5),
            left + width
        );
    }
    for (trial, place, anchor) in [
        (document.trials.first(), left, "start"),
        (document.trials.last(), left + width, "end"),
    ] {
        if let Some(trial) = trial {
            let _ = writeln!(
                svg,
                "<text class=\"t\" x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">trial {}, {}</text>",
                HEIGHT - 10.0,
                trial.number,
                escaped(day(&trial.started))
            );
        }
    }
    svg + "</svg>\n"
}

fn table(document: &History) -> String {
    let Some(metric) = figure(&document.figure).filter(|_| !document.changes.is_empty()) else {
        return String::new();
    };
    let mut table = "<table>\n<tr>".to_owned();
    for head in HEADS {
        let _ = write!(table, "<th scope=\"col\">{head}</th>");
    }
    table += "</tr>\n";
    for (number, change) in document.changes.iter().enumerate() {
        table += "<tr>";
        for cell in row(number, change, metric) {
            let _ = write!(table, "<td>{}</td>", escaped(&cell));
        }
        table += "</tr>\n";
    }
    table + "</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
