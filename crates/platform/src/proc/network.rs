//! /proc/net/dev and /proc/net/snmp: what went over the network of this process's namespace
//! (proc_pid_net(5)).

use super::numbers;

/// What has gone through an interface since it came up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    pub received_bytes: u64,
    pub received_packets: u64,
    /// Packets received that were damaged or dropped.
    pub received_lost: u64,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    /// Packets to send that were damaged or dropped.
    pub sent_lost: u64,
}

pub fn interfaces(text: &str) -> Vec<Interface> {
    text.lines().filter_map(interface).collect()
}

fn interface(line: &str) -> Option<Interface> {
    // A large number may follow the colon at once.
    let (name, counts) = line.split_once(':')?;
    let counts: Vec<u64> = numbers(counts).collect();
    let [
        received_bytes,
        received_packets,
        received_errors,
        received_drops,
        _,
        _,
        _,
        _,
        sent_bytes,
        sent_packets,
        sent_errors,
        sent_drops,
        ..,
    ] = counts[..]
    else {
        return None;
    };
    Some(Interface {
        name: name.trim().to_owned(),
        received_bytes,
        received_packets,
        received_lost: received_errors.saturating_add(received_drops),
        sent_bytes,
        sent_packets,
        sent_lost: sent_errors.saturating_add(sent_drops),
    })
}

/// What TCP has done since the kernel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tcp {
    /// Segments sent again because they were not confirmed.
    pub retransmitted: Option<u64>,
    pub sent: Option<u64>,
}

/// Reads /proc/net/snmp, where a line of names goes before its line of values.
pub fn tcp(text: &str) -> Tcp {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return Tcp::default();
    };
    let value = |wanted: &str| {
        let names = names.split_ascii_whitespace();
        let mut both = names.zip(values.split_ascii_whitespace());
        both.find_map(|(name, value)| (name == wanted).then(|| value.parse().ok())?)
    };
    Tcp {
        retransmitted: value("RetransSegs"),
        sent: value("OutSegs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_interfaces_are_read() {
        let text = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs \
            drop fifo colls carrier compressed\n\
            lo: 3078872506 4352304    0    0    0     0          0         0 3078872506 4352304 0 0 0 0 0 0\n\
            eth0:1935349416   73961    1    2    0     0          0         0  3234740   38024 3 4 0 0 0 0\n";
        let all = interfaces(text);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].name.as_str(), all[0].sent_bytes),
            ("lo", 3_078_872_506)
        );
        let eth0 = &all[1];
        assert_eq!(
            (eth0.received_bytes, eth0.received_packets),
            (1_935_349_416, 73_961)
        );
        assert_eq!((eth0.sent_bytes, eth0.sent_packets), (3_234_740, 38_024));
        assert_eq!((eth0.received_lost, eth0.sent_lost), (3, 7));
    }

    #[test]
    fn segments_sent_again_are_found_by_their_name() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
            Tcp: RtoAlgorithm ActiveOpens InSegs OutSegs RetransSegs InErrs\n\
            Tcp: 1 16044 4386710 4386698 312 0\nUdp: InDatagrams\nUdp: 1\n";
        let tcp = tcp(text);
        assert_eq!((tcp.retransmitted, tcp.sent), (Some(312), Some(4_386_698)));
        assert_eq!(super::tcp("Tcp: RetransSegs\n"), Tcp::default());
        assert_eq!(
            super::tcp("Tcp: OutSegs RetransSegs\nTcp: 1\n").retransmitted,
            None
        );
    }

    #[test]
    fn this_machine_is_understood() {
        let all = interfaces(&super::super::text("/proc/net/dev").unwrap());
        assert!(all.iter().any(|interface| interface.name == "lo"));
        let tcp = tcp(&super::super::text("/proc/net/snmp").unwrap());
        assert!(tcp.retransmitted.is_some());
    }
}
