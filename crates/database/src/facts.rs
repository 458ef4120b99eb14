//! What the server says about itself and what can be seen of where it runs, asked once a run. What
//! may not be seen is a recorded gap with its reason and never a failure.
//!
//! Not for: judging (`crates/run/src/validity.rs`), series over time (observers).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pgdyno_model::Fact;
use pgdyno_platform::{address, file_system};
use pgdyno_session::{Session, quote_literal};
use pgdyno_wire::Addr;

use super::dialect::{Dialect, Product};
use super::{admin, cluster, replication};
use pgdyno_model::document::{Facts, TableShape};

/// Settings asked for; pg_settings leaves out those that the role may not see, where SHOW would fail.
const SETTINGS: &str = "'server_version_num', 'fsync', 'synchronous_commit', 'full_page_writes', \
     'debug_assertions', 'shared_buffers', 'max_connections', 'default_transaction_isolation', \
     'default_transaction_read_only', 'data_directory'";

/// Asks the server and looks around on this host.
pub fn collect(session: &mut Session) -> Facts {
    // Without an answer nothing speaks for another product than PostgreSQL, and nothing for it.
    let product = Product::ask(session).unwrap_or_else(|_| Product::recognise(""));
    let version = if product.is_other() {
        Fact::Known(format!("{} ({})", product.title(), product.text))
    } else {
        ask(session, "SELECT version()")
    };
    let server_version = match Product::own_version(session) {
        Some(text) => Fact::Known(text.to_owned()),
        None => Fact::Unknown("the server did not report server_version".to_owned()),
    };
    let settings = Settings::ask(session, product.dialect);
    let ask_if_any = |session: &mut Session, query: Option<&str>, gap: &str| match query {
        Some(query) => ask(session, query),
        None => Fact::Unknown(format!("{} {gap}", product.dialect.title)),
    };
    let in_recovery = ask_if_any(session, product.dialect.is_standby, "has no standbys");
    let in_recovery = in_recovery.try_map(|v| boolean(&v));
    let size = product.dialect.database_size;
    let size = ask_if_any(session, size, "does not show the size of a database");
    let same_host = same_host(&session.candidate().addr);
    let data_directory = settings
        .get("data_directory")
        .try_map(|v| Some(PathBuf::from(v)));
    let data_in_memory = in_memory(&same_host, &data_directory);
    Facts {
        dialect: product.dialect.name.to_owned(),
        dialect_known: product.known,
        lacks: product.lacking(),
        version,
        server_version,
        server_version_num: settings
            .get("server_version_num")
            .try_map(|v| v.parse().ok()),
        fsync: settings.get("fsync").try_map(|v| boolean(&v)),
        synchronous_commit: settings.get("synchronous_commit"),
        full_page_writes: settings.get("full_page_writes").try_map(|v| boolean(&v)),
        debug_assertions: settings.get("debug_assertions").try_map(|v| boolean(&v)),
        shared_buffers_bytes: settings.bytes("shared_buffers"),
        max_connections: settings.get("max_connections").try_map(|v| v.parse().ok()),
        default_transaction_isolation: settings.get("default_transaction_isolation"),
        read_only: settings
            .get("default_transaction_read_only")
            .try_map(|v| boolean(&v)),
        in_recovery,
        database_size_bytes: size.try_map(|v| v.parse().ok()),
        data_directory,
        same_host,
        data_in_memory,
        changed_settings: changed_settings(session, product.dialect),
        nodes: Fact::default(),
        replication_factor: Fact::default(),
        isolation: Fact::default(),
        tables: Fact::default(),
        reached: Vec::new(),
        placement: Fact::default(),
        replication: Fact::default(),
    }
}

/// The same with what the cluster says; transactions are to begin with these statements.
pub fn of_cluster(
    facts: Facts,
    session: &mut Session,
    dialect: &Dialect,
    begins: Result<&[String], &str>,
) -> Facts {
    Facts {
        nodes: cluster::nodes(session, dialect),
        replication_factor: cluster::replication_factor(session, dialect),
        replication: replication::seen(session, dialect),
        isolation: match begins {
            Ok(begins) => cluster::isolation(session, dialect, begins),
            Err(why) => Fact::Unknown(why.to_owned()),
        },
        ..facts
    }
}

