//! What somebody wants to be observed during a trial.

use super::{Instrument, Scene, Wish, choose};

/// What to observe. By default nothing.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Which of pgdyno's own instruments.
    pub wish: Wish,
}

impl Asked {
    /// All that there is for the trial's target and this host.
    pub fn auto() -> Self {
        Self { wish: Wish::Auto }
    }

    /// The instruments for this scene.
    pub fn instruments(&self, scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
        choose(&self.wish, scene)
    }
}
