//! `--prometheus-port`: a histogram of each operation's latencies, with cockroach's names and buckets,
//! served while the run goes on. (Facts: pkg/workload/histogram.)

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_measurement::Latencies;
use pgdyno_observe::exposition::Format;
use pgdyno_serve::metrics::{self, Exposed};
use pgdyno_spec::Failure;

use super::generator::TransactionGenerator;

/// The first bucket's bound in seconds, the factor to the next, and how many there are.
const FIRST_S: f64 = 0.0005;
const FACTOR: f64 = 1.1;
const BUCKETS: usize = 150;

#[derive(Debug, Clone)]
pub struct WorkloadMetrics(Arc<ServedMetrics>);

#[derive(Debug)]
struct ServedMetrics {
    workload: &'static str,
    /// By operation, since the run began: the ramp is in it.
    operations: Mutex<BTreeMap<String, Latencies>>,
}

impl WorkloadMetrics {
    fn new(generator: TransactionGenerator) -> Self {
        Self(Arc::new(ServedMetrics {
            workload: generator.name(),
            operations: Mutex::default(),
        }))
    }

    /// Begins to listen on all addresses of this machine, as cockroach does.
    ///
    /// # Errors
    /// The port is taken.
    pub fn serve(port: u16, generator: TransactionGenerator) -> Result<Self, Failure> {
        let metrics = Self::new(generator);
        let served = Arc::clone(&metrics.0);
        let exposed = move |_: &str| Exposed {
            content_type: Format::Text.content_type(),
            text: served.text(),
        };
        let at = metrics::serve(SocketAddr::from(([0, 0, 0, 0], port)), exposed).map_err(|e| {
            Failure::new(format!("error serving prometheus: port {port}: {e}"))
                .hint("another --prometheus-port, or end what listens there")
        })?;
        let port = at.port();
        pgdyno_output::remark!("pgdyno: metrics at http://127.0.0.1:{port}/metrics");
        Ok(metrics)
    }

    /// What an operation did in a second.
    pub fn add(&self, operation: &str, latencies: &Latencies) {
        if latencies.count() == 0 {
            return;
        }
        // Who broke left whole figures.
        let mut operations = self
            .0
            .operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        operations
            .entry(operation.to_owned())
            .or_default()
            .merge(latencies);
    }
}

impl ServedMetrics {
    fn text(&self) -> String {
        let operations = self
            .operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let histograms = operations.iter().map(|(name, latencies)| {
            let name = format!("workload_{}_{name}_duration_seconds", self.workload);
            histogram(&name, latencies)
        });
        histograms.collect()
    }
}

fn histogram(name: &str, latencies: &Latencies) -> String {
    let mut text = format!("# HELP {name} \n# TYPE {name} histogram\n");
    let mut bound_s = FIRST_S;
    let mut rest = latencies.histogram().buckets().peekable();
    let mut below = 0;
    for _ in 0..BUCKETS {
        while let Some(bucket) = rest.next_if(|its| its.middle_us() as f64 / 1e6 <= bound_s) {
            below += bucket.count;
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}_bucket{{le=\"{bound_s}\"}} {below}");
        bound_s *= FACTOR;
    }
    let (count, sum_s) = (latencies.count(), latencies.sum_us() as f64 / 1e6);
    let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}");
    let _ = writeln!(text, "{name}_sum {sum_s}\n{name}_count {count}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cockroachs_and_add_up() {
        let metrics = WorkloadMetrics::new(TransactionGenerator::Kv);
        let mut latencies = Latencies::default();
        for us in [100, 600, 2_000_000_000] {
            latencies.record(us);
        }
        metrics.add("read", &latencies);
        metrics.add("write", &Latencies::default());
        let text = metrics.0.text();
        let count_of = |le: &str| {
            let start = format!("workload_kv_read_duration_seconds_bucket{{le=\"{le}\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start));
            line.unwrap_or_else(|| panic!("{le} in {text}"))
                .parse::<u64>()
                .unwrap()
        };
        assert_eq!((count_of("0.0005"), count_of("+Inf")), (1, 3));
        assert_eq!(text.matches("_bucket{").count(), 151);
        assert!(text.contains("workload_kv_read_duration_seconds_count 3\n"));
        assert!(!text.contains("write"), "{text}");
    }

    #[test]
    fn a_port_that_is_taken_is_named_with_a_way_out() {
        let taken = std::net::TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let failure = WorkloadMetrics::serve(port, TransactionGenerator::Bank).unwrap_err();
        assert!(failure.message.contains(&port.to_string()), "{failure}");
        assert!(failure.hints[0].contains("--prometheus-port"));
    }
}