/// Rows and keys of these tables, as scripts name them; what is no table is left out.
pub fn tables(
    session: &mut Session,
    dialect: &Dialect,
    names: impl IntoIterator<Item = String>,
) -> Fact<BTreeMap<String, TableShape>> {
    let Some(query) = dialect.table_shape else {
        return Fact::Unknown(format!("{} is not asked for it", dialect.title));
    };
    let mut tables = BTreeMap::new();
    for name in names {
        let query = query.replace("{literal}", &quote_literal(&name));
        let row = match admin::rows(session, &query) {
            Ok(rows) => rows.into_iter().next(),
            Err(e) => return Fact::Unknown(e.to_string()),
        };
        let Some(mut row) = row.map(Vec::into_iter) else {
            continue;
        };
        let rows = row.next().flatten();
        let shape = TableShape {
            rows_estimate: rows.and_then(|rows| rows.parse().ok()),
            keys: row.next().flatten(),
        };
        tables.insert(name, shape);
    }
    Fact::Known(tables)
}

/// What is set otherwise than in the server's program, by whatever source. Settings that may hold
/// a password keep it to themselves.
fn changed_settings(session: &mut Session, dialect: &Dialect) -> Fact<BTreeMap<String, String>> {
    if let Some(why) = dialect.untrusted_catalogues() {
        return Fact::Unknown(why.to_owned());
    }
    match admin::rows(session, dialect.changed_settings) {
        Err(e) => Fact::Unknown(e.to_string()),
        Ok(rows) => Fact::Known(rows.into_iter().filter_map(setting).collect()),
    }
}

fn setting(row: Vec<Option<String>>) -> Option<(String, String)> {
    let mut row = row.into_iter();
    let name = row.next().flatten()?;
    let value = row.next().flatten()?;
    let unit = row.next().flatten().unwrap_or_default();
    // Conninfo strings and commands, which may have passwords in them; licences.
    let secrets = ["conninfo", "_command", "secret", "license"];
    let may_be_secret = secrets.iter().any(|end| name.ends_with(end));
    let value = match unit.as_str() {
        _ if may_be_secret => "(not recorded)".to_owned(),
        "" => value,
        // `16384 x 8kB`, but `5min`.
        unit if unit.starts_with(|c: char| c.is_ascii_digit()) => format!("{value} x {unit}"),
        unit => format!("{value}{unit}"),
    };
    Some((name, value))
}

fn ask(session: &mut Session, sql: &str) -> Fact<String> {
    match admin::value(session, sql) {
        Ok(Some(value)) => Fact::Known(value),
        Ok(None) => Fact::Unknown("the server gave no value".to_owned()),
        Err(e) => Fact::Unknown(e.to_string()),
    }
}

/// Settings by name, each with its unit.
struct Settings {
    answer: Result<BTreeMap<String, (String, String)>, String>,
    dialect: &'static Dialect,
}

impl Settings {
    fn ask(session: &mut Session, dialect: &'static Dialect) -> Settings {
        if let Some(why) = dialect.untrusted_catalogues() {
            let answer = Err(why.to_owned());
            return Settings { answer, dialect };
        }
        let sql = format!("SELECT name, setting, unit FROM pg_settings WHERE name IN ({SETTINGS})");
        let answer = match admin::rows(session, &sql) {
            Err(e) => Err(e.to_string()),
            Ok(rows) => Ok(rows
                .into_iter()
                .filter_map(|row| {
                    let mut row = row.into_iter();
                    let name = row.next().flatten()?;
                    let setting = row.next().flatten()?;
                    Some((name, (setting, row.next().flatten().unwrap_or_default())))
                })
                .collect()),
        };
        Settings { answer, dialect }
    }

    fn entry(&self, name: &str) -> Fact<(String, String)> {
        match &self.answer {
            Err(why) => Fact::Unknown(why.clone()),
            Ok(settings) => match settings.get(name) {
                Some(entry) => Fact::Known(entry.clone()),
                None if self.dialect.has_postgresqls_settings => {
                    Fact::Unknown(format!("the server does not show {name} to this role"))
                }
                None => Fact::Unknown(format!("{} has no setting {name}", self.dialect.title)),
            },
        }
    }

    fn get(&self, name: &str) -> Fact<String> {
        self.entry(name).try_map(|(setting, _)| Some(setting))
    }

    fn bytes(&self, name: &str) -> Fact<u64> {
        self.entry(name).try_map(|(setting, unit)| {
            // pg_settings gives memory in units such as "8kB".
            let digits = unit.trim_end_matches(|c: char| !c.is_ascii_digit());
            let count: u64 = if digits.is_empty() {
                1
            } else {
                digits.parse().ok()?
            };
            let factor = match &unit[digits.len()..] {
                "B" | "" => 1,
                "kB" => 1 << 10,
                "MB" => 1 << 20,
                "GB" => 1 << 30,
                _ => return None,
            };
            setting
                .parse::<u64>()
                .ok()?
                .checked_mul(count)?
                .checked_mul(factor)
        })
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "on" | "t" | "true" => Some(true),
        "off" | "f" | "false" => Some(false),
        _ => None,
    }
}

