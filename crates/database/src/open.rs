//! From what the user said about the target, or did not say, to connection candidates and whatever
//! must stay alive for them: the server named, the kept one, or one started for this run.

use std::sync::Arc;

use pgdyno_server::{Cache, Listen, Server, Step, kept};
use pgdyno_session::{ConnInfo, Env, Given, names_a_target, resolve};

use super::pair::Pair;
use super::waiting::Limits;
use super::{discover, leftovers, own, password, rights, scripts_role, trouble};
use pgdyno_model::document::TargetKind;
use pgdyno_spec::{Exit, Failure, TargetSpec, defaults};

pub use super::target::{CONNECT_LIMIT, Endpoint, Role, Target};

/// Finds the target; starts a server when nothing names one and none is kept.
pub fn open(wanted: &TargetSpec, on_step: &mut dyn FnMut(Step)) -> Result<Target, Failure> {
    if let Some(target) = existing(wanted)? {
        return Ok(target);
    }
    let own = own::options(&wanted.own, Listen::SocketOnly)?;
    let server = Server::start(&own, on_step).map_err(trouble::own_server)?;
    if let Some(replication) = wanted.pg_standby {
        // Before it is copied: a standby that applies WAL late has the role from its start.
        let urls = [server.address().url()];
        let (primary, _) = by_urls(&urls, &own_env(), TargetKind::Own, String::new())?;
        scripts_role::make(&primary)?;
        let pair = Pair::of(server, replication, on_step).map_err(trouble::own_server)?;
        let title = format!(
            "PostgreSQL {} and its {} standby, started for this run",
            pair.version(),
            replication.adjective()
        );
        let urls = [pair.conninfo()];
        let (mut target, info) = by_urls(&urls, &own_env(), TargetKind::Own, title)?;
        target.pair = Some(Arc::new(pair));
        return scripts_role::given(discovered(target, &info, wanted)?);
    }
    let title = format!("PostgreSQL {}, started for this run", server.version().text);
    let (mut target, info) = by_urls(
        &[server.address().url()],
        &own_env(),
        TargetKind::Own,
        title,
    )?;
    target.server = Some(Arc::new(server));
    scripts_role::given(discovered(target, &info, wanted)?)
}

/// The target if there is one without starting a server.
pub fn existing(wanted: &TargetSpec) -> Result<Option<Target>, Failure> {
    let env = Env::of_process();
    if let Some(url) = configured(wanted, &env) {
        let (target, info) = named(&[url], &env, wanted)?;
        return discovered(target, &info, wanted).map(Some);
    }
    if !wanted.urls.is_empty() || names_a_target(&Given::default(), &env) {
        if !wanted.own.is_empty() {
            let named = if wanted.urls.is_empty() {
                "the PG* environment"
            } else {
                "--url"
            };
            return Err(Failure::with(
                Exit::Usage,
                format!(
                    "--pg-bindir, --pg-set and --pg-user configure the private server, but {named} selects another"
                ),
            )
            .hint(if wanted.urls.is_empty() {
                "leave them out, or unset PGHOST, PGPORT and PGSERVICE"
            } else {
                "leave out --url, or leave out these and set it on that server (ALTER SYSTEM SET …)"
            }));
        }
        let urls = wanted.urls.iter().map(|url| url.secret().to_owned());
        let mut urls: Vec<String> = urls.collect();
        if urls.is_empty() {
            urls.push(String::new());
        }
        if wanted.pg_standby.is_some() {
            let text = "--pg-standby is for the private server, but another is selected";
            return Err(Failure::with(Exit::Usage, text)
                .hint("leave --url out, and unset PGHOST, PGPORT and PGSERVICE"));
        }
        let (target, info) = named(&urls, &env, wanted)?;
        return rights::checked(discovered(target, &info, wanted)?, wanted).map(Some);
    }
    // The kept server has none, and is left alone.
    if wanted.pg_standby.is_some() {
        return Ok(None);
    }
    let cache = Cache::from_env().map_err(trouble::own_server)?;
    match kept::status(&cache) {
        kept::ServerStatus::Running(running) => {
            if !wanted.own.is_empty() {
                return Err(Failure::with(
                    Exit::Usage,
                    "--pg-bindir, --pg-set and --pg-user cannot change the kept server, which \
                     runs already",
                )
                .hint("stop it (pgdyno server stop) and start it with these options"));
            }
            let title = format!("PostgreSQL {}, kept by pgdyno server", running.version);
            let url = [running.address.url()];
            let (mut target, info) = by_urls(&url, &own_env(), TargetKind::Kept, title)?;
            if let Some(left) = leftovers::undo(&info)? {
                target.warnings.push(format!(
                    "undid what scripts had left on the kept server: {left}"
                ));
            }
            scripts_role::given(discovered(target, &info, wanted)?).map(Some)
        }
        kept::ServerStatus::Busy { dir } => Err(Failure::with(
            Exit::Connection,
            "the kept server is starting, stopping or recovering",
        )
        .detail(format!("its files are in {}", dir.display()))
        .hint("try again in a moment, or stop it: pgdyno server stop")),
        kept::ServerStatus::Stopped { .. } => Ok(None),
    }
}

