//! What clients and the server say while a run goes on: each text once, with a count of the others
//! like it, and no more texts than a person reads.

/// Texts that are shown; further ones are only counted.
const TEXTS_MAX: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Said {
    /// What was shown, and how often it came again.
    known: Vec<(String, u64)>,
    more: u64,
}

impl Said {
    /// Whether this one is to be shown. Clients that say the same say it with their numbers.
    pub(super) fn is_new(&mut self, text: &str) -> bool {
        let text = without_client(text);
        let texts = self.known.len();
        match self.known.iter_mut().find(|(known, _)| known == text) {
            Some((_, again)) => *again += 1,
            None if texts < TEXTS_MAX => {
                self.known.push((text.to_owned(), 0));
                return true;
            }
            None => self.more += 1,
        }
        false
    }

    /// What came again or was not shown, a line each; `what` it was.
    pub(super) fn rest(&self, what: &str) -> Vec<String> {
        let again = self.known.iter().filter(|(_, again)| *again > 0);
        let mut lines: Vec<String> = again
            .map(|(text, again)| {
                let first = text.lines().next().unwrap_or_default();
                format!("{again} more: {first}")
            })
            .collect();
        if self.more > 0 {
            lines.push(format!("and {} more {what}", self.more));
        }
        lines
    }
}

/// The text behind `client 17`.
fn without_client(text: &str) -> &str {
    let numbered = text.strip_prefix("client ");
    let rest = numbered.map(|text| text.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.map_or(text, str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_once_and_counted() {
        let mut said = Said::default();
        let shown: Vec<bool> = (0..5)
            .map(|client| said.is_new(&format!("client {client} aborted: no\nmore")))
            .collect();
        assert_eq!(shown, [true, false, false, false, false]);
        assert!(said.is_new("something else"));
        assert_eq!(said.rest("messages"), ["4 more: aborted: no"]);
    }

    #[test]
    fn texts_without_end_are_counted() {
        let mut said = Said::default();
        let shown = (0..10_000).filter(|n| said.is_new(&format!("notice {n}")));
        assert_eq!(shown.count(), TEXTS_MAX);
        assert_eq!(said.rest("notices"), ["and 9980 more notices"]);
    }
}
