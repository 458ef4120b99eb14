//! YugabyteDB's `/prometheus-metrics`. Every name rests on documentation (Metrics, v2024.2 to v2025.2:
//! throughput and latency, cache and storage, Raft, YB-Master) and on articles: nothing here was read
//! from a real server. A latency is a count and a sum in microseconds, for each server or tablet.

use super::{Metric, Metrics, Page, Taken};

const DOCUMENTED: &str = "documented, v2024.2 to v2025.2; never read from a real server";

const US_PER_MS: u64 = 1_000;
const US_PER_S: u64 = 1_000_000;

pub const YUGABYTEDB: Metrics = Metrics {
    pages: &[
        Page {
            instrument: "yb.tserver",
            path: "/prometheus-metrics",
            port: 9000,
            port_options: &[],
            node_number: None,
            is_everywhere: true,
            metrics: &YUGABYTEDB_TSERVER,
        },
        Page {
            instrument: "yb.ysql",
            path: "/prometheus-metrics",
            port: 13000,
            port_options: &[],
            node_number: None,
            is_everywhere: true,
            metrics: &YUGABYTEDB_SQL,
        },
        // As many nodes have one as there are copies of the rows, and SQL does not tell which.
        Page {
            instrument: "yb.master",
            path: "/prometheus-metrics",
            port: 7000,
            port_options: &[],
            node_number: None,
            is_everywhere: false,
            metrics: &YUGABYTEDB_MASTER,
        },
    ],
    command_lines: None,
};

const fn counter(
    series: &'static str,
    from: &'static [&'static str],
    what: &'static str,
) -> Metric {
    Metric::counter(series, "1/s", from, DOCUMENTED, what)
}

const fn latency(
    series: &'static str,
    from: &'static [&'static str],
    what: &'static str,
) -> Metric {
    Metric::counter(series, "ms", from, DOCUMENTED, what)
        .taken(Taken::Mean)
        .divided_by(US_PER_MS)
}

const fn seconds(
    series: &'static str,
    from: &'static [&'static str],
    what: &'static str,
) -> Metric {
    Metric::counter(series, "s/s", from, DOCUMENTED, what).divided_by(US_PER_S)
}

const fn gauge(
    series: &'static str,
    unit: &'static str,
    taken: Taken,
    from: &'static [&'static str],
    what: &'static str,
) -> Metric {
    Metric::counter(series, unit, from, DOCUMENTED, what).taken(taken)
}

pub const YUGABYTEDB_TSERVER: [Metric; 26] = [
    counter(
        "yb.reads",
        &["handler_latency_yb_tserver_TabletServerService_Read_count"],
        "read operations of the storage, by node: several for a SELECT, at the tablets' leaders",
    ),
    latency(
        "yb.read.latency",
        &["handler_latency_yb_tserver_TabletServerService_Read"],
        "how long one took on average over the second",
    ),
    counter(
        "yb.writes",
        &["handler_latency_yb_tserver_TabletServerService_Write_count"],
        "write operations of the storage, by node",
    ),
    latency(
        "yb.write.latency",
        &["handler_latency_yb_tserver_TabletServerService_Write"],
        "how long one took on average over the second",
    ),
    seconds(
        "yb.read.time",
        &["handler_latency_yb_tserver_TabletServerService_Read_sum"],
        "how long read operations took, all together",
    ),
    seconds(
        "yb.write.time",
        &["handler_latency_yb_tserver_TabletServerService_Write_sum"],
        "how long write operations took with their replication, all together",
    ),
    // Documented (Raft and distributed systems).
    seconds(
        "yb.consensus.time",
        &["handler_latency_yb_consensus_ConsensusService_UpdateConsensus_sum"],
        "how long the node's followers took for what leaders sent them, all together",
    ),
    counter(
        "yb.consensus.updates",
        &["handler_latency_yb_consensus_ConsensusService_UpdateConsensus_count"],
        "what leaders sent to the node's followers: batches of log entries, and heartbeats",
    ),
    // Articles; by default syncs are behind the back of writes (durable_wal_write is off).
    seconds(
        "yb.log.time",
        &["log_sync_latency_sum"],
        "how long the node was at syncs of its tablets' logs, all together",
    ),
    counter(
        "yb.log.syncs",
        &["log_sync_latency_count"],
        "syncs of its tablets' logs",
    ),
    Metric::counter(
        "yb.clock.skew",
        "ms",
        &["hybrid_clock_skew"],
        DOCUMENTED,
        "how far the clocks of other nodes were ahead of this node's",
    )
    .taken(Taken::Largest)
    .divided_by(US_PER_MS),
    counter(
        "yb.requests",
        &["handler_latency_yb_tserver_PgClientService_Perform_count"],
        "requests of the node's own SQL sessions to its tablet server",
    ),
    gauge(
        "yb.leaders",
        "tablets",
        Taken::Sum,
        &["is_raft_leader"],
        "tablets whose leader is on the node: reads and writes go there",
    ),
    gauge(
        "yb.follower_lag",
        "ms",
        Taken::Largest,
        &["follower_lag_ms"],
        "replication lag of the node's slowest tablet",
    ),
    counter(
        "yb.conflicts",
        &["transaction_conflicts"],
        "conflicts between transactions",
    ),
    counter(
        "yb.seeks",
        &["rocksdb_number_db_seek"],
        "seeks in the storage engine",
    ),
    counter(
        "yb.nexts",
        &["rocksdb_number_db_next"],
        "steps to the next key in the storage engine",
    ),
    counter(
        "yb.prevs",
        &["rocksdb_number_db_prev"],
        "steps to the key before in the storage engine",
    ),
    counter(
        "yb.cache.hits",
        &["rocksdb_block_cache_hit"],
        "blocks that were in the block cache",
    ),
    counter(
        "yb.cache.misses",
        &["rocksdb_block_cache_miss"],
        "blocks that were not in the block cache",
    ),
    counter(
        "yb.bloom.checked",
        &["rocksdb_bloom_filter_checked"],
        "looks at a Bloom filter",
    ),
    counter(
        "yb.bloom.useful",
        &["rocksdb_bloom_filter_useful"],
        "those of them that spared looking into a file",
    ),
    gauge(
        "yb.lsm.files",
        "files",
        Taken::Sum,
        &["rocksdb_current_version_num_sst_files"],
        "files of the storage engine",
    ),
    Metric::counter(
        "yb.lsm.stalls",
        "s/s",
        &["rocksdb_stall_micros"],
        DOCUMENTED,
        "how long writes waited for flushes and compactions, all together",
    )
    .divided_by(1_000_000),
    Metric::counter(
        "yb.cpu.user",
        "cores",
        &["cpu_utime"],
        DOCUMENTED,
        "CPUs used by the tablet server",
    )
    .divided_by(1_000),
    Metric::counter(
        "yb.cpu.system",
        "cores",
        &["cpu_stime"],
        DOCUMENTED,
        "CPUs used by the kernel for the tablet server",
    )
    .divided_by(1_000),
];

