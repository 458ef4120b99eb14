//! What `pgdyno` alone prints on a terminal: the three things to do next.

use std::ffi::OsString;

use pgdyno_platform::terminal;

const WELCOME: &str = "\
pgdyno measures databases that speak PostgreSQL's protocol.

  pgdyno run tpcb                  load and measure a private PostgreSQL
  pgdyno run tpcb -c 8 -T 60 --url postgresql://me@db1/bench
                                   measure yours
  pgdyno report -o first.html      the newest trial as a page with charts

pgdyno --help lists all commands, pgdyno help start explains the first steps.
pgbench's command lines work as they are: pgdyno pgbench -i -s 10 bench.
";

/// The welcome, if nothing else was typed and the output is a terminal.
pub fn of(words: &[OsString]) -> Option<&'static str> {
    (words.len() <= 1 && terminal::stdout_is_terminal()).then_some(WELCOME)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn it_is_short_and_what_it_says_can_be_typed() {
        let lines: Vec<&str> = WELCOME.lines().collect();
        assert!(lines.len() <= 12 && lines.iter().all(|line| line.len() <= 80));
        let typed = lines
            .iter()
            .filter_map(|line| line.strip_prefix("  pgdyno "));
        for line in typed {
            let words = line.split("   ").next().unwrap_or_default();
            let words = ["pgdyno"].into_iter().chain(words.split_whitespace());
            let read = crate::cli::Cli::command().try_get_matches_from(words);
            assert!(read.is_ok(), "{line}: {read:?}");
        }
        // With another word there is none.
        assert_eq!(of(&["pgdyno".into(), "ls".into()]), None);
    }
}
