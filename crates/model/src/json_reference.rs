//! The fields of what `--json` prints, as docs/json.md lists them: made from the documents' types, as the page's
//! TypeScript types are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ts_rs::TS;

use crate::document;
use crate::typescript::Declarations;

/// The file, from this crate's folder.
const FILE: &str = "../../docs/json.md";
const BEGIN: &str =
    "<!-- table: PGDYNO_WRITE_TYPES=1 cargo test -p pgdyno-model --lib the_types_of -->\n";
const END: &str = "<!-- end of table -->\n";

/// A type that is listed.
struct Listed {
    name: String,
    doc: String,
    shape: Shape,
}

enum Shape {
    Object(Vec<Field>),
    /// A few words, or one of several objects: as TypeScript has it.
    Other(String),
    /// With a type of its own for each use: the document explains it.
    Generic,
}

struct Field {
    name: String,
    is_optional: bool,
    type_: String,
    doc: String,
}

impl Listed {
    /// `declaration` as [`Declarations`] lays it out.
    fn of(declaration: &str) -> Self {
        let (doc, code) = declaration.split_once("export type ").unwrap();
        let (head, body) = code.split_once(" = ").unwrap();
        let body = body.trim_end().trim_end_matches(';');
        let name = head.split('<').next().unwrap().to_owned();
        let shape = match body.strip_prefix("{\n") {
            _ if head.contains('<') => Shape::Generic,
            Some(fields) if !body.contains("} | {") => Shape::Object(fields_of(fields)),
            _ => Shape::Other(body.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        Self {
            name,
            doc: words(doc),
            shape,
        }
    }
}

fn fields_of(text: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut doc = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("/*") || line.starts_with('*') {
            doc += line;
            doc.push('\n');
        } else if let Some((name, type_)) = line.split_once(": ") {
            let type_ = type_.trim_end_matches(';').to_owned();
            fields.push(Field {
                name: name.trim_end_matches('?').trim_matches('"').to_owned(),
                is_optional: name.ends_with('?'),
                type_,
                doc: words(&std::mem::take(&mut doc)),
            });
        }
    }
    fields
}

/// A comment on one line, without its marks, as a cell of a table has it.
fn words(comment: &str) -> String {
    let lines = comment.lines().map(|line| {
        let line = line.trim().trim_start_matches("/**");
        line.trim_end_matches("*/").trim_start_matches('*').trim()
    });
    let text: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let text = text.join(" ").replace("[`", "`").replace("`]", "`");
    text.replace('|', "\\|")
}

/// The types of one document, the document itself first.
fn listed<T: TS + 'static>() -> Vec<Listed> {
    let mut declarations = Declarations::default();
    declarations.add::<T>();
    declarations.texts().map(Listed::of).collect()
}

/// What `--json` of each command prints.
fn documents() -> Vec<(&'static str, Vec<Listed>)> {
    vec![
        ("pgdyno run --json", listed::<document::WholeTrial>()),
        (
            "pgdyno show --experiment --json",
            listed::<document::points::Points>(),
        ),
        (
            "pgdyno compare --json",
            listed::<document::comparison::Comparison>(),
        ),
        ("pgdyno ci --json", listed::<document::ci::Ci>()),
        (
            "pgdyno history --json",
            listed::<document::history::History>(),
        ),
        (
            "pgdyno calibrate --json",
            listed::<document::calibration::Calibration>(),
        ),
        (
            "pgdyno lab retries --json",
            listed::<document::retries_lab::RetriesLab>(),
        ),
        (
            "pgdyno lab disturb --json",
            listed::<document::disturb_lab::DisturbLab>(),
        ),
        (
            "pgdyno lab isolation --json",
            listed::<document::isolation_lab::IsolationLab>(),
        ),
        ("pgdyno target --json", listed::<document::target::Target>()),
    ]
}

/// The part of the file between its marks.
fn reference() -> String {
    let mut text = String::new();
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    for (command, types) in documents() {
        let _ = write!(text, "\n## {command}\n");
        let short: BTreeMap<&str, &str> = types.iter().filter_map(short).collect();
        for (place, of) in types.iter().enumerate() {
            let section = section(of, place == 0, &types, &short);
            // What an earlier document has in the same way is listed there.
            if before.get(&of.name) != Some(&section) {
                text += &section;
                before.insert(of.name.clone(), section);
            }
        }
    }
    text + "\n"
}

/// What is in the cells of fields in place of its name.
fn short(of: &Listed) -> Option<(&str, &str)> {
    match &of.shape {
        Shape::Other(text) => Some((&of.name, text)),
        Shape::Object(_) | Shape::Generic => None,
    }
}

