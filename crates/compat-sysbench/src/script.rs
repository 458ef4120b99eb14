//! The scripts that pgdyno has: sysbench's, and sysbench-tpcc's. (Facts: sysbench 1.0.20, src/lua; counts
//! measured with it.)

use super::options::Work;

/// A script: a mix of the pack `sysbench`, or the pack `tpcc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SysbenchScript {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    PointSelect,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
    /// Rows of two numbers, many in an INSERT; a table for each thread.
    BulkInsert,
    /// What the others have in common: `prepare` and `cleanup` alone.
    Common,
    Tpcc,
}

impl SysbenchScript {
    pub const ALL: [Self; 13] = [
        Self::ReadWrite,
        Self::ReadOnly,
        Self::WriteOnly,
        Self::PointSelect,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Delete,
        Self::Insert,
        Self::RandomPoints,
        Self::RandomRanges,
        Self::BulkInsert,
        Self::Common,
        Self::Tpcc,
    ];

    /// Its name, which is the mix's; that of [`Self::Tpcc`] is the pack's.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "oltp_read_write",
            Self::ReadOnly => "oltp_read_only",
            Self::WriteOnly => "oltp_write_only",
            Self::PointSelect => "oltp_point_select",
            Self::UpdateIndex => "oltp_update_index",
            Self::UpdateNonIndex => "oltp_update_non_index",
            Self::Delete => "oltp_delete",
            Self::Insert => "oltp_insert",
            Self::RandomPoints => "select_random_points",
            Self::RandomRanges => "select_random_ranges",
            Self::BulkInsert => "bulk_insert",
            Self::Common => "oltp_common",
            Self::Tpcc => "tpcc",
        }
    }

    /// The pack that does its work.
    pub fn pack(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::BulkInsert => "bulk-insert",
            _ => "sysbench",
        }
    }

    /// Whether it asks for sbtest1 alone, a part for each thread.
    pub fn is_select_random(self) -> bool {
        matches!(self, Self::RandomPoints | Self::RandomRanges)
    }

    /// Whether its statements are sent as text, whatever `--db-ps-mode` says.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Insert | Self::BulkInsert | Self::Tpcc)
    }

    /// Queries that return rows, of one event; those of [`Self::Tpcc`] differ from event to event.
    pub fn reads(self, work: &Work) -> u64 {
        let ranges = if work.range_selects {
            work.ranges.iter().sum()
        } else {
            0
        };
        match self {
            Self::ReadWrite | Self::ReadOnly => work.point_selects + ranges,
            Self::PointSelect | Self::RandomPoints | Self::RandomRanges => 1,
            _ => 0,
        }
    }

    /// Statements that a thread of sysbench prepares before its first event.
    pub fn prepared(self, work: &Work, tables: u64) -> u64 {
        let (points, updates, rows) = (1, 2, 2);
        let ranges = if work.range_selects { 4 } else { 0 };
        let block = self.others(work);
        match self {
            Self::ReadWrite => block + tables * (points + ranges + updates + rows),
            Self::ReadOnly => block + tables * (points + ranges),
            Self::WriteOnly => block + tables * (updates + rows),
            Self::PointSelect | Self::UpdateIndex | Self::UpdateNonIndex | Self::Delete => tables,
            Self::RandomPoints | Self::RandomRanges => 1,
            Self::Insert | Self::BulkInsert | Self::Common | Self::Tpcc => 0,
        }
    }

    /// BEGIN and COMMIT of one event: neither read nor write.
    pub fn others(self, work: &Work) -> u64 {
        match self {
            Self::ReadWrite | Self::ReadOnly | Self::WriteOnly if !work.skip_trx => 2,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_reads_and_others_that_sysbench_counts() {
        // Of sysbench 1.0.20 with its defaults, for one event.
        let counted = |script: SysbenchScript| {
            let work = Work::default();
            (script.name(), script.reads(&work), script.others(&work))
        };
        assert_eq!(
            SysbenchScript::ALL.map(counted),
            [
                ("oltp_read_write", 14, 2),
                ("oltp_read_only", 14, 2),
                ("oltp_write_only", 0, 2),
                ("oltp_point_select", 1, 0),
                ("oltp_update_index", 0, 0),
                ("oltp_update_non_index", 0, 0),
                ("oltp_delete", 0, 0),
                ("oltp_insert", 0, 0),
                ("select_random_points", 1, 0),
                ("select_random_ranges", 1, 0),
                ("bulk_insert", 0, 0),
                ("oltp_common", 0, 0),
                ("tpcc", 0, 0),
            ]
        );
        let bare = Work {
            range_selects: false,
            skip_trx: true,
            point_selects: 3,
            ..Work::default()
        };
        assert_eq!(SysbenchScript::ReadWrite.reads(&bare), 3);
        assert_eq!(SysbenchScript::ReadWrite.others(&bare), 0);
        assert_eq!(SysbenchScript::ReadWrite.prepared(&Work::default(), 2), 20);
        assert_eq!(SysbenchScript::ReadWrite.prepared(&bare, 2), 10);
        assert_eq!(SysbenchScript::ReadOnly.prepared(&Work::default(), 3), 17);
    }
}
