//! `--scrape NAME=URL[,FILTER…]`: any endpoint that speaks Prometheus' text (node_exporter, a cloud's
//! exporter, another database's), read once a second.
//!
//! Series are called `NAME.METRIC`; what varies between them is their label.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::prometheus::{self, Sample, Type};
use super::{Instrument, Readings};
use pgdyno_database::http::Origin;
use pgdyno_model::observed::{Gap, Series, fits};

/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// So many series are read of one endpoint: each is a row a second in the notebook.
const SERIES_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrape {
    name: String,
    origin: Origin,
    path: String,
    token: Option<Token>,
    filters: Vec<Filter>,
}

/// Where the token is that lets one in (`Authorization: Bearer …`). It is read for each question: it
/// may be changed meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    File(PathBuf),
    Variable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    /// The metric's name; `*` means anything.
    name: String,
    labels: Vec<(String, String)>,
}

impl FromStr for Scrape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text
            .split_once('=')
            .ok_or("an endpoint is named: node=http://db1:9100/metrics")?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err("the name before = has letters, digits, - and _ only".to_owned());
        }
        let mut parts = split(rest).into_iter();
        let url = parts.next().unwrap_or_default();
        // What is wrong is not repeated: it may have a password.
        let wrong = || "the address is http://HOST:PORT/PATH or https://HOST:PORT/PATH".to_owned();
        let host = url.find("://").ok_or_else(wrong)? + "://".len();
        let (origin, path) = match url[host..].find(['/', '?']) {
            Some(at) => url.split_at(host + at),
            None => (url, "/metrics"),
        };
        if url.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(wrong());
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut scrape = Self {
            name: name.to_owned(),
            origin: Origin::parse(origin).map_err(|_| wrong())?,
            path: format!("{slash}{path}"),
            token: None,
            filters: Vec::new(),
        };
        for part in parts {
            let token = match part.split_once('=') {
                Some(("token_file", path)) => Some(Token::File(path.into())),
                Some(("token_env", name)) => Some(Token::Variable(name.to_owned())),
                _ => None,
            };
            match token {
                Some(_) if scrape.token.is_some() => {
                    return Err("there are two tokens for one endpoint".to_owned());
                }
                Some(_) => scrape.token = token,
                None => scrape.filters.push(Filter::parse(part)?),
            }
        }
        Ok(scrape)
    }
}

impl Token {
    /// # Errors
    /// It cannot be read, or there is none; in one clause.
    fn read(&self) -> Result<String, String> {
        let (text, place) = match self {
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
                (text, format!("token_file {}", path.display()))
            }
            Self::Variable(name) => {
                let text = std::env::var(name).map_err(|e| e.to_string());
                (text, format!("token_env {name}"))
            }
        };
        match text.as_deref().map(str::trim) {
            Ok("") => Err(format!("{place}: it is empty")),
            Ok(token) => Ok(token.to_owned()),
            Err(why) => Err(format!("{place}: {why}")),
        }
    }
}

/// At commas that do not stand in braces.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    text.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

impl Filter {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no filter: node_disk_*, node_cpu_seconds_total{{mode=user}}");
        let (name, labels) = match text.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').ok_or_else(wrong)?),
            None => (text, ""),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:*".contains(c);
        let name = name.trim();
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(wrong());
        }
        let labels = labels.split(',').filter(|label| !label.trim().is_empty());
        let labels = labels.map(|label| {
            let (name, value) = label.split_once('=').ok_or_else(wrong)?;
            let value = value.trim().trim_matches('"');
            Ok((name.trim().to_owned(), value.to_owned()))
        });
        Ok(Self {
            name: name.to_owned(),
            labels: labels.collect::<Result<_, String>>()?,
        })
    }

    fn takes(&self, sample: &Sample<'_>) -> bool {
        let mut labels = self.labels.iter();
        fits(&self.name, sample.name)
            && labels.all(|(name, value)| sample.label(name).is_some_and(|v| fits(value, v)))
    }
}

impl Scrape {
    pub fn instrument(&self) -> Box<dyn Instrument> {
        Box::new(self.endpoint())
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            called: format!("scrape.{}", self.name),
            scrape: self.clone(),
        }
    }

    /// Whether its token, if it has one, can be read.
    ///
    /// # Errors
    /// It cannot; in one clause.
    pub fn check(&self) -> Result<(), String> {
        self.token
            .as_ref()
            .map_or(Ok(()), |token| token.read().map(drop))
    }

    /// Whether something listens there.
    ///
    /// # Errors
    /// Nothing does; in one clause.
    pub fn reach(&self) -> Result<(), String> {
        self.origin.reach(ANSWER_LIMIT)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Without filters all but the parts of histograms: they are many, and their sums and counts
    /// tell the mean.
    fn takes(&self, sample: &Sample<'_>) -> bool {
        if self.filters.is_empty() {
            !sample.name.ends_with("_bucket")
        } else {
            self.filters.iter().any(|filter| filter.takes(sample))
        }
    }

    fn series(&self, sample: &Sample<'_>) -> Series {
        let labels = sample.labels.iter();
        let labels = labels.map(|(name, value)| {
            let value = value.replace(char::is_control, " ");
            format!("{name}={value}")
        });
        let unit = match sample.kind {
            Type::Counter => "1/s",
            Type::Gauge => "",
        };
        Series {
            name: format!("{}.{}", self.name, sample.name).into(),
            label: labels.collect::<Vec<_>>().join(","),
            unit: unit.into(),
        }
    }
}

