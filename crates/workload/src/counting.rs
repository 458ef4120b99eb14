//! How many unrecorded things there are, such as rows that earlier runs inserted: found
//! with a few questions whether thing number n is there, however many there are.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names};
use pgdyno_session::Session;

use super::manifest::Param;
use super::pack::Pack;
use super::{expression, statements};
use pgdyno_database::{admin, trouble};
use pgdyno_spec::Failure;

/// So far behind one that is missing it is looked whether there are more: a number that was drawn and
/// came to nothing is no end.
const GAP_MAX: i64 = 1 << 12;
/// Several generators draw in turn, and the one that came furthest leaves gaps for each of the others: up to
/// so many of them every number is looked for.
const GENERATORS_MAX: i64 = 64;

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
        // One that is there further on, at distances that get smaller.
        let far = (0..=GAP_MAX.ilog2()).rev().map(|power| (1 << power) - 1);
        let mut found = None;
        for offset in far.chain(0..GENERATORS_MAX) {
            if is_there(first + offset)? {
                found = Some(first + offset);
                break;
            }
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
            assert!(questions < 200, "{questions}");
        }
        // Holes, also where the search lands.
        assert_eq!(count(|n| n < 700 && n != 512 && n != 513).0, 700);
        assert_eq!(count(|n| n < 700 && n != 0).0, 700);
        assert_eq!(count(|n| n < 100 || (103..700).contains(&n)).0, 700);
    }

    #[test]
    fn keys_of_generators_that_came_differently_far_are_all_before_the_end() {
        for generators in [2, 3, 7, 64] {
            // Of each generator all until its end, which is further for the later ones.
            let end = |generator: i64| 100 + 40 * generator;
            let is_there = |n: i64| n / generators < end(n % generators);
            let last = (0..300_000).filter(|n| is_there(*n)).max().unwrap();
            let (first, questions) = count(is_there);
            assert!(first > last, "{generators}: {first}, {last} is there");
            assert!(
                first <= last + 1,
                "{generators}: {first}, {last} is the last"
            );
            assert!(questions < 5000, "{questions}");
        }
    }
}
