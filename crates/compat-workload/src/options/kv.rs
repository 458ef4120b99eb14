//! What `kv` is to be, in the words of the pack.

use std::collections::BTreeMap;

use super::{CockroachWorkload, Flags};
use crate::flags::{ParsedFlags, Verb};

/// How keys are made of the numbers of the sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KvKeys {
    Random,
    Sequential,
    Zipfian,
}

impl KvKeys {
    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
            Self::Zipfian => "zipfian",
        }
    }

    /// What a `--write-seq` of these keys begins with.
    fn letter(self) -> char {
        match self {
            Self::Random => 'R',
            Self::Sequential => 'S',
            Self::Zipfian => 'Z',
        }
    }

    /// Between these all keys are. (Facts: pkg/workload/kv.)
    fn range(self, cycle_length: i64) -> (i64, i64) {
        match self {
            Self::Random => (i64::MIN, i64::MAX),
            Self::Sequential => (0, cycle_length),
            Self::Zipfian => (0, i64::MAX),
        }
    }
}

/// What pgdyno's kv does not have, and would measure something else without: flag, the value that
/// asks for nothing, and why.
const MISSING: [(&str, &str, &str); 7] = [
    ("enum", "false", "pgdyno's kv has no column of an enum"),
    (
        "follower-read-percent",
        "0",
        "pgdyno's kv reads the newest rows; only CockroachDB has follower reads",
    ),
    ("key-size", "0", "keys of pgdyno's kv are numbers"),
    ("num-shards", "0", "pgdyno's kv has no sharded key"),
    (
        "timeout",
        "0s",
        "put it into the URL: options=-c%20statement_timeout=MS",
    ),
    (
        "txn-qos",
        "regular",
        "only CockroachDB has qualities of service; put it into the URL: \
         options=-c%20default_transaction_quality_of_service=LEVEL",
    ),
    (
        "zipfian-v",
        "1",
        "pgdyno draws by Zipf's law without an offset",
    ),
];

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words where it has some.
pub(super) fn workload(verb: Verb, flags: &Flags<'_>) -> Result<CockroachWorkload, String> {
    flags.refuse(&MISSING)?;
    let keys = keys(flags)?;
    let int = |name: &str, default: i64| flags.int(name).unwrap_or(default);
    let (min, max) = (int("min-block-bytes", 1), int("max-block-bytes", 1));
    if max < min {
        return Err(format!(
            "Value of 'max-block-bytes' ({max}) must be greater than or equal to value of 'min-block-bytes' ({min})"
        ));
    }
    let splits = int("splits", 0);
    if splits < 0 {
        return Err(format!(
            "Value of `--splits` ({splits}) must not be negative"
        ));
    }
    let cycle_length = int("cycle-length", i64::MAX);
    if cycle_length < 1 {
        return Err(format!(
            "Value of `--cycle-length` ({cycle_length}) must be greater than 0"
        ));
    }
    if keys == KvKeys::Sequential && cycle_length <= splits {
        return Err(format!(
            "Value of `--splits` ({splits}) must be less than the value of `--cycle-length` ({cycle_length}) if --sequential is used"
        ));
    }
    let percents = ["read-percent", "span-percent", "del-percent"].map(|name| int(name, 0));
    if percents.iter().any(|percent| *percent < 0) || percents.iter().sum::<i64>() > 100 {
        return Err(
            "'read-percent', 'span-percent' and 'del-percent' combined exceed 100%".to_owned(),
        );
    }
    let compression = flags
        .text("target-compression-ratio")
        .map(|_| flags.float("target-compression-ratio"));
    let compression = compression.unwrap_or(1.0);
    if !(compression >= 1.0 && compression.is_finite()) {
        return Err("'target-compression-ratio' must be a number >= 1.0".to_owned());
    }
    let mut params = Vec::new();
    let mut set = |name: &str, value: String| params.push(format!("{name}={value}"));
    let [read, span, del] = percents;
    set("read_percent", read.to_string());
    set("span_percent", span.to_string());
    set("del_percent", del.to_string());
    set("batch", int("batch", 1).to_string());
    set("span_limit", int("span-limit", 0).to_string());
    set("keys", keys.name().to_owned());
    set("key_seed", int("seed", 1).to_string());
    set("cycle_length", cycle_length.to_string());
    set("min_block_bytes", min.to_string());
    set("max_block_bytes", max.to_string());
    set("compression_ratio", compression.to_string());
    set("write_seq", write_seq(keys, flags)?.to_string());
    if flags.text("zipfian-s").is_some() {
        set("zipfian_s", flags.float("zipfian-s").to_string());
    }
    let locks = flags.is_set("sfu-writes");
    set("sfu_writes", locks.to_string());
    if let Some(wait) = flags.duration("sfu-wait-delay") {
        set("sfu_wait_ms", wait.as_millis().to_string());
    }
    let (mut of_products, mut of_init) = (Vec::new(), Vec::new());
    if flags.makes_tables(verb) {
        // Only what is asked for is compared with a table that is there: like cockroach's, init leaves
        // one as it is.
        let rows = flags.count("insert-count")?;
        if let Some(rows) = rows {
            set("insert_count", rows.to_string());
        }
        if flags.text("secondary-index").is_some() {
            set(
                "secondary_index",
                flags.is_set("secondary-index").to_string(),
            );
        }
        if rows.is_some_and(|rows| rows > 0) || splits > 0 {
            let (lowest, highest) = keys.range(cycle_length);
            let loaded = if keys == KvKeys::Zipfian {
                "spread"
            } else {
                keys.name()
            };
            set("loaded_keys", loaded.to_owned());
            set("loaded_key_seed", int("seed", 1).to_string());
            set("key_min", lowest.to_string());
            set("key_max", highest.to_string());
            set("loaded_bytes_min", min.to_string());
            set("loaded_bytes_max", max.to_string());
            set("loaded_compression", compression.to_string());
        }
        of_products.push((format!("splits={splits}"), "splits"));
        let scatter = flags.is_set("scatter");
        of_products.push((format!("scatter={scatter}"), "scatter"));
    } else {
        of_init.extend((splits > 0).then_some("splits"));
        of_init.extend(flags.is_set("scatter").then_some("scatter"));
    }
    Ok(CockroachWorkload {
        params,
        of_products,
        of_init,
        retries: locks,
        ..CockroachWorkload::default()
    })
}

