//! Whether each endpoint can be reached, and which node a connection to it meets: asked of the
//! connection itself, since a load balancer between hides it.

use pgdyno_session::{Error, Session};

use super::dialect::{Dialect, Product};
use super::open::Target;
use super::{cluster, trouble};
use pgdyno_model::document::Reached;
use pgdyno_model::{Fact, Failure};

/// Asks on a session with this endpoint.
pub fn by(session: &mut Session, dialect: &Dialect, endpoint: &str) -> Reached {
    Reached {
        endpoint: endpoint.to_owned(),
        node: cluster::this_node(session, dialect),
    }
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
