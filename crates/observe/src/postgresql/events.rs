//! What happens in the server that makes a trial's seconds differ: checkpoints, autovacuum, switches
//! of the log's segment, standbys that lag; and whether its clock jumps.

use pgdyno_session::Error;

use super::autovacuum::{Autovacuum, WORKERS};
use super::checkpoints::Checkpoints;
use super::clock::ServerClock;
use super::notes;
use super::place::{CLOCK, Connection, Line, Place, clock_us};
use super::segments::{NOW, Segments};
use super::standbys::Standbys;
use crate::{Instrument, Readings};
use pgdyno_model::observed::Gap;

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
                let wanted = [
                    (CLOCK.0, CLOCK.1.to_owned()),
                    ("pgdyno_checkpoints", Checkpoints::sql(connection.major)),
                    ("pgdyno_workers", WORKERS.to_owned()),
                    ("pgdyno_segment", NOW.to_owned()),
                    ("pgdyno_standbys", Standbys::sql(connection)),
                ];
                let mut answers = Vec::new().into_iter();
                let (before, there_us, after) = match connection.all_again(&wanted) {
                    Ok((before, all, after)) => {
                        answers = all.into_iter();
                        (before, clock_us(answers.next().unwrap_or_default())?, after)
                    }
                    // One is refused: they are asked one by one, so that those before it are read.
                    Err(Error::Server(_)) if !connection.is_lost() => connection.clock()?,
                    Err(error) => return Err(error),
                };
                clock.compare(before, there_us, after);
                let mut wanted = wanted.iter().skip(1);
                let mut next = |connection: &mut Connection| match (answers.next(), wanted.next()) {
                    (None, Some((name, sql))) => connection.again(name, sql),
                    (rows, _) => Ok(rows.unwrap_or_default()),
                };
                checkpoints.read(next(connection)?, clock, out);
                autovacuum.read(next(connection)?, connection, clock, is_last, out)?;
                segments.read(next(connection)?, out);
                standbys.read(next(connection)?, connection, &place, out);
                if let Some(gap) = blind {
                    out.gap(place.label("autovacuum"), gap.clone());
                }
                Ok(())
            },
        )
    }
}
