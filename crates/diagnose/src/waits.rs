//! What a wait event of PostgreSQL means: the part of the time budget that it belongs to.
//!
//! Documented: "Wait Events" in the manuals of 13 to 18. Names changed in case between versions
//! (`WALSync`, `WalSync`), so case does not count.

use pgdyno_model::document::Part;

/// Pages of transaction states, by the names of their locks: `XactSLRU` and `XactBuffer`, and so on.
const SLRU: [&str; 8] = [
    "xact",
    "subtrans",
    "committs",
    "multixactoffset",
    "multixactmember",
    "serial",
    "notify",
    "oldserxid",
];

/// The part of an event as the instrument `pg.waits` names it (`Type:Event`, `Running`). A session that
/// is running is on a CPU, or waits for one.
pub fn part(event: &str) -> Part {
    if event == "Running" {
        return Part::ServerCpu;
    }
    let Some((kind, name)) = event.split_once(':') else {
        return Part::Others;
    };
    let name = name.to_ascii_lowercase();
    let is = |names: &[&str]| names.contains(&name.as_str());
    match kind {
        "Lock" if is(&["extend"]) => Part::Extension,
        "Lock" => Part::RowLocks,
        "LWLock" if name.starts_with("wal") || is(&["syncrep"]) => Part::Wal,
        "LWLock" if is(&["buffermapping", "bufferio"]) => Part::DataReads,
        "LWLock" if is_slru(&name) => Part::Slru,
        "LWLock" | "BufferPin" | "Buffer" => Part::LightweightLocks,
        "IO" if name.starts_with("wal") => Part::Wal,
        "IO" if name.starts_with("buffile") => Part::TemporaryFiles,
        "IO" if name.starts_with("slru") => Part::Slru,
        "IO" if name.starts_with("datafileextend") => Part::Extension,
        "IO" if name.starts_with("datafileread") || name.starts_with("datafileprefetch") => {
            Part::DataReads
        }
        "IO" if name.starts_with("aio") => Part::DataReads,
        "IO" if name.starts_with("datafile") => Part::DataWrites,
        "IPC" if is(&["syncrep", "walsync", "groupcommit"]) => Part::Wal,
        "IPC" if is(&["bufferio"]) => Part::DataReads,
        "IPC" if is(&["procarraygroupupdate", "xactgroupupdate", "clogroupupdate"]) => {
            Part::LightweightLocks
        }
        "IPC" => Part::Ipc,
        "Client" => Part::ClientIo,
        // A commit that waits for others before its sync.
        "Timeout" if is(&["commitdelay"]) => Part::Wal,
        "Timeout" if is(&["spindelay"]) => Part::LightweightLocks,
        _ => Part::Others,
    }
}

fn is_slru(name: &str) -> bool {
    let of = |suffix| name.strip_suffix(suffix);
    let whose = of("slru").or_else(|| of("buffer"));
    whose.is_some_and(|whose| SLRU.contains(&whose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_versions_have_their_part() {
        let parts = [
            ("Running", Part::ServerCpu),
            ("IO:WALSync", Part::Wal),
            ("IO:WalSync", Part::Wal),
            ("LWLock:WALWrite", Part::Wal),
            ("IPC:SyncRep", Part::Wal),
            ("Lock:transactionid", Part::RowLocks),
            ("Lock:tuple", Part::RowLocks),
            ("LWLock:LockManager", Part::LightweightLocks),
            ("LWLock:SerializableXactHash", Part::LightweightLocks),
            ("Lock:extend", Part::Extension),
            ("IO:DataFileExtend", Part::Extension),
            ("IO:DataFileRead", Part::DataReads),
            ("LWLock:BufferMapping", Part::DataReads),
            ("IO:AioIoCompletion", Part::DataReads),
            ("IPC:BufferIO", Part::DataReads),
            ("IO:DataFileFlush", Part::DataWrites),
            ("IO:BufFileWrite", Part::TemporaryFiles),
            ("IO:BuffileRead", Part::TemporaryFiles),
            ("IO:SLRURead", Part::Slru),
            ("LWLock:SubtransSLRU", Part::Slru),
            ("LWLock:XactBuffer", Part::Slru),
            ("LWLock:BufferContent", Part::LightweightLocks),
            ("Client:ClientWrite", Part::ClientIo),
            ("IPC:ParallelFinish", Part::Ipc),
            ("Timeout:CommitDelay", Part::Wal),
            ("Timeout:PgSleep", Part::Others),
            ("Extension:Extension", Part::Others),
            ("", Part::Others),
        ];
        for (event, expected) in parts {
            assert_eq!(part(event), expected, "{event}");
        }
    }
}
