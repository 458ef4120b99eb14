//! Files of a pack that are made from its parameters: statements with as many columns as the tables
//! have, parts that are there or not. What is between `{{` and `}}` is done before a script is
//! parsed, so that it costs a transaction nothing and statements are prepared as they are sent.
//!
//! | Written | What becomes of it |
//! | --- | --- |
//! | `{{NAME}}` | the value of a loop's variable, a text of `[define]`, or a parameter's value |
//! | `{{if EXPR}}…{{elif EXPR}}…{{else}}…{{end}}` | the first part whose expression holds |
//! | `{{for NAME FROM TO}}…{{end}}` | the part once for each whole number, both bounds included |
//! | `{{include FILE}}` | another file of the pack |
//!
//! Not for: what differs from transaction to transaction; that is the scripts' language.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::expression;

/// Texts may name each other so deep; more is a circle.
const DEPTH_MAX: usize = 16;

/// For texts such as array literals of SQL, which may have a blank there.
const NO_TAG: &str = "; write { { for two braces of SQL's own";

/// The most bytes a text may become.
const BYTES_MAX: usize = 4 << 20;

/// Tags that are done, each as often as it is done, and steps of loops. Loops in loops and texts that
/// name others twice may come to any number without making a byte.
const STEPS_MAX: u64 = 1_000_000;

/// Parts within parts, those of included texts counted too.
const NESTED_MAX: usize = 100;

/// What texts can refer to.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Every parameter with its value.
    pub values: &'a BTreeMap<String, String>,
    pub define: &'a BTreeMap<String, String>,
    pub files: &'a BTreeMap<String, String>,
}

/// Makes what is between braces in `text` what it represents; `place` is for messages.
///
/// # Errors
/// A name that is not known, an expression with a mistake, a part without an end.
pub fn expand<'t>(
    place: &str,
    text: &'t str,
    context: Context<'_>,
) -> Result<Cow<'t, str>, String> {
    if !text.contains("{{") {
        return Ok(Cow::Borrowed(text));
    }
    let mut made = Made {
        context,
        values: context.values.clone(),
        out: String::with_capacity(text.len() * 2),
        depth: 0,
        nested: 0,
        steps: 0,
    };
    made.text(place, text)?;
    Ok(Cow::Owned(made.out))
}

struct Made<'a> {
    context: Context<'a>,
    /// The parameters and the variables of loops.
    values: BTreeMap<String, String>,
    out: String,
    depth: usize,
    nested: usize,
    steps: u64,
}

/// A text between tags, or a tag, and the line it is in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece<'t> {
    Text(&'t str),
    Tag(&'t str, usize),
}

/// Why a list of pieces has end: the tag there, if it is one that ends parts.
type End<'t> = Option<(&'t str, usize)>;

