//! What a run draws its transactions from: scripts with weights, wherever they come from.

/// One script of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedScript {
    pub name: String,
    /// Where its text is from, for messages.
    pub file: String,
    pub text: String,
    /// How often it is drawn, relative to the others.
    pub weight: u32,
    /// The variable that tells, at the end of a transaction, how often the server has tried it again
    /// by itself.
    pub retries: Option<String>,
    /// The role of the endpoints that it goes to; none: to those without a role.
    pub role: Option<String>,
    /// Whether a transaction has failed when a statement of it finds no row.
    pub must_find: bool,
    /// The variable that has, when the first statement is sent, the key of the row that the transaction
    /// is about, a whole number.
    pub key: Option<String>,
}

impl WeightedScript {
    /// A script that says nothing of itself, called as where it is from.
    pub fn plain(name: &str, text: String, weight: u32) -> Self {
        Self {
            name: name.to_owned(),
            file: name.to_owned(),
            text,
            weight,
            retries: None,
            role: None,
            must_find: false,
            key: None,
        }
    }
}