/// The server that a configuration file names, where nothing else does: options of a private server are a
/// wish for one.
fn configured(wanted: &TargetSpec, env: &Env) -> Option<String> {
    let is_open = wanted.urls.is_empty()
        && wanted.own.is_empty()
        && wanted.pg_standby.is_none()
        && !names_a_target(&Given::default(), env);
    let url = defaults::get().url.as_ref().filter(|_| is_open)?;
    Some(url.value.secret().to_owned())
}

/// What of the environment applies to a server that the environment does not name.
fn own_env() -> Env {
    let process = Env::of_process();
    ["PGOPTIONS", "PGAPPNAME"]
        .iter()
        .fold(Env::empty(), |env, name| match process.var(name) {
            Some(value) => env.with(name, value),
            None => env,
        })
}

/// The target that is named so, with the description of its first endpoint. A list of hosts is
/// that many endpoints, unless it asks for libpq's way with it.
fn by_urls(
    urls: &[String],
    env: &Env,
    kind: TargetKind,
    title: String,
) -> Result<(Target, ConnInfo), Failure> {
    over(described(urls, env, &TargetSpec::default())?, kind, title)
}

/// The same of a server that the user named, who may be asked for a password.
fn named(urls: &[String], env: &Env, wanted: &TargetSpec) -> Result<(Target, ConnInfo), Failure> {
    let mut infos = described(urls, env, wanted)?;
    password::ask(&mut infos, wanted)?;
    over(infos, TargetKind::Named, String::new())
}

/// The descriptions of the endpoints.
fn described(urls: &[String], env: &Env, wanted: &TargetSpec) -> Result<Vec<ConnInfo>, Failure> {
    let mut infos = Vec::new();
    for url in urls {
        is_postgresqls(url)?;
        let given = Given {
            target: (!url.is_empty()).then(|| url.clone()),
            fallback_application_name: Some("pgdyno".to_owned()),
            withholds_password: wanted.is_of_file,
            refuses_superuser: wanted.is_of_file && !wanted.may_run_programs,
            ..Given::default()
        };
        let info = resolve(&given, env).map_err(|e| trouble::conninfo(&e))?;
        if info.searches_hosts() {
            infos.push(info);
        } else {
            infos.extend(info.each_host());
        }
    }
    Ok(infos)
}

fn over(
    mut infos: Vec<ConnInfo>,
    kind: TargetKind,
    title: String,
) -> Result<(Target, ConnInfo), Failure> {
    let mut target = Target::over(&infos, kind).map_err(|e| trouble::candidates(&e))?;
    if !title.is_empty() {
        target.title = title;
    }
    Ok((target, infos.swap_remove(0)))
}

