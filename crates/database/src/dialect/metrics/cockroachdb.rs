//! CockroachDB's `/_status/vars`. Names marked 19.1 are captured from a real server of February 2019
//! (status-vars-*.txt, and three nodes); the others are in the lists of metrics of later versions and
//! in the product's source, and were never seen at work. Dots and hyphens of those lists are
//! underscores here (captured).

use super::{Metric, Metrics, Page, Refreshed, Taken};

const ALL: &str = "19.1 (captured) and later lists";
const LATER: &str = "later lists; not in 19.1";
const ALL_SELDOM: &str = "19.1 (captured) and later lists; the node looks every 10 s";

// Measured (19.1): figures of the process and host change every 10 s, and those of the stores too, at other
// moments; documented for later versions as the interval of the node's own time series.

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

pub const COCKROACHDB: Metrics = Metrics {
    pages: &[Page {
        instrument: "crdb.vars",
        // Documented: to be read without login. Captured: text format 0.0.4.
        path: "/_status/vars",
        // Documented (cockroach start).
        port: 8080,
        port_options: &["--http-addr", "--http-port"],
        // Captured.
        node_number: Some("node_id"),
        is_everywhere: true,
        metrics: &COCKROACHDB_VARS,
    }],
    // Captured (19.1, three nodes). Documented: from 26.1 on it is closed unless
    // allow_unsafe_internals is on.
    command_lines: Some(
        "SELECT node_id::STRING, address, args::STRING \
        FROM crdb_internal.kv_node_status ORDER BY node_id",
    ),
};

const fn counter(
    series: &'static str,
    from: &'static [&'static str],
    versions: &'static str,
    what: &'static str,
) -> Metric {
    Metric::counter(series, "1/s", from, versions, what)
}

const fn seconds(
    series: &'static str,
    unit: &'static str,
    from: &'static [&'static str],
    versions: &'static str,
    what: &'static str,
) -> Metric {
    Metric::counter(series, unit, from, versions, what).divided_by(NS_PER_S)
}

const fn bytes(
    series: &'static str,
    from: &'static [&'static str],
    versions: &'static str,
    what: &'static str,
) -> Metric {
    Metric::counter(series, "bytes/s", from, versions, what)
}

const fn gauge(
    series: &'static str,
    unit: &'static str,
    from: &'static [&'static str],
    versions: &'static str,
    what: &'static str,
) -> Metric {
    Metric::counter(series, unit, from, versions, what).taken(Taken::Sum)
}

const fn latency(
    series: &'static str,
    taken: Taken,
    from: &'static [&'static str],
    what: &'static str,
) -> Metric {
    Metric::counter(series, "ms", from, ALL, what)
        .taken(taken)
        .divided_by(NS_PER_MS)
}

