//! Keys and lengths are drawn as the tools draw them: the pack's scripts, with the parameters that a
//! command's properties become, against a million recorded draws of YCSB's own generators, and a
//! million requests of go-ycsb.

use pgdyno_script::{Counters, Draws, Language, Names, Op, Prng, Script, Slot, Value, Vars};
use pgdyno_workload::params::Params;
use pgdyno_workload::resolve;

use super::YcsbTool;
use super::plan::tests::plan;

/// Growing keys: one insert before so many draws.
const DRAWS_PER_INSERT: u64 = 20;

/// Further from its mean than this (in standard deviations, one side) chi-square is once in 10,000
/// comparisons of equal distributions.
const DEVIATIONS: f64 = 3.719;

struct DrawnRecording {
    tool: YcsbTool,
    name: &'static str,
    properties: &'static str,
    from: Vec<i64>,
    counts: Vec<u64>,
}

fn recordings(tool: YcsbTool) -> Vec<DrawnRecording> {
    let text = match tool {
        YcsbTool::Ycsb => include_str!("recorded.txt"),
        YcsbTool::GoYcsb => include_str!("recorded-go.txt"),
    };
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split(" | ").collect();
            let &[name, properties, classes] = parts.as_slice() else {
                panic!("{line}");
            };
            let classes = classes.split(' ').map(|class| {
                let (from, count) = class.split_once(':').unwrap();
                (from.parse::<i64>().unwrap(), count.parse::<u64>().unwrap())
            });
            let (from, counts) = classes.unzip();
            DrawnRecording {
                tool,
                name,
                properties,
                from,
                counts,
            }
        })
        .collect()
}

/// One client of the pack's scripts without a server.
struct YcsbClient {
    scripts: Vec<(String, Script)>,
    names: Names,
    vars: Vars,
    prng: Prng,
    draws: Draws,
}

impl YcsbClient {
    /// With the tool's generators, or others.
    fn new(recording: &DrawnRecording, generators: Option<&str>) -> Self {
        // The last one counts. Scripts without a share are left out.
        let properties = format!(
            "fieldcount=1 operationcount=1000000 scanproportion=0.1 insertproportion=1e-12 {}",
            recording.properties,
        );
        let mut params = plan(recording.tool, "run", &properties).spec.params;
        let records = recording.properties.split(' ');
        let records = records.filter(|pair| pair.starts_with("recordcount="));
        params.extend(records.map(str::to_owned));
        params.extend(generators.map(|name| format!("generators={name}")));
        let pack = resolve::pack("ycsb").unwrap();
        let chosen = Params::parse(&pack, Some("custom"), &params).unwrap();
        let values = chosen.or_defaults(&pack);
        let mut names = Names::new();
        let scripts = pack.scripts(Some("custom"), &values).unwrap().into_iter();
        let scripts = scripts.map(|script| {
            let parsed = Language::Pgdyno.parse(&script.file, &script.text, &mut names);
            (script.name, parsed.unwrap())
        });
        let scripts = scripts.collect();
        let mut vars = Vars::new(&names);
        for (name, value) in &values {
            if let Some(slot) = names.get(name) {
                vars.set_text(slot, value);
            }
        }
        Self {
            scripts,
            vars,
            prng: Prng::seed(18),
            draws: Draws::new(Counters::new(&names)),
            names,
        }
    }

    fn slot(&self, name: &str) -> Slot {
        self.names.get(name).unwrap()
    }

    /// Which script has this name.
    fn script(&self, name: &str) -> usize {
        let mut names = self.scripts.iter().map(|(name, _)| name);
        names.position(|its| its == name).unwrap()
    }

    /// A transaction up to the command that sets this variable; what it is then: a number, or a
    /// text's length.
    fn draw(&mut self, script: usize, variable: Slot) -> i64 {
        let Self {
            vars, prng, draws, ..
        } = self;
        for command in &self.scripts[script].1.commands {
            let Op::Set { slot, expr } = &command.op else {
                break;
            };
            let value = expr.eval(vars, prng, draws, &mut |_| {}).unwrap();
            vars.set(*slot, value);
            if *slot == variable {
                draws.end();
                return match value {
                    Value::Int(number) => number,
                    Value::Text(text) => vars.bytes(text).len() as i64,
                    other => panic!("{other}"),
                };
            }
        }
        panic!("the script never sets it");
    }
}

