//! How many things are there that nobody has recorded, such as rows that earlier runs inserted: found
//! with a few questions whether thing number n is there, however many there are.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names};
use pgdyno_session::Session;

use super::manifest::Param;
use super::pack::Pack;
use super::{expression, statements};
use pgdyno_database::{admin, trouble};
use pgdyno_model::Failure;

/// So far behind one that is missing it is looked whether there are more: a number that was drawn and
/// came to nothing is no end.
const GAP_MAX: i64 = 1 << 12;

/// The value of a parameter with `count_by`, asked of the server.
///
/// # Errors
/// The script is not one query, or the server refuses it.
pub fn count(
    session: &mut Session,
    pack: &Pack,
    param: &Param,
    file: &str,
    values: &BTreeMap<String, String>,
) -> Result<i64, Failure> {
    let place = format!("{}/{file}", pack.place);
    let text = pack
        .made(&place, &pack.files[file], values)
        .map_err(Failure::new)?;
    let mut names = Names::new();
    let script = Language::Pgdyno
        .parse(&place, &text, &mut names)
        .map_err(|e| Failure::new(e.to_string()))?;
    let number = names.intern("number");
    let mut vars = expression::variables(&names, values);
    first_missing(|n| {
        vars.set_text(number, n.to_string());
        let chance = expression::Chance::new(&names);
        let made = statements::made(Some(&script), &vars, &chance).map_err(Failure::new)?;
        let [query] = made.as_slice() else {
            return Err(Failure::new(format!("{place}: expected one query")));
        };
        let rows = admin::rows(session, query).map_err(|e| {
            trouble::server(&e, &format!("could not count {} ({place})", param.name))
        })?;
        Ok(!rows.is_empty())
    })
}

/// The first number behind all that are there, from 0.
fn first_missing(mut is_there: impl FnMut(i64) -> Result<bool, Failure>) -> Result<i64, Failure> {
    let mut first = 0;
    loop {
        // The next one that is there, at growing distances.
        let mut found = None;
        let mut distance = 1;
        while distance <= GAP_MAX && found.is_none() {
            let number = first + distance - 1;
            if is_there(number)? {
                found = Some(number);
            }
            distance *= 2;
        }
        let Some(mut there) = found else {
            return Ok(first);
        };
        // From there on to one that is missing, and back to the first of those.
        let mut step = 1;
        while is_there(there + step)? {
            there += step;
            step *= 2;
        }
        let mut missing = there + step;
        while missing - there > 1 {
            let middle = there + (missing - there) / 2;
            if is_there(middle)? {
                there = middle;
            } else {
                missing = middle;
            }
        }
        first = missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(there: impl Fn(i64) -> bool) -> (i64, u32) {
        let mut questions = 0;
        let first = first_missing(|n| {
            questions += 1;
            Ok(there(n))
        });
        (first.unwrap(), questions)
    }

    #[test]
    fn the_end_is_found_with_few_questions_and_beyond_gaps() {
        for end in [0, 1, 2, 3, 1000, 1023, 1024, 1025, 5_000_000] {
            let (first, questions) = count(|n| n < end);
            assert_eq!(first, end);
            assert!(questions < 100, "{questions}");
        }
        // Holes, also where the search lands.
        assert_eq!(count(|n| n < 700 && n != 512 && n != 513).0, 700);
        assert_eq!(count(|n| n < 700 && n != 0).0, 700);
        assert_eq!(count(|n| n < 100 || (103..700).contains(&n)).0, 700);
    }
}
