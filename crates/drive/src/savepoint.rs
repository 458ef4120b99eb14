//! A script made ready for the savepoint protocol: a SAVEPOINT behind its BEGIN, its RELEASE before
//! the COMMIT. They are commands like any other, so that what they cost is seen.

use pgdyno_script::{Names, Op, Script};

use crate::effects::{Effects, single_verb};
use crate::insertion::insert;

/// The position of the savepoint in a script.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The command that sets it. A replay begins with the next one.
    pub(crate) savepoint: usize,
    /// The command that releases it, which commits.
    pub(crate) release: usize,
    /// What goes back to it.
    pub(crate) rollback: String,
}

/// Why a script cannot be run in this way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) line: u32,
    pub(crate) reason: String,
}

/// Adds the commands of the protocol to a script that has exactly one block, from the first to the
/// last of its statements.
pub(crate) fn protect(mut script: Script, name: &str) -> Result<(Script, Block), Unfit> {
    let (begin, commit) = block(&script)?;
    let mut names = Names::new();
    let text = format!("SAVEPOINT {name};\nRELEASE SAVEPOINT {name};\n");
    let words = pgdyno_script::parse(&script.name, &text, &mut names).map_err(|error| Unfit {
        line: 1,
        reason: format!("the savepoint \"{name}\": {error}"),
    })?;
    let places = [begin + 1, commit];
    insert(
        &mut script,
        places.into_iter().zip(words.commands).collect(),
    );
    let block = Block {
        savepoint: begin + 1,
        release: commit + 1,
        rollback: format!("ROLLBACK TO SAVEPOINT {name}"),
    };
    Ok((script, block))
}

/// The commands that begin and end the script's one block.
fn block(script: &Script) -> Result<(usize, usize), Unfit> {
    let unfit = |line: u32, reason: &str| Unfit {
        line,
        reason: format!("--retry savepoint replays one block from BEGIN to COMMIT, but {reason}"),
    };
    let (mut begin, mut commit, mut depth) = (None, None, 0_u32);
    for (index, command) in script.commands.iter().enumerate() {
        let wrong = |reason: &str| Err(unfit(command.line, reason));
        let sql = match &command.op {
            Op::Sql(sql) => sql,
            Op::If { .. } | Op::For(_) => {
                depth += 1;
                continue;
            }
            Op::EndIf | Op::EndFor { .. } => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Op::StartPipeline => return wrong("here is a pipeline, whose errors come too late"),
            _ => continue,
        };
        match single_verb(&sql.text).as_deref() {
            Some("BEGIN" | "START") if begin.is_none() && depth == 0 => begin = Some(index),
            Some("COMMIT" | "END") if begin.is_some() && commit.is_none() && depth == 0 => {
                commit = Some(index);
            }
            Some("BEGIN" | "START" | "COMMIT" | "END") => {
                return wrong("this begins or ends another one, or does so only sometimes");
            }
            _ if begin.is_none() || commit.is_some() => {
                return wrong("this statement is outside of it");
            }
            _ => {
                let inside = Effects::of(&sql.text).when(true);
                if inside.may_commit || !inside.in_block {
                    return wrong("this may end it early");
                }
            }
        }
    }
    match (begin, commit) {
        (Some(begin), Some(commit)) => Ok((begin, commit)),
        _ => Err(unfit(1, "the script has none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(text: &str) -> Result<(Vec<String>, Block), String> {
        let script = pgdyno_script::parse("a script", text, &mut Names::new()).unwrap();
        let (script, block) = protect(script, "again").map_err(|unfit| unfit.reason)?;
        let texts = script.commands.iter().map(|command| command.text.clone());
        Ok((texts.collect(), block))
    }

    #[test]
    fn the_savepoint_follows_begin_and_its_release_precedes_commit() {
        let (texts, block) = protected("\\set a 1\nBEGIN;\nSELECT :a;\nEND;\n\\set b 2\n").unwrap();
        assert_eq!(
            texts,
            [
                "\\set a 1",
                "BEGIN;",
                "SAVEPOINT again;",
                "SELECT :a;",
                "RELEASE SAVEPOINT again;",
                "END;",
                "\\set b 2"
            ]
        );
        assert_eq!((block.savepoint, block.release), (2, 4));
        assert_eq!(block.rollback, "ROLLBACK TO SAVEPOINT again");
    }

    #[test]
    fn jumps_lead_where_they_led() {
        let text = "\\if 0\n\\set a 1\n\\endif\nbegin;\n\\if 1\nselect 1;\n\\else\nselect 2;\n\
                    \\endif\ncommit;\n\\if 0\n\\set b 1\n\\endif\n\\set c 1\n";
        let script = pgdyno_script::parse("s", text, &mut Names::new()).unwrap();
        let target = |script: &Script, to: usize| {
            script.commands.get(to).map(|command| command.text.clone())
        };
        let targets = |script: &Script| -> Vec<Option<String>> {
            let jumps = script.commands.iter().filter_map(|c| match &c.op {
                Op::If { on_false, .. } => Some(*on_false),
                Op::Else { end } => Some(*end),
                _ => None,
            });
            jumps.map(|to| target(script, to)).collect()
        };
        let before = targets(&script);
        let after = targets(&protect(script, "again").unwrap().0);
        assert_eq!(before.len(), 4);
        for (before, after) in before.into_iter().zip(after) {
            let before = before.unwrap();
            let expected = match before.as_str() {
                "commit;" => "RELEASE SAVEPOINT again;",
                other => other,
            };
            assert_eq!(after.unwrap(), expected);
        }
    }

    #[test]
    fn a_script_that_is_not_one_block_is_refused_with_the_reason() {
        for (text, why) in [
            ("select 1;\n", "outside"),
            ("\\set a 1\n", "has none"),
            ("begin;\nselect 1;\n", "has none"),
            ("begin;\nend;\nselect 1;\n", "outside"),
            ("begin;\nend;\nbegin;\nend;\n", "another"),
            ("begin;\nselect 1\\; commit;\nend;\n", "end it early"),
            ("begin;\nrollback;\nend;\n", "end it early"),
            ("begin\\; select 1;\nend;\n", "outside"),
            ("\\if 1\nbegin;\n\\endif\nend;\n", "sometimes"),
            (
                "begin;\n\\startpipeline\nselect 1;\n\\endpipeline\nend;\n",
                "pipeline",
            ),
        ] {
            let reason = protected(text).unwrap_err();
            assert!(reason.contains(why), "{text}: {reason}");
        }
    }
}
