//! Random command lines: options that fit and options that do not, in all the forms that getopt
//! knows. None runs for long: a few transactions, never `-T` alone, no load of rows but by the
//! server.

use crate::pgbench::compare::{Case, case};
use crate::pgbench::generator::Dice;
use crate::pgbench::mask::Log;

/// What `before` an initialization makes both programs find the same.
const NO_TABLES: &str =
    "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history";

/// Values that are no number of anything, or of few things.
const ODD: [&str; 13] = [
    "0",
    "-1",
    "x",
    "1x",
    "''",
    "2147483648",
    "99999999999",
    "' 1'",
    "1.5",
    "1e3",
    "0x10",
    "+1",
    "--",
];

/// An option: its letter if it has one, its long name, values that it may get; none for a flag.
struct Choice {
    letter: Option<char>,
    name: &'static str,
    values: &'static [&'static str],
}

const fn choice(letter: char, name: &'static str, values: &'static [&'static str]) -> Choice {
    Choice {
        letter: Some(letter),
        name,
        values,
    }
}

const fn long(name: &'static str, values: &'static [&'static str]) -> Choice {
    Choice {
        letter: None,
        name,
        values,
    }
}

/// Options of a run. That of the number of transactions comes in any case.
const RUN: [Choice; 25] = [
    choice('c', "client", &["1", "1", "2", "3"]),
    choice('j', "jobs", &["1", "2", "3"]),
    choice('C', "connect", &[]),
    choice(
        'M',
        "protocol",
        &["simple", "extended", "prepared", "extended", "prep", "x"],
    ),
    choice('r', "report-per-command", &[]),
    choice('r', "report-per-command", &[]),
    choice('n', "no-vacuum", &[]),
    choice('s', "scale", &["1", "7", "100"]),
    choice(
        'D',
        "define",
        &[
            "x=1",
            "x",
            "=1",
            "x=",
            "9=1",
            "a-b=1",
            "x=y=z",
            "scale=3",
            "'x= 1'",
            "client_id=7",
        ],
    ),
    choice('P', "progress", &["100", "5"]),
    choice('R', "rate", &["5000", "5000x", "1e5"]),
    choice('L', "latency-limit", &["1000", "5000x", "1e9"]),
    choice('v', "vacuum-all", &[]),
    choice('l', "log", &[]),
    long("log-prefix", &["pre", "a.b"]),
    long("max-tries", &["1", "2", "3", "0"]),
    long("failures-detailed", &[]),
    long("verbose-errors", &[]),
    long("exit-on-abort", &[]),
    long(
        "random-seed",
        &[
            "7",
            "0",
            "18446744073709551615",
            "18446744073709551616",
            "1 2",
        ],
    ),
    long("sampling-rate", &["1", "1.0", "2", "0"]),
    long("aggregate-interval", &["1", "5"]),
    long("progress-timestamp", &[]),
    long("debug", &[]),
    choice(
        'b',
        "builtin",
        &[
            "se",
            "si",
            "t",
            "s",
            "tpcb-like@2",
            "nosuch",
            "''",
            "se@x",
            "se@0",
            "@",
            "list",
        ],
    ),
];

const INIT: [Choice; 12] = [
    choice(
        'I',
        "init-steps",
        &[
            "dt", "dtp", "dtv", "d", "dtGp", "dtf", "dtpf", "t", "'d t'", "dtx", "p",
        ],
    ),
    choice('F', "fillfactor", &["10", "100", "90", "9", "101"]),
    choice('n', "no-vacuum", &[]),
    choice('q', "quiet", &[]),
    choice('s', "scale", &["1", "2"]),
    long("foreign-keys", &[]),
    long("unlogged-tables", &[]),
    long("partitions", &["0", "1", "3"]),
    long("partition-method", &["range", "hash", "x"]),
    long("tablespace", &["pg_default", "nosuch"]),
    long("index-tablespace", &["pg_default"]),
    long("debug", &[]),
];

/// Words that no option is, or no argument.
const STRANGE: [&str; 14] = [
    "-z",
    "--nosuch",
    "--t",
    "--r",
    "--no",
    "-c",
    "--client",
    "--log=x",
    "-n=3",
    "one two",
    "-?x",
    "--",
    "--show-script=se",
    "--show-script=x",
];

/// A command line with files `a.sql` and `b.sql` in reach, the first of which it runs when `runs_a`.
pub fn line(dice: &mut Dice, runs_a: bool) -> Case {
    if !runs_a && dice.once_in(5) {
        return initialization(dice);
    }
    let mut words = Words::default();
    match dice.below(12) {
        _ if runs_a => words.add("-f a.sql".into()),
        0..=3 => words.add("-S".into()),
        4..=5 => words.add("-N".into()),
        6 => words.add("-S -f b.sql@2".into()),
        7 => words.add("-f b.sql".into()),
        8 => words.add("-f nosuch.sql".into()),
        _ => {}
    }
    if runs_a && dice.once_in(6) {
        words.add(
            dice.pick(&["-f b.sql", "-f b.sql@3", "-b se", "-f a.sql@0"])
                .into(),
        );
    }
    if !dice.once_in(8) {
        words.add("-n".into());
    }
    // Among others it may be that it runs for some time: not with this.
    let transactions = dice.pick(&["-t 1", "-t 2", "-t3", "--transactions=2"]);
    words.add(transactions.to_owned());
    let count = if runs_a { dice.below(4) } else { dice.below(6) };
    for _ in 0..count {
        let at = dice.below(RUN.len());
        words.choose(dice, &RUN[at]);
    }
    if dice.once_in(12) {
        words.add(
            dice.pick(&["-T 1", "-T 0", "-T x", "-T ''", "--time=-1"])
                .into(),
        );
    }
    words.spoil(dice);
    let is_client = |piece: &String| piece.starts_with("-c") || piece.starts_with("--cl");
    if words.scripts() > 1 {
        // Which client draws which script depends on time.
        words.0.retain(|piece| !is_client(piece));
    }
    let has_clients = words.0.iter().any(is_client);
    let mut case = case(words.shuffled(dice))
        .any_seed()
        .repeats()
        .env("PGBENCH_RANDOM_SEED", "5");
    if has_clients {
        // What several clients say at once.
        case = case.any_order().counts();
    }
    if words.has(&["-L", "--la"]) {
        case = case.counts();
    }
    if words.has(&["--a"]) {
        case.log(Log::Intervals)
    } else {
        case.log(Log::Transactions {
            lag: words.has(&["-R", "--ra"]),
        })
    }
}

fn initialization(dice: &mut Dice) -> Case {
    let mut words = Words::default();
    words.add(dice.pick(&["-i", "-i", "--initialize", "--init"]).into());
    // Rows of the client take a second.
    words.add(
        dice.pick(&["-I dt", "-I dtp", "-Idtvp", "-I dtG", "-I dtf"])
            .into(),
    );
    for _ in 0..dice.below(4) {
        let at = dice.below(INIT.len());
        words.choose(dice, &INIT[at]);
    }
    if dice.once_in(8) {
        words.add(dice.pick(&["-S", "-c 2", "-t 1", "-l"]).into());
    }
    words.spoil(dice);
    let line = words.shuffled(dice);
    case(line).any_seed().repeats().before(NO_TABLES)
}

/// A command line in pieces: an option stays with its value.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn add(&mut self, piece: String) {
        self.0.push(piece);
    }

    fn has(&self, texts: &[&str]) -> bool {
        let holds = |piece: &String| texts.iter().any(|text| piece.contains(text));
        self.0.iter().any(holds)
    }

    fn scripts(&self) -> usize {
        let names = ["-f", "-b", "-S", "-N", "--f", "--b", "--se", "--sk"];
        let is_script = |piece: &&String| names.iter().any(|name| piece.starts_with(name));
        self.0.iter().filter(is_script).count() + usize::from(self.has(&["-S -f"]))
    }

    fn choose(&mut self, dice: &mut Dice, choice: &Choice) {
        let value = match choice.values {
            [] => None,
            _ if dice.once_in(10) => Some(dice.pick(&ODD)),
            values => Some(dice.pick(values)),
        };
        let is_short = dice.once_in(2);
        let piece = match (choice.letter.filter(|_| is_short), value) {
            (Some(letter), None) => format!("-{letter}"),
            (Some(letter), Some(value)) if dice.once_in(2) => format!("-{letter}{value}"),
            (Some(letter), Some(value)) => format!("-{letter} {value}"),
            (None, value) => {
                let mut name = choice.name;
                if dice.once_in(4) {
                    // An abbreviation, perhaps of several options.
                    name = &name[..dice.between(1, name.len() as i64) as usize];
                }
                match value {
                    None => format!("--{name}"),
                    Some(value) if dice.once_in(2) => format!("--{name}={value}"),
                    Some(value) => format!("--{name} {value}"),
                }
            }
        };
        self.add(piece);
    }

    /// Now and then something that does not belong there.
    fn spoil(&mut self, dice: &mut Dice) {
        if dice.once_in(12) {
            self.add(dice.pick(&STRANGE).to_owned());
        }
    }

    fn shuffled(&mut self, dice: &mut Dice) -> String {
        for last in (1..self.0.len()).rev() {
            self.0.swap(last, dice.below(last + 1));
        }
        self.0.join(" ")
    }
}
