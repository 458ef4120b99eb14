//! `measurementtype=csv` and `raw`: each operation by itself, when the run is over. (Facts: go-ycsb's
//! pkg/measurement/csv.go.)

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_measurement::LoggedTransaction;

use super::{TOTAL, failed, name};
use crate::operations::{self, Kind, OperationStatus};

#[derive(Default)]
pub struct Each {
    began: Option<SystemTime>,
    /// By name: the end since the begin, and the latency, in microseconds.
    operations: BTreeMap<&'static str, Vec<(u64, u64)>>,
}

impl Each {
    /// The clock runs since then.
    pub fn begin(&mut self, began: SystemTime) {
        self.began = Some(began);
    }

    /// Adds transactions of scripts of these kinds.
    pub fn add(&mut self, kinds: &[Option<Kind>], transactions: &[LoggedTransaction]) {
        for transaction in transactions {
            let Some((kind, status)) = operations::ended(kinds, transaction) else {
                continue;
            };
            // To go-ycsb a row that is not there is no error.
            let names = match status {
                OperationStatus::Error => [Some(failed(kind)), None],
                _ => [Some(name(kind)), Some(TOTAL)],
            };
            let operation = (transaction.at_us, transaction.took_us);
            for name in names.into_iter().flatten() {
                self.operations.entry(name).or_default().push(operation);
            }
        }
    }

    /// A line each, below a title.
    pub fn text(&mut self) -> String {
        let began = self.began.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let began_us = began.map_or(0, |since| since.as_micros() as u64);
        let mut text = "operation,timestamp_us,latency_us\n".to_owned();
        for (name, operations) in &mut self.operations {
            operations.sort_unstable();
            for (at_us, latency_us) in operations {
                let started_us = (began_us + *at_us).saturating_sub(*latency_us);
                text += &format!("{name},{started_us},{latency_us}\n");
            }
        }
        text
    }
}
