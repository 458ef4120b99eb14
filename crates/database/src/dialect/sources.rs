//! What each fact of a dialect rests on. The comments beside the facts say it, and are read from there,
//! so that there is no second list that could differ: a comment that begins with `Captured`,
//! `Measured`, `Documented`… is what the fact below it rests on, and a fact without one is assumed.

use super::{Dialect, POSTGRESQL};

/// What a fact rests on, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A real server answered so, and its answer is kept.
    Captured,
    /// It was measured on a real server.
    Measured,
    /// The product's documentation says so.
    Documented,
    /// Not documented: from articles, from PostgreSQL, or likely.
    Assumed,
}

impl Source {
    pub const ALL: [Self; 4] = [
        Self::Captured,
        Self::Measured,
        Self::Documented,
        Self::Assumed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Assumed => "assumed",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        match word {
            "articles" | "article" | "inherited" => Some(Self::Assumed),
            word => Self::ALL.into_iter().find(|source| source.word() == word),
        }
    }
}

/// A fact, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// Where it is: `tables.has_fillfactor`, `metrics.crdb.sql.commits`.
    pub fact: String,
    pub source: Source,
    /// What is known, and from where.
    pub text: String,
}

/// A file, and what part of the dialect it has.
struct File {
    part: &'static str,
    text: &'static str,
    /// Whether it has other products' facts, too.
    is_shared: bool,
}

macro_rules! files {
    ($product:literal) => {
        [
            File {
                part: "",
                text: include_str!(concat!($product, ".rs")),
                is_shared: false,
            },
            File {
                part: "cluster",
                text: include_str!(concat!("cluster/", $product, ".rs")),
                is_shared: false,
            },
            File {
                part: "retries",
                text: include_str!(concat!("retries/", $product, ".rs")),
                is_shared: false,
            },
        ]
    };
}

const SHARED: [File; 5] = [
    File {
        part: "explain",
        text: include_str!("explain.rs"),
        is_shared: true,
    },
    File {
        part: "probes",
        text: include_str!("probes.rs"),
        is_shared: true,
    },
    File {
        part: "processes",
        text: include_str!("processes.rs"),
        is_shared: true,
    },
    File {
        part: "server_views",
        text: include_str!("server_views.rs"),
        is_shared: true,
    },
    File {
        part: "storage",
        text: include_str!("storage.rs"),
        is_shared: true,
    },
];

/// The facts of a product, in the order of the dialect.
pub fn of(dialect: &Dialect) -> Vec<Sourced> {
    let own = match dialect.name {
        "cockroachdb" => files!("cockroachdb"),
        "yugabytedb" => files!("yugabytedb"),
        _ => files!("postgresql"),
    };
    let mut all: Vec<Sourced> = Vec::new();
    for file in own.iter().chain(&SHARED) {
        let name = dialect.name.to_uppercase();
        all.extend(read(file, &name, without_comment(dialect)));
    }
    let pages = dialect.metrics.pages.iter();
    all.extend(pages.flat_map(|page| page.metrics).map(|metric| Sourced {
        fact: format!("metrics.{}", metric.series),
        source: named(metric.versions).unwrap_or(Source::Assumed),
        text: metric.versions.to_owned(),
    }));
    all.extend(promised(dialect));
    all
}

/// What is documented of isolation: each entry has its own source.
fn promised(dialect: &Dialect) -> Vec<Sourced> {
    let documented = |fact: String, text: &str| Sourced {
        fact: format!("promises.{fact}"),
        source: Source::Documented,
        text: text.to_owned(),
    };
    let levels = dialect.promises.levels.iter();
    let levels = levels.flat_map(|promise| {
        let level = promise.in_effect;
        let possible = promise.possible.iter();
        std::iter::once(documented(format!("{level}.level"), promise.source))
            .chain(possible.map(move |of| documented(format!("{level}.possible"), of.source)))
            .chain([documented(format!("{level}.time"), promise.time)])
    });
    let substitutes = dialect.promises.substitutes.iter();
    let substitutes = substitutes.map(|of| documented(format!("{}.runs_as", of.asked), of.source));
    levels.chain(substitutes).collect()
}

