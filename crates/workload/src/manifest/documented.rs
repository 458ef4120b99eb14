//! workloads/README.md has every key of `pack.toml`, and only those; each of them is used by a pack that
//! is not shipped, and tested with it.

use std::collections::BTreeSet;

use super::parse;

const README: &str = include_str!("../../../../workloads/README.md");

const OWN: &str = include_str!("../../../pgdyno/tests/all/cli/own_pack/pack.toml");

/// The sections, with the text that a key of theirs follows.
const SECTIONS: [(&str, &str); 12] = [
    ("Top level", ""),
    ("`[[param]]`", "[[param]]"),
    ("`[[refuse]]`", "[[refuse]]"),
    ("`[[script]]`", "[[script]]"),
    ("`[[mix]]`", "[[mix]]"),
    ("`[[table]]`", "[[table]]"),
    ("`columns`", "[[table]]\n[[table.columns]]"),
    ("`[[procedure]]`", "[[procedure]]"),
    ("`[[explain]]`", "[[explain]]"),
    ("`[[setting]]`", "[[setting]]"),
    ("`[[check]]`", "[[check]]"),
    ("`[[figure]]`", "[[figure]]"),
];

/// The keys that the parser knows where the unknown one is in `text`.
fn known(text: &str) -> BTreeSet<String> {
    let error = parse("p/pack.toml", text).expect_err(text).to_string();
    let (_, expected) = error
        .split_once("unknown field `no_such_key`, expected")
        .expect(&error);
    let words = expected.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// The keys in the first column of the table under this heading; each row has a default.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, section) = README
        .split_once(&format!("\n### {heading}\n"))
        .expect(heading);
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut keys = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, default, meaning, ..] = cells[..] else {
            panic!("{heading}: key, default and meaning are wanted: {row}");
        };
        assert!(!default.is_empty() && !meaning.is_empty(), "{row}");
        keys.extend(names.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    keys
}

#[test]
fn every_key_is_in_the_table_of_its_section() {
    for (heading, text) in SECTIONS {
        let known = known(&format!("{text}\nno_such_key = 1\n"));
        assert!(!known.is_empty(), "{heading}");
        assert_eq!(documented(heading), known, "{heading}");
    }
}

#[test]
fn every_key_is_used_by_a_pack_that_is_not_shipped() {
    let own: toml::Table = OWN.parse().unwrap();
    parse("own/pack.toml", OWN).unwrap();
    for (heading, text) in SECTIONS {
        // A folder's pack that uses another one is tested where folders are read.
        let keys = known(&format!("{text}\nno_such_key = 1\n"));
        for key in keys.iter().filter(|key| *key != "uses") {
            let path = text.rsplit('\n').next().unwrap_or_default();
            let path = path.trim_matches(['[', ']']);
            let mut tables = vec![&own];
            for name in path.split('.').filter(|name| !name.is_empty()) {
                let lists = tables.into_iter().filter_map(|table| table.get(name));
                let lists = lists.filter_map(|list| list.as_array());
                tables = lists.flatten().filter_map(|item| item.as_table()).collect();
            }
            let is_used = tables.iter().any(|table| table.contains_key(key));
            assert!(is_used, "{heading}: {key}");
        }
    }
}
