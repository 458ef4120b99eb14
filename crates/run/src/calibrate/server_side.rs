//! What the server counts while a trial runs: its syncs and their time, blocks that were not in its
//! cache. On a session of its own that is idle meanwhile; kept as an event of the trial.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;

use pgdyno_database::admin;
use pgdyno_database::dialect::Product;
use pgdyno_database::open::Target;
use pgdyno_model::Fact;
use pgdyno_model::document::calibration::Grown;

/// PostgreSQL's backends tell what they counted when they end, a moment after their client has gone.
const SETTLE_MAX: Duration = Duration::from_secs(1);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Counters before a trial, and the session to ask for them again.
pub struct Before(Fact<(Session, Reading)>);

struct Reading {
    source: &'static str,
    sql: &'static str,
    timed: bool,
    counted: BTreeMap<String, u64>,
}

pub fn before(target: &Target, product: &Product, timed: bool) -> Before {
    let counters = match product.dialect.probes.counters(product.version) {
        Ok(counters) => counters,
        Err(why) => return Before(Fact::Unknown(why.to_owned())),
    };
    let mut session = match target.connect() {
        Ok(session) => session,
        Err(failure) => return Before(Fact::Unknown(failure.message)),
    };
    Before(match admin::counters(&mut session, counters.sql) {
        Fact::Known(counted) => Fact::Known((
            session,
            Reading {
                source: counters.source,
                sql: counters.sql,
                timed,
                counted,
            },
        )),
        Fact::Unknown(why) => Fact::Unknown(why),
    })
}

impl Before {
    /// Reads them again, when they have settled.
    pub fn grown(self) -> Fact<Grown> {
        let (mut session, before) = match self.0 {
            Fact::Known(seen) => seen,
            Fact::Unknown(why) => return Fact::Unknown(why),
        };
        let began = Instant::now();
        let mut now = admin::counters(&mut session, before.sql);
        while began.elapsed() < SETTLE_MAX {
            thread::sleep(LOOK_INTERVAL);
            let next = admin::counters(&mut session, before.sql);
            let has_settled = next == now && next.known() != Some(&before.counted);
            now = next;
            if has_settled {
                break;
            }
        }
        session.close();
        let now = match now {
            Fact::Known(now) => now,
            Fact::Unknown(why) => return Fact::Unknown(why),
        };
        let counted = now.into_iter().map(|(name, now)| {
            let before = before.counted.get(&name).copied().unwrap_or(0);
            (name, now.saturating_sub(before))
        });
        Fact::Known(Grown {
            source: before.source.to_owned(),
            timed: before.timed,
            counted: counted.collect(),
        })
    }
}
