//! An answer in the terminal and in Markdown: the same words as on the page.

use pgdyno_model::document::answer::{Answer, Sure, SureState};

use crate::markdown::escaped;
use crate::wrap::wrapped;

/// Where the text of a line begins.
const INDENT: usize = 12;

/// The answer as lines of text: what a terminal begins with.
pub fn text(answer: &Answer) -> String {
    let mut text = wrapped("", &format!("{}.", plain(&answer.sentence)), 0);
    for proof in &answer.evidence {
        text += &wrapped(
            &format!("{:>10}", proof.figure),
            &plain(&proof.sentence),
            INDENT,
        );
    }
    if let Some(careful) = &answer.careful {
        text += &wrapped("careful", &plain(careful), INDENT);
    }
    for sure in &answer.sure {
        let line = format!("{}: {}", sure.name, plain(&sure.text));
        text += &wrapped(word(sure), &line, INDENT);
    }
    for remedy in &answer.remedies {
        text += &wrapped("try", &plain(remedy), INDENT);
    }
    text
}

pub fn markdown(answer: &Answer) -> String {
    let mut text = format!("**{}.**\n\n", escaped(&answer.sentence));
    for proof in &answer.evidence {
        let (figure, sentence) = (escaped(&proof.figure), escaped(&proof.sentence));
        text += &format!("- **{figure}** {sentence}\n");
    }
    if let Some(careful) = &answer.careful {
        text += &format!("- careful: {}\n", escaped(careful));
    }
    for sure in &answer.sure {
        let (word, name) = (word(sure), escaped(&sure.name));
        text += &format!("- {word}: {name}: {}\n", escaped(&sure.text));
    }
    for remedy in &answer.remedies {
        text += &format!("- try: {}\n", escaped(remedy));
    }
    text + "\n"
}

fn word(sure: &Sure) -> &'static str {
    match sure.state {
        SureState::Held => "held",
        SureState::Failed => "failed",
        SureState::Limit => "limit",
    }
}

/// Without the marks of code, which a terminal does not show.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::Proof;

    #[test]
    fn the_terminal_and_markdown_say_the_same() {
        let answer = Answer {
            sentence: "tpcb peaks at 16 clients".to_owned(),
            evidence: vec![Proof::new(
                "1,250/s",
                "committed there, the median of 6 repeats",
            )],
            careful: Some("levels differ".to_owned()),
            sure: vec![
                Sure::held("Repeats", "six"),
                Sure::failed("Drift", "12 %"),
                Sure::limit("One server", "of its kind"),
            ],
            remedies: vec!["`pgdyno sweep --repeat 5`".to_owned()],
            ..Answer::default()
        };
        let expected = "\
tpcb peaks at 16 clients.
   1,250/s  committed there, the median of 6 repeats
careful     levels differ
held        Repeats: six
failed      Drift: 12 %
limit       One server: of its kind
try         pgdyno sweep --repeat 5
";
        assert_eq!(text(&answer), expected);
        let expected = "\
**tpcb peaks at 16 clients.**

- **1,250/s** committed there, the median of 6 repeats
- careful: levels differ
- held: Repeats: six
- failed: Drift: 12 %
- limit: One server: of its kind
- try: `pgdyno sweep --repeat 5`

";
        assert_eq!(markdown(&answer), expected);
    }
}
