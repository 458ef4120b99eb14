//! A node that does the work of all: because most leaders are there (`leaders`), or because a few of
//! the ranges or tablets that it leads get most of the requests (`hot-range`).
//!
//! It is a limit where that node has no CPU left. Requests are counted where they are done: CPU time
//! would not tell, since the nodes that clients are connected to use it for SQL.

use pgdyno_model::document::{Cause, Part};
use pgdyno_spec::text;

use super::{BUSY_SHARE, alone, cpu_shares, most, of_nodes, requests, summed};
use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule, check};

pub const LEADERS: Rule = Rule {
    cause: Cause::Leaders,
    code: "leaders",
    name: "Leaders on few nodes",
    is_of_checkpoints: false,
    examine: |evidence| examine(evidence, Why::Leaders),
};
/// Leaders are spread, the work is not.
pub const HOT_RANGE: Rule = Rule {
    cause: Cause::HotRange,
    code: "hot-range",
    name: "Hot range or tablet",
    is_of_checkpoints: false,
    examine: |evidence| examine(evidence, Why::HotRange),
};

/// A node with so many times its fair part has too much, where that is possible: of two nodes none can
/// have more than twice its part.
const UNEVEN: f64 = 2.0;
/// Parts that the node of a leader has in its hands.
const AT_LEADERS: [Part; 3] = [Part::Admission, Part::KeyValue, Part::DataReads];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Leaders,
    HotRange,
}

/// The node that does most.
pub struct Busiest<'a> {
    pub node: &'a str,
    /// The share of all requests that it did.
    pub share: f64,
    /// The share of all leaders that are there; `None` where nodes do not tell.
    pub leaders: Option<f64>,
    /// The share of its CPUs that it used.
    pub cpu: Option<f64>,
    nodes: f64,
}

impl<'a> Busiest<'a> {
    /// Of several nodes; `None` where they are not several or did nothing.
    pub fn of(evidence: &'a Evidence<'_>) -> Option<Self> {
        let requests = requests(evidence);
        let all: f64 = requests.values().sum();
        let (node, done) = most(&requests).filter(|_| requests.len() > 1 && all > 0.0)?;
        let leaders = summed(evidence, &[&["crdb.leaseholders"], &["yb.leaders"]]);
        let of_all: f64 = leaders.values().sum();
        Some(Self {
            node,
            share: done / all,
            leaders: leaders
                .get(node)
                .filter(|_| of_all > 0.0)
                .map(|led| led / of_all),
            cpu: cpu_shares(evidence).get(node).copied(),
            nodes: requests.len() as f64,
        })
    }

    /// Whether a share is far more than that of one of so many nodes.
    fn is_uneven(&self, share: f64) -> bool {
        let fair = 1.0 / self.nodes;
        share >= (UNEVEN * fair).min((1.0 + fair) / 2.0)
    }

    /// Whether it has the work of others, and no CPU left for it; `None` where the latter is not reported.
    pub fn is_limit(&self) -> Option<bool> {
        if self.is_uneven(self.share) {
            self.cpu.map(|cpu| cpu >= BUSY_SHARE)
        } else {
            Some(false)
        }
    }

    fn why(&self) -> Why {
        // Half of what makes the work uneven is no even spread of leaders.
        let fair = 1.0 / self.nodes;
        match self.leaders {
            Some(leaders) if leaders < fair + (self.share - fair) / 2.0 => Why::HotRange,
            _ => Why::Leaders,
        }
    }

    fn shares(&self, evidence: &Evidence<'_>) -> Vec<f64> {
        // Without its CPUs only what others could have done is known to be too much.
        let part = match self.is_limit() {
            Some(false) => 0.0,
            Some(true) => 1.0,
            None => self.share - 1.0 / self.nodes,
        };
        let shares = evidence.shares(&AT_LEADERS).into_iter();
        shares.map(|share| share * part).collect()
    }
}

fn examine(evidence: &Evidence<'_>, why: Why) -> Examined {
    if let Some(unknown) = alone(evidence) {
        return unknown;
    }
    let Some(busiest) = Busiest::of(evidence) else {
        return Examined::NotKnown("no node did anything".to_owned());
    };
    let node = busiest.node;
    let did = text::roughly(busiest.share);
    let leaders = busiest.leaders.map_or_else(String::new, |leaders| {
        format!(" and has {} of the leaders", text::roughly(leaders))
    });
    if !busiest.is_uneven(busiest.share) || busiest.why() != why {
        return Examined::nothing(evidence, format!("{node} did {did} of the work{leaders}"));
    }
    let cpu = match busiest.cpu {
        Some(cpu) => format!("{node} used {} of its CPUs", text::roughly(cpu)),
        None => "nodes do not report their CPU use".to_owned(),
    };
    let (sentence, remedy) = match why {
        Why::Leaders => (
            format!("Leaders on few nodes limited it: {node} did most of the work"),
            "spread the leaders over all nodes: check what pins them (zone configurations with \
             `lease_preferences`, preferred zones), and split tables that have fewer ranges or \
             tablets than there are nodes",
        ),
        Why::HotRange => (
            format!(
                "A hot range or tablet limited it: {node} did most of the work, and has no more \
                 leaders than others"
            ),
            "split the hot range or tablet (`ALTER TABLE … SPLIT AT`), and spread keys that follow \
             each other (hash-sharded index, hash partitioning)",
        ),
    };
    let others: Vec<String> = cpu_shares(evidence)
        .into_iter()
        .filter(|(of, _)| *of != node)
        .map(|(of, cpu)| format!("{of} {}", text::roughly(cpu)))
        .collect();
    let beside = if others.is_empty() {
        String::new()
    } else {
        format!(", {}", others.join(", "))
    };
    let mut proofs = vec![of_nodes(
        did.clone(),
        format!(
            "of the requests were done by {node}, one of {} nodes{}",
            busiest.nodes,
            leaders.replace(" and has", ", which has")
        ),
    )];
    proofs.extend(busiest.cpu.map(|used| {
        of_nodes(
            text::roughly(used),
            format!("of its CPUs were used by {node}{beside}"),
        )
    }));
    Examined::assessed(Assessment {
        shares: busiest.shares(evidence),
        figure: Some(format!("{node} did {did} of the work{leaders}; {cpu}")),
        sentence,
        proofs,
        remedies: vec![remedy.to_owned()],
        checks: vec![check("Its CPUs were busy", busiest.is_limit(), cpu)],
        ..Assessment::default()
    })
}
