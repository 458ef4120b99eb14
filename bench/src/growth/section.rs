//! An axis as text: how it was measured, its verdict, its figures and a curve.

use std::fmt::Write;

use super::axis::Who;
use super::curve::{self, Line};
use super::measured::{GrowthFigure, Measured};
use super::page::Summary;
use crate::report::markdown;

/// What is said beside the figures.
pub struct GrowthFacts {
    /// The day.
    pub date: String,
    /// The CPU's model.
    pub cpu: String,
    /// How many.
    pub cpus: String,
    /// The kernel's version.
    pub kernel: String,
    /// pgdyno's version.
    pub pgdyno: String,
    /// pgbench's version.
    pub pgbench: String,
    /// How much was measured.
    pub size: &'static str,
    /// The load average of the machine when the axis was done.
    pub others: String,
}

/// The section of an axis, with its row of the summary in a comment.
pub fn text(measured: &Measured, facts: &GrowthFacts) -> String {
    let axis = measured.axis;
    let runs = (0..measured.steps.len())
        .map(|step| measured.runs(step))
        .max();
    let peer = axis.peer.map(Who::name);
    let versions = match peer {
        Some(_) => format!("{}, {}", facts.pgdyno, facts.pgbench),
        None => facts.pgdyno.clone(),
    };
    let mut text = format!("## {}\n\n", axis.title);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}\n", summary(measured).comment());
    let _ = writeln!(
        text,
        "{} Steps: {}.\n\n**{}**\n\n{}",
        axis.work,
        axis.unit,
        verdict(measured),
        table(measured)
    );
    if let Some((step, why)) = measured.gave_up() {
        let peer = peer.unwrap_or_default();
        let _ = writeln!(text, "{peer} does no {step} {}: {why}\n", axis.unit);
    }
    let curve = drawing(measured);
    if !curve.is_empty() {
        let legend = match peer {
            Some(peer) => format!("o pgdyno, x {peer}, · linear"),
            None => "o pgdyno, · linear".to_owned(),
        };
        let figure = figure_name(measured, drawn(measured));
        let _ = writeln!(
            text,
            "{figure} by {}: {legend}\n\n```\n{curve}```\n",
            axis.unit
        );
    }
    let _ = writeln!(
        text,
        "{}, {} size, medians of {} in turn; {versions}; {} ({} CPUs), Linux {}, load average {} \
         when it was done.",
        facts.date,
        facts.size,
        match runs.unwrap_or(0) {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        },
        facts.cpu,
        facts.cpus,
        facts.kernel,
        facts.others
    );
    text
}

/// What is drawn: where bytes are counted they are what the axis is about.
fn drawn(measured: &Measured) -> GrowthFigure {
    match measured.axis.output {
        Some(_) => GrowthFigure::Output,
        None => GrowthFigure::Cpu,
    }
}

fn verdict(measured: &Measured) -> String {
    let too_fast = measured.too_fast();
    if too_fast.is_empty() {
        return "Nothing grows faster than linearly".to_owned();
    }
    let each = too_fast.iter().map(|(figure, exponent)| {
        let name = figure_name(measured, *figure);
        format!("{name} (step^{exponent:.2})")
    });
    format!("Worse than linear: {}", each.collect::<Vec<_>>().join(", "))
}

fn figure_name(measured: &Measured, figure: GrowthFigure) -> &'static str {
    match (figure, measured.axis.output) {
        (GrowthFigure::Output, Some(name)) => name,
        (figure, _) => figure.name(),
    }
}

/// The exponents of a program's figures, those that there are.
fn exponents(measured: &Measured, who: Who) -> [String; 4] {
    GrowthFigure::ALL.map(|figure| match measured.exponent(who, figure) {
        // Not -0.00.
        Some(exponent) => format!("{:.2}", (exponent * 100.0).round() / 100.0 + 0.0),
        None => "–".to_owned(),
    })
}

fn summary(measured: &Measured) -> Summary {
    let axis = measured.axis;
    let [cpu, wall, memory, output] = exponents(measured, Who::Pgdyno);
    let peer = match axis.peer {
        Some(peer) => {
            let [cpu, _, memory, _] = exponents(measured, peer);
            format!("{} {cpu}, {memory}", peer.name())
        }
        None => "–".to_owned(),
    };
    let last = measured.steps.len() - 1;
    let ratio = axis.peer.and_then(|peer| {
        let last = (0..=last).rev();
        let mut both = last.filter_map(|step| {
            let ours = measured.median(Who::Pgdyno, step, GrowthFigure::Cpu)?;
            let theirs = measured.median(peer, step, GrowthFigure::Cpu)?;
            Some((step, ours / theirs))
        });
        both.next()
    });
    let ratio = ratio.map_or("–".to_owned(), |(step, ratio)| {
        format!("{ratio:.2} at {}", measured.steps[step])
    });
    let range = format!(
        "{} to {} {}",
        measured.steps[0], measured.steps[last], axis.unit
    );
    Summary {
        axis: axis.name.to_owned(),
        cells: [
            axis.title.to_owned(),
            range,
            cpu,
            wall,
            memory,
            output,
            peer,
            ratio,
            verdict(measured),
        ],
    }
}

fn table(measured: &Measured) -> String {
    let axis = measured.axis;
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut header = vec![axis.unit.to_owned()];
    for who in axis.who() {
        let name = who.name();
        header.push(format!("{name}: CPU, ms"));
        header.push("µs each".to_owned());
        header.push("wall, s".to_owned());
        header.push("peak, MiB".to_owned());
    }
    header.extend(axis.output.map(|name| format!("{name}, KiB")));
    lines.push(header);
    for (step, count) in measured.steps.iter().enumerate() {
        let mut line = vec![count.to_string()];
        for who in axis.who() {
            let of = |figure, by: f64| {
                let value = measured.median(*who, step, figure);
                value.map_or("–".to_owned(), |value| number(value / by))
            };
            line.push(of(GrowthFigure::Cpu, 1e3));
            line.push(of(GrowthFigure::Cpu, *count as f64));
            line.push(of(GrowthFigure::Wall, 1.0));
            line.push(of(GrowthFigure::Memory, f64::from(1 << 20)));
        }
        if axis.output.is_some() {
            let bytes = measured.median(Who::Pgdyno, step, GrowthFigure::Output);
            line.push(bytes.map_or("–".to_owned(), |bytes| number(bytes / 1024.0)));
        }
        lines.push(line);
    }
    let mut grown = vec!["exponent".to_owned()];
    for who in axis.who() {
        let [cpu, wall, memory, _] = exponents(measured, *who);
        grown.extend([cpu, String::new(), wall, memory]);
    }
    if axis.output.is_some() {
        let [.., output] = exponents(measured, Who::Pgdyno);
        grown.push(output);
    }
    lines.push(grown);
    markdown(&lines)
}

fn drawing(measured: &Measured) -> String {
    let figure = drawn(measured);
    let line = |mark, who| Line {
        mark,
        points: measured.points(who, figure),
    };
    let others: Vec<Line> = axis_peer(measured).map(|peer| line('x', peer)).collect();
    let scale = |value: f64| match figure {
        GrowthFigure::Output => format!("{} KiB", number(value / 1024.0)),
        _ => format!("{} ms", number(value / 1e3)),
    };
    curve::draw(&line('o', Who::Pgdyno), &others, scale)
}

fn axis_peer(measured: &Measured) -> impl Iterator<Item = Who> {
    measured.axis.peer.into_iter()
}

/// With as many digits as say something.
fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}
