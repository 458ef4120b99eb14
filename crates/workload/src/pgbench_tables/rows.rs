//! The rows of a table as COPY takes them: those of pgbench's `initBranch`, `initTeller` and
//! `initAccount`. Made for speed: a load at scale 1000 writes a hundred million of them.

use std::ops::Range;

use super::{ACCOUNTS, BRANCHES, TELLERS, Tables};
use crate::line::Line;

/// One table to be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    pub table: String,
    /// How many rows it gets.
    pub rows: u64,
    rows_per_branch: u64,
    /// Branches themselves have no column for their branch.
    names_branch: bool,
    /// What follows the numbers: the balance and the filler.
    tail: &'static [u8],
}

impl Fill {
    /// The three tables in the order in which foreign keys want them. History stays empty.
    pub fn all(tables: &Tables, scale: u32) -> [Fill; 3] {
        let fill = |table, rows_per_branch, names_branch, tail| Fill {
            table: format!("{}_{table}", tables.prefix),
            rows: rows_per_branch * u64::from(scale),
            rows_per_branch,
            names_branch,
            tail,
        };
        // The filler is NULL but for accounts, where it is a blank-padded empty text.
        [
            fill("branches", BRANCHES, false, b"\t0\t\\N\n"),
            fill("tellers", TELLERS, true, b"\t0\t\\N\n"),
            fill("accounts", ACCOUNTS, true, b"\t0\t\n"),
        ]
    }

    /// Appends the rows of these indexes; the first row is 0, and its number in the table 1.
    pub fn write(&self, rows: Range<u64>, out: &mut Vec<u8>) {
        let mut row = rows.start;
        while row < rows.end {
            let branch = row / self.rows_per_branch;
            let end = rows.end.min((branch + 1) * self.rows_per_branch);
            let mut line = Line::new(row + 1);
            if self.names_branch {
                line.push(format!("\t{}", branch + 1).as_bytes());
            }
            line.push(self.tail);
            row += line.write(end - row, usize::MAX, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the definition says, one row at a time.
    fn plainly(fill: &Fill, rows: Range<u64>) -> String {
        rows.map(|row| {
            let branch = row / fill.rows_per_branch + 1;
            match fill.table.as_str() {
                "pgbench_branches" => format!("{}\t0\t\\N\n", row + 1),
                "pgbench_tellers" => format!("{}\t{branch}\t0\t\\N\n", row + 1),
                "pgbench_accounts" => format!("{}\t{branch}\t0\t\n", row + 1),
                other => panic!("{other}"),
            }
        })
        .collect()
    }

    #[test]
    fn rows_are_pgbenchs_wherever_a_piece_begins() {
        for fill in Fill::all(&Tables::PGBENCH, 100_000) {
            for piece in [
                0..1,
                0..2_000,
                8..12,
                99_998..100_002,
                89..1_113,
                5..5,
                1_999_999_990..2_000_000_010,
            ] {
                let mut out = b"before".to_vec();
                fill.write(piece.clone(), &mut out);
                let expected = format!("before{}", plainly(&fill, piece.clone()));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{piece:?}");
            }
        }
    }

    #[test]
    fn a_scale_means_so_many_rows() {
        let rows = |scale| Fill::all(&Tables::YSQL_BENCH, scale).map(|f| (f.table, f.rows));
        let named = |b, t, a| {
            [
                ("ysql_bench_branches".to_owned(), b),
                ("ysql_bench_tellers".to_owned(), t),
                ("ysql_bench_accounts".to_owned(), a),
            ]
        };
        assert_eq!(rows(1), named(1, 10, 100_000));
        assert_eq!(
            rows(2_147_483_647),
            named(2_147_483_647, 21_474_836_470, 214_748_364_700_000)
        );
    }
}
