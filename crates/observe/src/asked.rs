//! What somebody wants to be observed during a trial.

use std::sync::Arc;

use super::prometheus_export::PrometheusExport;
use super::scrape::Scrape;
use pgdyno_model::spec::ObserveSpec;

use super::{Instruments, Scene, choose};

/// What to observe, and who else is to see it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// As it was asked for.
    pub spec: ObserveSpec,
    /// Endpoints to scrape.
    pub scrapes: Vec<Scrape>,
    /// Where the running trial is shown to others.
    pub board: Option<Arc<PrometheusExport>>,
}

/// Nothing, and nobody.
impl Default for Asked {
    fn default() -> Self {
        Self {
            spec: ObserveSpec::none(),
            scrapes: Vec::new(),
            board: None,
        }
    }
}

impl Asked {
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
