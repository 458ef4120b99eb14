//! What the settings do that people change most, in some words: for a table of what changed. Sources:
//! the names' sections in PostgreSQL's documentation, chapter 19.

/// In three or four words; `None` for a setting that is not among them.
pub fn does(setting: &str) -> Option<&'static str> {
    let found = SETTINGS.iter().find(|(name, _)| *name == setting);
    found.map(|(_, words)| *words)
}

const SETTINGS: [(&str, &str); 44] = [
    ("autovacuum", "vacuum in the background"),
    ("autovacuum_max_workers", "vacuums at a time"),
    ("autovacuum_vacuum_cost_delay", "pauses of autovacuum"),
    ("backend_flush_after", "writes handed to disk early"),
    ("bgwriter_delay", "pauses of the background writer"),
    (
        "checkpoint_completion_target",
        "how evenly checkpoints write",
    ),
    ("checkpoint_timeout", "checkpoint at latest, by time"),
    ("commit_delay", "commits wait for others"),
    ("default_toast_compression", "how large values are packed"),
    ("deadlock_timeout", "wait before deadlock check"),
    ("effective_cache_size", "cache that the planner assumes"),
    ("effective_io_concurrency", "reads ahead at a time"),
    ("enable_seqscan", "planner may read whole tables"),
    ("fsync", "whether writes reach the disk"),
    ("full_page_writes", "whole pages after checkpoints"),
    ("huge_pages", "large pages of memory"),
    ("io_method", "how pages are read"),
    ("io_workers", "processes that read pages"),
    ("jit", "compiles long queries"),
    ("log_min_duration_statement", "logs slow statements"),
    ("log_statement", "which statements are logged"),
    ("maintenance_work_mem", "memory for vacuum and indexes"),
    ("max_connections", "sessions at a time"),
    ("max_parallel_workers_per_gather", "helpers of a query"),
    ("max_wal_size", "checkpoint at latest, by WAL"),
    ("max_worker_processes", "background processes"),
    ("min_wal_size", "WAL files kept for reuse"),
    ("plan_cache_mode", "generic or custom plans"),
    ("random_page_cost", "planner’s price of a random read"),
    ("seq_page_cost", "planner’s price of the next page"),
    ("shared_buffers", "memory for pages"),
    ("synchronous_commit", "what a commit waits for"),
    (
        "synchronous_standby_names",
        "standbys that commits wait for",
    ),
    ("temp_buffers", "memory for temporary tables"),
    ("track_io_timing", "times reads and writes"),
    ("vacuum_cost_delay", "pauses of VACUUM"),
    ("wal_buffers", "memory for WAL"),
    ("wal_compression", "smaller page images in WAL"),
    ("wal_level", "how much WAL says"),
    ("wal_sync_method", "how WAL reaches the disk"),
    ("wal_writer_delay", "pauses of the WAL writer"),
    ("work_mem", "memory for sorts and hashes"),
    ("default_transaction_isolation", "isolation of transactions"),
    ("log_line_prefix", "begin of lines in the log"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fit_into_a_narrow_column() {
        for (name, words) in SETTINGS {
            assert!(words.chars().count() <= 32, "{name}: {words}");
        }
        assert_eq!(does("shared_buffers"), Some("memory for pages"));
        assert_eq!(does("clients"), None);
    }
}