pub const YUGABYTEDB_SQL: [Metric; 9] = [
    counter(
        "yb.sql.select",
        &["handler_latency_yb_ysqlserver_SQLProcessor_SelectStmt_count"],
        "SELECTs, by node",
    ),
    counter(
        "yb.sql.insert",
        &["handler_latency_yb_ysqlserver_SQLProcessor_InsertStmt_count"],
        "INSERTs",
    ),
    counter(
        "yb.sql.update",
        &["handler_latency_yb_ysqlserver_SQLProcessor_UpdateStmt_count"],
        "UPDATEs",
    ),
    counter(
        "yb.sql.delete",
        &["handler_latency_yb_ysqlserver_SQLProcessor_DeleteStmt_count"],
        "DELETEs",
    ),
    counter(
        "yb.sql.commit",
        &["handler_latency_yb_ysqlserver_SQLProcessor_CommitStmt_count"],
        "COMMITs",
    ),
    counter(
        "yb.sql.rollback",
        &["handler_latency_yb_ysqlserver_SQLProcessor_RollbackStmt_count"],
        "ROLLBACKs",
    ),
    counter(
        "yb.sql.transactions",
        &["handler_latency_yb_ysqlserver_SQLProcessor_Transactions_count"],
        "transactions",
    ),
    seconds(
        "yb.sql.time",
        &[
            "handler_latency_yb_ysqlserver_SQLProcessor_SelectStmt_sum",
            "handler_latency_yb_ysqlserver_SQLProcessor_InsertStmt_sum",
            "handler_latency_yb_ysqlserver_SQLProcessor_UpdateStmt_sum",
            "handler_latency_yb_ysqlserver_SQLProcessor_DeleteStmt_sum",
            "handler_latency_yb_ysqlserver_SQLProcessor_CommitStmt_sum",
        ],
        "how long SQL statements took in the server, all together",
    )
    .taken(Taken::CounterOfAll),
    latency(
        "yb.sql.select.latency",
        &["handler_latency_yb_ysqlserver_SQLProcessor_SelectStmt"],
        "how long a SELECT took in the server on average over the second",
    ),
];

pub const YUGABYTEDB_MASTER: [Metric; 3] = [
    counter(
        "yb.master.reads",
        &["handler_latency_yb_tserver_TabletServerService_Read_count"],
        "reads of the catalog at the master, by node",
    ),
    counter(
        "yb.master.locations",
        &["handler_latency_yb_master_MasterClient_GetTabletLocations_count"],
        "questions where tablets are",
    ),
    gauge(
        "yb.master.leader",
        "masters",
        Taken::Largest,
        &["is_raft_leader"],
        "whether the master leads the others",
    ),
];
