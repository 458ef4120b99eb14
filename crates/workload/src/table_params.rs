//! Which parameters the tables depend on: those that the schema, the keys and the rules for rows and
//! columns mention, in any dialect's variant, also through templates. Tables made with another value
//! are other tables; only these values are recorded with them.

use std::collections::BTreeSet;

use super::manifest;
use super::pack::Pack;

/// The names of the parameters that the pack's tables, or those of the pack it uses, depend on.
pub fn of(pack: &Pack) -> BTreeSet<String> {
    let pack = pack.tables_pack();
    let mut texts: Vec<&str> = Vec::new();
    for file in [&pack.manifest.schema, &pack.manifest.after_load] {
        let Some(file) = file else { continue };
        let dialects = manifest::dialects().into_iter();
        let variants = dialects.filter_map(|dialect| pack.sql_file(file, dialect));
        texts.extend(variants.map(|(_, text)| text));
    }
    for table in &pack.manifest.tables {
        let of_table = [
            Some(&table.name),
            table.each.as_ref(),
            table.rows.as_ref(),
            table.from.as_ref(),
        ];
        texts.extend(of_table.into_iter().flatten().map(String::as_str));
        for column in &table.columns {
            let of_column = [
                Some(&column.name),
                column.each.as_ref(),
                column.value.as_ref(),
                column.text.as_ref(),
            ];
            texts.extend(of_column.into_iter().flatten().map(String::as_str));
        }
    }
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    while let Some(text) = texts.pop() {
        let mentioned = Mentioned::in_text(text);
        names.extend(mentioned.variables);
        for (kind, name) in mentioned.texts {
            let found = match kind {
                Kind::Include => pack.files.get(name),
                // A definition goes before a parameter of the same name.
                Kind::Name => pack.manifest.define.get(name),
            };
            match found {
                Some(text) if seen.insert((kind, name)) => texts.push(text),
                Some(_) => {}
                None => drop(names.insert(name)),
            }
        }
    }
    let params = pack.manifest.params.iter();
    params
        .map(|param| param.name.clone())
        .filter(|name| names.contains(name.as_str()))
        .collect()
}

/// How a template names another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Include,
    Name,
}

#[derive(Debug, Default, PartialEq)]
struct Mentioned<'t> {
    variables: Vec<&'t str>,
    texts: Vec<(Kind, &'t str)>,
}

impl<'t> Mentioned<'t> {
    fn in_text(text: &'t str) -> Self {
        let mut mentioned = Self::default();
        for line in text.lines().filter(|line| !line.starts_with("--")) {
            mentioned.variables.extend(variables(line));
        }
        let tags = text.split("{{").skip(1);
        for tag in tags.filter_map(|rest| rest.split_once("}}")) {
            let mut words = tag.0.split_whitespace();
            match (words.next(), words.next()) {
                (Some("include"), Some(file)) => mentioned.texts.push((Kind::Include, file)),
                (Some("else" | "end"), None) => {}
                (Some(name), None) => mentioned.texts.push((Kind::Name, name)),
                _ => {}
            }
        }
        mentioned
    }
}

/// The variables in a text of SQL or the language of scripts; `::` is a cast.
pub(super) fn variables(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    let starts = text.char_indices().filter_map(move |(at, c)| {
        let is_start = c == ':' && before != ':';
        before = c;
        is_start.then_some(at + 1)
    });
    let name = |at: usize| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    };
    starts.map(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tests::pack;
    use crate::shipped;

    #[test]
    fn what_any_dialects_tables_mention_counts_also_through_templates() {
        let manifest = "name='x'\nsummary='s'\nschema='s.sql'\nscript=[{name='a',file='a.sql'}]\n\
            [define]\nvalue='{{if :direct}}{{filled}}{{end}}'\n\
            [[table]]\nname='t_{{named}}'\neach='i 1 :count'\nrows=':rows_of'\n\
            columns=[{name='c',value='{{value}} + :v'}]\n";
        let params = [
            "direct",
            "filled",
            "named",
            "count",
            "rows_of",
            "v",
            "included",
            "elsewhere",
            "cast",
            "said",
            "drawn",
        ];
        let params = params.map(|name| format!("[[param]]\nname='{name}'\ndefault=1\nhelp='h'\n"));
        let pack = pack(&[
            ("pack.toml", &format!("{manifest}{}", params.concat())),
            ("a.sql", "SELECT :drawn;"),
            ("s.sql", "-- :said\n{{include b.sql}}SELECT 1::cast;"),
            ("b.sql", "\\set a :included"),
            ("s.yugabytedb.sql", "SELECT :elsewhere;"),
        ]);
        let names: Vec<String> = of(&pack.unwrap()).into_iter().collect();
        assert_eq!(
            names,
            [
                "count",
                "direct",
                "elsewhere",
                "filled",
                "included",
                "named",
                "rows_of",
                "v"
            ]
        );
    }

    #[test]
    fn parameters_of_shipped_packs_are_known() {
        let names = |pack: &str| {
            let names = of(&shipped::find(pack).unwrap());
            names.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names("tpcb"),
            "fillfactor foreign_keys range_keys scale tablets"
        );
        assert_eq!(names("update"), names("tpcb"));
        assert_eq!(names("insert-size"), "");
        assert_eq!(
            names("slob"),
            "base copies filler incompressible ind_tablets index_as_pk orderby scale scan_blocks schemas \
             tab_prefix tab_tablets"
        );
        assert_eq!(
            names("ybio"),
            "filler ind_tablets index_as_pk insert_batch orderby tab_num tab_prefix tab_rows \
             tab_tablets"
        );
        assert_eq!(
            names("ycsb"),
            "dataintegrity families fieldcount fieldlength fieldlengthdistribution \
             fieldlengthexpression fieldnameprefix fillfactor insertorder keyformat minfieldlength range_keys \
             recordcount recordstart splits table zeropadding"
        );
    }
}
