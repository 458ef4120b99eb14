//! What a hostile server does, and what is expected of the commands that meet it.

use pgdyno_platform::child::Signal;
use pgdyno_testkit::hostile::{Step, When};

/// Exit codes of `pgdyno run` and `pgdyno pgbench`.
type Codes = (i32, i32);

pub const WELL: Codes = (0, 0);
/// There was no connection to begin with.
pub const REFUSED: Codes = (3, 1);
/// A connection was lost, or given up for what came.
pub const LOST: Codes = (3, 2);
/// The server answered with an error, or the script cannot go on.
pub const FAILED: Codes = (1, 2);
pub const INTERRUPTED: Codes = (130, 130);

pub struct Scenario {
    pub name: &'static str,
    pub when: When,
    pub steps: Vec<Step>,
    /// The text of the script.
    pub script: String,
    pub options: &'static str,
    pub run_options: &'static str,
    pub url: &'static str,
    /// Sent once the server is at its steps.
    pub signal: Option<Signal>,
    /// Whether `pgdyno pgbench` writes to a terminal.
    pub on_terminal: bool,
    pub codes: Codes,
    /// What each says, among others.
    pub run_says: String,
    pub pgbench_says: String,
    /// Transactions that each counts as committed.
    pub committed: (u64, u64),
    /// All that `pgdyno run` counts; none when it does not get so far that there is a result.
    pub counted: u64,
    /// What the commands may print.
    pub printed_bytes_max: usize,
}

/// A server that does this, and commands that run one transaction.
pub fn scenario(name: &'static str, when: When, steps: Vec<Step>, codes: Codes) -> Scenario {
    let committed = u64::from(codes == WELL);
    Scenario {
        name,
        when,
        steps,
        script: "SELECT 1 AS marked;\n".to_owned(),
        options: "-t 1 -c 1",
        run_options: "",
        url: "sslmode=disable",
        signal: None,
        on_terminal: false,
        codes,
        run_says: String::new(),
        pgbench_says: String::new(),
        committed: (committed, committed),
        counted: u64::from(codes != REFUSED),
        printed_bytes_max: 64 << 10,
    }
}

/// One that does this in place of a start-up, after which there is no session.
pub fn refusing(name: &'static str, steps: Vec<Step>) -> Scenario {
    scenario(name, When::Connected, steps, REFUSED)
}

/// One that does this in place of the answer to the script's marked statement.
pub fn answering(name: &'static str, steps: Vec<Step>, codes: Codes) -> Scenario {
    scenario(name, When::Asked("marked"), steps, codes)
}

pub fn sends(messages: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(messages.concat())]
}

/// The same, and another step.
pub fn sends_and(messages: &[Vec<u8>], then: Step) -> Vec<Step> {
    vec![Step::Send(messages.concat()), then]
}

impl Scenario {
    pub fn says(mut self, words: &str) -> Scenario {
        self.run_says = words.to_owned();
        self.pgbench_says = words.to_owned();
        self
    }

    pub fn run_says(mut self, words: &str) -> Scenario {
        self.run_says = words.to_owned();
        self
    }

    pub fn script(mut self, text: impl Into<String>) -> Scenario {
        self.script = text.into();
        self
    }

    pub fn options(mut self, options: &'static str) -> Scenario {
        self.options = options;
        self
    }

    pub fn run_options(mut self, options: &'static str) -> Scenario {
        self.run_options = options;
        self
    }

    pub fn url(mut self, parameters: &'static str) -> Scenario {
        self.url = parameters;
        self
    }

    /// Both get the signal of Ctrl-C once the server is at it.
    pub fn interrupted(mut self) -> Scenario {
        self.signal = Some(Signal::Interrupt);
        self
    }

    pub fn on_terminal(mut self) -> Scenario {
        self.on_terminal = true;
        self
    }

    /// Transactions that `run` and `pgbench` count as committed.
    pub fn commits(mut self, run: u64, pgbench: u64) -> Scenario {
        self.committed = (run, pgbench);
        self
    }

    /// All transactions that `pgdyno run` counts, however they ended.
    pub fn counts(mut self, all: u64) -> Scenario {
        self.counted = all;
        self
    }

    /// Whether pgbench ends before there is anything to report.
    pub fn has_no_report(&self) -> bool {
        self.codes.1 == REFUSED.1 || (self.signal.is_some() && self.counted == 0)
    }

    pub fn prints(mut self, bytes_max: usize) -> Scenario {
        self.printed_bytes_max = bytes_max;
        self
    }
}
