//! Mistakes that people make in packs: each is reported with its file, its line and the way out.

use super::*;

/// A good pack; each case changes one text of one file.
const FILES: [(&str, &str); 7] = [
    (
        "pack.toml",
        r#"name = "mine"
summary = "A pack"
schema = "schema.sql"
after_load = "keys.sql"

[define]
item = "t{{kind}}"

[[param]]
name = "rows"
default = 100
min = 1
max = 1000
help = "Rows."

[[param]]
name = "kind"
default = "a"
one_of = ["a", "b"]
help = "Kind."

[[refuse]]
when = ":rows > 900"
why = "rows={{rows}} is too much"

[[script]]
name = "read"
file = "read.sql"
weight = 4

[[script]]
name = "write"
file = "write.sql"
weight = ":rows"

[[mix]]
name = "reads"
weights = { read = 1 }

[[check]]
name = "sum"
help = "The sum is 0."
query = "SELECT sum(n) FROM t"
returns = "0"

[[table]]
name = "t"
rows = ":rows"
columns = [
  { name = "id", value = ":row" },
  { name = "n", value = "0" },
]

[[table]]
name = "own"
from = "own.csv"
columns = [{ name = "id" }, { name = "what" }]

[[setting]]
name = "work_mem"
value = "4MB"
"#,
    ),
    (
        "schema.sql",
        "-- Tables.\nCREATE TABLE t (id int, n int);\nCREATE TABLE own (id int, what text);\n",
    ),
    ("keys.sql", "ALTER TABLE t ADD PRIMARY KEY (id);\n"),
    (
        "read.sql",
        "-- Reads.\n\\set id random(1, :rows)\nSELECT n FROM t WHERE id = :id;\n",
    ),
    (
        "write.sql",
        "\\if :rows > 1\nUPDATE t SET n = 0 WHERE id = 1;\n\\endif\n-- {{item}}\n",
    ),
    ("own.csv", "id,what\n1,a\n2,b\n"),
    (
        "schema.cockroachdb.sql",
        "CREATE TABLE t (id int8, n int8);\n",
    ),
];

