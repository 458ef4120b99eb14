//! All figures that are read once a second in one go, and where each version has them: a file a
//! subject. Documented in PostgreSQL's manual, "The Cumulative Statistics System", and its release
//! notes, unless a comment says otherwise; `tests/` compares them with servers of each version.

mod checkpoints;
mod database;
mod io;
mod relations;
mod wal;

use super::figure::Figure;
use pgdyno_model::observed::Chapter;

/// Without it times of reads and writes stay at zero.
const READ_TIMES: &str = "track_io_timing";
/// Without it times of the log's writes and syncs stay at zero.
const WAL_TIMES: &str = "track_wal_io_timing";

pub const ALL: [&[Figure]; 5] = [
    database::FIGURES,
    checkpoints::FIGURES,
    io::FIGURES,
    wal::FIGURES,
    relations::FIGURES,
];

/// How the document lists them.
pub const CHAPTERS: [Chapter; 5] = [
    Chapter {
        title: "PostgreSQL: the database",
        rows: database::ROWS,
    },
    Chapter {
        title: "PostgreSQL: checkpoints and who writes pages",
        rows: checkpoints::ROWS,
    },
    Chapter {
        title: "PostgreSQL: reads and writes by kind of process",
        rows: io::ROWS,
    },
    Chapter {
        title: "PostgreSQL: the write-ahead log",
        rows: wal::ROWS,
    },
    Chapter {
        title: "PostgreSQL: tables and indexes",
        rows: relations::ROWS,
    },
];
