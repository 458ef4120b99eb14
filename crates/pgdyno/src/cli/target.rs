//! `pgdyno target`: what is there, what is different about it, and what can be seen of it.

use std::collections::BTreeMap;

use clap::Args;
use pgdyno_session::{Error, Session};

use super::target_facts;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::open::{self, Endpoint, Target};
use pgdyno_database::{cluster, facts, placement, reach, trouble, words};
use pgdyno_model::Fact;
use pgdyno_model::document::target::Observable;
use pgdyno_model::document::{
    Facts, Node, Placement, Reached, TablePlacement, TargetKind, target as document,
};
use pgdyno_output::{JsonArg, Verbosity, width, write_report};
use pgdyno_report::cluster::node_parts;
use pgdyno_report::table::Table;
use pgdyno_spec::{
    Exit, Failure, Isolation, TargetSpec,
    text::{self as figures, message},
};

/// Grows when a field of the document changes its meaning or goes.
const FORMAT: u32 = 1;

/// What to look at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno target postgresql://me@db1/bench
  pgdyno target postgresql://root@db1:26257/bench --discover     all nodes of a cluster
  pgdyno target postgresql://me@db1,db2,db3/bench --json
  pgdyno target --facts=cockroachdb     what pgdyno knows of it, and from where

pgdyno opens several connections to each endpoint and asks each which node it
reached, because a load balancer hides that, and measures the round trip to it.
Isolation levels are read back in transactions that request them. Of a cluster's
tables (those that the session sees by their bare names) it counts ranges or tablets,
their leaders and replicas by node; of PostgreSQL it shows standbys. Nothing is changed.")]
pub struct TargetVerbArgs {
    /// Servers to describe, as with --url [default: as for pgdyno run]
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Print instead what pgdyno knows of the server's product, or of the one named here, and what
    /// each fact rests on: captured from a real server, measured, documented, assumed
    #[arg(
        long,
        value_name = "PRODUCT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "server",
        value_parser = ["server", "postgresql", "cockroachdb", "yugabytedb"]
    )]
    pub facts: Option<String>,

    /// Connections to each endpoint
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// For machines.
    #[command(flatten)]
    pub json: JsonArg,

    /// The server's options.
    #[command(flatten)]
    pub target: TargetSpec,
}

/// What the connections to one endpoint met.
struct Met {
    endpoint: String,
    /// Of the first connection that was made.
    first: Fact<Reached>,
    /// By connection: the node, or why there is none.
    nodes: Vec<Result<Fact<String>, String>>,
}

/// All that was found.
struct Inspection {
    title: String,
    product: Product,
    facts: Facts,
    endpoints: Vec<Met>,
    /// What comes of each level that a transaction can ask for.
    levels: Vec<(Isolation, Fact<String>)>,
    differences: Vec<String>,
    observables: Vec<Observable>,
}

/// Runs the command.
pub fn open(args: &TargetVerbArgs, _talk: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    if let Some(dialect) = args.facts.as_deref().and_then(Dialect::named) {
        return target_facts::tell(dialect, args.json.replaces_text(), json_to);
    }
    let mut wanted = args.target.clone();
    wanted
        .urls
        .splice(..0, args.urls.iter().map(|url| url.as_str().into()));
    let Some(target) = open::existing(&wanted)? else {
        return Err(Failure::with(
            Exit::Usage,
            "nothing names a server to describe, and pgdyno server runs none",
        )
        .hint("name one: pgdyno target postgresql://USER@HOST/DATABASE, --url, PGHOST")
        .hint("or start a private one: pgdyno server start, then pgdyno target")
        .hint("without a server: pgdyno target --facts=postgresql, or cockroachdb, yugabytedb"));
    };
    for warning in &target.warnings {
        pgdyno_output::remark!("pgdyno: warning: {warning}");
    }
    if args.facts.is_some() {
        let mut session = target.connect()?;
        let product = product(&mut session)?;
        return target_facts::tell(product.dialect, args.json.replaces_text(), json_to);
    }
    let interrupts = pgdyno_run::interrupts()?;
    let interrupts_before = interrupts.count();
    let found = look(&target, args.connections)?;
    // What could not be asked any more is only unknown.
    if interrupts.count() > interrupts_before {
        let code = interrupts.exit_code().unwrap_or(130);
        let text = format!("interrupted while looking at {}", target.title);
        return Err(Failure::with(Exit::Interrupted(code), text));
    }
    let written = json_to.write(&document(&found));
    if !args.json.replaces_text() {
        write_report(format_args!("{}", text(&found)))?;
    }
    written?;
    let is_missing = found.endpoints.iter().flat_map(|met| &met.nodes);
    Ok(if { is_missing }.any(|node| node.is_err()) {
        Exit::Connection
    } else {
        Exit::Ok
    })
}

