//! The streaming replication that a server is part of: its standbys, or the server that it follows.

use pgdyno_session::Session;

use super::admin;
use super::cluster::one_line;
use super::dialect::Dialect;
use pgdyno_model::Fact;
use pgdyno_model::document::{Replication, Standby};

/// As the server of this session sees it.
pub fn seen(session: &mut Session, dialect: &Dialect) -> Fact<Replication> {
    let (Some(standbys), Some(primary)) = (dialect.cluster.standbys, dialect.cluster.primary)
    else {
        return Fact::Unknown(format!("{} has no standbys", dialect.title));
    };
    let standbys = match admin::rows(session, standbys) {
        Ok(rows) => rows.into_iter().map(standby).collect(),
        Err(e) => return Fact::Unknown(one_line(&e)),
    };
    match admin::value(session, primary) {
        Ok(primary) => Fact::Known(Replication { standbys, primary }),
        Err(e) => Fact::Unknown(one_line(&e)),
    }
}

fn standby(row: Vec<Option<String>>) -> Standby {
    let mut row = row.into_iter();
    let mut next = || row.next().flatten().filter(|text| !text.is_empty());
    Standby {
        name: next(),
        address: next(),
        state: next(),
        sync_state: next(),
        // What it has not received yet counts as none where a cascade's clocks differ.
        lag_bytes: next()
            .and_then(|bytes| bytes.parse::<i64>().ok())
            .map(|bytes| bytes.max(0) as u64),
        lag_us: next().and_then(|us| us.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL};
    use crate::open;
    use pgdyno_spec::TargetSpec;

    #[test]
    fn a_server_alone_has_no_standbys_and_follows_none() {
        let wanted = TargetSpec::at(pgdyno_testkit::postgres().address().url());
        let target = open::existing(&wanted).unwrap().unwrap();
        let mut session = target.connect().unwrap();
        let alone = Fact::Known(Replication::default());
        assert_eq!(seen(&mut session, &POSTGRESQL), alone);
        let Fact::Unknown(why) = seen(&mut session, &COCKROACHDB) else {
            panic!("standbys of CockroachDB");
        };
        assert_eq!(why, "CockroachDB has no standbys");
    }
}
