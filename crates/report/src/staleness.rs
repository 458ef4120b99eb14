//! How stale reads were, in the terminal.

use pgdyno_model::Fact;
use pgdyno_model::document::{Lags, StaleEndpoint, Staleness};
use pgdyno_spec::text;

use super::table::Table;

const NONE: &str = "–";
const CLIENTS: &str = "clients' own reads, ms";

fn ms(us: Option<u64>) -> String {
    us.map_or(NONE.to_owned(), text::ms)
}

/// A row an endpoint, then the worst that a session saw there; then the same of the clients' own sessions.
pub fn text(staleness: &Staleness, width: usize) -> String {
    let mut lines = endpoints("staleness of reads, ms", &staleness.endpoints, width);
    lines += &format!(
        "stamps       {} written, one every {} ms asked for, COMMIT p50 {} ms\n",
        text::count(staleness.written),
        text::ms(staleness.interval_us),
        ms(staleness.write.p50_us),
    );
    staleness
        .endpoints
        .iter()
        .for_each(|one| lines += &worst("session", one));
    if let Some(clients) = &staleness.clients {
        lines += &endpoints(CLIENTS, &clients.endpoints, width);
        lines += &format!(
            "stamps       {} written by transactions of {} clients\n",
            text::count(clients.written),
            text::count(clients.sessions.into()),
        );
        clients
            .endpoints
            .iter()
            .for_each(|one| lines += &worst("client", one));
    }
    lines
}

fn endpoints(heading: &str, all: &[StaleEndpoint], width: usize) -> String {
    let mut table = Table::default();
    table.row([
        heading,
        "p50",
        "p99",
        "max",
        "stale",
        "own unseen",
        "went back",
    ]);
    for one in all {
        let role = one.role.as_deref().unwrap_or("control");
        let Lags {
            p50_us,
            p99_us,
            max_us,
            ..
        } = one.staleness;
        table.row([
            format!("{role}: {}", one.name),
            ms(p50_us),
            ms(p99_us),
            ms(max_us),
            text::percent(one.stale, one.reads),
            of(one.own_unseen, one.after_write),
            of(one.went_back, one.after_read),
        ]);
        if let Fact::Known(replay) = &one.replay {
            let ways = [
                ("replay by position", &replay.by_position),
                ("replay by timestamp", &replay.by_timestamp),
            ];
            for (name, lags) in ways.iter().filter(|(_, lags)| lags.count > 0) {
                let (name, none) = ((*name).to_owned(), String::new());
                let times = [lags.p50_us, lags.p99_us, lags.max_us].map(ms);
                let [p50, p99, max] = times;
                table.row([name, p50, p99, max, none.clone(), none.clone(), none]);
            }
        }
    }
    table.text(width)
}

/// How many, of how many that could have been.
fn of(count: u64, all: u64) -> String {
    format!("{} of {}", text::count(count), text::count(all))
}

/// The worst that a session saw there, whatever it is called.
fn worst(who: &str, one: &StaleEndpoint) -> String {
    let mut lines = String::new();
    if let Some(own) = &one.own_unseen_worst {
        lines += &format!(
            "own unseen   {who} {} wrote its stamp {} at {} ms, and {} ms later read {} at {}\n",
            own.session,
            text::count(own.stamp),
            text::ms(own.written_us),
            text::ms(own.read_us.saturating_sub(own.written_us)),
            text::count(own.shown),
            one.name
        );
    }
    if let Some(back) = &one.went_back_worst {
        lines += &format!(
            "went back    {who} {} read {} at {}, and {} ms later {} at {}\n",
            back.session,
            text::count(back.stamp),
            back.at,
            text::ms(back.read_us.saturating_sub(back.seen_us)),
            text::count(back.shown),
            one.name
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::{ClientStaleness, OwnUnseen, Replay, WentBack};

    #[test]
    fn an_endpoint_has_its_figures_and_its_worst() {
        let lags = Lags {
            count: 2000,
            p50_us: Some(201_000),
            p99_us: Some(205_000),
            max_us: Some(210_000),
        };
        let staleness = Staleness {
            interval_us: 5_000,
            written: 2000,
            endpoints: vec![StaleEndpoint {
                role: Some("reads".to_owned()),
                name: "b:5432".to_owned(),
                reads: 2000,
                stale: 1000,
                staleness: lags.clone(),
                after_write: 8000,
                own_unseen: 7,
                own_unseen_worst: Some(OwnUnseen {
                    session: 2,
                    stamp: 9,
                    written_us: 1_000_000,
                    read_us: 1_210_000,
                    shown: 3,
                }),
                went_back: 1,
                went_back_worst: Some(WentBack {
                    session: 1,
                    stamp: 8,
                    at: "c:5432".to_owned(),
                    seen_us: 1_000,
                    read_us: 2_000,
                    shown: 4,
                }),
                replay: Fact::Known(Replay {
                    by_position: lags,
                    by_timestamp: Lags::default(),
                }),
                ..StaleEndpoint::default()
            }],
            clients: Some(ClientStaleness {
                sessions: 3,
                written: 4000,
                endpoints: vec![StaleEndpoint {
                    role: Some("reads".to_owned()),
                    name: "b:5432".to_owned(),
                    reads: 900,
                    after_read: 870,
                    went_back: 5,
                    ..StaleEndpoint::default()
                }],
            }),
            ..Staleness::default()
        };
        let reported = text(&staleness, 100);
        for part in [
            "reads: b:5432",
            "50",
            "7 of 8,000",
            "clients' own reads, ms",
            "5 of 870",
            "4,000 written by transactions of 3 clients",
            "replay by position",
            "session 2 wrote its stamp 9 at 1,000.0 ms, and 210.000 ms later read 3 at b:5432",
            "session 1 read 8 at c:5432, and 1.000 ms later 4 at b:5432",
        ] {
            assert!(reported.contains(part), "{part}: {reported}");
        }
        assert!(!reported.contains("by timestamp"), "{reported}");
    }
}
