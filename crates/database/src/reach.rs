//! Whether each endpoint can be reached, and which node a connection to it meets: asked of the
//! connection itself, since a load balancer between hides it.

use std::time::{Duration, Instant};

use pgdyno_session::{Error, Session};

use super::dialect::{Dialect, Product};
use super::open::Target;
use super::{admin, cluster, trouble};
use pgdyno_model::Fact;
use pgdyno_model::document::{Reached, RoundTrip};
use pgdyno_spec::Failure;

/// Asks on a session with this endpoint.
pub fn by(session: &mut Session, product: &Product, endpoint: &str) -> Reached {
    Reached {
        node: cluster::this_node(session, product.dialect),
        round_trip: round_trip(session),
        ..server(session, product, endpoint)
    }
}

/// Which server it is, without its place in a cluster and how far away it is.
fn server(session: &mut Session, product: &Product, endpoint: &str) -> Reached {
    Reached {
        endpoint: endpoint.to_owned(),
        node: Fact::default(),
        is_standby: is_standby(session, product.dialect),
        round_trip: Fact::default(),
        version: Fact::Known(product.with_minor(session)),
        system_identifier: system_identifier(session, product.dialect),
    }
}

fn system_identifier(session: &mut Session, dialect: &Dialect) -> Option<String> {
    admin::value(session, dialect.system_identifier?)
        .ok()
        .flatten()
}

/// An endpoint that does not answer is left after this.
const AGAIN_LIMIT: Duration = Duration::from_secs(2);

/// What is another server, or one in another role, at the end of a trial than when it began, each as a sentence.
/// An endpoint that does not answer any more is not among them, nor are those of products whose servers are nodes of
/// a cluster, which come and go.
pub fn replaced(target: &Target, dialect: &Dialect, before: &[Reached]) -> Vec<String> {
    let mut replaced = Vec::new();
    if dialect.system_identifier.is_none() {
        return replaced;
    }
    for endpoint in target.endpoints_of_all_roles() {
        let Some(before) = before.iter().find(|it| it.endpoint == endpoint.name) else {
            continue;
        };
        let Ok(mut session) = endpoint.within(AGAIN_LIMIT).connect() else {
            continue;
        };
        session.set_answer_timeout(Some(AGAIN_LIMIT));
        if let Ok(product) = Product::ask(&mut session) {
            let now = server(&mut session, &product, &endpoint.name);
            replaced.extend(other_server(before, &now));
        }
        session.close();
    }
    replaced
}

/// What differs between the two, as far as both are known.
fn other_server(before: &Reached, now: &Reached) -> Option<String> {
    let (mut was, mut is) = (Vec::new(), Vec::new());
    if let (Some(before), Some(now)) = (before.version.known(), now.version.known())
        && before != now
    {
        was.push(before.clone());
        is.push(now.clone());
    }
    if let (Some(before), Some(now)) = (before.is_standby, now.is_standby)
        && before != now
    {
        let role = |is_standby| if is_standby { "a standby" } else { "a primary" };
        was.push(role(before).to_owned());
        is.push(role(now).to_owned());
    }
    if let (Some(before), Some(now)) = (&before.system_identifier, &now.system_identifier)
        && before != now
    {
        was.push(format!("of system identifier {before}"));
        is.push(format!("of {now}"));
    }
    (!was.is_empty()).then(|| {
        let (was, is) = (was.join(", "), is.join(", "));
        format!(
            "{} was {was} when the trial began and is {is} at its end",
            before.endpoint
        )
    })
}

fn is_standby(session: &mut Session, dialect: &Dialect) -> Option<bool> {
    let answer = admin::value(session, dialect.is_standby?).ok().flatten()?;
    Some(answer == "t")
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
            let met = by(&mut session, &product, &endpoint.name);
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
                version: Fact::Unknown(one_line(&e)),
                system_identifier: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_on_both_sides_is_no_other_server() {
        let of = |version: Option<&str>, is_standby, number: Option<&str>| Reached {
            endpoint: "a:1".to_owned(),
            node: Fact::default(),
            is_standby,
            round_trip: Fact::default(),
            version: version.map_or_else(Fact::default, |it| Fact::Known(it.to_owned())),
            system_identifier: number.map(str::to_owned),
        };
        let was = of(Some("PostgreSQL 17.2"), Some(false), Some("7"));
        assert_eq!(other_server(&was, &was), None);
        assert_eq!(other_server(&was, &of(None, None, None)), None);
        assert_eq!(other_server(&of(None, None, None), &was), None);
        for (now, want) in [
            (
                of(Some("PostgreSQL 18.1"), Some(false), Some("7")),
                "was PostgreSQL 17.2 when the trial began and is PostgreSQL 18.1 at its end",
            ),
            (
                of(Some("PostgreSQL 17.2"), Some(true), Some("7")),
                "was a primary when the trial began and is a standby at its end",
            ),
            (
                of(None, None, Some("8")),
                "was of system identifier 7 when the trial began and is of 8 at its end",
            ),
        ] {
            assert_eq!(other_server(&was, &now).unwrap(), format!("a:1 {want}"));
        }
    }
}
