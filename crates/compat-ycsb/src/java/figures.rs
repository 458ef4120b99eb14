//! What is printed under one name each: the operations that went well, those that failed, and the closing
//! of connections. (Facts: YCSB's DBWrapper; recordings of runs.)

use std::collections::BTreeMap;

use pgdyno_measurement::{Closing, Latencies};

use super::{RunStart, numbers};
use crate::operations::{Kind, OperationStatus, Operations, YcsbOperation};
use crate::properties::Properties;

/// The name of the closing of connections.
pub const CLEANUP: &str = "CLEANUP";

/// Under one name: latencies from the start and from the schedule on, and how many of which status.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub service: Latencies,
    /// From when it should have started; the same, where nothing says when.
    pub response: Latencies,
    pub returns: Vec<(String, u64)>,
}

pub type Named = BTreeMap<String, Figures>;

/// Which errors have figures of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Errors {
    each: bool,
    tracked: Vec<String>,
}

impl Errors {
    /// As it is asked for.
    pub fn of(properties: &Properties) -> Self {
        let each = properties.bool("reportlatencyforeacherror") == Some(true);
        let tracked = properties.get("latencytrackederrors").filter(|_| !each);
        let tracked = tracked.into_iter().flat_map(|names| names.split(','));
        Self {
            each,
            tracked: tracked.map(str::to_owned).collect(),
        }
    }

    /// What YCSB says about it.
    pub fn text(&self) -> String {
        format!(
            "DBWrapper: report latency for each error is {} and specific error codes to track for \
             latency are: [{}]",
            self.each,
            self.tracked.join(", ")
        )
    }

    /// The name that operations of a status are printed under.
    pub fn name(&self, kind: Kind, status: OperationStatus) -> String {
        let (name, of) = (super::name(kind), status.name());
        match status {
            OperationStatus::Ok => name.to_owned(),
            _ if self.each || self.tracked.iter().any(|tracked| tracked == of) => {
                format!("{name}-{of}")
            }
            _ => format!("{name}-FAILED"),
        }
    }

    pub fn figures(&self, operations: &Operations) -> Named {
        let mut named = Named::new();
        for (kind, operation) in operations {
            self.add(&mut named, *kind, operation);
        }
        named
    }

    fn add(&self, named: &mut Named, kind: Kind, operation: &YcsbOperation) {
        let all = named
            .entry(self.name(kind, OperationStatus::Ok))
            .or_default();
        let YcsbOperation {
            latencies,
            response,
            failed,
            batched: _,
        } = operation;
        all.add(latencies, response.as_ref());
        if kind == Kind::ReadModifyWrite {
            // Its read and its update have them.
            return;
        }
        let returns = operation.returns().into_iter();
        all.returns = returns
            .map(|(status, count)| (status.name().to_owned(), count))
            .collect();
        for (status, tries) in failed {
            let figures = named.entry(self.name(kind, *status)).or_default();
            figures.add(&tries.service, tries.response.as_ref());
        }
    }
}

impl Figures {
    /// Of the closing of connections, which has no schedule.
    pub fn of_closings(closings: &[Closing]) -> Self {
        let mut latencies = Latencies::default();
        closings
            .iter()
            .for_each(|closing| latencies.record(closing.latency_us));
        let mut figures = Self::default();
        figures.add(&latencies, None);
        figures
    }

    fn add(&mut self, service: &Latencies, response: Option<&Latencies>) {
        self.service.merge(service);
        self.response.merge(response.unwrap_or(service));
    }

    /// Those from the start, or from the schedule on.
    pub fn latencies(&self, is_of_schedule: bool) -> &Latencies {
        if is_of_schedule {
            &self.response
        } else {
            &self.service
        }
    }
}

/// What is printed, in its order: names with what comes before them, whether latencies count from the
/// schedule, and whether statuses stand there.
pub fn order<'a>(
    names: impl Iterator<Item = &'a String>,
    since: RunStart,
) -> Vec<(&'static str, &'a String, bool)> {
    let mut names: Vec<&String> = names.collect();
    let count = names.len();
    // As they come out of Java's table of operations.
    names.sort_by_key(|name| numbers::place(name, count));
    let of = |before, is_of_schedule| {
        let names = names.iter();
        names.map(move |name| (before, *name, is_of_schedule))
    };
    match since {
        RunStart::Start => of("", false).collect(),
        RunStart::Schedule => of("", true).collect(),
        RunStart::Both => of("", false).chain(of("Intended-", true)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::FailedTries;

    fn operations() -> Operations {
        let mut operations = Operations::new();
        for (kind, status) in [
            (Kind::Read, OperationStatus::NotFound),
            (Kind::Update, OperationStatus::UnexpectedState),
            (Kind::Update, OperationStatus::Error),
            (Kind::ReadModifyWrite, OperationStatus::Error),
        ] {
            let operation = operations.entry(kind).or_default();
            operation.latencies.record(100);
            let mut tries = FailedTries::default();
            tries.service.record(7);
            operation.failed.insert(status, tries);
        }
        operations
    }

    fn names(properties: &str) -> Vec<(String, u64, u64)> {
        let mut read = Properties::default();
        read.read(properties);
        let named = Errors::of(&read).figures(&operations());
        let counts = named.into_iter().map(|(name, figures)| {
            let returns = figures.returns.iter().map(|(_, count)| count);
            (name, figures.service.count(), returns.sum())
        });
        counts.collect()
    }

    #[test]
    fn what_failed_has_a_name_of_its_own_or_one_for_each_status() {
        let named = |name: &str, count, returned| (name.to_owned(), count, returned);
        let (read, update) = (named("READ", 1, 2), named("UPDATE", 2, 4));
        let both = named("READ-MODIFY-WRITE", 1, 0);
        assert_eq!(
            names(""),
            [
                read.clone(),
                named("READ-FAILED", 1, 0),
                both.clone(),
                update.clone(),
                named("UPDATE-FAILED", 2, 0)
            ]
        );
        assert_eq!(
            names("reportlatencyforeacherror=true"),
            [
                read.clone(),
                both.clone(),
                named("READ-NOT_FOUND", 1, 0),
                update.clone(),
                named("UPDATE-ERROR", 1, 0),
                named("UPDATE-UNEXPECTED_STATE", 1, 0)
            ]
        );
        assert_eq!(
            names("latencytrackederrors=ERROR,TIMEOUT"),
            [
                read,
                named("READ-FAILED", 1, 0),
                both,
                update,
                named("UPDATE-ERROR", 1, 0),
                named("UPDATE-FAILED", 1, 0)
            ]
        );
    }
}
