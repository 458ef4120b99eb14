//! A CALL as it is typed: a procedure's name and what is between its parentheses, in words of the
//! command line or as in SQL.
//!
//! Not for: which parameters there are (`parameters.rs`).

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The procedure, in lower case.
    pub procedure: String,
    /// Its arguments in their order.
    pub given: Vec<Given>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its parameter in lower case; without one it is the next in order.
    pub name: Option<String>,
    /// Its value without quotes and casts; `None` is NULL.
    pub value: Option<String>,
}

impl Call {
    /// Reads `call runit(a=>1);`, `runit(a=>1)`, or `runit` with an argument or several in each of
    /// `words`.
    ///
    /// # Errors
    /// A quote or parenthesis is not closed, or a value is an expression.
    pub fn read(what: &str, words: &[String]) -> Result<Self, String> {
        let what = what.trim();
        let what = what.strip_suffix(';').unwrap_or(what).trim_end();
        let mut rest = what;
        if let Some((first, after)) = what.split_once(char::is_whitespace)
            && first.eq_ignore_ascii_case("call")
        {
            rest = after.trim_start();
        }
        let mut texts = Vec::new();
        let procedure = match rest.split_once('(') {
            Some((procedure, list)) => {
                let list = list
                    .strip_suffix(')')
                    .ok_or_else(|| format!("{what}: the parenthesis is not closed"))?;
                texts.extend(split(list)?);
                procedure.trim_end()
            }
            None => rest,
        };
        for word in words {
            texts.extend(split(word)?);
        }
        Ok(Self {
            procedure: procedure.to_ascii_lowercase(),
            given: texts.into_iter().map(given).collect::<Result<_, _>>()?,
        })
    }
}

/// The arguments of a list: what is between commas, except within quotes and parentheses.
fn split(list: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut is_quoted) = (0, 0_usize, false);
    for (at, c) in list.char_indices() {
        match c {
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_quoted {
        return Err(format!("{list}: a quote is not closed"));
    }
    parts.push(&list[start..]);
    let parts: Vec<&str> = parts.into_iter().map(str::trim).collect();
    match parts.as_slice() {
        // No arguments at all.
        [""] => Ok(Vec::new()),
        parts if parts.contains(&"") => Err(format!("{list}: an argument is missing")),
        _ => Ok(parts),
    }
}

fn given(text: &str) -> Result<Given, String> {
    let name_length = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(name_length);
    let rest = rest.trim_start();
    let operators = ["=>", ":=", "="].into_iter();
    let named = operators.filter_map(|operator| rest.strip_prefix(operator));
    match named.into_iter().next().filter(|_| !name.is_empty()) {
        Some(rest) => Ok(Given {
            name: Some(name.to_ascii_lowercase()),
            value: value(rest.trim())?,
        }),
        None => Ok(Given {
            name: None,
            value: value(text)?,
        }),
    }
}

/// A constant: `'it''s'`, `1e6::int`, `interval '1 minute'`, `true`, `null`; what has no quotes, as
/// when a shell has taken them away, is what it says.
fn value(text: &str) -> Result<Option<String>, String> {
    let lower = text.to_ascii_lowercase();
    let literal = match lower.strip_prefix("interval") {
        Some(rest) if rest.trim_start().starts_with('\'') => text["interval".len()..].trim_start(),
        _ => text,
    };
    let Some(quoted) = literal.strip_prefix('\'') else {
        let literal = literal.split("::").next().unwrap_or(literal).trim_end();
        return if literal.eq_ignore_ascii_case("null") {
            Ok(None)
        } else {
            Ok(Some(literal.to_owned()))
        };
    };
    let mut unquoted = String::new();
    let mut chars = quoted.chars().peekable();
    loop {
        match chars.next() {
            Some('\'') if chars.peek() == Some(&'\'') => unquoted.extend(chars.next()),
            Some('\'') => break,
            Some(c) => unquoted.push(c),
            None => return Err(format!("{text}: a quote is not closed")),
        }
    }
    let rest: String = chars.collect();
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with("::") {
        Ok(Some(unquoted))
    } else {
        Err(format!("{text}: an expression; give its value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(what: &str, words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let call = Call::read(what, &words)?;
        let given = call.given.into_iter().map(|given| {
            let value = given.value.unwrap_or_else(|| "NULL".to_owned());
            match given.name {
                Some(name) => format!("{name}:{value}"),
                None => value,
            }
        });
        let given: Vec<String> = given.collect();
        Ok(format!("{}[{}]", call.procedure, given.join("|")))
    }

    #[test]
    fn a_call_is_read_as_in_sql_and_as_words() {
        for (what, words, want) in [
            ("setup", &[][..], "setup[]"),
            (
                "runit",
                &["tab_rows=1e6", "pct_update=>10"],
                "runit[tab_rows:1e6|pct_update:10]",
            ),
            (
                "call runit(tab_prefix=>'bench',tab_num=>1,tab_rows=>1e6::int,run_duration=>interval \
                 '1 minutes',pct_update=>10,batch_size=>1e4::int);",
                &[],
                "runit[tab_prefix:bench|tab_num:1|tab_rows:1e6|run_duration:1 minutes|pct_update:10|\
                 batch_size:1e4]",
            ),
            ("CALL Setup ( 'b' , 2 )", &[], "setup[b|2]"),
            ("call setup()", &[], "setup[]"),
            (
                "runit(tab_num:=1)",
                &["comments=>'it''s, (so)'"],
                "runit[tab_num:1|comments:it's, (so)]",
            ),
            (
                "runit",
                &["run_duration='10 s'::interval", "comments=null"],
                "runit[run_duration:10 s|comments:NULL]",
            ),
            // A shell took the quotes.
            (
                "runit",
                &["run_duration=10 seconds"],
                "runit[run_duration:10 seconds]",
            ),
            (
                "runit",
                &["TAB_NUM=>1, prepared=>false"],
                "runit[tab_num:1|prepared:false]",
            ),
            (
                "setup",
                &["orderby=yb_hash_code(mykey, 1)"],
                "setup[orderby:yb_hash_code(mykey, 1)]",
            ),
        ] {
            assert_eq!(read(what, words).as_deref(), Ok(want), "{what} {words:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (what, words, want) in [
            (
                "call runit(tab_num=>1",
                &[][..],
                "the parenthesis is not closed",
            ),
            ("call runit(comments=>'a)", &[], "a quote is not closed"),
            ("runit", &["comments='a"], "a quote is not closed"),
            (
                "runit",
                &["comments='a' || 'b'"],
                "an expression; give its value",
            ),
            ("runit(1,,2)", &[], "an argument is missing"),
        ] {
            let error = read(what, words).unwrap_err();
            assert!(error.contains(want), "{what} {words:?}: {error}");
        }
    }
}
