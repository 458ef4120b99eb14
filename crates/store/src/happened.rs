//! What the server did in a trial's measured part, as far as instruments saw it.

use super::Store;
use pgdyno_spec::Failure;

impl Store {
    /// How often something of this kind (`checkpoint`, `autovacuum`) was going on while the trial was
    /// measured; `None` when this instrument did not watch from beginning to end.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn happened(
        &self,
        number: i64,
        kind: &str,
        instrument: &str,
    ) -> Result<Option<u64>, Failure> {
        // Gaps of parts of it have a label.
        let sql = "SELECT CASE WHEN EXISTS (SELECT 1 FROM instrument i \
                       WHERE i.trial = ?1 AND i.name = ?3 AND NOT EXISTS (SELECT 1 FROM gap g \
                           WHERE g.trial = i.trial AND g.instrument = i.instrument \
                           AND g.label = '')) \
                   THEN (SELECT count(*) FROM event WHERE trial = ?1 AND kind = ?2 \
                       AND at_us + coalesce(length_us, 0) >= coalesce((SELECT min(start_us) \
                           FROM second WHERE trial = ?1 AND NOT warmup), 0)) END";
        let count = self
            .db
            .query_row(sql, crate::db::params![number, kind, instrument], |row| {
                row.get(0)
            });
        let count: Option<i64> = count.map_err(self.failed("cannot read"))?;
        Ok(count.map(i64::unsigned_abs))
    }
}