/// What a fact rests on of which no comment says it.
fn without_comment(dialect: &Dialect) -> (Source, &'static str) {
    if dialect == &POSTGRESQL {
        (Source::Measured, "the tests run on it")
    } else {
        (Source::Assumed, "no source is noted")
    }
}

/// The facts in a file: in the constant of this name where there are other products' in it.
fn read(file: &File, name: &str, unsaid: (Source, &str)) -> Vec<Sourced> {
    let (mut facts, mut comment): (Vec<Sourced>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut is_inside, mut outer) = (false, String::new());
    // What the constant, and the field that this one is within, rest on.
    let (mut of_constant, mut is_said_outside) = (None, false);
    for line in file.text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if line == "#[cfg(test)]" {
            break;
        }
        if let Some(words) = content.strip_prefix("//") {
            // What a file or an item says of itself is no comment of a fact, but of a constant with facts.
            if !words.starts_with('!') {
                comment.push(words.trim_start_matches('/').trim());
            }
            continue;
        }
        let is_constant = indent == 0 && is_constant(content, name);
        is_inside |= is_constant;
        let belongs = is_inside || !file.is_shared;
        let field = field(content);
        if indent == 4 {
            outer = field.unwrap_or_default().to_owned();
        }
        let inner = field.filter(|_| indent > 4).unwrap_or_default();
        let at = [file.part, outer.as_str(), inner];
        let at: Vec<&str> = at.into_iter().filter(|part| !part.is_empty()).collect();
        let said = std::mem::take(&mut comment).join(" ");
        if is_constant {
            of_constant = named(&said).map(|source| (source, said.clone()));
        }
        if indent == 4 && field.is_some() {
            is_said_outside = !sources(&said).is_empty();
        }
        if belongs && !content.is_empty() {
            let of = sources(&said);
            let is_fact = is_inside && field.is_some() && indent <= 8 && !is_group(content);
            let is_within = indent > 4 && is_said_outside;
            if of.is_empty() && is_fact && !is_name(content) && !is_within {
                let whole = of_constant.as_ref();
                let (source, text) = whole.map_or(unsaid, |(source, text)| (*source, text));
                let text = if said.is_empty() { text } else { &said };
                facts.push(Sourced {
                    fact: at.join("."),
                    source,
                    text: text.to_owned(),
                });
            }
            facts.extend(of.into_iter().map(|(source, text)| Sourced {
                fact: at.join("."),
                source,
                text,
            }));
        }
        if indent == 0 && content.ends_with(';') {
            (is_inside, outer) = (false, String::new());
        }
    }
    facts
}

fn is_constant(line: &str, name: &str) -> bool {
    let mut words = line.split([' ', ':']);
    words.any(|word| word == "const") && words.next() == Some(name)
}

/// The field that a line begins with.
fn field(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(':')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Whether facts follow below it, or in another file.
fn is_group(line: &str) -> bool {
    let elsewhere = ["COCKROACHDB,", "POSTGRESQL,", "YUGABYTEDB,", "ERRORS,"];
    line.ends_with(['{', '[']) || elsewhere.iter().any(|name| line.ends_with(name))
}

fn is_name(line: &str) -> bool {
    ["name:", "title:", "why:", "value:", "source:"]
        .iter()
        .any(|name| line.starts_with(name))
}

/// What a comment says, by what that rests on; nothing where it does not say on what.
fn sources(comment: &str) -> Vec<(Source, String)> {
    let mut said: Vec<(Source, String)> = Vec::new();
    let mut starts_sentence = true;
    for word in comment.split(' ') {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
        let is_capital = bare.starts_with(|c: char| c.is_ascii_uppercase());
        let source =
            Source::of_word(&bare.to_lowercase()).filter(|_| starts_sentence && is_capital);
        match (source, said.last_mut()) {
            (Some(source), _) => said.push((source, word.to_owned())),
            (None, Some((_, text))) => *text = format!("{text} {word}"),
            (None, None) => {}
        }
        starts_sentence = word.ends_with(['.', ':', ';']);
    }
    // The word is distinguished from the text.
    for (source, text) in &mut said {
        let after = text
            .split_once(": ")
            .filter(|(word, _)| word.to_lowercase() == source.word());
        if let Some((_, after)) = after {
            *text = after.to_owned();
        }
    }
    if said.is_empty() {
        let source = named(comment);
        said.extend(source.map(|source| (source, comment.to_owned())));
    }
    said
}

/// The surest source that a text names.
fn named(text: &str) -> Option<Source> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphabetic());
    words.filter_map(Source::of_word).min()
}

