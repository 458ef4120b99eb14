//! Nodes that join the cluster during a trial as endpoints of its clients (`--new-nodes`), and their pages.
//!
//! Not for: finding out that they joined (`moves.rs`).

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_wire::Candidate;

use super::node::NodePage;
use super::place::{self, Places};
use crate::{Instrument, Readings};
use pgdyno_database::dialect::Dialect;
use pgdyno_database::dialect::metrics::Page;
use pgdyno_database::open::Target;
use pgdyno_model::document::Node;
use pgdyno_model::observed::Gap;

/// Adds an endpoint of these candidates to a run; an error: why it does not, as a clause.
pub type AddEndpoint = Arc<dyn Fn(Vec<Candidate>) -> Result<(), String> + Send + Sync>;

/// What makes endpoints of nodes. Clones share what has joined.
#[derive(Clone)]
pub struct Joining {
    /// As clients see it, with its settings.
    target: Target,
    add: AddEndpoint,
    joined: Arc<Mutex<Vec<Node>>>,
}

impl Joining {
    /// Of a trial whose clients are at this target, and go to endpoints that `add` adds.
    pub fn new(target: Target, add: AddEndpoint) -> Self {
        Self {
            target,
            add,
            joined: Arc::default(),
        }
    }

    /// A node that takes connections; whether it was no endpoint before.
    ///
    /// # Errors
    /// It becomes none: why, as a clause.
    pub fn take(&self, node: &Node) -> Result<bool, String> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = self.target.endpoints.iter();
        let is_known = first.any(|endpoint| endpoint.name == node.address)
            || joined.iter().any(|known| known.address == node.address);
        if is_known {
            return Ok(false);
        }
        let endpoint = self.target.endpoint_at(&node.address)?;
        (self.add)(endpoint.candidates)?;
        joined.push(node.clone());
        Ok(true)
    }

    fn joined(&self, from: usize) -> Vec<Node> {
        let joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined[from..].to_vec()
    }
}

/// A page of all nodes that have joined.
pub struct JoinedPages {
    page: &'static Page,
    dialect: &'static Dialect,
    joining: Joining,
    nodes: Vec<(String, NodePage)>,
}

impl JoinedPages {
    pub fn new(page: &'static Page, dialect: &'static Dialect, joining: Joining) -> Self {
        Self {
            page,
            dialect,
            joining,
            nodes: Vec::new(),
        }
    }
}

impl Instrument for JoinedPages {
    fn name(&self) -> &str {
        self.page.instrument
    }

    fn source(&self) -> String {
        format!("{} of nodes that join", self.page.path)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let mut missing = Vec::new();
        for (label, page) in &mut self.nodes {
            missing.extend(page.read(out).err().map(|gap| (label.clone(), gap)));
        }
        for node in self.joining.joined(self.nodes.len()) {
            let node = place::Node::of(&node);
            // How nodes were started is asked again: this one was not there.
            let places = Places::new(&self.joining.target, self.dialect);
            let label = node.label.clone();
            let mut page = NodePage::new(self.page, node, places);
            missing.extend(page.begin(out).err().map(|gap| (label.clone(), gap)));
            self.nodes.push((label, page));
        }
        for (label, gap) in missing {
            out.gap(label, gap);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        for (label, page) in &mut self.nodes {
            if let Err(gap) = page.end(out) {
                out.gap(label.clone(), gap);
            }
        }
        Ok(())
    }
}