/// The file that is changed, its text that is replaced (nothing: all of it), the new text; where the mistake
/// is to be reported (nothing for the line: of the file as a whole), and what of it.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const CASES: &[Case] = &[
    // Keys and types.
    (
        "pack.toml",
        "summary =",
        "sumary =",
        "pack.toml:2",
        &["unknown field `sumary`", "did you mean `summary`?"],
    ),
    (
        "pack.toml",
        "weight = 4",
        "wieght = 4",
        "pack.toml:29",
        &["unknown field `wieght`", "did you mean `weight`?"],
    ),
    (
        "pack.toml",
        "[[script]]\nname = \"read\"",
        "[[scripts]]\nname = \"read\"",
        "pack.toml:26",
        &["unknown field `scripts`", "did you mean `script`?"],
    ),
    (
        "pack.toml",
        "weight = 4",
        "weight = \"four",
        "pack.toml:29",
        &["invalid basic string"],
    ),
    (
        "pack.toml",
        "weight = 4",
        "weight = -4",
        "pack.toml:29",
        &["a whole number that is not negative, or an expression"],
    ),
    (
        "pack.toml",
        "help = \"Kind.\"",
        "",
        "pack.toml:16",
        &["missing field `help`"],
    ),
    (
        "pack.toml",
        "min = 1\n",
        "min = \"one\"\n",
        "pack.toml:12",
        &["invalid type: string \"one\""],
    ),
    (
        "pack.toml",
        "default = 100",
        "default = [100]",
        "pack.toml:11",
        &["an integer, a number, true or false, or a string"],
    ),
    (
        "pack.toml",
        "name = \"mine\"",
        "name = \"my pack\"",
        "pack.toml:1",
        &["made of letters, digits, - and _"],
    ),
    (
        "pack.toml",
        "summary = \"A pack\"",
        "summary = \"\"",
        "pack.toml:2",
        &["expected one line"],
    ),
    // Parameters.
    (
        "pack.toml",
        "min = 1\n",
        "min = 5000\n",
        "pack.toml:12",
        &["min = 5000 is more than max = 1000"],
    ),
    (
        "pack.toml",
        "default = 100",
        "default = 2000",
        "pack.toml:11",
        &["it must be at most 1000"],
    ),
    (
        "pack.toml",
        "default = \"a\"",
        "default = \"c\"",
        "pack.toml:18",
        &["it must be one of a, b"],
    ),
    (
        "pack.toml",
        "name = \"kind\"",
        "name = \"rows\"",
        "pack.toml:17",
        &["param \"rows\" is defined twice: rename one"],
    ),
    (
        "pack.toml",
        "name = \"kind\"",
        "name = \"my-kind\"",
        "pack.toml:17",
        &["letters, digits and _"],
    ),
    (
        "pack.toml",
        "name = \"kind\"",
        "name = \"client_id\"",
        "pack.toml:17",
        &["is reserved: pgdyno sets this variable; choose another"],
    ),
    (
        "pack.toml",
        "help = \"Kind.\"",
        "help = \"Kind.\"\nonly = [\"postgres\"]",
        "pack.toml:21",
        &["no dialect \"postgres\" (there are: postgresql,"],
    ),
    (
        "pack.toml",
        "when = \":rows > 900\"",
        "when = \":rows > 90\"",
        "pack.toml:24",
        &["the defaults are refused (rows=100 is too much)"],
    ),
    (
        "pack.toml",
        "when = \":rows > 900\"",
        "when = \":rows > \"",
        "pack.toml:23",
        &["syntax error", "^ error found here"],
    ),
    (
        "pack.toml",
        "when = \":rows > 900\"",
        "when = \":row > 900\"",
        "pack.toml:23",
        &["undefined variable \"row\""],
    ),
    // Scripts and mixes.
    (
        "pack.toml",
        "file = \"read.sql\"",
        "file = \"reed.sql\"",
        "pack.toml:28",
        &["there is no file \"reed.sql\" in the pack (there are: keys.sql,"],
    ),
    (
        "pack.toml",
        "file = \"read.sql\"",
        "file = \"../read.sql\"",
        "pack.toml:28",
        &["without a path"],
    ),
    (
        "pack.toml",
        "name = \"write\"",
        "name = \"read\"",
        "pack.toml:32",
        &["script \"read\" is defined twice"],
    ),
    (
        "pack.toml",
        "weight = \":rows\"",
        "weight = \":rows -\"",
        "pack.toml:34",
        &["syntax error", "^ error found here"],
    ),
    (
        "pack.toml",
        "weight = \":rows\"",
        "weight = \"0 - :rows\"",
        "pack.toml:34",
        &["-100 is no weight"],
    ),
    (
        "pack.toml",
        "weight = 4",
        "weight = \"0\"\n[[script]]\nname = \"x\"\nfile = \"read.sql\"\nweight = \"1 / 0\"",
        "pack.toml:33",
        &["division by zero"],
    ),
    (
        "pack.toml",
        "weights = { read = 1 }",
        "weights = { reed = 1 }",
        "pack.toml:38",
        &["there is no script \"reed\" (there are: read, write)"],
    ),
    (
        "pack.toml",
        "weights = { read = 1 }",
        "weights = { read = 0 }",
        "pack.toml:38",
        &["at least one must be above 0"],
    ),
    (
        "pack.toml",
        "weights = { read = 1 }",
        "params = { row = 1 }",
        "pack.toml:38",
        &["there is no param \"row\" (there are: rows, kind)"],
    ),
    (
        "read.sql",
        "",
        "-- nothing\n",
        "read.sql",
        &["there is no statement in it: write one"],
    ),
    (
        "read.sql",
        "random(1, :rows)",
        "radnom(1, :rows)",
        "read.sql:2",
        &[
            "unexpected function name",
            "\\set id radnom",
            "^ error found here",
        ],
    ),
    (
        "read.sql",
        "\\set",
        "\\sett",
        "read.sql:2",
        &["invalid command", "sett"],
    ),
    (
        "write.sql",
        "\\endif\n",
        "",
        "write.sql:1",
        &["\\if without matching \\endif"],
    ),
    // Templates.
    (
        "write.sql",
        "{{item}}",
        "{{itme}}",
        "write.sql:4",
        &["{{itme}}: no parameter or [define] of this name"],
    ),
    (
        "write.sql",
        "{{item}}",
        "{{if :rows > 1}}",
        "write.sql:4",
        &["{{if}} without {{end}}"],
    ),
    (
        "write.sql",
        "{{item}}",
        "{{include itme.sql}}",
        "write.sql:4",
        &["include: there is no file \"itme.sql\""],
    ),
    (
        "pack.toml",
        "item = \"t{{kind}}\"",
        "item = \"{{other}}\"\nother = \"{{item}}\"",
        "write.sql:4",
        &["texts name each other in a circle"],
    ),
    // Tables and checks.
    (
        "pack.toml",
        "name = \"own\"",
        "name = \"t\"",
        "pack.toml:55",
        &["table \"t\" is defined twice"],
    ),
    (
        "pack.toml",
        "name = \"t\"",
        "name = \"My table\"",
        "pack.toml:47",
        &["use lower-case letters, digits and _"],
    ),
    (
        "pack.toml",
        "value = \"0\"",
        "valeu = \"0\"",
        "pack.toml:51",
        &["unknown field `valeu`", "did you mean `value`?"],
    ),
    (
        "pack.toml",
        "value = \"0\"",
        "value = \"0\", text = \"0\"",
        "pack.toml:51",
        &["give either value (an expression) or text"],
    ),
    (
        "pack.toml",
        "value = \"0\"",
        "value = \"10 / (:row - 1)\"",
        "pack.toml:46",
        &["column \"n\": value: division by zero (row 1)"],
    ),
    (
        "read.sql",
        "random(1, :rows)",
        "random(1, :row_count)",
        "read.sql:2",
        &["undefined variable \"row_count\": no [[param]] has this name"],
    ),
    (
        "write.sql",
        "\\if :rows > 1",
        "\\if :id > 1 and :rwos > 1",
        "write.sql:1",
        &["undefined variable \"rwos\""],
    ),
    (
        "read.sql",
        "WHERE id = :id;\n",
        "WHERE id = :id \\gset a_\n\\set m :a_n + :a_m\n",
        "read.sql:4",
        &["undefined variable \"a_m\""],
    ),
    (
        "pack.toml",
        "query = \"SELECT sum(n) FROM t\"",
        "query = \"SELECT sum(n) FROM t; DELETE FROM t\"",
        "pack.toml:43",
        &["there are 2 statements in it: a check is one query"],
    ),
    (
        "pack.toml",
        "query = \"SELECT sum(n) FROM t\"",
        "query = \"-- later\"",
        "pack.toml:43",
        &["there is no statement in it: a check is one query"],
    ),
    (
        "pack.toml",
        "rows = \":rows\"",
        "rows = \":scale * 10\"",
        "pack.toml:46",
        &["rows: undefined variable \"scale\""],
    ),
    (
        "pack.toml",
        "schema = \"schema.sql\"\nafter_load",
        "after_load",
        "pack.toml:45",
        &["schema is missing: a pack with a [[table]] needs"],
    ),
    (
        "pack.toml",
        "query = \"SELECT sum(n) FROM t\"\n",
        "",
        "pack.toml:40",
        &["check \"sum\": give either query or file"],
    ),
    (
        "pack.toml",
        "name = \"sum\"",
        "name = \"sum\"\nat = [\"later\"]",
        "pack.toml:42",
        &["unknown variant `later`, expected one of `before`"],
    ),
    (
        "pack.toml",
        "returns = \"0\"",
        "returns = \"{{sum}}\"",
        "pack.toml:44",
        &["{{sum}}: no parameter or [define] of this name"],
    ),
    (
        "pack.toml",
        "name = \"work_mem\"",
        "name = \"Work Mem\"",
        "pack.toml:60",
        &["use lower-case letters, digits and _"],
    ),
    (
        "schema.postgres.sql",
        "",
        "SELECT 1;\n",
        "schema.postgres.sql",
        &[
            "there is no dialect \"postgres\"",
            "call it schema.postgresql.sql",
        ],
    ),
    (
        "schema.cockroachdb.sql",
        "",
        "\\sleep 1 s\n",
        "schema.cockroachdb.sql:1",
        &["cannot be used here: only SQL, \\set"],
    ),
    // Data.
    (
        "pack.toml",
        "[{ name = \"id\" }, { name = \"what\" }]",
        "[{ name = \"id\", value = \":row\" }, { name = \"what\", text = \"x\" }]",
        "pack.toml:56",
        &["no column takes a field of it: leave out the value"],
    ),
    (
        "pack.toml",
        "name = \"own\"",
        "name = \"own\"\neach = \"i 1 3\"",
        "pack.toml:55",
        &["each makes several of this name", "own_{{i}}"],
    ),
    (
        "pack.toml",
        "{ name = \"what\" }]",
        "{ name = \"what\", each = \"i 1 2\" }]",
        "pack.toml:57",
        &["each makes several of this name", "what_{{i}}"],
    ),
    (
        "pack.toml",
        "from = \"own.csv\"",
        "from = \"owm.csv\"",
        "pack.toml:54",
        &[
            "there is no such file in ",
            "(there are: keys.sql, own.csv,",
        ],
    ),
    (
        "pack.toml",
        "from = \"own.csv\"",
        "from = \"/data/own.csv\"",
        "pack.toml:56",
        &[
            "in the pack's own folder or below it",
            "put pack.toml beside the data",
        ],
    ),
    (
        "pack.toml",
        "from = \"own.csv\"",
        "from = \"own.csv\"\ndelimiter = \"tab\"",
        "pack.toml:57",
        &["expected one ASCII character"],
    ),
    (
        "own.csv",
        "id,what",
        "id,which",
        "own.csv:1",
        &[
            "there is no field \"what\" (there are: id, which)",
            "field = ",
        ],
    ),
    (
        "own.csv",
        "2,b",
        "2",
        "own.csv:3",
        &["1 field: 2 expected as in line 1"],
    ),
    (
        "own.csv",
        "1,a",
        "1,\"a",
        "own.csv:2",
        &["a quote that begins in this record has no end: close it"],
    ),
];

