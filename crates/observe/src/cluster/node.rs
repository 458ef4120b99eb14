//! One page of one node, read once a second.

use std::time::{Duration, Instant};

use super::page::Reader;
use super::place::{Node, Places};
use crate::{Instrument, Readings};
use pgdyno_database::dialect::metrics::Page;
use pgdyno_database::http::Origin;
use pgdyno_model::observed::Gap;

/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

pub struct NodePage {
    page: &'static Page,
    node: Node,
    places: Places,
    address: String,
    reader: Reader,
}

impl NodePage {
    pub fn new(page: &'static Page, node: Node, places: Places) -> Self {
        Self {
            page,
            node,
            places,
            address: String::new(),
            reader: Reader::new(page.metrics, page.node_number),
        }
    }

    fn gap(&self, why: impl Into<String>) -> Gap {
        let gap = Gap::because(why);
        if !self.page.is_everywhere {
            return gap;
        }
        let name = self
            .node
            .label
            .replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let Page { port, path, .. } = self.page;
        let address = match self.node.address.rsplit_once(':') {
            Some((host, _)) if self.address.is_empty() => format!("http://{host}:{port}"),
            _ => self.address.clone(),
        };
        gap.remedy(format!("--scrape {name}={address}{path}"))
    }

    /// Whether the page is that of the node.
    fn is_nodes(&self, reported: Option<f64>) -> Result<(), Gap> {
        let known = self.node.id.as_ref().and_then(|id| id.parse::<f64>().ok());
        match known.zip(reported) {
            Some((known, reported)) if known != reported => {
                let Self { address, node, .. } = self;
                Err(self.gap(format!("{address} is node {reported}, not {}", node.label)))
            }
            _ => Ok(()),
        }
    }
}

impl Instrument for NodePage {
    fn name(&self) -> &str {
        self.page.instrument
    }

    fn source(&self) -> String {
        format!("{} of {}", self.page.path, self.node.label)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let address = self.places.of(&self.node, self.page);
        self.address = address.map_err(|why| self.gap(why))?;
        out.fact(
            format!("{} {}", self.page.instrument, self.node.label),
            format!("{}{}", self.address, self.page.path),
        );
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.look(out)
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.look(out)?;
        self.tell_refreshed(out);
        Ok(())
    }
}

impl NodePage {
    fn look(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let origin = Origin::parse(&self.address);
        let answer = origin.and_then(|origin| origin.get(self.page.path, None, ANSWER_LIMIT));
        let text = answer.map_err(|why| {
            self.reader.forget();
            self.gap(why)
        })?;
        let mut of_page = Readings::default();
        let page = self
            .reader
            .read(&text, &self.node.label, Instant::now(), &mut of_page);
        self.is_nodes(page.number)?;
        if page.used == 0 {
            let (address, path) = (&self.address, self.page.path);
            let why = format!("{address}{path} has no known metrics");
            return Err(self.gap(why));
        }
        out.append(of_page);
        Ok(())
    }

    /// How often the node looks at what it does not always look at, or that this is not known, and so no
    /// rate of it.
    fn tell_refreshed(&self, out: &mut Readings) {
        let (instrument, label) = (self.page.instrument, &self.node.label);
        for (group, every_s) in self.reader.refreshed() {
            let what = group.words();
            match every_s {
                Some(every_s) => {
                    let name = format!("{instrument} {label}: counters {what} refreshed every (s)");
                    out.fact(name, (every_s * 10.0).round() / 10.0);
                }
                None => {
                    let why = format!(
                        "{label} did not refresh its counters {what} twice: their rates are not known"
                    );
                    let gap = Gap::because(why).remedy("-T 60");
                    out.gap(format!("{label} {what}"), gap);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Figures};
    use pgdyno_database::dialect::COCKROACHDB;
    use pgdyno_database::open::{self, Target};
    use pgdyno_spec::TargetSpec;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn nowhere() -> Target {
        let url = "postgresql://me@127.0.0.1:1/d?sslmode=disable";
        let found = open::existing(&TargetSpec::at(url)).map(Option::unwrap);
        found.unwrap_or_else(|e| panic!("{e}"))
    }

    /// The page of CockroachDB, at this port: no source names another.
    fn page(port: u16) -> &'static Page {
        let [of_cockroachdb] = COCKROACHDB.metrics.pages else {
            panic!("one page");
        };
        Box::leak(Box::new(Page {
            port,
            ..*of_cockroachdb
        }))
    }

    fn node(id: &str) -> Node {
        Node {
            label: format!("node {id}"),
            id: Some(id.to_owned()),
            address: "127.0.0.1:26257".to_owned(),
        }
    }

    fn instrument(port: u16, id: &str) -> NodePage {
        NodePage::new(page(port), node(id), Places::new(&nowhere(), &COCKROACHDB))
    }

    /// A node that gives these answers, one a question, and is gone then.
    fn serving(answers: Vec<String>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut client, _) = listener.accept().unwrap();
                let mut request = [0; 1000];
                let count = client.read(&mut request).unwrap();
                assert!(request[..count].starts_with(b"GET /_status/vars "));
                client.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\n\r\n{body}")
    }

    #[test]
    fn a_node_is_read_until_it_is_gone_and_that_is_a_gap() {
        let body = |restarts: u32| ok(&format!("node_id 2\ntxn_restarts_txnpush {restarts}\n"));
        let port = serving(vec![body(5), body(12)]);
        let mut bench = Bench::new(instrument(port, "2"));
        bench.begin().unwrap();
        bench.read().unwrap();
        // The server's socket is closed a moment after its last answer.
        let begun = std::time::Instant::now();
        let gap = loop {
            match bench.read() {
                Err(gap) => break gap,
                Ok(()) => assert!(begun.elapsed().as_secs() < 20),
            }
        };
        assert!(
            gap.reason
                .contains(&format!("http://127.0.0.1:{port}/_status/vars"))
        );
        let way_out = format!("--scrape node2=http://127.0.0.1:{port}/_status/vars");
        assert_eq!(gap.remedy, Some(way_out));
        let (result, batch) = bench.end();
        assert!(result.is_err());
        assert_eq!(batch.grown("crdb.restarts", "node 2 txnpush"), 7.0);
        let (_, name, url) = &batch.facts[0];
        assert_eq!(name, "crdb.vars node 2");
        assert_eq!(url, &format!("http://127.0.0.1:{port}/_status/vars"));
    }

    #[test]
    fn a_page_that_is_not_the_nodes_is_not_taken_for_it() {
        for (answer, why) in [
            (ok("node_id 3\nsql_conns 5\n"), "is node 3, not node 2"),
            (ok("<html>"), "no known metrics"),
            (
                "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
                "the answer is 404",
            ),
            ("\u{15}\u{3}\u{1}".to_owned(), "not HTTP"),
        ] {
            let mut bench = Bench::new(instrument(serving(vec![answer]), "2"));
            let gap = bench.begin().unwrap_err();
            assert!(gap.reason.contains(why), "{gap:?}");
            let (_, batch) = bench.end();
            assert!(batch.series.is_empty(), "{:?}", batch.series);
        }
    }

    #[test]
    fn a_page_that_a_node_may_do_without_needs_no_way_out() {
        let port = pgdyno_testkit::closed_address().port();
        let mut instrument = instrument(port, "2");
        instrument.page = Box::leak(Box::new(Page {
            is_everywhere: false,
            ..*page(port)
        }));
        let gap = Bench::new(instrument).begin().unwrap_err();
        assert!(
            gap.reason.contains("refused") && gap.remedy.is_none(),
            "{gap:?}"
        );
    }
}
