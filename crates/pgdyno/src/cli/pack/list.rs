//! `pgdyno pack list`: the built-in workloads on one screen, found by a word, or one with all that can be chosen.

use serde_json::json;

use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::shipped;

use super::find;

/// A line of a usual terminal.
const COLUMNS: usize = 80;
/// The tag of packs that are one line of the whole list together.
const FAMILY: &str = "cockroach";

/// The packs with this word in name, summary or tags; with a name the one of it.
fn matching(word: Option<&str>) -> Result<Vec<Pack>, Failure> {
    let all = shipped::names().into_iter().map(find);
    let mut packs = all.collect::<Result<Vec<Pack>, Failure>>()?;
    let Some(word) = word else {
        return Ok(packs);
    };
    if shipped::exists(word) {
        packs.retain(|pack| pack.name() == word);
        return Ok(packs);
    }
    let wanted = word.to_lowercase();
    packs.retain(|pack| {
        let m = &pack.manifest;
        let texts = [&m.name, &m.summary].into_iter().chain(&m.tags);
        texts
            .into_iter()
            .any(|text| text.to_lowercase().contains(&wanted))
    });
    if !packs.is_empty() {
        Ok(packs)
    } else {
        Err(Failure::with(
            Exit::Usage,
            format!("no workload has \"{word}\" in its name, summary or tags"),
        )
        .hint("all of them: pgdyno pack list; one of your own: pgdyno pack new NAME"))
    }
}

pub(super) fn text(word: Option<&str>, verbose: bool) -> Result<String, Failure> {
    let mut packs = matching(word)?;
    if let [pack] = packs.as_slice() {
        return Ok(in_full(pack));
    }
    let all = packs.len();
    if word.is_none() && !verbose {
        packs.retain(|pack| !pack.manifest.tags.iter().any(|tag| tag == FAMILY));
    }
    let width = packs
        .iter()
        .map(|pack| pack.name().len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for pack in &packs {
        let line = format!("{:width$}  {}", pack.name(), pack.manifest.summary);
        text += &format!("{}\n", cut(&line));
        if verbose {
            let lines = pack.manifest.description.lines();
            lines.for_each(|line| text += &format!("{:width$}    {line}\n", ""));
        }
    }
    match all - packs.len() {
        0 => {}
        left => {
            text += &format!(
                "and {left} of cockroach workload (kv, bank, movr …): pgdyno pack list {FAMILY}\n"
            )
        }
    }
    text += "\nParameters and mixes: pgdyno pack list NAME; its files: pgdyno pack show NAME\n";
    Ok(text)
}

/// So much of a line as a terminal shows.
fn cut(line: &str) -> String {
    if line.chars().count() > COLUMNS {
        line.chars().take(COLUMNS - 1).chain(['…']).collect()
    } else {
        line.to_owned()
    }
}

fn in_full(pack: &Pack) -> String {
    let m = &pack.manifest;
    let mut text = format!("{}: {}\n", m.name, m.summary);
    for line in m.description.lines() {
        text += &format!("  {line}\n");
    }
    if let Some(base) = &m.uses {
        text += &format!("\non the tables of {base}, with its parameters\n");
    }
    if !m.params.is_empty() {
        text += "\nparameters (--param NAME=VALUE)\n";
    }
    for p in &m.params {
        text += &format!("  {} (default {}): {}\n", p.name, p.default, p.help);
    }
    if !m.mixes.is_empty() {
        text += "\nmixes\n";
    }
    for mix in &m.mixes {
        text += &format!("  --mix {}: {}\n", mix.name, mix.help);
    }
    text
}

pub(super) fn json(word: Option<&str>) -> Result<String, Failure> {
    let packs = matching(word)?;
    let packs = packs.iter().map(|pack| {
        let m = &pack.manifest;
        let params = m.params.iter();
        let params = params
            .map(|p| json!({"name": p.name, "default": p.default.to_string(), "help": p.help}));
        let mixes = m.mixes.iter();
        let mixes = mixes.map(|mix| json!({"name": mix.name, "help": mix.help}));
        json!({
            "name": m.name,
            "summary": m.summary,
            "tags": m.tags,
            "uses": m.uses,
            "params": params.collect::<Vec<_>>(),
            "mixes": mixes.collect::<Vec<_>>(),
        })
    });
    Ok(format!(
        "{:#}\n",
        json!({"packs": packs.collect::<Vec<_>>()})
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fit_a_screen_and_a_word_finds_some() {
        let all = text(None, false).unwrap();
        assert!(all.lines().count() <= 24, "{all}");
        assert!(
            all.lines().all(|line| line.chars().count() <= COLUMNS),
            "{all}"
        );
        // What is cut still says what it is.
        let cut = all.lines().filter(|line| line.ends_with('…'));
        assert!(cut.count() <= 6, "summaries are too long: {all}");
        assert!(all.contains("and 9 of cockroach workload") && !all.contains("connectionlatency"));
        let family = text(Some(FAMILY), false).unwrap();
        assert!(family.contains("connectionlatency") && family.contains("\nkv "));
        let hot = text(Some("HOT"), false).unwrap();
        assert!(
            hot.contains("smallbank") && hot.contains("upsert") && !hot.contains("probe"),
            "{hot}"
        );
        let e = text(Some("nothing-like-it"), false).unwrap_err();
        assert_eq!(e.exit, Exit::Usage);
        assert!(text(None, true).unwrap().contains("`pgbench -N`"));
    }

    #[test]
    fn one_is_shown_with_its_parameters() {
        let text = |name| text(Some(name), false).unwrap();
        assert!(text("tpcb").contains("scale (default 1): "));
        assert!(text("simple-update").contains("on the tables of tpcb, with its parameters"));
        let all: serde_json::Value = serde_json::from_str(&json(Some("tpcb")).unwrap()).unwrap();
        assert_eq!(all["packs"][0]["params"][0]["name"], "scale");
        assert_eq!(all["packs"].as_array().unwrap().len(), 1);
    }
}