/// The pack with a text of a file replaced.
fn folder_with(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text.contains(from), "{file} has no {from}");
    let text = match from {
        "" => to.to_owned(),
        from => text.replacen(from, to, 1),
    };
    std::fs::write(path, text).unwrap();
    folder
}

#[test]
fn each_mistake_has_its_file_its_line_and_a_remedy() {
    let good = folder_with("read.sql", "Reads", "It reads");
    let (pack, wrong) = check(good.path().to_str().unwrap());
    assert!(pack.is_some() && wrong.is_empty(), "{wrong:#?}");

    let mut missed = Vec::new();
    for (file, from, to, place, texts) in CASES {
        let folder = folder_with(file, from, to);
        let (_, wrong) = check(folder.path().to_str().unwrap());
        let place = format!("{}/{place}: ", folder.path().display());
        let is_reported = |error: &ManifestError| {
            let said = error.to_string();
            said.starts_with(&place) && texts.iter().all(|text| said.contains(text))
        };
        // And nothing else: what follows from a mistake is not reported as another one.
        if wrong.len() != 1 || !is_reported(&wrong[0]) {
            let said: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            missed.push(format!(
                "{to:?}\n  wanted {place}{texts:?}\n  said {said:#?}"
            ));
        }
    }
    assert!(CASES.len() >= 40);
    assert!(
        missed.is_empty(),
        "{} of {}:\n{}",
        missed.len(),
        CASES.len(),
        missed.join("\n")
    );
}

#[test]
fn all_mistakes_are_listed_at_once() {
    let folder = folder_with("pack.toml", "weight = 4", "weigth = 4\nfeature = []");
    let path = folder.path().join("pack.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("file = \"write.sql\"", "file = \"wrote.sql\"");
    let text = text.replace("name = \"own\"", "name = \"Own\"");
    std::fs::write(path, text.replace("default = 100", "default = 0")).unwrap();
    let (_, wrong) = check(folder.path().to_str().unwrap());
    let lines: Vec<Option<usize>> = wrong.iter().map(|error| error.line).collect();
    assert_eq!(lines, [29, 30, 11, 56, 34].map(Some), "{wrong:#?}");
}

#[test]
fn there_is_nothing_wrong_with_the_shipped_packs() {
    for name in shipped::names() {
        let (pack, wrong) = check(name);
        assert!(pack.is_some() && wrong.is_empty(), "{name}: {wrong:#?}");
    }
}
