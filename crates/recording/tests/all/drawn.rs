//! Recordings drawn from a seed.

use std::collections::BTreeMap;

use pgdyno_recording::result::Sum;
use pgdyno_recording::{
    About, Event, NewStatement, Obstacle, Protocol, Reader, Session, SqlState, Wire, Writer,
};
use pgdyno_stats::SplitMix64;

/// What was written, to be compared with what is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    Begin(Session, i64, bool),
    End(Session, i64),
    Statement(Box<DrawnStatement>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct DrawnStatement {
    pub session: Session,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub protocol: Protocol,
    pub name: Vec<u8>,
    pub sql: Vec<u8>,
    pub parameters: Vec<Option<Vec<u8>>>,
    pub rows: Option<u64>,
    pub failed: Option<SqlState>,
    pub obstacle: Option<Obstacle>,
    pub wire: Option<Wire>,
}

impl DrawnStatement {
    fn new(draw: &mut SplitMix64, session: Session, start_us: i64) -> Self {
        let some = |draw: &mut SplitMix64, most: u64| draw.next() % most;
        let sql = match some(draw, 4) {
            0 => format!("SELECT {}", some(draw, 100_000)),
            1 => format!(
                "UPDATE t{} SET a = 'x{}' WHERE b = $1",
                some(draw, 50),
                some(draw, 1000)
            ),
            2 => String::new(),
            _ => format!(
                "INSERT INTO t VALUES ('{}')",
                "ä".repeat(some(draw, 300) as usize)
            ),
        };
        let is_bound = sql.contains('$');
        let value = |draw: &mut SplitMix64| {
            (some(draw, 5) > 0).then(|| format!("v{}", some(draw, 1 << 40)).into_bytes())
        };
        Self {
            session,
            start_us,
            duration_us: (some(draw, 9) > 0).then(|| {
                let most = 1 << (4 + some(draw, 30));
                some(draw, most)
            }),
            protocol: if is_bound {
                Protocol::Extended
            } else {
                Protocol::Simple
            },
            name: if is_bound && some(draw, 2) == 0 {
                b"s1".to_vec()
            } else {
                Vec::new()
            },
            sql: sql.into_bytes(),
            parameters: (0..if is_bound { 1 + some(draw, 3) } else { 0 })
                .map(|_| value(draw))
                .collect(),
            rows: (some(draw, 3) == 0).then(|| some(draw, 1 << 20)),
            failed: (some(draw, 20) == 0).then_some(*b"40001"),
            obstacle: (some(draw, 30) == 0).then_some(Obstacle::Fetch),
            wire: (some(draw, 2) == 0).then(|| wire(draw)),
        }
    }

    pub fn of(event: &pgdyno_recording::Statement) -> Self {
        Self {
            session: (*event.session).clone(),
            start_us: event.start_us,
            duration_us: event.duration_us,
            protocol: event.protocol,
            name: event.name.to_vec(),
            sql: event.sql(),
            parameters: event
                .parameters()
                .map(|value| value.map(<[u8]>::to_vec))
                .collect(),
            rows: event.rows,
            failed: event.failed,
            obstacle: event.obstacle,
            wire: event.wire.as_deref().cloned(),
        }
    }
}

/// What only the wire shows; formats of which none is binary are those of text, and not written.
fn wire(draw: &mut SplitMix64) -> Wire {
    let mut some = |below: u64| draw.next() % below;
    let mut formats = |count: u64| {
        let formats: Vec<bool> = (0..count).map(|_| some(2) == 0).collect();
        if formats.contains(&true) {
            formats
        } else {
            Vec::new()
        }
    };
    Wire {
        binary: formats(3),
        results: formats(2),
        types: (0..some(3)).map(|_| some(1 << 32) as u32).collect(),
        limit: some(3) as u32,
        is_pipelined: some(2) == 0,
        is_in_transaction: some(2) == 0,
        tag: b"INSERT 0 1"[..some(11) as usize].to_vec(),
        result: (some(2) == 0).then(|| Sum {
            checksum: some(u64::MAX),
            columns: (0..some(4)).map(|_| some(1 << 16) as u16).collect(),
            hashes: (0..some(9)).map(|_| some(1 << 32) as u32).collect(),
        }),
    }
}

impl Drawn {
    pub fn of(event: &Event) -> Self {
        match event {
            Event::Begin(begin) => {
                Self::Begin((*begin.session).clone(), begin.at_us, begin.is_known)
            }
            Event::End(end) => Self::End((*end.session).clone(), end.at_us),
            Event::Statement(statement) => Self::Statement(Box::new(DrawnStatement::of(statement))),
        }
    }
}

/// So many events, as a log has them: by the time at which statements end.
pub fn draw(seed: u64, count: usize) -> Vec<Drawn> {
    let mut draw = SplitMix64(seed);
    let mut now_us = 1_700_000_000_000_000;
    let session = |number: u32| Session {
        number,
        user: format!("u{}", number % 3),
        database: "shop".to_owned(),
        application: "ä app".to_owned(),
        settings: vec![
            ("TimeZone".to_owned(), format!("Etc/GMT{}", number % 2));
            (number % 3) as usize
        ],
    };
    let event = |_| {
        now_us += (draw.next() % 5000) as i64;
        let session = session((draw.next() % 40) as u32);
        match draw.next() % 20 {
            0 => Drawn::Begin(session, now_us, draw.next().is_multiple_of(2)),
            1 => Drawn::End(session, now_us),
            _ => {
                let mut statement = DrawnStatement::new(&mut draw, session, now_us);
                statement.start_us -= statement.duration_us.unwrap_or(0) as i64;
                Drawn::Statement(Box::new(statement))
            }
        }
    };
    (0..count).map(event).collect()
}

pub fn write(events: &[Drawn]) -> Vec<u8> {
    let about = About {
        format: pgdyno_recording::FORMAT,
        made_by: "test".to_owned(),
        sources: vec!["a.csv".to_owned()],
        clock_us: 1000,
    };
    let mut writer = Writer::new(Vec::new(), &about).unwrap();
    for event in events {
        match event {
            Drawn::Begin(session, at_us, is_known) => writer.begin(session, *at_us, *is_known),
            Drawn::End(session, at_us) => writer.end(session, *at_us),
            Drawn::Statement(new) => {
                let parameters: Vec<_> = new.parameters.iter().map(Option::as_deref).collect();
                writer.statement(&NewStatement {
                    session: &new.session,
                    start_us: new.start_us,
                    duration_us: new.duration_us,
                    protocol: new.protocol,
                    name: &new.name,
                    sql: &new.sql,
                    parameters: &parameters,
                    rows: new.rows,
                    failed: new.failed,
                    obstacle: new.obstacle,
                    wire: new.wire.as_ref(),
                })
            }
        }
        .unwrap();
    }
    writer
        .finish(BTreeMap::from([("kind".to_owned(), 3)]))
        .unwrap()
        .0
}

/// All events that can be read, in the order of the file.
pub fn read(bytes: &[u8]) -> (Vec<Drawn>, Reader<&[u8]>) {
    let mut reader = Reader::new(bytes).unwrap();
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        events.extend(block.events.iter().map(Drawn::of));
    }
    (events, reader)
}
