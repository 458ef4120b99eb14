//! Ctrl-C during a run: the first lets transactions in flight finish, the second gives them up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pgdyno_drive::Control;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::Failure;

/// How soon the watching thread notices that it is no longer needed. Nothing waits for it.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Passes interrupts on to a run until it is dropped.
pub struct EndOnInterrupt(Arc<AtomicBool>);

impl EndOnInterrupt {
    /// Watches for interrupts beyond the first `begun`: one that came just before the run counts.
    ///
    /// # Errors
    /// There is no thread to watch with.
    pub fn on(
        control: &Control,
        interrupts: &'static Interrupts,
        begun: u32,
    ) -> Result<Self, Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (guard, control) = (Self(is_over.clone()), control.clone());
        let thread = thread::Builder::new().name("interrupts".to_owned());
        let spawned = thread.spawn(move || {
            let mut seen = begun;
            while !is_over.load(Ordering::Relaxed) {
                let count = interrupts.wait_beyond(seen, LOOK_INTERVAL);
                if count == seen {
                    continue;
                }
                if count - begun == 1 {
                    control.finish();
                } else {
                    control.stop_now();
                }
                seen = count;
            }
        });
        spawned.map_err(|e| Failure::no_thread("that waits for Ctrl-C", &e))?;
        Ok(guard)
    }
}

impl Drop for EndOnInterrupt {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
