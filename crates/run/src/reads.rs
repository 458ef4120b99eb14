//! Statements of the scripts that only read, with values as the scripts draw them: what may be run once more
//! after a trial without changing anything.

use std::collections::BTreeMap;

use pgdyno_drive::{Script, plainly_selects};
use pgdyno_observe::cluster::PlainRead;
use pgdyno_script::{Names, Piece, Sql, Vars};

use super::dry_run::DryRun;

/// So many statements, of the scripts that are chosen most.
const STATEMENTS_MAX: usize = 3;
/// Each with values of so many transactions.
const DRAWS: usize = 3;
/// A transaction is looked at up to so many statements.
const LOOKS_MAX: usize = 1_000;

/// Them. A statement with a value that only the server tells is none of them.
pub fn of(
    scripts: &[Script],
    names: &Names,
    variables: &BTreeMap<String, String>,
    seed: i64,
) -> Vec<PlainRead> {
    let mut scripts: Vec<_> = scripts.iter().collect();
    scripts.sort_by_key(|script| std::cmp::Reverse(script.weight));
    let mut dry_run = DryRun::new(names, variables, seed);
    let mut all: Vec<PlainRead> = Vec::new();
    for script in scripts.into_iter().filter(|script| script.weight > 0) {
        for draw in 0..DRAWS {
            let mut looks = 0;
            dry_run.run(script, &mut |sql, vars| {
                looks += 1;
                if let Some(with_values) = drawn(sql, vars) {
                    add(&mut all, &sql.text, with_values, draw);
                }
                looks < LOOKS_MAX
            });
        }
    }
    all
}

/// Adds the first values that this draw has for the statement.
fn add(all: &mut Vec<PlainRead>, text: &str, with_values: String, draw: usize) {
    let is_full = all.len() >= STATEMENTS_MAX;
    match all.iter_mut().find(|read| read.text == text) {
        Some(read) if read.drawn.len() <= draw => read.drawn.push(with_values),
        None if !is_full => all.push(PlainRead {
            text: text.to_owned(),
            drawn: vec![with_values],
        }),
        _ => {}
    }
}

/// The statement with its values, if it only reads and all of them are known.
fn drawn(sql: &Sql, vars: &Vars) -> Option<String> {
    let is_set = |piece: &Piece| match piece {
        Piece::Var(slot) => vars.is_set(*slot),
        Piece::Text(_) => true,
    };
    if !plainly_selects(&sql.text)
        || !sql.pieces.iter().all(is_set)
        || sql.check_simple(vars).is_err()
    {
        return None;
    }
    let mut text = Vec::new();
    sql.write_simple(vars, &mut text);
    let text = String::from_utf8(text).ok()?;
    // A value that was given may be any text.
    let text = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    plainly_selects(text).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use pgdyno_spec::{QueryMode, Retry};
    use pgdyno_workload::mix::WeightedScript;

    fn reads(scripts: &[(&str, u32)]) -> Vec<PlainRead> {
        let scripts: Vec<_> = { scripts.iter() }
            .map(|(text, weight)| WeightedScript::plain("mine", (*text).to_owned(), *weight))
            .collect();
        let compiled = compile(
            &scripts,
            QueryMode::Prepared,
            Retry::default(),
            false,
            (false, false),
        );
        let (scripts, names) = compiled.unwrap_or_else(|e| panic!("{e}"));
        let given = [("given", "1; DELETE FROM t")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        of(&scripts, &names, &BTreeMap::from(given), 1)
    }

    #[test]
    fn each_is_drawn_anew_and_what_may_write_or_has_no_value_is_left_out() {
        let script = "\\set a random(1, 1000000)\nBEGIN;\nUPDATE t SET v = :a;\n\
            SELECT v FROM t WHERE a = :a;\nSELECT v FROM t WHERE a = :a;\nSELECT f(:a);\n\
            SELECT v FROM t WHERE a = :given;\nSELECT max(a) AS m FROM t \\gset\n\
            SELECT v FROM t WHERE a = :m;\nEND;\n";
        let all = reads(&[(script, 1)]);
        let texts: Vec<&str> = all.iter().map(|read| read.text.as_str()).collect();
        assert_eq!(texts.len(), 2, "{all:#?}");
        assert_eq!(texts[0], "SELECT v FROM t WHERE a = :a;");
        assert!(
            texts[1].starts_with("SELECT max(a) AS m FROM t"),
            "{texts:?}"
        );
        let [one, two, three] = all[0].drawn.as_slice() else {
            panic!("{all:#?}");
        };
        assert!(one != two && two != three && one != three, "{all:#?}");
        assert!(one.starts_with("SELECT v FROM t WHERE a = ") && !one.contains([':', ';']));
    }

    #[test]
    fn a_few_of_the_scripts_that_are_chosen_most_are_taken() {
        let all = reads(&[
            ("SELECT 1;\nSELECT 2;\n", 1),
            ("SELECT 3;\nSELECT 4;\n", 5),
            ("SELECT 5;\n", 0),
        ]);
        let texts: Vec<&str> = all.iter().map(|read| read.text.as_str()).collect();
        assert_eq!(texts, ["SELECT 3;", "SELECT 4;", "SELECT 1;"]);
    }
}
