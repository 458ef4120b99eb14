//! The report's page has its types from here: all types of the documents as one TypeScript file.
//! A test compares the committed file with them, and writes it on request.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ts_rs::{Config, TS, TypeVisitor};

use crate::document;

/// The file, from this crate's folder.
const FILE: &str = "../../web/src/data.ts";
const COMMAND: &str = "PGDYNO_WRITE_TYPES=1 cargo test -p pgdyno-model typescript";

/// The types that the page reads; those that they are made of follow by themselves.
fn declarations() -> Declarations {
    let mut all = Declarations::default();
    all.add::<document::Common>();
    all.add::<document::page::Page>();
    all.add::<document::Packed>();
    all
}

#[derive(Default)]
pub struct Declarations {
    met: BTreeSet<TypeId>,
    /// By name, to notice two types of one name.
    names: BTreeMap<String, String>,
    /// The types that were asked for.
    roots: Vec<String>,
}

impl Declarations {
    pub fn add<T: TS + 'static + ?Sized>(&mut self) {
        self.roots.push(T::ident(&Config::new()));
        self.visit::<T>();
    }

    /// Each type before those that it is made of, these as it names them: ts-rs itself gives them in
    /// an order that is another one with each build.
    fn in_order(&self) -> Vec<&str> {
        let mut order: Vec<&str> = Vec::new();
        let mut next: Vec<&str> = self.roots.iter().rev().map(String::as_str).collect();
        while let Some(name) = next.pop() {
            let Some((name, declaration)) = self.names.get_key_value(name) else {
                continue;
            };
            if order.contains(&name.as_str()) {
                continue;
            }
            order.push(name);
            let code = declaration.lines().filter(|line| !is_comment(line));
            let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
            let named: Vec<&str> = words.collect();
            next.extend(named.into_iter().rev());
        }
        order
    }

    /// The declarations in that order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let names = self.in_order().into_iter();
        names.map(|name| self.names[name].as_str())
    }

    fn text(&self) -> String {
        let rules = "\
/**
 * The data contract: what pgdyno writes into `<script type=\"application/json\" id=\"data\">`. What it
 * prints with `--json` is embedded as it is (docs/json.md), so that figures on the page are those of
 * the notebook.
 *
 * Rules: times are whole microseconds on the clock of the trial's seconds (0: clients began to
 * work; below 0: before), latencies microseconds, shares 0 to 1, stamps UTC as text. `null` is \"not
 * known\"; an optional field that is missing means \"not recorded\". Nothing here is HTML: every string
 * is shown as text. Sentences have no full stop forced on them and may hold `code` in backquotes.
 * Unknown fields and unknown codes are no error.
 */
";
        let mut text = format!(
            "// Generated from crates/model/src/document by: {COMMAND}\n\n{rules}\n\
             /** The version of these types. */\nexport const FORMAT = {};\n",
            document::FORMAT
        );
        for name in self.in_order() {
            text += &format!("\n{}", self.names[name]);
        }
        text
    }
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // What has no place of its own (numbers, lists, maps) is no declaration.
        if !self.met.insert(TypeId::of::<T>()) {
            return;
        }
        if T::output_path().is_none() {
            return T::visit_generics(self);
        }
        let config = Config::new().with_large_int("number");
        let name = T::ident(&config);
        let docs = T::docs().unwrap_or_default();
        let declaration = laid_out(&format!("{docs}export {}\n", T::decl(&config)));
        if let Some(other) = self.names.insert(name.clone(), declaration.clone()) {
            assert_eq!(other, declaration, "two types are called {name}");
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}

/// Comments stand on lines of their own.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("/*") || line.starts_with('*')
}

/// A field a line, and comments of one line on one.
fn laid_out(declaration: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    let mut rest = declaration;
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    while let Some(char) = rest.chars().next() {
        if let Some((comment, after)) = rest.strip_prefix("/**").and_then(|r| r.split_once("*/")) {
            let lines: Vec<&str> = comment
                .lines()
                .map(|line| line.trim().trim_start_matches('*').trim())
                .filter(|line| !line.is_empty())
                .collect();
            match lines.as_slice() {
                [line] => text += &format!("/** {line} */"),
                lines => {
                    text += "/**";
                    for line in lines {
                        text += &format!("{} * {line}", indent(depth));
                    }
                    text += &format!("{} */", indent(depth));
                }
            }
            text += &indent(depth);
            rest = after.trim_start();
            continue;
        }
        rest = &rest[char.len_utf8()..];
        match char {
            '{' if depth == 0 => {
                depth = 1;
                text += "{";
                text += &indent(depth);
                rest = rest.trim_start();
            }
            // A map, or a small type within a field: on its line.
            '{' => {
                let end = rest.find('}').map_or(rest.len(), |at| at + 1);
                text += &format!("{{{}", &rest[..end]);
                rest = &rest[end..];
            }
            '}' => {
                depth = 0;
                text = text.trim_end().to_owned() + "\n}";
            }
            '<' | '[' | '(' => {
                let end = closing(rest);
                text.push(char);
                text += &rest[..end];
                rest = &rest[end..];
            }
            ',' if depth == 1 => {
                text += ";";
                text += &indent(depth);
                rest = rest.trim_start();
            }
            char => text.push(char),
        }
    }
    text
}

/// Where the bracket that was opened before this is closed.
fn closing(rest: &str) -> usize {
    let mut open = 1;
    for (at, char) in rest.char_indices() {
        match char {
            '<' | '[' | '(' | '{' => open += 1,
            '>' | ']' | ')' | '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    rest.len()
}

#[test]
fn the_types_of_the_page_are_those_of_the_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let text = declarations().text();
    if std::env::var_os("PGDYNO_WRITE_TYPES").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what crates/model/src/document says: run {COMMAND}, then build the page \
         (cd web && npm run build)",
        path.display()
    );
}
