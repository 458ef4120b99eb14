//! What changed between two states of a page's data, small enough to be sent to every viewer each second.
//! `web/src/pure/delta.ts` is the other side; the tests of both read `delta/cases.json`.
//!
//! A delta is JSON, one of:
//!
//! - `{"v": X}`: the new value is X;
//! - `{"o": {key: delta, …}, "x": [key, …]}`: an object, whose keys change (or come: `v`) or go;
//! - `{"a": {index: delta, …}, "n": count, "t": [X, …]}`: an array: only the first `n` elements stay (all,
//!   without `n`), some of these change, then `t` is appended;
//! - `{"s": text}`: a string, to which this is appended.
//!
//! Parts that are empty are left out.

use serde_json::{Map, Value, json};

/// What makes `new` of `old`; `None` when they are equal.
pub fn between(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => objects(old, new),
        (Value::Array(old), Value::Array(new)) => arrays(old, new),
        _ if old == new => None,
        (Value::String(old), Value::String(longer)) => Some(match longer.strip_prefix(&**old) {
            Some(tail) if !old.is_empty() => json!({ "s": tail }),
            _ => json!({ "v": new }),
        }),
        _ => Some(json!({ "v": new })),
    }
}

fn objects(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Value> {
    let mut delta = Map::new();
    let changed: Map<String, Value> = new
        .iter()
        .filter_map(|(key, value)| {
            let change = match old.get(key) {
                Some(before) => between(before, value)?,
                None => json!({ "v": value }),
            };
            Some((key.clone(), change))
        })
        .collect();
    if !changed.is_empty() {
        delta.insert("o".to_owned(), Value::Object(changed));
    }
    let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
    if !gone.is_empty() {
        delta.insert("x".to_owned(), json!(gone));
    }
    (!delta.is_empty()).then_some(Value::Object(delta))
}

fn arrays(old: &[Value], new: &[Value]) -> Option<Value> {
    let kept = old.len().min(new.len());
    let mut changed = Map::new();
    let mut replaced = 0;
    for (at, (before, after)) in old.iter().zip(new).enumerate() {
        if let Some(change) = between(before, after) {
            replaced += usize::from(change.get("v").is_some());
            changed.insert(at.to_string(), change);
        }
    }
    // Element by element would take more room than the whole.
    if replaced * 2 > kept {
        return Some(json!({ "v": new }));
    }
    let mut delta = Map::new();
    if !changed.is_empty() {
        delta.insert("a".to_owned(), Value::Object(changed));
    }
    if kept < old.len() {
        delta.insert("n".to_owned(), json!(kept));
    }
    if kept < new.len() {
        delta.insert("t".to_owned(), json!(&new[kept..]));
    }
    (!delta.is_empty()).then_some(Value::Object(delta))
}

/// Changes a value as a delta says. Whether the delta fits it; if not, the value is spoilt.
pub fn apply(value: &mut Value, delta: &Value) -> bool {
    let Some(delta) = delta.as_object() else {
        return false;
    };
    if let Some(new) = delta.get("v") {
        *value = new.clone();
        return true;
    }
    match value {
        Value::Object(object) => apply_to_object(object, delta),
        Value::Array(array) => apply_to_array(array, delta),
        Value::String(text) => match delta.get("s") {
            Some(Value::String(tail)) => {
                text.push_str(tail);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn apply_to_object(object: &mut Map<String, Value>, delta: &Map<String, Value>) -> bool {
    for key in delta
        .get("x")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        key.as_str().and_then(|key| object.remove(key));
    }
    let mut changed = delta
        .get("o")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    changed.all(|(key, change)| apply(object.entry(key.clone()).or_insert(Value::Null), change))
}

fn apply_to_array(array: &mut Vec<Value>, delta: &Map<String, Value>) -> bool {
    if let Some(kept) = delta.get("n").and_then(Value::as_u64) {
        array.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    }
    let mut changed = delta
        .get("a")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let fits = changed.all(|(at, change)| {
        let at = at.parse().ok().and_then(|at: usize| array.get_mut(at));
        at.is_some_and(|value| apply(value, change))
    });
    let tail = delta.get("t").and_then(Value::as_array);
    array.extend(tail.into_iter().flatten().cloned());
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_that_the_page_is_tested_with() {
        let cases: Value = serde_json::from_str(include_str!("delta/cases.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let delta = between(&case["old"], &case["new"]);
            assert_eq!(delta, Some(case["delta"].clone()), "{case}");
            let mut value = case["old"].clone();
            assert!(apply(&mut value, &case["delta"]), "{case}");
            assert_eq!(value, case["new"], "{case}");
        }
    }

    /// Numbers that look random, always the same.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }

        fn value(&mut self, depth: u32) -> Value {
            match self.below(if depth == 0 { 5 } else { 8 }) {
                0 => Value::Null,
                1 => json!(self.below(2) == 0),
                2 | 3 => json!(self.below(4)),
                4 => json!("x".repeat(self.below(4) as usize)),
                5 | 6 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
                _ => {
                    let keys = (0..self.below(5)).map(|_| self.below(6).to_string());
                    let keys: Vec<String> = keys.collect();
                    let entries = keys.into_iter().map(|key| (key, self.value(depth - 1)));
                    Value::Object(entries.collect())
                }
            }
        }

        /// As a page's data change: here and there, mostly at the ends.
        fn changed(&mut self, value: &Value) -> Value {
            match value {
                _ if self.below(8) == 0 => self.value(2),
                Value::Array(array) => {
                    let mut array: Vec<Value> = array.iter().map(|v| self.changed(v)).collect();
                    array.extend((0..self.below(3)).map(|_| self.value(1)));
                    array.truncate(self.below(12) as usize);
                    Value::Array(array)
                }
                Value::Object(object) => {
                    let mut object: Map<String, Value> = object
                        .iter()
                        .map(|(key, v)| (key.clone(), self.changed(v)))
                        .collect();
                    object.insert(self.below(8).to_string(), self.value(1));
                    object.remove(&self.below(6).to_string());
                    Value::Object(object)
                }
                Value::String(text) if self.below(2) == 0 => json!(format!("{text}y")),
                other => other.clone(),
            }
        }
    }

    #[test]
    fn applying_deltas_one_after_the_other_gives_the_whole() {
        let mut draws = Draws(1);
        for _ in 0..500 {
            let mut state = draws.value(4);
            let mut viewer = state.clone();
            for _ in 0..8 {
                let next = draws.changed(&state);
                match between(&state, &next) {
                    Some(delta) => assert!(apply(&mut viewer, &delta), "{state} {delta}"),
                    None => assert_eq!(state, next),
                }
                assert_eq!(viewer, next, "{state}");
                state = next;
            }
        }
    }

    #[test]
    fn what_grows_at_its_end_costs_no_more_than_the_end() {
        let seconds = |count: usize| {
            let all: Vec<usize> = (0..count).collect();
            json!({ "timeline": { "committed": all, "service": all.iter().map(|n| json!([0, n])).collect::<Vec<_>>() } })
        };
        let delta = between(&seconds(7_200), &seconds(7_201)).unwrap();
        assert_eq!(
            delta,
            json!({ "o": { "timeline": { "o": {
                "committed": { "t": [7_200] },
                "service": { "t": [[0, 7_200]] },
            } } } })
        );
    }

    #[test]
    fn a_delta_of_something_else_is_refused() {
        for (mut value, delta) in [
            (json!(1), json!({ "s": "x" })),
            (json!([1]), json!({ "a": { "3": { "v": 1 } } })),
            (json!({}), json!({ "o": { "a": { "t": [1] } } })),
            (json!("x"), json!({ "t": [1] })),
            (json!(1), json!(2)),
        ] {
            assert!(!apply(&mut value, &delta), "{delta}");
        }
    }
}