fn keys(flags: &Flags<'_>) -> Result<KvKeys, String> {
    match (flags.is_set("sequential"), flags.is_set("zipfian")) {
        (true, true) => Err("'sequential' and 'zipfian' cannot both be enabled".to_owned()),
        (true, false) => Ok(KvKeys::Sequential),
        (false, true) => Ok(KvKeys::Zipfian),
        (false, false) => Ok(KvKeys::Random),
    }
}

/// The number that writes begin with.
fn write_seq(keys: KvKeys, flags: &Flags<'_>) -> Result<u64, String> {
    let given = flags.text("write-seq").unwrap_or_default();
    let mut rest = given.chars();
    let Some(letter) = rest.next() else {
        return Ok(0);
    };
    let number = rest.as_str().parse::<u64>().ok();
    let (true, Some(number)) = ("RSZ".contains(letter), number) else {
        return Err("--write-seq has to be of the form '(R|S|Z)<num>'".to_owned());
    };
    match letter {
        letter if letter == keys.letter() => Ok(number),
        'R' => Err("random --write-seq incompatible with a --sequential and --zipfian".to_owned()),
        'S' => Err("sequential --write-seq is incompatible with a --zipfian and default (random) key sequence".to_owned()),
        _ => Err("zipfian --write-seq is incompatible with a --sequential or default (random) key sequence".to_owned()),
    }
}

