//! `host.network`: what went over the interfaces of this process's network namespace.

use std::collections::BTreeSet;

use pgdyno_platform::proc::{self, network};

use super::unreadable;
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

const DEV: &str = "/proc/net/dev";
/// A host of many containers has hundreds; these are enough to see by.
const INTERFACES_MAX: usize = 8;

pub const ROWS: &[Row] = &[
    RECEIVED,
    SENT,
    RECEIVED_PACKETS,
    SENT_PACKETS,
    LOST,
    RETRANSMITTED,
];

const fn counted(name: &'static str, unit: &'static str, what: &'static str) -> Row {
    Row {
        name,
        unit,
        kind: Kind::Counter,
        source: "/proc/net/dev",
        what,
    }
}

const RECEIVED: Row = counted(
    "host.network.received",
    "bytes/s",
    "received, by interface; of loopback (`lo`) the same as sent",
);
const SENT: Row = counted("host.network.sent", "bytes/s", "sent, by interface");
const RECEIVED_PACKETS: Row = counted(
    "host.network.received_packets",
    "packets/s",
    "received, by interface",
);
const SENT_PACKETS: Row = counted(
    "host.network.sent_packets",
    "packets/s",
    "sent, by interface",
);
const LOST: Row = counted(
    "host.network.lost",
    "packets/s",
    "damaged or dropped, either way, by interface",
);
const RETRANSMITTED: Row = Row {
    name: "host.tcp.retransmitted",
    unit: "segments/s",
    kind: Kind::Counter,
    source: "/proc/net/snmp RetransSegs",
    what: "TCP segments retransmitted",
};

/// The instrument. An interface belongs to it from the moment when something has gone through it.
#[derive(Default)]
pub struct Network {
    chosen: BTreeSet<String>,
}

impl Instrument for Network {
    fn name(&self) -> &str {
        "host.network"
    }

    fn source(&self) -> String {
        format!("{DEV}, /proc/net/snmp")
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let text = proc::text(DEV).map_err(|e| unreadable(&e))?;
        for interface in network::interfaces(&text) {
            let name = &interface.name;
            let is_used = interface.received_packets > 0 || interface.sent_packets > 0;
            if !self.chosen.contains(name) {
                if !is_used || self.chosen.len() >= INTERFACES_MAX {
                    continue;
                }
                self.chosen.insert(name.clone());
            }
            let lost = interface.received_lost.saturating_add(interface.sent_lost);
            for (row, value) in [
                (RECEIVED, interface.received_bytes),
                (SENT, interface.sent_bytes),
                (RECEIVED_PACKETS, interface.received_packets),
                (SENT_PACKETS, interface.sent_packets),
                (LOST, lost),
            ] {
                out.counter(row.of(name.as_str()), value as f64);
            }
        }
        let tcp = proc::text("/proc/net/snmp").map(|text| network::tcp(&text));
        if let Some(again) = tcp.ok().and_then(|tcp| tcp.retransmitted) {
            out.counter(RETRANSMITTED.series(), again as f64);
        }
        Ok(())
    }
}
