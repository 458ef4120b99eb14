//! What is between client and server: the time of round trips, bytes a second, and what lets few
//! through at a time or stops.

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use crate::split::ANSWER_BYTES_MIN;
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

pub const NETWORK: Rule = Rule {
    cause: Cause::Network,
    code: "network",
    name: "The network",
    is_of_checkpoints: true,
    examine: network,
};
pub const BANDWIDTH: Rule = Rule {
    cause: Cause::Bandwidth,
    code: "bandwidth",
    name: "Bandwidth",
    is_of_checkpoints: false,
    examine: bandwidth,
};
pub const POOLER: Rule = Rule {
    cause: Cause::Pooler,
    code: "pooler",
    name: "A pooler or proxy",
    is_of_checkpoints: false,
    examine: pooler,
};
pub const STOPPED: Rule = Rule {
    cause: Cause::ServerStopped,
    code: "server-stopped",
    name: "A server that stops",
    is_of_checkpoints: false,
    examine: stopped,
};

/// Of the time on the wire, from this share on it is the answers' bytes, not the way.
const RECEIVING_SHARE: f64 = 0.5;

/// Processes that were seen stopped are no matter of chance: from this share of the clients' time on,
/// the figures are of a server that stood still, whatever else the time went into.
const STOPPED_SHARE: f64 = 0.1;

/// Of the time on the wire, how much round trips take.
fn trips_share(evidence: &Evidence<'_>) -> f64 {
    let budget = &evidence.budget;
    let trips_s = budget.time.round_trips as f64 * budget.way.trip_us() / 1e6;
    ratio(trips_s, budget.seconds(Part::Wire)).min(1.0)
}

fn bytes_per_trip(evidence: &Evidence<'_>) -> f64 {
    let time = &evidence.budget.time;
    ratio(time.received_bytes as f64, time.round_trips as f64)
}

fn network(evidence: &Evidence<'_>) -> Examined {
    let way = evidence.budget.way;
    let Some(least_us) = way.least_us else {
        return Examined::NotKnown("the network round trip was not measured".to_owned());
    };
    let least = text::time(least_us);
    if way.trip_us() == 0.0 {
        return Examined::nothing(
            evidence,
            format!("one host: no delay, {least} a round trip"),
        );
    }
    let trips = evidence.trips_per_commit();
    let trips_share = trips_share(evidence);
    let shares = evidence.shares(&[Part::Wire]).into_iter();
    let mean_us = evidence.all.service.mean_us().unwrap_or(0.0);
    let of_trips_us = trips * way.trip_us();
    let mut proofs = vec![
        Proof::new(
            text::roughly(evidence.budget.share(Part::Wire)),
            "of the clients’ time was network round trips",
        )
        .at("time-budget", "Time budget"),
        Proof::new(
            least,
            format!(
                "is the shortest round trip of an empty statement; a transaction makes {}",
                text::some(trips)
            ),
        ),
    ];
    let mut remedies = vec![
        "reduce round trips: fewer statements per transaction, a pipeline, or a procedure on the server"
            .to_owned(),
        "move the client closer to the server, or use more clients to overlap the waiting".to_owned(),
    ];
    if let Some(tcp_us) = way.tcp_us.filter(|_| way.is_behind_proxy()) {
        proofs.push(Proof::new(
            text::time(tcp_us),
            "to the next hop of the connection: a proxy or tunnel behind it takes the rest",
        ));
        remedies.insert(0, "check the proxy or tunnel in between".to_owned());
    }
    Examined::assessed(Assessment {
        shares: shares.map(|share| share * trips_share).collect(),
        sentence: "The network limited it: round trips between client and server".to_owned(),
        proofs,
        remedies,
        checks: vec![
            check(
                "A delay was measured",
                true,
                format!("{} a round trip", text::time(way.trip_us())),
            ),
            check(
                "Round trips fit the mean",
                of_trips_us <= 1.25 * mean_us,
                format!(
                    "{} × {} = {} of {} a transaction",
                    text::some(trips),
                    text::time(way.trip_us()),
                    text::time(of_trips_us),
                    text::time(mean_us)
                ),
            ),
        ],
        ..Assessment::default()
    })
}

