//! What was seen of each case, as `make test-long PART=faults` prints it.

use std::fmt::Write;

use crate::faults::check::Counted;
use crate::faults::kinds::Fault;
use crate::faults::scene::Call;

/// A case that was played.
pub struct Row {
    pub fault: &'static Fault,
    pub call: Call,
    pub skipped: Option<String>,
    /// What was counted, or what is wrong.
    pub seen: Result<Counted, String>,
    pub took_s: f64,
}

impl Row {
    pub fn name(&self) -> String {
        format!("{}, {}", self.fault.name, self.call.name())
    }

    /// A line for those who watch.
    pub fn line(&self) -> String {
        let name = self.name();
        match (&self.skipped, &self.seen) {
            (Some(reason), _) => format!("{name}: skipped, {reason}"),
            (_, Err(wrong)) => format!("{name}: WRONG: {wrong}"),
            (_, Ok(c)) => format!(
                "{name}: {} committed, {} failed, {} unknown, {} rows, {} clients ended, \
                 {} outages ({:.1} s)",
                c.committed, c.failed, c.unknown, c.rows, c.aborted, c.outages, self.took_s
            ),
        }
    }
}

/// By fault: how it is made, and of its cases those that hold and their sums.
pub fn markdown(faults: &[&'static Fault], rows: &[Row]) -> String {
    let mut text = String::from(
        "| Fault | Made by | Cases right | Committed | Failed | Unknown | Of these in the table |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for fault in faults {
        let of = |row: &&Row| row.fault.name == fault.name;
        let played: Vec<&Row> = rows.iter().filter(of).collect();
        let played = || played.iter().filter(|row| row.skipped.is_none());
        let right: Vec<Counted> = played().filter_map(|row| row.seen.clone().ok()).collect();
        let sum = |what: fn(&Counted) -> u64| right.iter().map(what).sum::<u64>();
        let kept = sum(|c| c.rows) - sum(|c| c.committed);
        let _ = writeln!(
            text,
            "| {} | {} | {} of {} | {} | {} | {} | {kept} |",
            fault.name,
            fault.how,
            right.len(),
            played().count(),
            sum(|c| c.committed),
            sum(|c| c.failed),
            sum(|c| c.unknown),
        );
    }
    text
}
