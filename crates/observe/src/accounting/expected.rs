//! How many buffers a work unit is expected to read: the mean over many of them with random keys,
//! each explained and run, with the plan that they have. It proves what the server counts.

use std::collections::BTreeMap;

use pgdyno_session::Session;
use serde_json::Value;

use pgdyno_database::admin;
use pgdyno_database::dialect::Buffers;
use pgdyno_model::Fact;
use pgdyno_model::document::Expected;

/// A mean of fewer is none.
const COUNT_MIN: usize = 100;

/// Runs and explains `statements`; a PREPARE among them is run and no unit.
pub fn of(
    session: &mut Session,
    buffers: &Buffers,
    kind: &str,
    statements: impl IntoIterator<Item = String>,
) -> Fact<Expected> {
    let reported = || -> Result<Vec<Explained>, String> {
        let mut all = Vec::new();
        for statement in statements {
            if statement.starts_with("PREPARE ") {
                admin::run(session, &statement).map_err(|e| e.to_string())?;
                continue;
            }
            let sql = buffers.explain.replace("{statement}", &statement);
            let answer = admin::value(session, &sql).map_err(|e| e.to_string())?;
            all.push(explained(&answer.unwrap_or_default())?);
        }
        Ok(all)
    };
    match reported() {
        Ok(all) => mean(kind, &all),
        Err(why) => Fact::Unknown(format!("EXPLAIN: {why}")),
    }
}

/// What EXPLAIN tells of one unit.
#[derive(Debug, PartialEq)]
struct Explained {
    buffers: u64,
    plan: String,
}

fn mean(kind: &str, all: &[Explained]) -> Fact<Expected> {
    if all.len() < COUNT_MIN {
        let count = all.len();
        return Fact::Unknown(format!(
            "only {count} units were explained, not {COUNT_MIN}"
        ));
    }
    let buffers = all.iter().map(|unit| unit.buffers);
    let (Some(min), Some(max)) = (buffers.clone().min(), buffers.clone().max()) else {
        return Fact::Unknown("nothing was explained".to_owned());
    };
    let mut plans: BTreeMap<&str, u64> = BTreeMap::new();
    for unit in all {
        *plans.entry(&unit.plan).or_default() += 1;
    }
    let mut plans: Vec<(String, u64)> = plans
        .into_iter()
        .map(|(plan, count)| (plan.to_owned(), count))
        .collect();
    plans.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Fact::Known(Expected {
        kind: kind.to_owned(),
        count: all.len() as u64,
        mean: buffers.sum::<u64>() as f64 / all.len() as f64,
        min,
        max,
        plans,
    })
}

/// Reads EXPLAIN's JSON. Buffers that planning read are not among the plan's.
fn explained(json: &str) -> Result<Explained, String> {
    let document: Value = serde_json::from_str(json).map_err(|e| format!("no JSON: {e}"))?;
    let top = &document[0]["Plan"];
    let blocks = |name: &str| top[name].as_u64();
    match (blocks("Shared Hit Blocks"), blocks("Shared Read Blocks")) {
        (Some(hit), Some(read)) => Ok(Explained {
            buffers: hit + read,
            plan: plan(top),
        }),
        _ => Err("it tells no buffers".to_owned()),
    }
}

/// For fuzz/targets: any text tells its buffers and a plan, or why not.
#[doc(hidden)]
pub fn fuzz(json: &str) {
    match explained(json) {
        Ok(unit) => assert!(!unit.plan.is_empty()),
        Err(why) => assert!(!why.is_empty()),
    }
}

/// `Aggregate > Index Scan using slob1_key on slob1`.
fn plan(node: &Value) -> String {
    let text = |name: &str| node[name].as_str();
    let mut line = text("Node Type").unwrap_or("?").to_owned();
    if let Some(index) = text("Index Name") {
        line += &format!(" using {index}");
    }
    if let Some(table) = text("Relation Name") {
        line += &format!(" on {table}");
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        line += &format!(" > {}", plan(child));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Shared Hit Blocks": 3,
        "Shared Read Blocks": 255, "Plans": [{"Node Type": "Index Scan", "Index Name": "slob1_key",
        "Relation Name": "slob1", "Shared Hit Blocks": 3, "Shared Read Blocks": 255}]},
        "Planning": {"Shared Hit Blocks": 100, "Shared Read Blocks": 0}}]"#;

    #[test]
    fn a_units_buffers_are_those_of_its_plan_without_planning() {
        let unit = explained(UNIT).unwrap();
        assert_eq!(unit.buffers, 258);
        assert_eq!(unit.plan, "Aggregate > Index Scan using slob1_key on slob1");
        let other = || Explained {
            buffers: 260,
            plan: "Seq Scan on slob1".to_owned(),
        };
        let mut all: Vec<Explained> = (0..49).map(|_| other()).collect();
        all.extend((0..51).map(|_| explained(UNIT).unwrap()));
        let Fact::Known(expected) = mean("select", &all) else {
            panic!("nothing");
        };
        assert!((expected.mean - 258.98).abs() < 1e-9);
        assert_eq!(
            (expected.min, expected.max, expected.count),
            (258, 260, 100)
        );
        assert!(expected.plan().starts_with("Aggregate"));
        assert_eq!(expected.plans.len(), 2);
    }

    #[test]
    fn what_explain_does_not_tell_is_a_gap() {
        for json in ["", "[]", "{}", r#"[{"Plan": {"Node Type": "Result"}}]"#] {
            assert!(explained(json).is_err(), "{json}");
        }
        let few = mean("select", &[explained(UNIT).unwrap()]);
        assert!(matches!(few, Fact::Unknown(why) if why.contains("only 1 units")));
    }
}