fn look(target: &Target, connections: u32) -> Result<Inspection, Failure> {
    // Of no endpoint at all there is nothing to tell.
    let mut session = target.connect()?;
    let product = product(&mut session)?;
    let endpoints = target.endpoints.iter();
    let endpoints = endpoints.map(|endpoint| meet(endpoint, &product, connections));
    let endpoints: Vec<Met> = endpoints.collect::<Result<_, _>>()?;
    let default = ["BEGIN".to_owned()];
    let mut facts = facts::of_cluster(
        facts::collect(&mut session),
        &mut session,
        product.dialect,
        Ok(default.as_slice()),
    );
    let first = endpoints.iter().filter_map(|met| met.first.known());
    facts.reached = first.cloned().collect();
    facts.placement = placement::before(target, product.dialect, &facts, None);
    let mut levels = Vec::new();
    for level in Isolation::ALL {
        let begin = format!("BEGIN ISOLATION LEVEL {}", level.name().to_uppercase());
        let in_effect = cluster::isolation(&mut session, product.dialect, &[begin]);
        levels.push((level, in_effect));
    }
    let observables = cluster::observables(&mut session, product.dialect);
    session.close();
    Ok(Inspection {
        title: target.title.clone(),
        facts,
        endpoints,
        levels,
        differences: words::differences(&product),
        observables,
        product,
    })
}

fn product(session: &mut Session) -> Result<Product, Failure> {
    let why = "could not read the server's version";
    Product::ask(session).map_err(|e| trouble::server(&e, why))
}

