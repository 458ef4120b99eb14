//! The verdict as it is shown: in the summary, as JSON (docs/json.md) and on the report's page.

use serde::Serialize;

/// The code of a verdict that names no limit.
pub const NOT_KNOWN: &str = "not-known";

/// What limited a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The rule's code, or `not-known`.
    pub limit: String,
    /// In one sentence.
    pub sentence: String,
    /// What proves it, the strongest first.
    pub evidence: Vec<Proof>,
    /// What would be met next.
    pub second: Option<LimitOf>,
    /// What to try.
    #[serde(rename = "try")]
    pub remedies: Vec<String>,
    /// All rules, in their order.
    pub rules: Vec<RuleRow>,
}

/// A limit and its sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitOf {
    /// The rule's code.
    pub limit: String,
    /// In one sentence.
    pub sentence: String,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// Short, with its unit: `82 %`.
    pub figure: String,
    /// What it is.
    pub sentence: String,
    /// Where the report's page shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// A section of the report's page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// What to read on it.
    pub text: &'static str,
    /// The section's id.
    pub section: &'static str,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleRow {
    /// Its code.
    pub code: String,
    /// Its name for people.
    pub name: String,
    /// What came of it.
    pub state: State,
    /// The figure that decided, or why there is none.
    pub figure: String,
}

/// What came of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// This is what limited the trial.
    Limit,
    /// This would be next.
    Second,
    /// It was not this.
    RuledOut,
    /// The rule says nothing on a trial of this kind.
    NotApplicable,
    /// What it would need was not recorded.
    NotKnown,
}

impl Proof {
    /// Without a link.
    pub fn new(figure: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            figure: figure.into(),
            sentence: sentence.into(),
            link: None,
        }
    }

    /// With a link to a section of the page.
    pub fn at(mut self, section: &'static str, text: &'static str) -> Self {
        self.link = Some(Link { text, section });
        self
    }
}
