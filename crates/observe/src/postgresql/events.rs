//! What happens in the server that makes a trial's seconds differ: checkpoints, autovacuum, switches
//! of the log's segment, standbys that lag; and whether its clock jumps.

use super::autovacuum::Autovacuum;
use super::checkpoints::Checkpoints;
use super::clock::ServerClock;
use super::notes;
use super::place::{Line, Place};
use super::segments::Segments;
use super::standbys::Standbys;
use crate::{Instrument, Readings};
use pgdyno_model::observed::Gap;

/// The instrument `pg.events`.
pub struct Events {
    /// With why workers are not seen.
    line: Line<Option<Gap>>,
    clock: ServerClock,
    checkpoints: Checkpoints,
    autovacuum: Autovacuum,
    segments: Segments,
    standbys: Standbys,
}

impl Events {
    /// Not connected yet.
    pub fn new(place: Place) -> Self {
        Self {
            line: Line::to(place),
            clock: ServerClock::default(),
            checkpoints: Checkpoints::default(),
            autovacuum: Autovacuum::default(),
            segments: Segments::default(),
            standbys: Standbys::default(),
        }
    }
}

impl Instrument for Events {
    fn name(&self) -> &str {
        "pg.events"
    }

    fn source(&self) -> String {
        let what = "pg_control_checkpoint(), the checkpointer's counters, pg_stat_all_tables, \
                    pg_stat_activity, pg_stat_replication";
        self.line.place().source(what)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.look(false, out)
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let result = self.look(true, out);
        self.line.tell_cost(out);
        let node = self.line.place().label("");
        let name = |what: &str| match node.as_str() {
            "" => what.to_owned(),
            node => format!("{what} {node}"),
        };
        let checkpoints = self.checkpoints.conclude(&self.clock, out);
        let autovacuums = self.autovacuum.conclude(out);
        self.standbys.conclude(out);
        out.fact(name("checkpoints"), checkpoints);
        out.fact(name("autovacuums"), autovacuums);
        out.fact(name("wal_segment_switches"), self.segments.count());
        if let Some(note) = notes::clock_jumped(self.clock.jump_s()) {
            out.note(note);
        }
        result
    }
}

impl Events {
    fn look(&mut self, is_last: bool, out: &mut Readings) -> Result<(), Gap> {
        let place = self.line.place().clone();
        let Self {
            line,
            clock,
            checkpoints,
            autovacuum,
            segments,
            standbys,
        } = self;
        line.ask(
            |connection| Ok(connection.blind_to_others("autovacuum workers, which are sessions")),
            |connection, blind| {
                let (before, there_us, after) = connection.clock()?;
                clock.compare(before, there_us, after);
                checkpoints.read(connection, clock, out)?;
                autovacuum.read(connection, clock, is_last, out)?;
                segments.read(connection, out)?;
                standbys.read(connection, &place, out)?;
                if let Some(gap) = blind {
                    out.gap(place.label("autovacuum"), gap.clone());
                }
                Ok(())
            },
        )
    }
}
