//! What `querybench` is to be: a script of the queries of a file in their order, each a work unit.

use std::fs;

use super::{CockroachWorkload, Flags};

/// Flags that cannot be had: flag, the value that asks for nothing, and why.
const MISSING: [(&str, &str, &str); 1] = [(
    "vectorize",
    "",
    "only CockroachDB has this setting; others go into the URL: options=-c%20NAME=VALUE",
)];

#[derive(Debug, PartialEq)]
pub struct QuerybenchQueries {
    /// A script of all of them.
    pub script: String,
    /// Their names in the output, in their order.
    pub names: Vec<String>,
    /// How often each worker runs the script at most; 0: without end.
    runs: u64,
}

impl QuerybenchQueries {
    /// Those of a file: a line has one, or several with semicolons; lines that begin with `#` or `--` are
    /// left out.
    fn read(text: &str, runs: u64) -> Self {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.starts_with("--"));
        let (mut script, mut names) = (String::new(), Vec::new());
        let lines = lines.filter(|line| !line.trim().is_empty());
        for (number, line) in lines.enumerate() {
            let queries = line.split(';').map(str::trim);
            for query in queries.filter(|query| !query.is_empty()) {
                // On a line of its own: a comment may end the query.
                script.push_str(&format!(
                    "{}\n\\unit query{}\n",
                    without_variables(query),
                    names.len()
                ));
                names.push(format!("{:2}: {query}", number + 1));
            }
        }
        Self {
            script,
            names,
            runs,
        }
    }

    /// How often a worker runs the script that may do so many operations at most.
    pub fn passes(&self, operations: Option<u64>) -> Option<u64> {
        let of_operations = operations.map(|count| count.div_ceil(self.names.len() as u64));
        let runs = (self.runs > 0).then_some(self.runs);
        of_operations.into_iter().chain(runs).min()
    }
}

/// The same query where scripts would see variables, as in `'10:30'`: a literal goes on behind a line break.
fn without_variables(query: &str) -> String {
    let (mut text, mut is_quoted, mut before) = (String::new(), false, ' ');
    let mut rest = query.chars().peekable();
    while let Some(c) = rest.next() {
        is_quoted ^= c == '\'';
        text.push(c);
        let is_name = |next: &char| next.is_alphanumeric() || *next == '_';
        if c == ':' && before != ':' && rest.peek().is_some_and(is_name) {
            text.push_str(if is_quoted { "'\n'" } else { " " });
        }
        before = c;
    }
    text
}

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words where it has some.
pub(super) fn workload(flags: &Flags<'_>) -> Result<CockroachWorkload, String> {
    flags.refuse(&MISSING)?;
    let path = flags.text("query-file").unwrap_or_default();
    if path.is_empty() {
        return Err("Missing required argument '--query-file'".to_owned());
    }
    let runs = u64::try_from(flags.int("num-runs").unwrap_or(0));
    let runs = runs.map_err(|_| "negative --num-runs specified".to_owned())?;
    let text = fs::read_to_string(path).map_err(|e| format!("open {path}: {e}"))?;
    let mut queries = QuerybenchQueries::read(&text, runs);
    if queries.names.is_empty() {
        return Err("no queries found in file".to_owned());
    }
    if flags.bool("verbose") == Some(false) {
        queries.names.fill(String::new());
    }
    Ok(CockroachWorkload {
        queries: Some(queries),
        ..CockroachWorkload::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_query_or_several() {
        let text = "# a\n-- b\n\nSELECT 1; SELECT 2;\nSELECT 3 -- three\n";
        let queries = QuerybenchQueries::read(text, 3);
        assert_eq!(
            queries.names,
            [" 1: SELECT 1", " 1: SELECT 2", " 2: SELECT 3 -- three"]
        );
        let script =
            "SELECT 1\n\\unit query0\nSELECT 2\n\\unit query1\nSELECT 3 -- three\n\\unit query2\n";
        assert_eq!(queries.script, script);
        assert_eq!(queries.passes(None), Some(3));
        assert_eq!(queries.passes(Some(4)), Some(2));
        assert_eq!(QuerybenchQueries::read(text, 0).passes(None), None);
    }

    #[test]
    fn a_colon_is_no_variable() {
        for (query, sent) in [
            (
                "SELECT '10:30:x''s:y'::time",
                "SELECT '10:'\n'30:'\n'x''s:'\n'y'::time",
            ),
            ("SELECT a[1:n], ': '", "SELECT a[1: n], ': '"),
        ] {
            assert_eq!(without_variables(query), sent);
        }
    }
}
