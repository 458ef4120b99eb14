//! How long the CPU quota of pgdyno's own control group held it back during a trial.

use std::time::Duration;

use pgdyno_observe::host::Quota;

use crate::validity::HeldBack;

/// The quota, if there is one, and what the kernel had counted when the trial began.
pub struct OwnQuota(Option<(Quota, u64)>);

impl OwnQuota {
    pub fn begin() -> Self {
        let quota = Quota::of("self");
        Self(quota.and_then(|quota| {
            let before_us = quota.read()?.throttled_us?;
            Some((quota, before_us))
        }))
    }

    /// It has ended, after so long.
    pub fn held_back(self, elapsed: Duration) -> Option<HeldBack> {
        let (quota, before_us) = self.0?;
        let now_us = quota.read()?.throttled_us?;
        Some(HeldBack {
            cpus: quota.cpus,
            held_us: now_us.saturating_sub(before_us),
            of_us: elapsed.as_micros() as u64,
        })
    }
}
