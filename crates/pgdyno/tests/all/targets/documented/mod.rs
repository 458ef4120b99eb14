//! A server that takes what a product's documentation says it takes, for products and versions that are not
//! recorded, and nothing else. The lists (`*.toml`) say which statements these are, where that is documented,
//! and for which versions. What is on them is done by a real PostgreSQL, under the names and in the forms that
//! it has; its conflicts, in the product's words. What a version lacks it refuses in the words of that product,
//! and the test has to name it; what is on no list fails the test.
//!
//! It shows that pgdyno sends what is documented and copes with what is answered, not that a real server of the
//! product takes it.

mod copied;
mod forms;
mod node;
mod page;
mod session;
mod tokens;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::support::Database;

use copied::Copied;
pub use forms::{Forms, Version};
use node::Node;

/// The list of a product, read once.
pub fn list(product: &str) -> &'static Forms {
    static LISTS: OnceLock<[Forms; 2]> = OnceLock::new();
    let lists = LISTS.get_or_init(|| {
        [
            Forms::read(include_str!("cockroachdb.toml")),
            Forms::read(include_str!("yugabytedb.toml")),
        ]
    });
    match product {
        "cockroachdb" => &lists[0],
        "yugabytedb" => &lists[1],
        other => panic!("no list of {other}"),
    }
}

/// The beginning of a statement, SQLSTATE and message.
pub type Refusal = (&'static str, &'static str, &'static str);

#[derive(Clone)]
pub struct Product {
    /// Name and version, such as `cockroachdb 23.2`; without a version an unknown product: it takes
    /// what PostgreSQL takes, and says this about itself.
    pub name: &'static str,
    /// Beginnings of statements that fail in this test, with SQLSTATE and message.
    pub refuses: &'static [Refusal],
    /// Beginnings of queries with the rows that they are answered in this test, of so many columns each; nothing
    /// means NULL, `{port}` for the node's own port.
    pub tables: &'static [(&'static str, usize, &'static [&'static str])],
    /// What this version lacks and pgdyno asks for all the same: a text of each such statement.
    pub lacks: &'static [&'static str],
    pub nodes: usize,
    /// The table whose rows are counted by node; a COPY into it ends when each node has been given some.
    pub dealt: Option<&'static str>,
}

impl Product {
    pub const fn new(name: &'static str) -> Product {
        Product {
            name,
            refuses: &[],
            tables: &[],
            lacks: &[],
            nodes: 1,
            dealt: None,
        }
    }
}

/// The product, or several nodes of it, until it is dropped.
pub struct Documented {
    nodes: Vec<Node>,
    played: Arc<Played>,
    /// The rows of all nodes.
    pub database: Database,
}

struct Played {
    product: Product,
    list: Option<(&'static Forms, Version)>,
    database: String,
    seen: Mutex<Seen>,
    refuses: Mutex<Vec<Refusal>>,
    /// How many of the next commits are done and not answered.
    ambiguous: AtomicUsize,
    copied: Copied,
    /// How many errors have been put into the product's words.
    reworded: AtomicUsize,
}

#[derive(Default)]
struct Seen {
    statements: Vec<String>,
    findings: Vec<String>,
}

impl Documented {
    pub fn start(product: Product) -> Documented {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("documented_{number}");
        let database = Database::new(&name);
        let list = product
            .name
            .split_once(' ')
            .filter(|(name, _)| ["cockroachdb", "yugabytedb"].contains(name));
        let list = list.map(|(name, version)| {
            (
                self::list(name),
                Version::try_from(version.to_owned()).unwrap(),
            )
        });
        let played = Arc::new(Played {
            list,
            database: name,
            seen: Mutex::default(),
            refuses: Mutex::new(product.refuses.to_vec()),
            ambiguous: AtomicUsize::new(0),
            copied: Copied::new(product.dealt, product.nodes),
            reworded: AtomicUsize::new(0),
            product,
        });
        let nodes: Vec<Node> = (1..=played.product.nodes)
            .map(|id| Node::start(id, &played))
            .collect();
        played.set_up(&database, &nodes);
        Documented {
            nodes,
            played,
            database,
        }
    }

