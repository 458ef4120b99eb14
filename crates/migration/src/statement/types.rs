//! Whether a column's change of type leaves its rows as they are (the manual, ALTER TABLE, Notes: where the old
//! type is binary coercible to the new one, or a length is only widened).

/// What types are called by `format_type`.
const ALIASES: [(&str, &str); 14] = [
    ("varchar", "character varying"),
    ("char", "character"),
    ("bpchar", "character"),
    ("int", "integer"),
    ("int4", "integer"),
    ("int8", "bigint"),
    ("int2", "smallint"),
    ("decimal", "numeric"),
    ("bool", "boolean"),
    ("float4", "real"),
    ("float8", "double precision"),
    ("timestamptz", "timestamp with time zone"),
    ("timestamp", "timestamp without time zone"),
    ("varbit", "bit varying"),
];

/// Types with representations of their own.
const APART: [&str; 17] = [
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "boolean",
    "uuid",
    "date",
    "json",
    "jsonb",
    "bytea",
    "text",
    "character varying",
    "character",
    "timestamp with time zone",
    "timestamp without time zone",
];

/// A type's name, and what is in its parentheses.
fn parts(text: &str) -> (String, Vec<i64>) {
    let text = text.to_lowercase();
    let (name, arguments) = match (text.find('('), text.find(')')) {
        (Some(from), Some(to)) if from < to => (
            format!("{}{}", &text[..from], &text[to + 1..]),
            &text[from + 1..to],
        ),
        _ => (text.clone(), ""),
    };
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = name
        .strip_prefix("pg_catalog.")
        .map(str::to_owned)
        .unwrap_or(name);
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name.as_str(), |(_, of)| of)
        .to_owned();
    let arguments = arguments
        .split(',')
        .filter_map(|number| number.trim().parse().ok());
    (name, arguments.collect())
}

/// Whether rows stay as they are; `None`: these types do not tell.
pub fn keeps_rows(old: &str, new: &str) -> Option<bool> {
    let ((old, from), (new, to)) = (parts(old), parts(new));
    let widens = || match (from.first(), to.first()) {
        (_, None) => true,
        (Some(from), Some(to)) => to >= from,
        (None, Some(_)) => false,
    };
    Some(match (old.as_str(), new.as_str()) {
        (old, new) if old == new && from == to => true,
        ("character varying", "character varying") | ("bit varying", "bit varying") => widens(),
        ("numeric", "numeric") => {
            to.is_empty() || from.len() == 2 && from.get(1) == to.get(1) && widens()
        }
        ("character varying", "text") | ("cidr", "inet") => true,
        ("text", "character varying") => to.is_empty(),
        // By the time zone of the session.
        ("timestamp without time zone", "timestamp with time zone")
        | ("timestamp with time zone", "timestamp without time zone") => return None,
        (old, new) if old == new => {
            return if old == "character" {
                Some(false)
            } else {
                None
            };
        }
        (old, new) if APART.contains(&old) && APART.contains(&new) => false,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_where_a_type_is_only_widened() {
        for (old, new, keeps) in [
            ("character varying(20)", "varchar(40)", Some(true)),
            ("character varying(20)", "varchar(10)", Some(false)),
            ("character varying(20)", "text", Some(true)),
            ("character varying", "varchar(10)", Some(false)),
            ("text", "varchar", Some(true)),
            ("text", "varchar(10)", Some(false)),
            ("numeric(10,2)", "numeric(12,2)", Some(true)),
            ("numeric(10,2)", "decimal(12, 3)", Some(false)),
            ("numeric(10,2)", "numeric", Some(true)),
            ("integer", "bigint", Some(false)),
            ("integer", "int4", Some(true)),
            ("character(10)", "char(20)", Some(false)),
            ("timestamp without time zone", "timestamptz", None),
            ("my_type", "text", None),
        ] {
            assert_eq!(keeps_rows(old, new), keeps, "{old} to {new}");
        }
    }
}