/// What is kept of it.
pub const COCKROACHDB_VARS: [Metric; 69] = [
    // Documented (contention): serializable, writetooold, writetoooldmulti, asyncwritefailure,
    // commitdeadlineexceeded, readwithinuncertainty, txnaborted, txnpush, unknown; earlier
    // possiblereplay (19.1) and deleterange (before).
    counter(
        "crdb.restarts",
        &["txn_restarts_*"],
        ALL,
        "transactions that were restarted, by node and reason",
    )
    .taken(Taken::CounterByEnd),
    counter(
        "crdb.txn.commits",
        &["txn_commits"],
        ALL,
        "KV transactions that committed, by node",
    ),
    counter(
        "crdb.txn.commits_1pc",
        &["txn_commits1PC"],
        ALL,
        "those of them that committed in one phase, without intents",
    ),
    counter(
        "crdb.txn.aborts",
        &["txn_aborts"],
        ALL,
        "KV transactions that were aborted",
    ),
    // Later lists: txn.refresh.auto_retries.
    counter(
        "crdb.txn.auto_retries",
        &["txn_refresh_auto_retries", "txn_autoretries"],
        ALL,
        "requests that were tried again without the client seeing it",
    ),
    counter(
        "crdb.txn.refreshes",
        &["txn_refresh_success"],
        LATER,
        "transactions whose reads were moved to a later time instead of a restart",
    ),
    counter(
        "crdb.txn.refreshes_failed",
        &["txn_refresh_fail"],
        LATER,
        "transactions whose reads could not be moved",
    ),
    counter(
        "crdb.sql.queries",
        &["sql_query_count"],
        ALL,
        "SQL statements that ended, the server's own not counted",
    ),
    counter("crdb.sql.select", &["sql_select_count"], ALL, "SELECTs"),
    counter("crdb.sql.insert", &["sql_insert_count"], ALL, "INSERTs"),
    counter("crdb.sql.update", &["sql_update_count"], ALL, "UPDATEs"),
    counter("crdb.sql.delete", &["sql_delete_count"], ALL, "DELETEs"),
    counter(
        "crdb.sql.failures",
        &["sql_failure_count"],
        ALL,
        "SQL statements that ended in an error",
    ),
    latency(
        "crdb.sql.latency.mean",
        Taken::Mean,
        &["sql_service_latency"],
        "how long a SQL statement took in the server on average over the second",
    ),
    latency(
        "crdb.sql.latency.p99",
        Taken::P99,
        &["sql_service_latency"],
        "the same: 99th percentile of the second",
    ),
    latency(
        "crdb.kv.latency.mean",
        Taken::Mean,
        &["exec_latency"],
        "how long a batch of key-value requests took on average over the second",
    ),
    latency(
        "crdb.kv.latency.p99",
        Taken::P99,
        &["exec_latency"],
        "the same: 99th percentile of the second",
    ),
    // The sum of a histogram grows by what each took: seconds a second are as many at once.
    seconds(
        "crdb.sql.time",
        "s/s",
        &["sql_service_latency_sum"],
        ALL,
        "how long SQL statements took in the server, all together; BEGIN and COMMIT are not in it",
    ),
    seconds(
        "crdb.kv.time",
        "s/s",
        &["exec_latency_sum"],
        ALL,
        "how long batches of key-value requests took where they were done, all together: with their \
         waits for locks, for Raft's log and for other copies",
    ),
    counter(
        "crdb.kv.batches",
        &["exec_success"],
        ALL,
        "batches of key-value requests that the node served, for all nodes",
    ),
    latency(
        "crdb.raft.commit.mean",
        Taken::Mean,
        &["raft_process_commandcommit_latency"],
        "how long applying Raft commands took on average over the second",
    ),
    latency(
        "crdb.raft.log.mean",
        Taken::Mean,
        &["raft_process_logcommit_latency"],
        "how long making Raft's log durable took on average over the second",
    ),
    latency(
        "crdb.raft.log.p99",
        Taken::P99,
        &["raft_process_logcommit_latency"],
        "the same: 99th percentile of the second",
    ),
    seconds(
        "crdb.raft.log.time",
        "s/s",
        &["raft_process_logcommit_latency_sum"],
        ALL,
        "how long the node was at making Raft's log durable, all its ranges together",
    ),
    counter(
        "crdb.raft.log.commits",
        &["raft_process_logcommit_latency_count"],
        ALL,
        "how often it made Raft's log durable",
    ),
    counter(
        "crdb.raft.applied",
        &["raft_commandsapplied"],
        ALL,
        "Raft commands applied: each write of a range, by every copy of it",
    ),
    // Documented (26.x): round-trip-latency; heartbeats of the nodes' connections, every few seconds.
    seconds(
        "crdb.round_trip.time",
        "s/s",
        &[
            "round_trip_latency_sum",
            "round_trip_default_class_latency_sum",
        ],
        ALL,
        "how long round trips to other nodes took, all together",
    ),
    counter(
        "crdb.round_trips",
        &[
            "round_trip_latency_count",
            "round_trip_default_class_latency_count",
        ],
        ALL,
        "round trips to other nodes that were timed: heartbeats of the nodes' connections",
    ),
    counter(
        "crdb.rpc.sent",
        &["distsender_rpc_sent"],
        ALL,
        "batches of key-value requests that the node sent to a leaseholder, itself included",
    ),
    counter(
        "crdb.rpc.local",
        &["distsender_rpc_sent_local"],
        ALL,
        "those of them that it did itself; the others were passed on",
    ),
    counter(
        "crdb.rpc.not_leaseholder",
        &["distsender_errors_notleaseholder"],
        ALL,
        "batches that went to a node that was not the leaseholder any more",
    ),
    // Documented (admission control): waits of requests that waited, histograms in nanoseconds.
    seconds(
        "crdb.admission.waited",
        "s/s",
        &[
            "admission_wait_durations_kv_sum",
            "admission_wait_durations_kv_stores_sum",
        ],
        LATER,
        "how long key-value requests waited to be admitted, for the CPU or a store, all together",
    )
    .taken(Taken::CounterOfAll),
    counter(
        "crdb.contended",
        &["sql_distsql_contended_queries_count"],
        LATER,
        "SQL statements that waited for others' locks",
    ),
    seconds(
        "crdb.contention",
        "s/s",
        &["sql_distsql_cumulative_contention_nanos"],
        LATER,
        "how long SQL statements waited for others' locks, all together",
    ),
    gauge(
        "crdb.sessions",
        "sessions",
        &["sql_conns"],
        ALL,
        "SQL sessions of the node",
    ),
    seconds(
        "crdb.cpu.user",
        "cores",
        &["sys_cpu_user_ns"],
        ALL_SELDOM,
        "CPUs used by the node's process",
    )
    .refreshed(Refreshed::Process),
    seconds(
        "crdb.cpu.system",
        "cores",
        &["sys_cpu_sys_ns"],
        ALL_SELDOM,
        "CPUs used by the kernel for the node's process",
    )
    .refreshed(Refreshed::Process),
    gauge(
        "crdb.cpu.share",
        "ratio",
        &["sys_cpu_combined_percent_normalized"],
        ALL_SELDOM,
        "share of the CPUs of its host, or of its control group, that the node's process used",
    )
    .refreshed(Refreshed::Process),
    gauge(
        "crdb.host.cpu.share",
        "ratio",
        &["sys_cpu_host_combined_percent_normalized"],
        LATER,
        "share of the CPUs of its host in use by all processes",
    )
    .refreshed(Refreshed::Process),
    seconds(
        "crdb.gc.pause",
        "s/s",
        &["sys_gc_pause_ns"],
        ALL_SELDOM,
        "share of time in which the garbage collector stopped the node",
    )
    .refreshed(Refreshed::Process),
    gauge(
        "crdb.goroutines",
        "goroutines",
        &["sys_goroutines"],
        ALL_SELDOM,
        "goroutines",
    )
    .refreshed(Refreshed::Process),
    gauge(
        "crdb.memory",
        "bytes",
        &["sys_rss"],
        ALL_SELDOM,
        "main memory of the node's process",
    )
    .refreshed(Refreshed::Process),
    gauge(
        "crdb.nodes.live",
        "nodes",
        &["liveness_livenodes"],
        ALL,
        "live nodes, as this node sees it (0 on nodes that do not hold that range)",
    ),
    gauge(
        "crdb.clock.offset",
        "ms",
        &["clock_offset_meannanos"],
        ALL,
        "how far the clocks of the other nodes are from this node's, on average",
    )
    .divided_by(NS_PER_MS),
    gauge(
        "crdb.leaseholders",
        "ranges",
        &["replicas_leaseholders"],
        ALL_SELDOM,
        "ranges whose reads and writes go to this node",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.replicas",
        "replicas",
        &["replicas"],
        ALL_SELDOM,
        "copies of ranges on the node",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.ranges",
        "ranges",
        &["ranges"],
        ALL_SELDOM,
        "ranges that the node counts: each is counted by one node",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.load.queries",
        "1/s",
        &["rebalancing_queriespersecond"],
        ALL_SELDOM,
        "batches a second to the node's leases, by the average that rebalancing goes by",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.ranges.unavailable",
        "ranges",
        &["ranges_unavailable"],
        ALL_SELDOM,
        "ranges that cannot be read or written",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.ranges.underreplicated",
        "ranges",
        &["ranges_underreplicated"],
        ALL_SELDOM,
        "ranges with too few copies",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.cache.hits",
        &["rocksdb_block_cache_hits"],
        ALL_SELDOM,
        "blocks that were in the block cache",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.cache.misses",
        &["rocksdb_block_cache_misses"],
        ALL_SELDOM,
        "blocks that were not in the block cache: reads of files, from the page cache or a disk",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.cache.bytes",
        "bytes",
        &["rocksdb_block_cache_usage"],
        ALL_SELDOM,
        "what the block cache holds",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.seeks",
        &["storage_iterator_external_seeks"],
        LATER,
        "seeks of iterators over keys as transactions see them",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.steps",
        &["storage_iterator_external_steps"],
        LATER,
        "steps of those iterators: rows and versions passed",
    )
    .refreshed(Refreshed::Stores),
    bytes(
        "crdb.blocks.loaded",
        &["storage_iterator_block_load_bytes"],
        LATER,
        "blocks that iterators loaded, those in the block cache included",
    )
    .refreshed(Refreshed::Stores),
    bytes(
        "crdb.blocks.cached",
        &["storage_iterator_block_load_cached_bytes"],
        LATER,
        "those of them that were in the block cache",
    )
    .refreshed(Refreshed::Stores),
    seconds(
        "crdb.blocks.reading",
        "s/s",
        &["storage_iterator_block_load_read_duration"],
        LATER,
        "how long iterators waited for blocks from files, all together",
    )
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.lsm.read_amplification",
        "files",
        &["rocksdb_read_amplification"],
        ALL_SELDOM,
        "files that a read may have to look into; of several stores the worst",
    )
    .taken(Taken::Largest)
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.lsm.l0_sublevels",
        "levels",
        &["storage_l0_sublevels"],
        LATER,
        "sublevels of level 0; of several stores the worst; more than 20 slow writes down",
    )
    .taken(Taken::Largest)
    .refreshed(Refreshed::Stores),
    gauge(
        "crdb.lsm.files",
        "files",
        &["rocksdb_num_sstables"],
        ALL_SELDOM,
        "files of the storage engine",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.lsm.compactions",
        &["rocksdb_compactions"],
        ALL_SELDOM,
        "compactions",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.lsm.flushes",
        &["rocksdb_flushes"],
        ALL_SELDOM,
        "memory tables written to files",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.lsm.write_stalls",
        &["storage_write_stalls"],
        LATER,
        "writes that the storage engine delayed",
    )
    .refreshed(Refreshed::Stores),
    seconds(
        "crdb.lsm.write_stalled",
        "s/s",
        &["storage_write_stall_nanos"],
        LATER,
        "how long the storage engine held writes back",
    )
    .refreshed(Refreshed::Stores),
    counter(
        "crdb.disk.reads",
        &["sys_host_disk_read_count"],
        ALL_SELDOM,
        "reads of all disks of the node's host",
    )
    .refreshed(Refreshed::Process),
    bytes(
        "crdb.disk.read",
        &["sys_host_disk_read_bytes"],
        ALL_SELDOM,
        "read from all disks of the node's host",
    )
    .refreshed(Refreshed::Process),
    counter(
        "crdb.disk.writes",
        &["sys_host_disk_write_count"],
        ALL_SELDOM,
        "writes to all disks of the node's host",
    )
    .refreshed(Refreshed::Process),
    bytes(
        "crdb.disk.written",
        &["sys_host_disk_write_bytes"],
        ALL_SELDOM,
        "written to all disks of the node's host",
    )
    .refreshed(Refreshed::Process),
];