    pub fn addresses(&self) -> Vec<String> {
        self.nodes
            .iter()
            .map(|node| node.address.to_string())
            .collect()
    }

    pub fn url(&self) -> String {
        format!(
            "postgresql://me@{}/d?sslmode=disable",
            self.addresses().join(",")
        )
    }

    /// Where its nodes have this page, on the first of their ports.
    pub fn pages(&self, path: &str) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes
            .map(|node| format!("http://{}:{}{path}", node.address.ip(), page::PORTS[0]))
            .collect()
    }

    /// Every statement in its order, whichever session sent it.
    pub fn statements(&self) -> Vec<String> {
        self.played.seen().statements.clone()
    }

    /// Rows of [`Product::dealt`] that were copied through each node.
    pub fn copied(&self) -> Vec<u64> {
        self.played.copied.rows()
    }

    /// Has statements fail from now on.
    pub fn refuse(&self, refusal: Refusal) {
        self.played.refuses.lock().unwrap().push(refusal);
    }

    /// Cuts every connection to a node, from 0, and takes no new one.
    pub fn kill(&self, node: usize) {
        self.nodes[node].kill();
    }

    /// Has it take connections again, at the address it had.
    pub fn restart(&self, node: usize) {
        self.nodes[node].restart(&self.played);
    }

    /// Has a node say that it goes.
    pub fn drain(&self, node: usize) {
        self.nodes[node].drain();
    }

    /// The next commits are done, and answered with the product's «result is ambiguous».
    pub fn make_ambiguous(&self, commits: usize) {
        self.played.ambiguous.store(commits, Ordering::SeqCst);
    }

    /// Waits until a table has so many rows.
    pub fn wait_for_rows(&self, table: &str, rows: u64) {
        let count = format!("SELECT 1 FROM {table} HAVING count(*) >= {rows}");
        self.database.wait_for(&count);
    }

    /// How many errors have been reported in the product's words.
    pub fn reworded(&self) -> usize {
        self.played.reworded.load(Ordering::SeqCst)
    }
}

impl Drop for Documented {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.kill();
        }
        let findings = std::mem::take(&mut self.played.seen().findings);
        let text = format!("{}:\n{}", self.played.product.name, findings.join("\n"));
        if std::thread::panicking() {
            // What was not on the list may be why.
            println!("{text}")
        } else {
            assert!(findings.is_empty(), "{text}")
        }
    }
}

impl Played {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What the release says about itself.
    fn release(&self) -> Option<&'static forms::Release> {
        let (list, version) = self.list?;
        let found = list
            .release
            .iter()
            .find(|release| release.number == version);
        Some(found.unwrap_or_else(|| panic!("{}: no such release is listed", self.product.name)))
    }

    /// Makes PostgreSQL have what the list says that this version has.
    fn set_up(&self, database: &Database, nodes: &[Node]) {
        let Some((list, version)) = self.list else {
            return;
        };
        let text = self.release().map_or("", |release| &release.version);
        let fill = |sql: &str| {
            sql.replace("{version}", text)
                .replace("{database}", &self.database)
        };
        database.sql(
            "CREATE SCHEMA documented; CREATE TABLE documented.nodes \
             (id int, host text, port int, http_port int)",
        );
        for node in nodes {
            database.sql(&format!(
                "INSERT INTO documented.nodes VALUES ({}, '{}', {}, {})",
                node.id,
                node.address.ip(),
                node.address.port(),
                page::PORTS[0],
            ));
        }
        for setup in list.setup.iter().filter(|setup| setup.is_in(version)) {
            database.sql(&fill(&setup.sql));
        }
        for view in list.view.iter().filter(|view| view.cited.is_in(version)) {
            database.sql(&format!("CREATE VIEW {} AS {}", view.name, fill(&view.sql)));
        }
    }
}