impl Made<'_> {
    fn text(&mut self, place: &str, text: &str) -> Result<(), String> {
        if self.depth >= DEPTH_MAX {
            return Err(format!("{place}: texts name each other in a circle"));
        }
        self.depth += 1;
        let pieces = split(place, text)?;
        let mut at = 0;
        if let Some((tag, line)) = self.part(place, &pieces, &mut at, true)? {
            return Err(format!(
                "{}: {{{{{tag}}}}} without a beginning",
                at_line(place, line)
            ));
        }
        self.depth -= 1;
        Ok(())
    }

    /// Goes on until a tag that ends the part or begins its next one; with `live` false nothing is
    /// made or evaluated.
    fn part<'t>(
        &mut self,
        place: &str,
        pieces: &[Piece<'t>],
        at: &mut usize,
        live: bool,
    ) -> Result<End<'t>, String> {
        self.nested += 1;
        if self.nested > NESTED_MAX {
            return Err(format!(
                "{place}: parts are nested more than {NESTED_MAX} deep"
            ));
        }
        let end = self.part_within(place, pieces, at, live)?;
        self.nested -= 1;
        Ok(end)
    }

    fn part_within<'t>(
        &mut self,
        place: &str,
        pieces: &[Piece<'t>],
        at: &mut usize,
        live: bool,
    ) -> Result<End<'t>, String> {
        while let Some(piece) = pieces.get(*at) {
            *at += 1;
            self.step(place)?;
            let (tag, line) = match *piece {
                Piece::Text(text) => {
                    if live {
                        self.push(place, text)?;
                    }
                    continue;
                }
                Piece::Tag(tag, line) => (tag, line),
            };
            let here = at_line(place, line);
            let (word, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            match word {
                "if" => self.choose(place, pieces, at, live, (rest, line))?,
                "for" => self.repeat(place, pieces, at, live, (rest, line))?,
                "elif" | "else" | "end" => return Ok(Some((tag, line))),
                _ if !live => {}
                "include" => {
                    let file = rest.trim();
                    let Some(text) = self.context.files.get(file) else {
                        return Err(format!("{here}: include: there is no file \"{file}\""));
                    };
                    self.text(file, text)?;
                }
                name => self.named(&here, name, rest)?,
            }
        }
        Ok(None)
    }

    fn choose(
        &mut self,
        place: &str,
        pieces: &[Piece<'_>],
        at: &mut usize,
        live: bool,
        (condition, line): (&str, usize),
    ) -> Result<(), String> {
        let unclosed = || format!("{}: {{{{if}}}} without {{{{end}}}}", at_line(place, line));
        let mut condition = Some((condition, line));
        let mut is_open = live;
        loop {
            let holds = match condition {
                _ if !is_open => false,
                None => true,
                Some((text, line)) => {
                    expression::condition(&at_line(place, line), text, &self.values)?
                }
            };
            let end = self.part(place, pieces, at, holds)?;
            is_open &= !holds;
            let (tag, line) = end.ok_or_else(unclosed)?;
            let is_last = condition.is_none();
            condition = match tag.split_once(char::is_whitespace) {
                Some(("elif", rest)) if !is_last => Some((rest, line)),
                None if tag == "else" && !is_last => None,
                None if tag == "end" => return Ok(()),
                _ => {
                    return Err(format!(
                        "{}: {{{{{tag}}}}} is not what may follow here",
                        at_line(place, line)
                    ));
                }
            };
        }
    }

    fn repeat(
        &mut self,
        place: &str,
        pieces: &[Piece<'_>],
        at: &mut usize,
        live: bool,
        (what, line): (&str, usize),
    ) -> Result<(), String> {
        let here = at_line(place, line);
        let range = if live {
            Some(range(&here, what, &self.values)?)
        } else {
            None
        };
        let begin = *at;
        let mut body = |this: &mut Self, live| {
            *at = begin;
            match this.part(place, pieces, at, live)? {
                Some(("end", _)) => Ok(()),
                Some((tag, line)) => Err(format!(
                    "{}: {{{{{tag}}}}} is not what may follow here",
                    at_line(place, line)
                )),
                None => Err(format!("{here}: {{{{for}}}} without {{{{end}}}}")),
            }
        };
        // Once without a trace: it may have no step at all.
        body(self, false)?;
        if let Some((name, from, to)) = range {
            let hidden = self.values.remove(&name);
            for number in from..=to {
                self.step(&here)?;
                self.values.insert(name.clone(), number.to_string());
                body(self, true)?;
            }
            self.values.remove(&name);
            self.values.extend(hidden.map(|value| (name, value)));
        }
        Ok(())
    }

    fn named(&mut self, here: &str, name: &str, rest: &str) -> Result<(), String> {
        if !rest.trim().is_empty() {
            return Err(format!(
                "{here}: {{{{{name} …}}}}: there is no such word{NO_TAG}"
            ));
        }
        if let Some(text) = self.context.define.get(name) {
            return self.text(&format!("{here}: {name}"), text);
        }
        match self.values.get(name).cloned() {
            Some(value) => self.push(here, &value),
            None => Err(format!(
                "{here}: {{{{{name}}}}}: no parameter or [define] of this name{NO_TAG}"
            )),
        }
    }

    fn step(&mut self, place: &str) -> Result<(), String> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            Err(format!("{place}: takes more than {STEPS_MAX} steps"))
        } else {
            Ok(())
        }
    }

    fn push(&mut self, place: &str, text: &str) -> Result<(), String> {
        self.out.push_str(text);
        if self.out.len() > BYTES_MAX {
            return Err(format!("{place}: becomes longer than {BYTES_MAX} bytes"));
        }
        Ok(())
    }
}

/// `NAME FROM TO` of a loop: the name and both bounds. Bounds with blanks need parentheses.
pub fn range(
    here: &str,
    text: &str,
    values: &BTreeMap<String, String>,
) -> Result<(String, i64, i64), String> {
    let wrong = || {
        format!(
            "{here}: for {text}: expected NAME FROM TO, with parentheses around a bound with blanks"
        )
    };
    let (name, bounds) = text
        .trim()
        .split_once(char::is_whitespace)
        .ok_or_else(wrong)?;
    if !pgdyno_script::is_valid_name(name) {
        return Err(wrong());
    }
    let mut depth = 0_i32;
    let at = bounds.trim().char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0 && c.is_whitespace()
    });
    let (from, to) = bounds.trim().split_at(at.ok_or_else(wrong)?.0);
    let bound = |text: &str| expression::integer(here, text, values);
    Ok((name.to_owned(), bound(from)?, bound(to)?))
}

/// A line of a text; what is in the manifest has its place already.
fn at_line(place: &str, line: usize) -> String {
    if place.contains(": ") {
        place.to_owned()
    } else {
        format!("{place}:{line}")
    }
}