/// What is printed of the sequence at the end of a run, before its totals: how often reads found
/// nothing, and how far writes have come. `drawn` has the pack's counters.
pub fn sequence(parsed: &ParsedFlags, drawn: &BTreeMap<String, u64>) -> String {
    let flags = Flags(parsed);
    // The flags were checked before the run.
    let keys = keys(&flags).unwrap_or(KvKeys::Random);
    let begun = write_seq(keys, &flags).unwrap_or(0);
    let counted = |name: &str| drawn.get(name).copied().unwrap_or(0);
    let mut text = match counted("empty") {
        0 => String::new(),
        empty => format!("Number of reads that didn't return any results: {empty}.\n"),
    };
    let cycle_length = flags.int("cycle-length").unwrap_or(i64::MAX).unsigned_abs();
    let reached = begun.saturating_add(counted("written")) % cycle_length.max(1);
    let letter = keys.letter();
    text.push_str(&format!(
        "Highest sequence written: {reached}. Can be passed as --write-seq={letter}{reached} to the next run.\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{all, parse};
    use crate::generator::TransactionGenerator;

    fn parsed(verb: Verb, line: &str) -> ParsedFlags {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&all(TransactionGenerator::Kv, verb), &arguments).unwrap()
    }

    fn of(verb: Verb, line: &str) -> Result<CockroachWorkload, String> {
        workload(verb, &Flags(&parsed(verb, line)))
    }

    #[test]
    fn flags_become_the_packs_parameters() {
        let has = |params: &[String], wanted: &str| {
            for one in wanted.split_whitespace() {
                assert!(params.iter().any(|param| param == one), "{one}: {params:?}");
            }
        };
        let run = of(
            Verb::Run,
            "--seed=7 --read-percent=95 --batch=4 --min-block-bytes=64 --max-block-bytes=64",
        )
        .unwrap();
        has(
            &run.params,
            "keys=random key_seed=7 read_percent=95 batch=4 min_block_bytes=64 max_block_bytes=64 write_seq=0",
        );
        assert!(
            !run.params
                .iter()
                .any(|param| param.starts_with("insert_count"))
        );
        let init = of(
            Verb::Init,
            "--sequential --cycle-length=500 --insert-count=9 --secondary-index --splits=3 --max-block-bytes=8",
        )
        .unwrap();
        has(
            &init.params,
            "keys=sequential insert_count=9 secondary_index=true loaded_keys=sequential loaded_key_seed=1 key_min=0 key_max=500 loaded_bytes_min=1 loaded_bytes_max=8",
        );
        assert_eq!(init.of_products[0], ("splits=3".to_owned(), "splits"));
        // A run takes the table as it is, and says so.
        let run = of(Verb::Run, "--splits=3 --scatter").unwrap();
        assert_eq!(
            (run.of_products, run.of_init),
            (vec![], vec!["splits", "scatter"])
        );
        let run = of(Verb::Run, "--splits=3 --init").unwrap();
        assert!(run.of_products.len() == 2 && run.of_init.is_empty());
        // No rows: nothing of a table that is there can be wrong.
        let init = of(Verb::Init, "--max-block-bytes=8 --seed=5 --sequential").unwrap();
        let of_tables = |param: &String| param.starts_with("loaded_") || param.starts_with("key_m");
        assert!(!init.params.iter().any(of_tables), "{:?}", init.params);
        let again = of(
            Verb::Run,
            "--zipfian --write-seq=Z12 --sfu-writes --sfu-wait-delay=5ms",
        )
        .unwrap();
        has(
            &again.params,
            "keys=zipfian write_seq=12 sfu_writes=true sfu_wait_ms=5",
        );
        assert!(again.retries && !run.retries);
    }

    /// The texts without a dash in front are cockroach's.
    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, said) in [
            (
                "--min-block-bytes=5 --max-block-bytes=4",
                "Value of 'max-block-bytes' (4) must be greater than or equal to value of 'min-block-bytes' (5)",
            ),
            (
                "--splits=-1",
                "Value of `--splits` (-1) must not be negative",
            ),
            (
                "--cycle-length=0",
                "Value of `--cycle-length` (0) must be greater than 0",
            ),
            (
                "--sequential --cycle-length=3 --splits=3",
                "Value of `--splits` (3) must be less than the value of `--cycle-length` (3) if --sequential is used",
            ),
            (
                "--sequential --zipfian",
                "'sequential' and 'zipfian' cannot both be enabled",
            ),
            (
                "--read-percent=60 --span-percent=50",
                "'read-percent', 'span-percent' and 'del-percent' combined exceed 100%",
            ),
            (
                "--target-compression-ratio=0.5",
                "'target-compression-ratio' must be a number >= 1.0",
            ),
            (
                "--write-seq=12",
                "--write-seq has to be of the form '(R|S|Z)<num>'",
            ),
            (
                "--write-seq=S12",
                "sequential --write-seq is incompatible with a --zipfian and default (random) key sequence",
            ),
            (
                "--write-seq=R12 --sequential",
                "random --write-seq incompatible with a --sequential and --zipfian",
            ),
            (
                "--key-size=30",
                "--key-size cannot be had: keys of pgdyno's kv are numbers",
            ),
        ] {
            assert_eq!(of(Verb::Run, line).unwrap_err(), said, "{line}");
        }
        for line in [
            "--key-size=0",
            "--enum=false",
            "--timeout=0ms",
            "--zipfian-v=1.0",
        ] {
            assert!(of(Verb::Run, line).is_ok(), "{line}");
        }
    }

    #[test]
    fn the_end_says_where_the_next_run_goes_on() {
        let drawn = |counts: &[(&str, u64)]| {
            counts
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        let random = sequence(
            &parsed(Verb::Run, "--write-seq=R100"),
            &drawn(&[("written", 20), ("empty", 3)]),
        );
        assert_eq!(
            random,
            "Number of reads that didn't return any results: 3.\nHighest sequence written: 120. Can \
             be passed as --write-seq=R120 to the next run.\n"
        );
        let cyclic = sequence(
            &parsed(Verb::Run, "--sequential --cycle-length=50"),
            &drawn(&[("written", 120)]),
        );
        assert!(
            cyclic.starts_with("Highest sequence written: 20. "),
            "{cyclic}"
        );
        assert!(cyclic.contains("--write-seq=S20"));
    }
}
