//! `check ycsb`: whether the table holds what was loaded. Every key that was loaded is asked for, and
//! its row must have a value in each column.

use std::collections::BTreeMap;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_script::KeyFormat;
use pgdyno_session::{Session, quote_literal};

use pgdyno_database::{admin, trouble};
use pgdyno_output::remark;
use pgdyno_spec::{Exit, Failure, text};
use pgdyno_workload::loader::How;

const KEYS_A_QUERY: u64 = 500;

/// Does it.
///
/// # Errors
/// What is missing, or what failed.
pub(super) fn check(
    session: &mut Session,
    (loaded, how): (BTreeMap<String, String>, How),
    interrupts: &'static Interrupts,
) -> Result<(), Failure> {
    let mut keys = YcsbKeys::of(&loaded).ok_or_else(|| {
        Failure::new("it is not known how usertable was loaded")
            .hint("say it: --insert-count, --insert-start, --key-format")
    })?;
    if how == How::MadeByOthers {
        // cockroach 19.1 loads keys alone.
        keys.fields = 0;
    }
    keys.check(session, interrupts)
}

/// The keys that were loaded.
#[derive(Debug, PartialEq)]
struct YcsbKeys {
    start: u64,
    count: u64,
    format: KeyFormat,
    width: usize,
    /// So many fields must have a value.
    fields: u64,
}

/// Whether the rows of some keys are as they ought to be.
struct Seen {
    rows: u64,
    complete: u64,
}

impl YcsbKeys {
    fn of(loaded: &BTreeMap<String, String>) -> Option<Self> {
        let number = |name: &str| loaded.get(name)?.parse::<u64>().ok();
        let format = match loaded.get("insertorder")?.as_str() {
            "ordered" => KeyFormat::Ordered,
            _ => KeyFormat::find(loaded.get("keyformat")?.as_bytes())?,
        };
        Some(Self {
            start: number("recordstart")?,
            count: number("recordcount")?,
            format,
            width: number("zeropadding")? as usize,
            fields: number("fieldcount")?,
        })
    }

    fn key(&self, number: u64) -> Option<String> {
        let number = self.format.number_in_key(number)?;
        Some(format!("user{number:0width$}", width = self.width))
    }

    fn check(&self, session: &mut Session, interrupts: &'static Interrupts) -> Result<(), Failure> {
        let (end, before) = (self.start.saturating_add(self.count), interrupts.count());
        let (mut missing, mut incomplete, mut first) = (0, 0, None);
        let mut from = self.start;
        while from < end {
            if interrupts.count() > before {
                let code = interrupts.exit_code().unwrap_or(130);
                let text = format!("interrupted after {} keys", text::count(from - self.start));
                return Err(Failure::with(Exit::Interrupted(code), text));
            }
            let to = end.min(from + KEYS_A_QUERY);
            let seen = self.look(session, from, to)?;
            if first.is_none() && seen.complete < to - from {
                first = self.first_wrong(session, from, to)?;
            }
            missing += to - from - seen.rows;
            incomplete += seen.rows - seen.complete;
            from = to;
        }
        let all = "SELECT count(*) FROM usertable";
        let all = admin::value(session.unhurried(), all).map_err(|e| asking(&e))?;
        let all: u64 = all.and_then(|count| count.parse().ok()).unwrap_or(0);
        if missing + incomplete == 0 {
            let (count, more) = (
                text::count(self.count),
                text::count(all.saturating_sub(self.count)),
            );
            remark!("pgdyno: usertable has all {count} rows that were loaded, and {more} more");
            return Ok(());
        }
        let (missing, incomplete) = (text::count(missing), text::count(incomplete));
        let count = text::count(self.count);
        let mut failure = Failure::new(format!(
            "of {count} loaded rows {missing} are missing in usertable, and {incomplete} have \
             no value in some column"
        ));
        if let Some((number, key)) = first {
            failure = failure.detail(format!("the first is key number {number}, {key}"));
        }
        Err(failure
            .detail(format!("it has {} rows", text::count(all)))
            .hint(
                "load it again: workload init ycsb --drop; or say how it was loaded: \
                   --insert-count, --insert-start, --key-format",
            ))
    }

    fn look(&self, session: &mut Session, from: u64, to: u64) -> Result<Seen, Failure> {
        let keys = (from..to).filter_map(|number| self.key(number));
        let keys: Vec<String> = keys.map(|key| quote_literal(&key)).collect();
        let filled = (0..self.fields).map(|field| format!(" AND field{field} IS NOT NULL"));
        let filled: String = filled.collect();
        let query = format!(
            "SELECT count(*), count(CASE WHEN true{filled} THEN 1 END) FROM usertable WHERE \
             ycsb_key IN ({})",
            keys.join(", ")
        );
        let rows = admin::rows(session, &query).map_err(|e| asking(&e))?;
        let mut counts = rows.into_iter().flatten().flatten();
        let mut next = || {
            counts
                .next()
                .and_then(|count| count.parse().ok())
                .unwrap_or(0)
        };
        Ok(Seen {
            rows: next(),
            complete: next(),
        })
    }

    fn first_wrong(
        &self,
        session: &mut Session,
        from: u64,
        to: u64,
    ) -> Result<Option<(u64, String)>, Failure> {
        for number in from..to {
            if self.look(session, number, number + 1)?.complete == 0 {
                return Ok(self.key(number).map(|key| (number, key)));
            }
        }
        Ok(None)
    }
}

fn asking(error: &pgdyno_session::Error) -> Failure {
    trouble::server(error, "could not read the rows of usertable")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let defaults = [
            ("recordcount", "1000"),
            ("recordstart", "0"),
            ("keyformat", "crdb"),
            ("insertorder", "hashed"),
            ("zeropadding", "1"),
            ("fieldcount", "10"),
        ];
        let all = defaults.iter().chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn keys_are_those_that_the_table_was_loaded_with() {
        let keys = YcsbKeys::of(&loaded(&[])).unwrap();
        assert_eq!(keys.key(1).unwrap(), "user15449794709565471098");
        assert_eq!((keys.start, keys.count), (0, 1000));
        let part = [("recordstart", "200"), ("recordcount", "300")];
        let keys = YcsbKeys::of(&loaded(&part)).unwrap();
        assert_eq!((keys.start, keys.count), (200, 300));
        let ordered = [("insertorder", "ordered"), ("zeropadding", "5")];
        let keys = YcsbKeys::of(&loaded(&ordered)).unwrap();
        assert_eq!(keys.key(42).unwrap(), "user00042");
        assert_eq!(YcsbKeys::of(&loaded(&[("keyformat", "unknown")])), None);
        assert_eq!(YcsbKeys::of(&BTreeMap::new()), None);
    }
}
