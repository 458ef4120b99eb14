//! How many user instructions a transaction may cost the client, and how many system calls with io_uring, by
//! `pgdyno-bench instructions`. The first number depends on the compiler, so a budget holds for the one that is
//! named here.

/// The compiler of the budgets, as `rustc --version` begins.
pub const RUSTC: &str = "rustc 1.95.0";

/// So much above its budget a row may be: rows differ by less from run to run.
pub const TOLERANCE: f64 = 0.03;

/// What a row may cost.
pub struct InstructionBudget {
    /// The row.
    pub row: &'static str,
    /// What has been reached, with [`RUSTC`] in the profile `release`.
    pub reached: f64,
    /// What it shall be.
    pub goal: f64,
    /// System calls with io_uring: two for each turn of the loop, in which all clients are answered (0.25, and 1.75
    /// with seven statements); a little more, as a busy machine finds fewer answers in a turn.
    pub calls: f64,
}

/// All rows.
pub const BUDGETS: [InstructionBudget; 4] = [
    InstructionBudget {
        row: "select-only, prepared",
        reached: 1330.0,
        goal: 1900.0,
        calls: 0.26,
    },
    InstructionBudget {
        row: "tpcb, prepared",
        reached: 7150.0,
        goal: 11_000.0,
        calls: 1.95,
    },
    InstructionBudget {
        row: "tpcb, simple",
        reached: 7000.0,
        goal: 13_000.0,
        calls: 1.95,
    },
    InstructionBudget {
        row: "YCSB B, prepared",
        reached: 2430.0,
        goal: 2600.0,
        calls: 0.26,
    },
];

impl InstructionBudget {
    /// The most instructions that a measurement may give.
    pub fn limit(&self) -> f64 {
        self.reached * (1.0 + TOLERANCE)
    }

    /// The most system calls.
    pub fn calls_limit(&self) -> f64 {
        self.calls * (1.0 + TOLERANCE)
    }
}