/// Refuses texts that libpq would take for a database's name, though an address is meant: another product's URL,
/// `host:port`. The
/// address is not shown: it may hold a password.
fn is_postgresqls(url: &str) -> Result<(), Failure> {
    let wrong = |what: String| {
        Err(Failure::with(Exit::Usage, what).hint(
            "name the server so: --url postgresql://USER@HOST:PORT/DATABASE, or \
             --url 'host=HOST port=PORT dbname=DATABASE'",
        ))
    };
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("postgresql" | "postgres") => Ok(()),
        Some(scheme) if !scheme.contains('=') => wrong(format!(
            "{scheme}:// does not begin the address of a PostgreSQL server"
        )),
        None if !url.contains('=') && url.contains([':', '/']) => wrong(
            "the server's address neither begins with postgresql:// nor has key=value pairs"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// The same target, or all nodes of its cluster if that is wanted.
fn discovered(mut target: Target, info: &ConnInfo, wanted: &TargetSpec) -> Result<Target, Failure> {
    let limits = Limits::of(wanted);
    target.limit(limits);
    if let Some(how) = &wanted.discover {
        target = discover::all_nodes(&target, info, how)?;
        target.limit(limits);
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL};

    fn at(url: &str) -> Target {
        by_urls(
            &[url.to_owned()],
            &Env::empty(),
            TargetKind::Named,
            String::new(),
        )
        .unwrap()
        .0
    }

    #[test]
    fn an_address_leads_to_the_same_server_and_has_no_password() {
        let target = at("postgresql://me:secret@127.0.0.1:5433/it's?sslmode=disable");
        assert!(!target.address.contains("secret"), "{}", target.address);
        let again = at(&target.address);
        assert_eq!(
            (&again.title, &again.address),
            (&target.title, &target.address)
        );
    }

    #[test]
    fn a_list_of_hosts_is_as_many_endpoints_and_a_search_is_one() {
        let names = |urls: &[&str]| {
            let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
            let env = Env::empty().with_os_user("me");
            let (target, first) = by_urls(&urls, &env, TargetKind::Named, String::new()).unwrap();
            let first = first.hosts().next().unwrap_or_default().to_owned();
            assert!(target.endpoints[0].name.contains(&first), "{first}");
            let names = target.endpoints.iter().map(|e| e.name.clone());
            (names.collect::<Vec<_>>(), target.title)
        };
        let (places, title) = names(&["postgresql://127.0.0.1,127.0.0.2:5433/b"]);
        assert_eq!(places, ["127.0.0.1:5432", "127.0.0.2:5433"]);
        assert_eq!(
            title,
            "database b on 2 endpoints (127.0.0.1:5432, 127.0.0.2:5433), user me"
        );
        let (places, title) = names(&["host=127.0.0.1,127.0.0.2 target_session_attrs=primary"]);
        assert_eq!(places, ["127.0.0.1:5432"]);
        assert_eq!(
            title,
            "database me on 127.0.0.1,127.0.0.2, port 5432, user me"
        );
        let (places, title) = names(&[
            "host=/a,/b",
            "host=127.0.0.1 port=1",
            "host=::1,127.0.0.3 port=2,3",
        ]);
        assert_eq!(
            places,
            [
                "/a/.s.PGSQL.5432",
                "/b/.s.PGSQL.5432",
                "127.0.0.1:1",
                "[::1]:2",
                "127.0.0.3:3"
            ]
        );
        assert!(title.contains(", [::1]:2, 1 more), user me"), "{title}");
    }

    #[test]
    fn settings_reach_each_session_as_they_are_written() {
        let url = pgdyno_testkit::postgres().address().url();
        let settings = [
            ("application_name", "two words and a \\ backslash"),
            ("work_mem", "7MB"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let target = at(&format!("{url}&options=-c%20work_mem%3D5MB"));
        let target = target.with_settings(&POSTGRESQL, &settings.clone().into());
        let mut session = target.connect().unwrap();
        for (name, value) in settings {
            let shown = session.query_one_value(&format!("SHOW {name}")).unwrap();
            assert_eq!(shown, Some(value));
        }
    }

    #[test]
    fn settings_are_start_up_parameters_where_there_are_no_options() {
        let target = at("postgresql://me@127.0.0.1:26257/d?application_name=mine");
        let settings = [
            ("application_name", "a b"),
            ("force_savepoint_restart", "on"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let target = target.with_settings(&COCKROACHDB, &settings.into());
        let parameters = &target.endpoints[0].candidates[0].login.parameters;
        let given = |name: &str| {
            let values = parameters.iter().filter(|(n, _)| n == name);
            values.map(|(_, v)| v.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(given("application_name"), ["a b"]);
        assert_eq!(given("force_savepoint_restart"), ["on"]);
        assert_eq!(given("options"), [""; 0]);
    }
}
