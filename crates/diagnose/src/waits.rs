//! What a wait event of PostgreSQL means for the question of what limited a trial.
//!
//! Documented: "Wait Events" in the manuals of 13 to 18. Names changed in case between versions
//! (`WALSync`, `WalSync`), so case does not count. What is not in the table is nobody's.

/// What a session that is in a statement is held up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Nothing: it works, or waits for a CPU.
    Running,
    /// Making a commit durable: the log's writes and syncs, standbys that must confirm it.
    Durability,
    /// Other sessions: rows, locks, and what the server shares between sessions.
    Contention,
    /// Blocks that are not in shared buffers, or buffers to be freed for them.
    Blocks,
    /// The client, which has to send more or to take what is sent.
    Client,
    /// It sleeps because its statement says so.
    Sleep,
    /// Anything else.
    Other,
}

/// The class of an event as the instrument `pg.waits` names it (`Type:Event`, `Running`).
pub fn class(event: &str) -> Class {
    if event == "Running" {
        return Class::Running;
    }
    let Some((kind, name)) = event.split_once(':') else {
        return Class::Other;
    };
    let name = name.to_ascii_lowercase();
    let is = |names: &[&str]| names.contains(&name.as_str());
    match kind {
        "Lock" => match name.as_str() {
            // Growing a table by a block, one session at a time.
            "extend" => Class::Blocks,
            _ => Class::Contention,
        },
        "LWLock" if name.starts_with("wal") => Class::Durability,
        "LWLock" if is(&["buffermapping", "bufferio"]) => Class::Blocks,
        "LWLock" if is(&["syncrep"]) => Class::Durability,
        "LWLock" => Class::Contention,
        "BufferPin" => Class::Contention,
        "IO" if name.starts_with("wal") => Class::Durability,
        "IO" if name.starts_with("datafile") || name.starts_with("aio") => Class::Blocks,
        "IO" if name.starts_with("buffile") || name.starts_with("slru") => Class::Blocks,
        "IPC" if is(&["syncrep", "walsync", "groupcommit"]) => Class::Durability,
        "IPC" if is(&["bufferio"]) => Class::Blocks,
        "IPC" if is(&["procarraygroupupdate", "xactgroupupdate", "clogroupupdate"]) => {
            Class::Contention
        }
        "IPC" if name.starts_with("parallel") || name.starts_with("messagequeue") => Class::Running,
        "Client" => Class::Client,
        "Timeout" if is(&["pgsleep"]) => Class::Sleep,
        "Timeout" if is(&["spindelay"]) => Class::Contention,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_versions_have_their_class() {
        let classes = [
            ("Running", Class::Running),
            ("IO:WALSync", Class::Durability),
            ("IO:WalSync", Class::Durability),
            ("LWLock:WALWrite", Class::Durability),
            ("IPC:SyncRep", Class::Durability),
            ("Lock:transactionid", Class::Contention),
            ("Lock:tuple", Class::Contention),
            ("LWLock:LockManager", Class::Contention),
            ("LWLock:SerializableXactHash", Class::Contention),
            ("Lock:extend", Class::Blocks),
            ("IO:DataFileRead", Class::Blocks),
            ("LWLock:BufferMapping", Class::Blocks),
            ("IO:AioIoCompletion", Class::Blocks),
            ("IPC:BufferIO", Class::Blocks),
            ("Client:ClientRead", Class::Client),
            ("Timeout:PgSleep", Class::Sleep),
            ("IPC:ParallelFinish", Class::Running),
            ("Extension:Extension", Class::Other),
            ("", Class::Other),
        ];
        for (event, expected) in classes {
            assert_eq!(class(event), expected, "{event}");
        }
    }
}
