//! What is to be observed during a trial.

use std::sync::Arc;

use super::prometheus_export::PrometheusExport;
use super::scrape::Scrape;
use pgdyno_spec::ObserveSpec;

use super::{Instruments, Scene, choose};

/// What to observe, and where else to show it.
#[derive(Debug, Clone)]
pub struct ObserveOptions {
    /// As it was asked for.
    pub spec: ObserveSpec,
    pub scrapes: Vec<Scrape>,
    /// Where Prometheus reads the running trial.
    pub prometheus_export: Option<Arc<PrometheusExport>>,
}

/// Nothing is observed, and nothing exported.
impl Default for ObserveOptions {
    fn default() -> Self {
        Self {
            spec: ObserveSpec::none(),
            scrapes: Vec::new(),
            prometheus_export: None,
        }
    }
}

impl ObserveOptions {
    /// All that there is for the trial's target and this host.
    pub fn auto() -> Self {
        Self {
            spec: ObserveSpec::default(),
            ..Self::default()
        }
    }

    /// The instruments for this scene. Endpoints are scraped whatever else is wanted.
    pub fn instruments(&self, scene: &Scene<'_>) -> Instruments {
        let scrapes = self.scrapes.iter().map(Scrape::instrument);
        choose(&self.spec.instruments, scene)
            .into_iter()
            .chain(scrapes)
            .collect()
    }
}