/// All connections stand before the first is asked, so that a load balancer deals them.
fn meet(endpoint: &Endpoint, product: &Product, connections: u32) -> Result<Met, Failure> {
    let mut sessions = Vec::new();
    for _ in 0..connections {
        match endpoint.connect() {
            Err(e @ Error::Interrupted { .. }) => {
                return Err(trouble::connect(&e, TargetKind::Named));
            }
            session => sessions.push(session),
        }
    }
    let mut first = Fact::Unknown("no connection was made".to_owned());
    let mut ask = |mut session: Session| {
        let node = match &first {
            Fact::Known(_) => cluster::this_node(&mut session, product.dialect),
            Fact::Unknown(_) => {
                let reached = reach::by(&mut session, product, &endpoint.name);
                let node = reached.node.clone();
                first = Fact::Known(reached);
                node
            }
        };
        session.close();
        node
    };
    let nodes = sessions.into_iter().map(|session| match session {
        Ok(session) => Ok(ask(session)),
        Err(e) => Err(one_line(&e.to_string())),
    });
    let nodes = nodes.collect();
    Ok(Met {
        endpoint: endpoint.name.clone(),
        nodes,
        first,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `value`, or why it is not known.
fn known<T: ToString>(fact: &Fact<T>) -> String {
    match fact {
        Fact::Known(value) => value.to_string(),
        Fact::Unknown(why) => format!("not known: {why}"),
    }
}

/// Columns of the headings beside the lines.
const MARGIN: usize = 13;

/// Lines under one heading in the margin. What a server put into them may be of any length.
fn part(heading: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for (index, line) in lines.into_iter().enumerate() {
        let margin = if index == 0 { heading } else { "" };
        text += &format!("{margin:<MARGIN$}{}\n", message(&line));
    }
    text
}

fn text(found: &Inspection) -> String {
    let product = &found.product;
    let name = match product.known {
        true => format!("{} {}", product.dialect.title, product.version),
        false if product.is_other() => format!("{}, which is not PostgreSQL", product.title()),
        false => "not known, treated as PostgreSQL".to_owned(),
    };
    let mut text = part("target", [found.title.clone()]);
    text += &part("product", [name, product.text.clone()]);
    text += &part("endpoints", found.endpoints.iter().flat_map(met_lines));
    text += &part("nodes", node_lines(found));
    text += &part("copies", [copies(&found.facts)]);
    text += &part("tables", table_lines(found));
    text += &part("standbys", standby_lines(&found.facts));
    text += &part("isolation", isolation_lines(found));
    let differences = match found.differences.as_slice() {
        [] => vec!["nothing: everything is as on PostgreSQL".to_owned()],
        differences => differences.to_vec(),
    };
    text += &part("differently", differences);
    let seen = found.observables.iter().filter(|view| view.can_be_seen);
    text += &part("can be seen", seen.map(|view| view.what.to_owned()));
    let unknown = found.observables.iter().filter(|view| !view.can_be_seen);
    let unknown = unknown.flat_map(|view| {
        let why = view.why_not.as_deref().unwrap_or_default();
        let takes = view.takes.map(|takes| format!("  it takes {takes}"));
        [format!("{}: {why}", view.what)].into_iter().chain(takes)
    });
    text + &part("cannot be", unknown)
}

/// The nodes that an endpoint's connections met, with how many met each.
fn met_lines(met: &Met) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for node in &met.nodes {
        let what = match node {
            Ok(Fact::Known(node)) => format!("node {node}"),
            Ok(Fact::Unknown(why)) => format!("an unidentified node: {why}"),
            Err(why) => format!("nothing: {why}"),
        };
        match counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => counted.push((what, 1)),
        }
    }
    let line = |(what, count): (String, usize)| match count {
        1 => format!("{}: 1 connection met {what}", met.endpoint),
        count => format!("{}: {count} connections met {what}", met.endpoint),
    };
    let mut lines: Vec<String> = counted.into_iter().map(line).collect();
    if let Some(reached) = met.first.known() {
        let standby = match reached.is_standby {
            Some(true) => "a standby, ",
            _ => "",
        };
        let round_trip = match &reached.round_trip {
            Fact::Known(of) => format!(
                "round trip {} ms (median of {}; {} at least)",
                figures::ms_shortly(of.median_us as f64),
                of.count,
                figures::ms_shortly(of.min_us as f64)
            ),
            Fact::Unknown(why) => format!("round trip not known: {why}"),
        };
        lines.push(format!("  {standby}{round_trip}"));
    }
    lines
}

fn node_lines(found: &Inspection) -> Vec<String> {
    let nodes = match &found.facts.nodes {
        Fact::Known(nodes) => nodes,
        Fact::Unknown(why) => return vec![why.clone()],
    };
    let mut table = Table::default();
    table.row([
        "node",
        "id",
        "where",
        "version",
        "alive",
        "leaders",
        "replicas",
        "connections here",
    ]);
    for node in nodes {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
        let alive = match (node.is_live, node.is_draining) {
            (Some(true), Some(true)) => "draining",
            (Some(true), _) => "yes",
            (Some(false), _) => "NO",
            (None, _) => "–",
        };
        let placement = found.facts.placement.known();
        let count = |of: fn(&TablePlacement) -> &BTreeMap<String, u64>| {
            placement.map_or_else(
                || "–".to_owned(),
                |placement| node_parts(placement, node, of).to_string(),
            )
        };
        table.row([
            node.address.clone(),
            text(&node.id),
            text(&node.locality),
            text(&node.version),
            alive.to_owned(),
            count(|table| &table.leaders),
            count(|table| &table.replicas),
            met(found, node).to_string(),
        ]);
    }
    let text = table.text(width().saturating_sub(MARGIN));
    text.lines().map(str::to_owned).collect()
}

/// How many connections met this node.
fn met(found: &Inspection, node: &Node) -> usize {
    let nodes = found.endpoints.iter().flat_map(|met| &met.nodes);
    let is_this = |met: &&Result<Fact<String>, String>| match met {
        Ok(Fact::Known(name)) => Some(name) == node.id.as_ref() || *name == node.address,
        _ => false,
    };
    nodes.filter(is_this).count()
}

/// The parts of each table by node, and the settings of its zone.
fn table_lines(found: &Inspection) -> Vec<String> {
    let facts = &found.facts;
    let has_parts = found.product.dialect.cluster.placement.is_some();
    let may_be_spread = has_parts && facts.nodes.known().is_none_or(|nodes| nodes.len() > 1);
    let placement = match &facts.placement {
        Fact::Known(placement) => placement,
        // What one server or node has needs no words.
        Fact::Unknown(_) if !may_be_spread => return Vec::new(),
        Fact::Unknown(why) => return vec![format!("not known where they are: {why}")],
    };
    let by_node = |counts: &BTreeMap<String, u64>| {
        let nodes = counts
            .iter()
            .map(|(node, count)| format!("{count} on {node}"));
        nodes.collect::<Vec<_>>().join(", ")
    };
    let one = placement.parts.trim_end_matches('s');
    let lines = placement.tables.iter().map(|(name, table)| {
        format!(
            "{name}: {}; leaders {}; replicas {}",
            figures::plural(table.parts, one),
            by_node(&table.leaders),
            by_node(&table.replicas)
        )
    });
    lines.chain(zone_lines(placement)).collect()
}

/// The settings of the tables' zones, once where several have the same.
fn zone_lines(placement: &Placement) -> Vec<String> {
    let mut zones: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, table) in &placement.tables {
        if let Some(zone) = &table.zone {
            zones.entry(zone).or_default().push(name);
        }
    }
    let is_one = zones.len() == 1;
    let line = |(zone, tables): (&str, Vec<&str>)| {
        if is_one {
            format!("zone: {zone}")
        } else {
            format!("zone of {}: {zone}", tables.join(", "))
        }
    };
    zones.into_iter().map(line).collect()
}

