//! Whether each endpoint can be reached, and which node a connection to it meets: asked of the
//! connection itself, since a load balancer between hides it.

use std::time::{Duration, Instant};

use pgdyno_session::{Error, Session};

use super::dialect::{Dialect, Product};
use super::open::Target;
use super::{admin, cluster, trouble};
use pgdyno_model::document::{Reached, RoundTrip};
use pgdyno_model::{Fact, Failure};

/// Asks on a session with this endpoint.
pub fn by(session: &mut Session, dialect: &Dialect, endpoint: &str) -> Reached {
    Reached {
        endpoint: endpoint.to_owned(),
        node: cluster::this_node(session, dialect),
        is_standby: dialect.is_standby.and_then(|query| {
            let answer = admin::value(session, query).ok().flatten()?;
            Some(answer == "t")
        }),
        round_trip: round_trip(session),
    }
}

/// At most so many round trips are measured, for so long; at least three.
const ROUND_TRIPS_MAX: usize = 20;
const ROUND_TRIPS_FOR: Duration = Duration::from_millis(250);

/// How long this idle session waits for the answer to a trivial query: the network there and back, and the
/// least work of a server.
pub fn round_trip(session: &mut Session) -> Fact<RoundTrip> {
    let mut took_us: Vec<u64> = Vec::with_capacity(ROUND_TRIPS_MAX);
    let began = Instant::now();
    while took_us.len() < ROUND_TRIPS_MAX
        && (took_us.len() < 3 || began.elapsed() < ROUND_TRIPS_FOR)
    {
        let sent = Instant::now();
        if let Err(e) = admin::run(session, "SELECT 1") {
            return Fact::Unknown(one_line(&e));
        }
        took_us.push(sent.elapsed().as_micros() as u64);
    }
    took_us.sort_unstable();
    Fact::Known(RoundTrip {
        min_us: took_us[0],
        median_us: took_us[took_us.len() / 2],
        count: took_us.len() as u32,
    })
}

/// Connects to each endpoint once, in order. One that cannot be reached is a gap with its reason if
/// `some_may_miss`.
///
/// # Errors
/// An endpoint cannot be reached, or Ctrl-C.
pub fn each_endpoint(target: &Target, some_may_miss: bool) -> Result<Vec<Reached>, Failure> {
    let mut reached = Vec::new();
    for endpoint in &target.endpoints {
        let meet = || {
            let mut session = endpoint.connect()?;
            let product = Product::ask(&mut session)?;
            let met = by(&mut session, product.dialect, &endpoint.name);
            session.close();
            Ok(met)
        };
        match meet() {
            Ok(met) => reached.push(met),
            Err(e @ Error::Interrupted { .. }) => return Err(trouble::connect(&e, target.kind)),
            Err(e) if some_may_miss => reached.push(Reached {
                endpoint: endpoint.name.clone(),
                node: Fact::Unknown(one_line(&e)),
                is_standby: None,
                round_trip: Fact::Unknown(one_line(&e)),
            }),
            Err(e) => {
                let failure = trouble::connect(&e, target.kind);
                return Err(failure
                    .detail(format!(
                        "{} is one of {} endpoints",
                        endpoint.name,
                        target.endpoints.len()
                    ))
                    .hint("with --reconnect its clients go to the others"));
            }
        }
    }
    Ok(reached)
}

fn one_line(error: &pgdyno_session::Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