fn section(
    of: &Listed,
    is_document: bool,
    types: &[Listed],
    short: &BTreeMap<&str, &str>,
) -> String {
    let Shape::Object(fields) = &of.shape else {
        return String::new();
    };
    let mut text = if is_document {
        String::new()
    } else {
        format!("\n### {}\n", of.name)
    };
    if !of.doc.is_empty() {
        let _ = write!(text, "\n{}\n", of.doc);
    }
    text += "\n| Field | Type | Content |\n| --- | --- | --- |\n";
    for field in fields {
        let optional = if field.is_optional { ", optional" } else { "" };
        let type_ = in_words(&field.type_, types, short);
        let _ = writeln!(
            text,
            "| `{}` | {type_}{optional} | {} |",
            field.name, field.doc
        );
    }
    text
}

/// A type in words, with links to those that are listed: `list of [Part](#part)`.
fn in_words(type_: &str, types: &[Listed], short: &BTreeMap<&str, &str>) -> String {
    let type_ = type_.trim();
    let of = |type_| in_words(type_, types, short);
    let any = split(type_, '|');
    if any.len() > 1 {
        let any: Vec<String> = any.into_iter().map(of).collect();
        return any.join(" or ");
    }
    for (begin, end, word) in [
        ("Array<", ">", "list"),
        ("{ [key in string]: ", " }", "map"),
        ("Record<string, ", ">", "map"),
        ("Fact<", ">", "fact"),
        ("[", "]", "pair"),
    ] {
        let inner = type_.strip_prefix(begin);
        if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(end)) {
            let parts = split(inner, ',').into_iter();
            // Parts of a pair may have names.
            let parts = parts.map(|part| match part.split_once(": ") {
                Some((_, type_)) if word == "pair" => of(type_),
                _ => of(part),
            });
            let mut parts: Vec<String> = parts.collect();
            parts.dedup();
            return format!("{word} of {}", parts.join(" and "));
        }
    }
    match short.get(type_) {
        Some(words) => of(words),
        None if types.iter().any(|of| of.name == type_) => {
            format!("[{type_}](#{})", type_.to_lowercase())
        }
        None if type_ == "unknown" => "any JSON".to_owned(),
        None if type_.starts_with('{') => format!("`{type_}`"),
        None => match type_
            .strip_prefix('"')
            .and_then(|word| word.strip_suffix('"'))
        {
            Some(word) => format!("`{word}`"),
            None => type_.to_owned(),
        },
    }
}

/// The parts of `type_` between these, but for those within brackets.
fn split(type_: &str, between: char) -> Vec<&str> {
    let mut depth = 0;
    let parts = type_.split(|c| {
        match c {
            '<' | '[' | '{' => depth += 1,
            '>' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == between && depth == 0
    });
    parts.map(str::trim).collect()
}

#[test]
fn the_types_of_json_are_those_of_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let made = format!("{head}{BEGIN}{}{END}{tail}", reference());
    if std::env::var_os("PGDYNO_WRITE_TYPES").is_some() {
        std::fs::write(&path, &made).unwrap();
    } else {
        assert!(
            made == text,
            "docs/json.md is not what the types say: {BEGIN}"
        );
    }
}

#[test]
fn a_declaration_becomes_a_table() {
    let text = "/** A b. */\nexport type Stop = {\n  /** When, `null`: never. */\n  at_us?: number | null;\n  \
                /**\n   * Two\n   * lines.\n   */\n  each: Array<Part>;\n};\n";
    let part = Listed::of("export type Part = {\n  n: Kind;\n};\n");
    let kind = Listed::of("export type Kind = \"a\" | \"b\";\n");
    let stop = Listed::of(text);
    let types = [stop, part, kind];
    let short: BTreeMap<&str, &str> = types.iter().filter_map(short).collect();
    assert_eq!(
        section(&types[0], false, &types, &short),
        "\n### Stop\n\nA b.\n\n| Field | Type | Content |\n| --- | --- | --- |\n\
         | `at_us` | number or null, optional | When, `null`: never. |\n\
         | `each` | list of [Part](#part) | Two lines. |\n"
    );
    let part = section(&types[1], true, &types, &short);
    assert!(part.ends_with("| `n` | `a` or `b` |  |\n"), "{part}");
    for (type_, words) in [
        ("{ [key in string]: Fact<string> }", "map of fact of string"),
        (
            "Array<[name: string, words: string]>",
            "list of pair of string",
        ),
        (
            "[string, number] | null",
            "pair of string and number or null",
        ),
        ("unknown", "any JSON"),
    ] {
        assert_eq!(in_words(type_, &types, &short), words);
    }
}