/// A server that is odd, or not what it says, names any number of standbys.
const STANDBYS_SHOWN_MAX: usize = 100;

/// PostgreSQL's standbys, or the server that this one follows.
fn standby_lines(facts: &Facts) -> Vec<String> {
    let Fact::Known(replication) = &facts.replication else {
        return Vec::new();
    };
    let follows = replication.primary.iter();
    let follows = follows.map(|primary| format!("none of its own: it follows {primary}"));
    let standbys = replication.standbys.iter().map(|standby| {
        let name = standby.name.as_deref().unwrap_or("without a name");
        let words = [&standby.state, &standby.sync_state];
        let mut words: Vec<String> = words.into_iter().flatten().cloned().collect();
        words.extend(
            standby
                .address
                .iter()
                .map(|address| format!("from {address}")),
        );
        let behind = |bytes: &u64| format!("{} behind", figures::bytes(*bytes as f64));
        words.extend(standby.lag_bytes.as_ref().map(behind));
        format!("{name}: {}", words.join(", "))
    });
    let more = replication
        .standbys
        .len()
        .saturating_sub(STANDBYS_SHOWN_MAX);
    let more = (more > 0).then(|| format!("{more} more: --json has all of them"));
    standbys
        .take(STANDBYS_SHOWN_MAX)
        .chain(more)
        .chain(follows)
        .collect()
}

fn copies(facts: &Facts) -> String {
    match (&facts.replication_factor, &facts.nodes) {
        (Fact::Known(factor), Fact::Known(nodes)) if nodes.len() < *factor as usize => format!(
            "{factor} replicas of each row are configured; {} allow no more than that",
            match nodes.len() {
                1 => "1 node".to_owned(),
                count => format!("{count} nodes"),
            }
        ),
        (Fact::Known(factor), _) => format!("{factor} of each row"),
        (Fact::Unknown(why), _) => why.clone(),
    }
}

fn isolation_lines(found: &Inspection) -> Vec<String> {
    let mut lines = vec![format!("by default: {}", known(&found.facts.isolation))];
    for (level, in_effect) in &found.levels {
        let mark = match in_effect {
            Fact::Known(is) if is != level.name() => "  (not the requested level)",
            _ => "",
        };
        let asked = level.name();
        lines.push(format!("{asked} requested: {}{mark}", known(in_effect)));
    }
    lines
}

fn document(found: &Inspection) -> document::Target {
    let product = &found.product;
    let endpoints = found.endpoints.iter().map(|met| {
        let nodes = met.nodes.iter().map(|node| match node {
            Ok(node) => document::Met::Node(node.clone()),
            Err(why) => document::Met::Error(why.clone()),
        });
        document::Endpoint {
            name: met.endpoint.clone(),
            connections: nodes.collect(),
            is_standby: met.first.known().and_then(|first| first.is_standby),
            round_trip: match &met.first {
                Fact::Known(first) => first.round_trip.clone(),
                Fact::Unknown(why) => Fact::Unknown(why.clone()),
            },
        }
    });
    let levels = found.levels.iter();
    document::Target {
        format: FORMAT,
        pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        title: found.title.clone(),
        product: document::Product {
            name: product.dialect.name,
            title: product.dialect.title,
            known: product.known,
            version: product.version.to_string(),
            text: product.text.clone(),
        },
        endpoints: endpoints.collect(),
        isolation: document::Isolation {
            default: found.facts.isolation.clone(),
            asked_for: levels
                .map(|(level, is)| (level.name(), is.clone()))
                .collect(),
        },
        facts: found.facts.clone(),
        differences: found.differences.clone(),
        observable: found.observables.clone(),
    }
}