/// A Unix socket, the loopback and this host's own addresses lead to this host. (A tunnel that ends
/// here looks the same; that cannot be determined from outside.)
fn same_host(addr: &Addr) -> Fact<bool> {
    match addr {
        Addr::Unix(_) => Fact::Known(true),
        Addr::Tcp(addr) => match address::is_local(addr.ip()) {
            Ok(local) => Fact::Known(local),
            Err(e) => Fact::Unknown(format!("this host's addresses cannot be listed: {e}")),
        },
    }
}

fn in_memory(same_host: &Fact<bool>, directory: &Fact<PathBuf>) -> Fact<bool> {
    match (same_host, directory) {
        (Fact::Known(true), Fact::Known(path)) => kind(path),
        (Fact::Known(false), _) => Fact::Unknown("the server is on another host".to_owned()),
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why.clone()),
    }
}

fn kind(path: &Path) -> Fact<bool> {
    match file_system::kind(path) {
        Ok(kind) => Fact::Known(kind == file_system::Kind::Memory),
        Err(e) => Fact::Unknown(format!("{}: {e}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use pgdyno_model::document::TargetKind;
    use pgdyno_spec::TargetSpec;

    fn session(url: &str) -> Session {
        let wanted = TargetSpec::at(url);
        let target = open::existing(&wanted).unwrap().unwrap();
        assert_eq!(target.kind, TargetKind::Named);
        target.connect().unwrap()
    }

    #[test]
    fn a_real_server_tells_its_facts() {
        let server = pgdyno_testkit::postgres_with(&["fsync=on", "shared_buffers=16MB"]);
        let facts = collect(&mut session(&server.address().url()));
        // Distributions add their own version behind it.
        let version = facts.server_version.known().unwrap();
        assert!(version.starts_with(&server.version().text), "{version}");
        assert!(facts.version.known().unwrap().starts_with("PostgreSQL "));
        assert!(
            facts
                .server_version_num
                .known()
                .is_some_and(|v| *v > 90_000)
        );
        assert_eq!(facts.dialect, "postgresql");
        assert!(facts.dialect_known);
        let changed = facts.changed_settings.known().unwrap();
        assert_eq!(changed["shared_buffers"], "2048 x 8kB");
        assert!(!changed.contains_key("enable_seqscan"), "{changed:?}");
        assert_eq!(facts.shared_buffers_bytes, Fact::Known(16 << 20));
        assert_eq!(facts.max_connections, Fact::Known(1000));
        assert_eq!(
            facts.default_transaction_isolation,
            Fact::Known("read committed".to_owned())
        );
        assert_eq!(facts.data_directory, Fact::Known(server.data_dir()));
        assert_eq!(facts.data_in_memory, Fact::Known(server.data_in_memory()));
        assert_eq!(facts.in_recovery, Fact::Known(false));
        assert!(
            facts
                .database_size_bytes
                .known()
                .is_some_and(|v| *v > 1 << 20)
        );
        // By TCP it is the same host too.
        let facts = collect(&mut session(&server.address().loopback_url().unwrap()));
        assert_eq!(facts.same_host, Fact::Known(true));
    }

    #[test]
    fn what_a_role_may_not_see_is_a_gap_with_its_reason() {
        let server = pgdyno_testkit::postgres();
        let url = server.address().url();
        let mut admin = session(&url);
        admin
            .simple_query("CREATE ROLE facts_nobody LOGIN")
            .unwrap();
        let facts = collect(&mut session(&url.replace("postgres@", "facts_nobody@")));
        let Fact::Unknown(why) = &facts.data_directory else {
            panic!("seen: {facts:?}");
        };
        assert!(why.contains("data_directory"), "{why}");
        assert!(matches!(facts.data_in_memory, Fact::Unknown(_)));
        assert_eq!(facts.fsync, Fact::Known(false), "the rest is still seen");
        let json = serde_json::to_value(&facts).unwrap();
        assert_eq!(json["fsync"], false);
        assert!(json["data_directory"]["unknown"].is_string(), "{json}");
        assert_eq!(serde_json::from_value::<Facts>(json).unwrap(), facts);
    }

    #[test]
    fn a_lost_session_leaves_gaps_and_no_panic() {
        let server = pgdyno_testkit::postgres();
        let mut session = session(&server.address().url());
        let pid = session.backend_pid();
        let mut other = self::session(&server.address().url());
        other
            .simple_query(&format!("SELECT pg_terminate_backend({pid}, 10000)"))
            .unwrap();
        let facts = collect(&mut session);
        assert!(facts.version.known().is_none() && facts.fsync.known().is_none());
        assert_eq!(facts.same_host, Fact::Known(true));
    }
}