struct Endpoint {
    called: String,
    scrape: Scrape,
}

impl Endpoint {
    fn take(&self, out: &mut Readings) -> Result<(), Gap> {
        let Scrape { origin, path, .. } = &self.scrape;
        let token = self.scrape.token.as_ref().map(Token::read).transpose();
        let token = token.map_err(Gap::because)?;
        let text = origin.get(path, token.as_deref(), ANSWER_LIMIT);
        let text = text.map_err(|why| Gap::because(why).remedy(format!("curl {origin}{path}")))?;
        let mut samples = prometheus::samples(&text);
        let (mut taken, mut left_out, mut seen) = (0, 0, 0);
        for sample in samples.by_ref() {
            seen += 1;
            if !self.scrape.takes(&sample) {
                continue;
            }
            if taken == SERIES_MAX {
                left_out += 1;
                continue;
            }
            taken += 1;
            let series = self.scrape.series(&sample);
            match sample.kind {
                Type::Counter => out.counter(series, sample.value),
                Type::Gauge => out.gauge(series, sample.value),
            }
        }
        if seen == 0 {
            let text = match samples.bad_lines {
                0 => "the answer has no samples".to_owned(),
                bad => {
                    format!(
                        "the answer is not in Prometheus's text format: {bad} lines cannot be read"
                    )
                }
            };
            return Err(Gap::because(format!("{origin}{path}: {text}")));
        }
        if taken == 0 {
            let text = format!("{origin}{path}: none of {seen} samples match the filters");
            return Err(Gap::because(text));
        }
        if left_out > 0 {
            let (name, why) = (
                &self.scrape.name,
                format!(
                    "{left_out} samples are left out: of one endpoint {SERIES_MAX} series are read"
                ),
            );
            let remedy = format!("--scrape {name}={origin}{path},FILTER,…");
            out.gap("the rest", Gap::because(why).remedy(remedy));
        }
        if samples.bad_lines > 0 {
            let why = format!(
                "{} lines of the answer could not be read",
                samples.bad_lines
            );
            out.gap("some lines", Gap::because(why));
        }
        Ok(())
    }
}

impl Instrument for Endpoint {
    fn name(&self) -> &str {
        &self.called
    }

    fn source(&self) -> String {
        format!("{}{}", self.scrape.origin, self.scrape.path)
    }

