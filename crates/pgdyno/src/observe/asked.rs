//! What somebody wants to be observed during a trial.

use std::sync::Arc;

use super::board::Board;
use super::scrape::Scrape;
use super::{Instrument, Scene, Wish, choose};

/// What to observe, and who else is to see it. By default nothing and nobody.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Which of pgdyno's own instruments.
    pub wish: Wish,
    /// Disks of this host; none: the one under the server's data, when that is here.
    pub disks: Vec<String>,
    /// Endpoints to scrape.
    pub scrapes: Vec<Scrape>,
    /// Where the running trial is shown to others.
    pub board: Option<Arc<Board>>,
}

impl Asked {
    /// All that there is for the trial's target and this host.
    pub fn auto() -> Self {
        Self {
            wish: Wish::Auto,
            ..Self::default()
        }
    }

    /// The instruments for this scene. Endpoints are scraped whatever else is wanted.
    pub fn instruments(&self, scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
        let scrapes = self.scrapes.iter().map(Scrape::instrument);
        choose(&self.wish, scene)
            .into_iter()
            .chain(scrapes)
            .collect()
    }
}