fn bandwidth(evidence: &Evidence<'_>) -> Examined {
    let budget = &evidence.budget;
    let bytes = bytes_per_trip(evidence);
    let bytes_per_s = ratio(budget.time.received_bytes as f64, evidence.elapsed_s);
    let figure = format!(
        "{} received, {} an answer",
        text::bytes_per_s(bytes_per_s),
        text::bytes(bytes)
    );
    let busiest = evidence.busiest_thread().unwrap_or(0.0);
    let is_of_answers = 1.0 - trips_share(evidence) >= RECEIVING_SHARE;
    let is_sending = budget
        .events_of(Part::ClientIo)
        .next()
        .is_some_and(|(event, _)| event.eq_ignore_ascii_case("Client:ClientWrite"));
    if bytes < ANSWER_BYTES_MIN || !(is_of_answers || is_sending) {
        return Examined::nothing(evidence, figure);
    }
    let of_answers = 1.0 - trips_share(evidence);
    let wire = evidence.shares(&[Part::Wire]);
    let sending = if is_sending {
        evidence.shares(&[Part::ClientIo])
    } else {
        evidence.constant(0.0)
    };
    let shares = wire.iter().zip(&sending);
    let receiving = ratio(budget.time.receiving_ns as f64 / 1e9, budget.working_s());
    Examined::assessed(Assessment {
        shares: shares.map(|(wire, sending)| wire * of_answers + sending).collect(),
        figure: None,
        sentence: "Bandwidth limited it: answers took their time to arrive".to_owned(),
        proofs: vec![
            Proof::new(
                text::roughly(receiving),
                "of the clients’ time passed between the first and the last bytes of an answer",
            )
            .at("time-budget", "Time budget"),
            Proof::new(
                text::bytes_per_s(bytes_per_s),
                format!("came from the server, {} in each answer", text::bytes(bytes)),
            ),
        ],
        remedies: vec![
            "ask for fewer rows or columns, or use a faster link; check for a limit in between (a VPN, \
             a cloud’s limit for the machine’s size)"
                .to_owned(),
        ],
        checks: vec![check(
            "pgdyno had time to read",
            busiest < 0.8,
            format!("its busiest thread had work for {}", text::roughly(busiest)),
        )],
        ..Assessment::default()
    })
}

/// What queues because of processes that were stopped, by block, of all that queues.
fn stopped_share(evidence: &Evidence<'_>) -> f64 {
    let there = evidence.mean("host.server.sessions").unwrap_or(0.0);
    let stopped = evidence.mean("host.server.sessions.stopped").unwrap_or(0.0);
    ratio(stopped, there).min(1.0)
}

fn pooler(evidence: &Evidence<'_>) -> Examined {
    let budget = &evidence.budget;
    let queued = budget.share(Part::Queued);
    let connected = evidence.mean("pg.sessions.connected");
    let clients = text::some(evidence.outcome.recording.working_clients());
    if queued == 0.0 {
        return match (connected, budget.way.least_us) {
            (None, None) => Examined::NotKnown("the network was not measured".to_owned()),
            _ => Examined::nothing(evidence, "nothing queued in the network"),
        };
    }
    let stopped = stopped_share(evidence);
    let shares = evidence.shares(&[Part::Queued]).into_iter();
    // Where processes were stopped, that is why it queued.
    let kept = if stopped > 0.0 { 0.0 } else { 1.0 };
    let mut proofs = vec![
        Proof::new(
            text::roughly(queued),
            "of the clients’ time statements were sent, and no session of the server worked on them",
        )
        .at("time-budget", "Time budget"),
    ];
    if let Some(connected) = connected.filter(|_| budget.is_pooled) {
        proofs.push(Proof::new(
            text::some(connected),
            format!("sessions of the server served {clients} clients"),
        ));
    }
    if let (Some(ping_us), Some(least_us)) = (evidence.mean("client.ping"), budget.way.least_us) {
        proofs.push(Proof::new(
            text::time(ping_us),
            format!(
                "for an empty statement while clients worked, {} before",
                text::time(least_us)
            ),
        ));
    }
    let active: f64 = budget.events.iter().map(|(_, sessions)| sessions).sum();
    Examined::assessed(Assessment {
        shares: shares.map(|share| share * kept).collect(),
        sentence: "A pooler or proxy limited it: statements queued before the server’s sessions".to_owned(),
        proofs,
        remedies: vec![
            "give the pooler more connections to the server, or more CPU; connect without it to compare"
                .to_owned(),
        ],
        checks: vec![check(
            "The server had sessions to spare, or none to give",
            (budget.unseen.is_none() && !budget.is_of_nodes)
                .then(|| active < evidence.busy_clients()),
            format!(
                "{} of {} clients in statements had a session at work",
                text::some(active),
                text::some(evidence.busy_clients())
            ),
        )],
        ..Assessment::default()
    })
}

fn stopped(evidence: &Evidence<'_>) -> Examined {
    let Some(there) = evidence.mean("host.server.sessions") else {
        return Examined::NotKnown("the server’s processes were not seen".to_owned());
    };
    if there == 0.0 && evidence.budget.is_of_nodes {
        let why = "a node’s process serves all of its sessions; one that hangs is a slow node";
        return Examined::NotApplicable(why.to_owned());
    }
    let share = stopped_share(evidence);
    if share == 0.0 {
        return Examined::nothing(
            evidence,
            format!("none of {} processes stopped", text::some(there)),
        );
    }
    let queued = evidence.budget.share(Part::Queued);
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::Queued]),
        is_decisive: queued >= STOPPED_SHARE,
        sentence: "The server stopped: its processes were suspended for a time".to_owned(),
        proofs: vec![
            Proof::new(
                text::roughly(queued),
                "of the clients’ time no process worked on what they had sent",
            )
            .at("time-budget", "Time budget"),
            Proof::new(
                text::roughly(share),
                "of the sessions’ processes were stopped on average (state T)",
            )
            .at("instruments", "Server’s host"),
        ],
        remedies: vec![
            "find what stopped them: a debugger, a snapshot or backup tool, a frozen container"
                .to_owned(),
        ],
        checks: vec![check(
            "Processes were seen stopped",
            true,
            text::roughly(share),
        )],
        ..Assessment::default()
    })
}