fn split<'t>(place: &str, text: &'t str) -> Result<Vec<Piece<'t>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some((before, tag)) = rest.split_once("{{") {
        line += before.matches('\n').count();
        let Some((tag, after)) = tag.split_once("}}") else {
            return Err(format!("{}: {{{{ without }}}}", at_line(place, line)));
        };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Tag(tag.trim(), line));
        line += tag.matches('\n').count();
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Result<String, String> {
        let map = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect()
        };
        let values = map(&[("n", "2"), ("yes", "true"), ("kind", "zipfian")]);
        let define = map(&[
            ("value", "f({{i}})"),
            ("round", "{{round}}"),
            ("deep", "[{{for j 1 2}}{{j}}{{end}}]"),
            ("long", "0123456789012345678901234567890123456789012"),
            (
                "d6",
                "{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}{{d5}}",
            ),
            (
                "d5",
                "{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}{{d4}}",
            ),
            (
                "d4",
                "{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}{{d3}}",
            ),
            (
                "d3",
                "{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}{{d2}}",
            ),
            (
                "d2",
                "{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}{{d1}}",
            ),
            (
                "d1",
                "{{no}}{{no}}{{no}}{{no}}{{no}}{{no}}{{no}}{{no}}{{no}}{{no}}",
            ),
            ("no", ""),
        ]);
        let files = map(&[("a.sql", "A{{n}}\n"), ("self.sql", "{{include self.sql}}")]);
        let context = Context {
            values: &values,
            define: &define,
            files: &files,
        };
        expand("x.sql", text, context).map(Cow::into_owned)
    }

    #[test]
    fn parts_are_chosen_repeated_and_taken_from_elsewhere() {
        for (text, want) in [
            ("SELECT 1; '{1}'", "SELECT 1; '{1}'"),
            ("{{n}}{{ n }}", "22"),
            ("a{{for i 0 (:n - 1)}}, x{{i}}{{end}}b", "a, x0, x1b"),
            ("{{for i 1 0}}x{{nothing}}{{end}}", ""),
            ("{{for i 1 2}}{{value}}{{deep}}{{end}}", "f(1)[12]f(2)[12]"),
            ("{{for n 7 8}}{{n}}{{end}}{{n}}", "782"),
            ("{{if :n = 1}}a{{elif :n = 2}}b{{else}}c{{end}}", "b"),
            ("{{if :n = 1}}a{{elif :n = 3}}b{{else}}c{{end}}", "c"),
            ("{{if :n = 2}}a{{elif :nothing = 3}}b{{end}}d", "ad"),
            (
                "{{if not :yes}}{{if :nothing}}a{{else}}b{{end}}{{nothing}}{{end}}z",
                "z",
            ),
            ("{{include a.sql}}B", "A2\nB"),
            ("{{if :kind = 'zipfian'}}z{{end}}", "z"),
        ] {
            assert_eq!(made(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, want) in [
            ("\n{{nothing}}", "x.sql:2: {{nothing}}: no parameter or"),
            ("{{if :n}}a", "x.sql:1: {{if}} without {{end}}"),
            ("{{for i 1 2}}a", "x.sql:1: {{for}} without {{end}}"),
            ("a\n{{end}}", "x.sql:2: {{end}} without a beginning"),
            ("{{else}}", "x.sql:1: {{else}} without a beginning"),
            (
                "{{if 1}}a{{else}}b{{else}}c{{end}}",
                "x.sql:1: {{else}} is not what may follow here",
            ),
            (
                "{{for i 1 2}}a{{else}}b{{end}}",
                "x.sql:1: {{else}} is not what may follow here",
            ),
            ("{{for i 1}}a{{end}}", "expected NAME FROM TO"),
            ("{{for 1i 1 2}}a{{end}}", "expected NAME FROM TO"),
            ("{{if :m = 1}}a{{end}}", "undefined variable \"m\""),
            ("{{if 1 +}}a{{end}}", "syntax error"),
            ("{{n", "x.sql:1: {{ without }}"),
            (
                "'{{1,2},{3,4}}'",
                "{{1,2},{3,4}}: no parameter or [define] of this name; write { {",
            ),
            ("{{n n}}", "{{n …}}: there is no such word; write { {"),
            ("{{include b.sql}}", "there is no file \"b.sql\""),
            ("{{include self.sql}}", "in a circle"),
            ("{{round}}", "in a circle"),
            ("{{for i 1 99999}}{{n}}{{long}}{{end}}", "longer than"),
            ("{{for i 1 9999999}}{{end}}", "more than 1000000 steps"),
            (
                "{{for i 1 9999}}{{for j 1 9999}}{{end}}{{end}}",
                "more than 1000000 steps",
            ),
            ("{{d6}}", "more than 1000000 steps"),
            (&"{{if 1}}".repeat(101), "more than 100 deep"),
            (&"{{for i 1 1}}".repeat(100_000), "more than 100 deep"),
        ] {
            let e = made(text).unwrap_err();
            assert!(e.contains(want), "{text}: {e}");
        }
    }
}