/// As many draws, in the recording's classes.
fn drawn(recording: &DrawnRecording, generators: Option<&str>) -> Vec<u64> {
    let mut client = YcsbClient::new(recording, generators);
    let (script, variable) = match recording.name.split_once('-') {
        Some(("scan", _)) => ("scan", "rows"),
        Some(("field", _)) => ("insert", "value0"),
        _ => ("read", "index"),
    };
    let script = client.script(script);
    let variable = client.slot(variable);
    let (insert, index, last) = (
        client.script("insert"),
        client.slot("index"),
        client.slot("last"),
    );
    let grows = grows(recording);
    let of_ages = recording.name.starts_with("latest") || recording.name.starts_with("exponential");
    let mut counts = vec![0; recording.from.len()];
    for turn in 0..recording.counts.iter().sum() {
        if grows && turn % DRAWS_PER_INSERT == 0 {
            client.draw(insert, index);
        }
        let mut number = client.draw(script, variable);
        if of_ages {
            let Ok(Value::Int(last)) = client.vars.value(last) else {
                panic!("not a number");
            };
            number = last - number;
        }
        let class = recording.from.partition_point(|from| *from <= number);
        counts[class - 1] += 1;
    }
    counts
}

/// Chi-square of two samples of one size, in standard deviations from its mean (E. Wilson, M.
/// Hilferty, "The distribution of chi-square", PNAS 17 (1931), p. 684-688). Classes with fewer than
/// twenty draws are put together.
fn deviations(one: &[u64], other: &[u64]) -> f64 {
    assert_eq!(one.iter().sum::<u64>(), other.iter().sum::<u64>());
    let (mut statistic, mut classes) = (0.0, 0);
    let (mut a, mut b) = (0, 0);
    for (more_a, more_b) in one.iter().zip(other) {
        (a, b) = (a + more_a, b + more_b);
        if a + b >= 20 {
            statistic += (a as f64 - b as f64).powi(2) / (a + b) as f64;
            classes += 1;
            (a, b) = (0, 0);
        }
    }
    assert!(classes > 10, "{classes} classes");
    let freedom = f64::from(classes - 1);
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Whether pgdyno draws as the tool has drawn in these recordings, of which there are so many.
fn assert_as_recorded(recordings: impl Iterator<Item = DrawnRecording>, count: usize) {
    let recordings: Vec<DrawnRecording> = recordings.collect();
    assert_eq!(recordings.len(), count);
    for recording in &recordings {
        let name = recording.name;
        let counts = drawn(recording, None);
        if name.starts_with("sequential") {
            assert_eq!(counts, recording.counts, "{name}");
            continue;
        }
        let away = deviations(&counts, &recording.counts);
        assert!(away < DEVIATIONS, "{name}: {away:.2} standard deviations");
    }
}

fn grows(recording: &DrawnRecording) -> bool {
    recording.name.ends_with("-growing")
}

#[test]
fn every_generator_draws_as_ycsbs_does() {
    let recordings = recordings(YcsbTool::Ycsb).into_iter();
    assert_as_recorded(recordings.filter(|it| !grows(it)), 10);
}

#[test]
fn every_generator_draws_as_ycsbs_does_while_keys_are_inserted() {
    assert_as_recorded(recordings(YcsbTool::Ycsb).into_iter().filter(grows), 6);
}

#[test]
fn every_generator_draws_as_go_ycsbs_does() {
    let recordings = recordings(YcsbTool::GoYcsb).into_iter();
    assert_as_recorded(recordings.filter(|it| !grows(it)), 8);
}

#[test]
fn every_generator_draws_as_go_ycsbs_does_while_keys_are_inserted() {
    assert_as_recorded(recordings(YcsbTool::GoYcsb).into_iter().filter(grows), 6);
}

/// How far these generators' draws are from the tool's recording of this name.
fn away(tool: YcsbTool, name: &str, generators: &str) -> f64 {
    let recordings = recordings(tool);
    let recording = recordings.iter().find(|r| r.name == name).unwrap();
    deviations(&drawn(recording, Some(generators)), &recording.counts)
}

#[test]
fn exact_draws_differ_from_ycsbs() {
    for name in [
        "latest",
        "latest-growing",
        "exponential-growing",
        "scan-zipfian",
        "field-zipfian",
    ] {
        let away = away(YcsbTool::Ycsb, name, "exact");
        assert!(away > 2.0 * DEVIATIONS, "{name}: {away:.2}");
    }
}

#[test]
fn ycsbs_draws_differ_from_go_ycsbs() {
    for name in ["zipfian", "zipfian-growing", "zipfian-part"] {
        let away = away(YcsbTool::GoYcsb, name, "ycsb");
        assert!(away > 2.0 * DEVIATIONS, "{name}: {away:.2}");
    }
    for name in ["sequential", "sequential-part", "sequential-growing"] {
        let recordings = recordings(YcsbTool::GoYcsb);
        let recording = recordings.iter().find(|r| r.name == name).unwrap();
        assert_ne!(drawn(recording, Some("ycsb")), recording.counts, "{name}");
    }
}