#[cfg(test)]
mod tests {
    use super::super::{COCKROACHDB, YUGABYTEDB};
    use super::*;

    fn one(dialect: &Dialect, fact: &str) -> Vec<(Source, String)> {
        let all = of(dialect).into_iter().filter(|one| one.fact == fact);
        all.map(|one| (one.source, one.text)).collect()
    }

    #[test]
    fn each_fact_says_what_it_rests_on() {
        let ddl = one(&COCKROACHDB, "tables.transactional_ddl");
        let sources: Vec<Source> = ddl.iter().map(|(source, _)| *source).collect();
        assert_eq!(sources, [Source::Captured, Source::Documented]);
        assert!(ddl[1].1.contains("autocommit_before_ddl, v26.1"), "{ddl:?}");
        assert_eq!(one(&COCKROACHDB, "vacuum")[0].0, Source::Captured);
        // Without a comment of its own: what its constant says, and the field that it is within.
        assert_eq!(one(&COCKROACHDB, "probes.work_us")[0].0, Source::Documented);
        assert_eq!(one(&COCKROACHDB, "retries.inject.since"), []);
        assert_eq!(one(&POSTGRESQL, "truncate")[0].0, Source::Measured);
        let batches = one(&COCKROACHDB, "tables.filling");
        assert_eq!(batches[0].0, Source::Measured);
    }

    #[test]
    fn no_fact_is_without_a_source() {
        for dialect in [&COCKROACHDB, &YUGABYTEDB] {
            let (_, unsaid) = without_comment(dialect);
            let all = of(dialect).into_iter().filter(|one| one.text == unsaid);
            let all: Vec<String> = all.map(|one| one.fact).collect();
            assert!(
                all.is_empty(),
                "{}: write above each of these whether it is captured, measured, documented (page) or assumed: \
                 {all:#?}",
                dialect.title
            );
        }
    }

    #[test]
    fn what_is_promised_is_in_the_list_with_its_source() {
        let level = one(&YUGABYTEDB, "promises.repeatable read.level");
        assert_eq!(level[0].0, Source::Documented);
        assert!(level[0].1.contains("isolation-levels"), "{level:?}");
        let upgraded = one(&COCKROACHDB, "promises.read committed.runs_as");
        assert!(upgraded[0].1.contains("docs v20.2"), "{upgraded:?}");
        for dialect in [&COCKROACHDB, &YUGABYTEDB, &POSTGRESQL] {
            let all = of(dialect).into_iter();
            let promised = all.filter(|one| one.fact.starts_with("promises."));
            let promised: Vec<Sourced> = promised.collect();
            assert!(promised.len() > 6, "{promised:?}");
            assert!(promised.iter().all(|one| !one.text.is_empty()));
        }
    }

    #[test]
    fn of_yugabytedb_nothing_was_captured() {
        let all = of(&YUGABYTEDB);
        assert!(all.len() > 60, "{all:#?}");
        let captured = all.iter().filter(|one| one.source < Source::Documented);
        assert_eq!(captured.count(), 0, "{all:#?}");
    }

    #[test]
    fn no_field_of_a_dialect_is_left_out() {
        let fields = include_str!("mod.rs").lines().filter_map(|line| {
            let name = line.strip_prefix("    pub ")?;
            field(name)
        });
        for dialect in [&COCKROACHDB, &YUGABYTEDB, &POSTGRESQL] {
            let facts = of(dialect);
            for name in fields
                .clone()
                .filter(|name| !["name", "title"].contains(name))
            {
                // PostgreSQL's metrics are SQL, and it has no cluster.
                let is_nothing = dialect == &POSTGRESQL && name == "metrics";
                let is_there = facts
                    .iter()
                    .any(|one| one.fact.split('.').next() == Some(name));
                assert!(is_there || is_nothing, "{}: {name}", dialect.title);
            }
        }
    }
}