    /// An endpoint that does not answer yet may do so later.
    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        if let Err(gap) = self.take(out) {
            out.gap("", gap);
        }
        Ok(())
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.take(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Figures};
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers each question with the next of these bodies, the last one again and again.
    fn exporter(bodies: &'static [&'static str]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (index, client) in listener.incoming().enumerate() {
                let mut client = client.unwrap();
                let _ = client.read(&mut [0; 1000]);
                let body = bodies[index.min(bodies.len() - 1)];
                let _ = client.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes());
            }
        });
        format!("http://{address}")
    }

    fn parsed(text: &str) -> Scrape {
        text.parse().unwrap()
    }

    #[test]
    fn an_endpoint_is_a_name_an_address_and_filters() {
        let scrape = parsed("node=http://db1:9100");
        let place = |scrape: &Scrape| format!("{}{}", scrape.origin, scrape.path);
        assert_eq!(place(&scrape), "http://db1:9100/metrics");
        let scrape = parsed("n-1=http://[::1]/probe?a=b,node_cpu*{mode=\"user\",cpu=1*},up");
        assert_eq!(place(&scrape), "http://[::1]/probe?a=b");
        assert_eq!(scrape.filters.len(), 2);
        assert_eq!(parsed("a=http://h:1?x").path, "/?x");
        let scrape = parsed("a=https://me:secret@h/m,token_file=/run/token,up");
        assert_eq!(place(&scrape), "https://h/m");
        assert_eq!(scrape.token, Some(Token::File("/run/token".into())));
        assert_eq!(scrape.filters.len(), 1);
        assert!(!format!("{scrape:?}").contains("secret"), "{scrape:?}");
        for (wrong, words) in [
            ("http://db1:9100", "an endpoint is named"),
            ("db1:9100", "an endpoint is named"),
            ("=http://db1", "the name before ="),
            ("a b=http://db1", "the name before ="),
            ("a=db1:9100", "http://HOST:PORT"),
            ("a=ftp://db1", "http://HOST:PORT"),
            ("a=http://h,token_env=A,token_env=B", "two tokens"),
            ("a=http://", "http://HOST:PORT"),
            ("a=http://db 1/", "http://HOST:PORT"),
            ("a=http://h/x\r\nHost: y", "http://HOST:PORT"),
            ("a=http://h,", "is no filter"),
            ("a=http://h,up{x", "is no filter"),
            ("a=http://h,up{x}", "is no filter"),
            ("a=http://h,u p", "is no filter"),
        ] {
            let error = wrong.parse::<Scrape>().unwrap_err();
            assert!(error.contains(words), "{wrong}: {error}");
        }
        let error = "a=http://me:secret@h:x/".parse::<Scrape>().unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_token_is_read_where_it_is_and_nowhere_repeated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let scrape = parsed(&format!("a=http://h,token_file={}", file.path().display()));
        assert!(scrape.check().unwrap_err().ends_with("it is empty"));
        std::fs::write(file.path(), "a.b.c\n").unwrap();
        scrape.check().unwrap();
        assert_eq!(scrape.token.unwrap().read().unwrap(), "a.b.c");
        let error = parsed("a=http://h,token_env=PGDYNO_NO_SUCH").check();
        let error = error.unwrap_err();
        assert!(error.starts_with("token_env PGDYNO_NO_SUCH: "), "{error}");
    }

    #[test]
    fn filters_choose_by_name_and_by_label() {
        let text = "cpu{mode=\"user\"} 1\ncpu{mode=\"idle\"} 2\nload 3\nh_bucket{le=\"1\"} 4\n";
        let taken = |filters: &str| {
            let scrape = parsed(&format!("n=http://h{filters}"));
            let samples = prometheus::samples(text).filter(|sample| scrape.takes(sample));
            samples.map(|sample| sample.value).collect::<Vec<_>>()
        };
        assert_eq!(taken(""), [1.0, 2.0, 3.0]);
        assert_eq!(taken(",cpu{mode=u*}"), [1.0]);
        assert_eq!(taken(",load,h_*"), [3.0, 4.0]);
        assert!(taken(",cpu{none=*}").is_empty());
    }

    #[test]
    fn gauges_are_kept_and_counters_become_rates() {
        let address = exporter(&[
            "# TYPE c counter\nc{a=\"x\"} 10\ng 1\n",
            "# TYPE c counter\nc{a=\"x\"} 30\ng 2\nbroken line\n",
            "# TYPE c counter\nc{a=\"x\"} 30\ng 3\n",
        ]);
        let mut bench = Bench::new(parsed(&format!("n={address}")).endpoint());
        bench.begin().unwrap();
        bench.read().unwrap();
        let (result, batch) = bench.end();
        result.unwrap();
        assert_eq!(batch.values("n.g", ""), [1.0, 2.0, 3.0]);
        let rates = batch.values("n.c", "a=x");
        assert!(rates[0] > 0.0 && rates[1] == 0.0, "{rates:?}");
        assert_eq!(batch.grown("n.c", "a=x"), 20.0);
        let reported: Vec<_> = batch.gaps.iter().map(|gap| &*gap.gap.reason).collect();
        // When it began and when it was over.
        assert_eq!(reported, ["1 lines of the answer could not be read"; 2]);
    }

    #[test]
    fn what_an_endpoint_does_not_give_is_a_gap() {
        let closed = pgdyno_testkit::closed_address();
        let html = exporter(&["<html>\n"]);
        let empty = exporter(&[""]);
        let other = exporter(&["up 1\n"]);
        for (spec, words) in [
            (format!("n=http://{closed}"), "refused"),
            (
                format!("n={html}"),
                "not in Prometheus's text format: 1 lines",
            ),
            (format!("n={empty}"), "no samples"),
            (
                format!("n={other},down"),
                "none of 1 samples match the filters",
            ),
        ] {
            let mut bench = Bench::new(parsed(&spec).endpoint());
            bench.begin().unwrap();
            let gap = bench.read().unwrap_err();
            assert!(gap.reason.contains(words), "{spec}: {}", gap.reason);
            let (_, batch) = bench.end();
            assert!(batch.samples.is_empty());
            assert_eq!(batch.gaps.len(), 1, "one gap from the beginning to the end");
            assert_eq!((batch.gaps[0].from_us, batch.gaps[0].to_us), (None, None));
        }
    }

    #[test]
    fn an_endpoint_with_too_many_series_gives_some_and_says_so() {
        let many: String = (0..SERIES_MAX + 5).map(|n| format!("m{n} 1\n")).collect();
        let address = exporter(vec![&*many.leak()].leak());
        let mut bench = Bench::new(parsed(&format!("n={address}/m")).endpoint());
        bench.begin().unwrap();
        let (_, batch) = bench.end();
        assert_eq!(batch.series.len(), SERIES_MAX);
        let gap = &batch.gaps[0].gap;
        assert!(
            gap.reason.starts_with("5 samples are left out"),
            "{}",
            gap.reason
        );
        let remedy = gap.remedy.as_deref().unwrap();
        assert!(
            remedy.contains(&format!("--scrape n={address}/m,")),
            "{remedy}"
        );
    }
}
