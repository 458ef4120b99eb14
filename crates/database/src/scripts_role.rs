//! The role that workloads have on private servers: scripts may be a stranger's, and a superuser's statements
//! run programs as the user who started the server (`COPY … PROGRAM`, `ALTER SYSTEM`, functions in C …).
//!
//! It owns its database, what is in it and schema public, so that it may load, alter, vacuum and make trusted
//! extensions; it sees what observers ask for (pg_monitor) and may make checkpoints (pg_checkpoint, from 15
//! on). It is no superuser, and no member of pg_execute_server_program, pg_read_server_files or
//! pg_write_server_files.

use pgdyno_session::{Session, quote_ident, quote_literal};

use super::open::Target;
use super::target::Administrator;
use super::{admin, safe_settings, trouble};
use pgdyno_spec::Failure;

pub const SCRIPTS_ROLE: &str = "pgdyno";

/// Who administers private servers: who initdb makes (crate `server`).
const SUPERUSER: &str = "postgres";

/// From this version on a role may be granted settings, and pg_checkpoint.
const GRANTS_SETTINGS_SINCE: u32 = 150_000;

/// The same private server, whose endpoints log in as the role; it is made if it is not there.
///
/// # Errors
/// The server cannot be reached, or is not as pgdyno makes it.
pub(super) fn given(mut target: Target) -> Result<Target, Failure> {
    target.administrator = Some(Administrator {
        user: SUPERUSER.to_owned(),
        address: target.address.clone(),
    });
    make(&target)?;
    target.log_in_as(SCRIPTS_ROLE, None);
    target.address = target.address.replace(
        &format!("user='{SUPERUSER}'"),
        &format!("user='{SCRIPTS_ROLE}'"),
    );
    Ok(target)
}

/// Makes the role, if it is not there.
///
/// # Errors
/// As [`given`].
pub(super) fn make(target: &Target) -> Result<(), Failure> {
    let mut session = target.administer()?;
    let sql = made_by(&mut session);
    let made = sql.and_then(|sql| admin::run(&mut session, &sql));
    made.map_err(|e| {
        trouble::server(
            &e,
            "could not make the role for scripts on a private server",
        )
    })?;
    session.close();
    Ok(())
}

/// The statements that make the role and give it what is there, as one transaction.
fn made_by(session: &mut Session) -> Result<String, pgdyno_session::Error> {
    let version = admin::value(session, "SELECT current_setting('server_version_num')")?;
    let version = version.and_then(|text| text.parse().ok()).unwrap_or(0);
    let role = quote_ident(SCRIPTS_ROLE);
    let is_there = format!(
        "SELECT 1 FROM pg_roles WHERE rolname = {}",
        quote_literal(SCRIPTS_ROLE)
    );
    if admin::value(session, &is_there)?.is_some() {
        return Ok(adopted(&role));
    }
    let database = admin::value(session, "SELECT current_database()")?.unwrap_or_default();
    let mut sql = format!(
        "SELECT pg_advisory_xact_lock({LOCK}); \
         DO $make$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $make$; \
         GRANT pg_monitor TO {role}; \
         ALTER DATABASE {database} OWNER TO {role}; \
         ALTER SCHEMA public OWNER TO {role}; ",
        database = quote_ident(&database),
    );
    if version >= GRANTS_SETTINGS_SINCE {
        let rows = admin::rows(
            session,
            "SELECT name FROM pg_settings WHERE context IN ('superuser', 'superuser-backend')",
        )?;
        let names = rows.into_iter().flatten().flatten();
        let safe = names.filter(|name| safe_settings::NAMES.binary_search(&name.as_str()).is_ok());
        let safe: Vec<String> = safe.map(|name| quote_ident(&name)).collect();
        sql += &format!(
            "GRANT pg_checkpoint TO {role}; GRANT SET ON PARAMETER {} TO {role}; ",
            safe.join(", ")
        );
    }
    Ok(sql + &adopted(&role))
}

/// Under which the role is made once, however many pgdynos find the kept server at the same time.
const LOCK: i64 = 0x7067_6479_6e6f;

/// Gives the role what a superuser made in the kept server's database: earlier versions of pgdyno, `psql` at
/// its URL, or scripts with `--allow-shell`.
fn adopted(role: &str) -> String {
    format!(
        "DO $adopt$ DECLARE it record; BEGIN \
         PERFORM pg_advisory_xact_lock({LOCK}); \
         IF to_regnamespace('public') IS NULL THEN CREATE SCHEMA public AUTHORIZATION {role}; END IF; \
         FOR it IN \
         SELECT format('ALTER SCHEMA %I', nspname) AS sql FROM pg_namespace \
         WHERE nspowner = 10 AND nspname <> 'information_schema' AND nspname !~ '^pg_' AND nspname <> 'public' \
         UNION ALL \
         SELECT format('ALTER %s %s', CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' \
           WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass) \
         FROM pg_class AS c WHERE relowner = 10 AND c.oid >= 16384 AND relkind IN ('r', 'p', 'S', 'v', 'm') \
           AND relpersistence <> 't' \
           AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass \
             AND d.objid = c.oid AND (d.deptype = 'e' OR relkind = 'S' AND d.deptype IN ('a', 'i'))) \
         UNION ALL \
         SELECT format('ALTER ROUTINE %s', p.oid::regprocedure) FROM pg_proc AS p \
         JOIN pg_language AS l ON l.oid = p.prolang \
         WHERE proowner = 10 AND p.oid >= 16384 AND l.lanpltrusted \
           AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass \
             AND d.objid = p.oid AND d.deptype IN ('i', 'e')) \
         LOOP EXECUTE it.sql || ' OWNER TO {role}'; END LOOP; END $adopt$"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use pgdyno_spec::TargetSpec;

    /// A private server as `open` makes it.
    fn private(server: &pgdyno_server::Server) -> Target {
        let named = open::existing(&TargetSpec::at(server.address().url()));
        given(named.unwrap().unwrap()).unwrap()
    }

    /// What runs, loads, reads or writes on the host.
    const REFUSED: [&str; 29] = [
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "CREATE TABLE p (a text); COPY p FROM PROGRAM 'true'",
        "COPY (SELECT 1) TO '/tmp/pgdyno-written'",
        "CREATE TABLE p (a text); COPY p FROM '/etc/passwd'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_read_binary_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT pg_stat_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_export(lo_create(0), '/tmp/pgdyno-written')",
        "CREATE FUNCTION f() RETURNS int AS '/tmp/x.so', 'f' LANGUAGE c",
        "CREATE FUNCTION f(cstring) RETURNS int AS 'int4in' LANGUAGE internal",
        "LOAD '/tmp/x.so'",
        "ALTER SYSTEM SET archive_command = 'true'",
        "SET dynamic_library_path = '/tmp'",
        "ALTER ROLE CURRENT_USER SET session_preload_libraries = '/tmp/x.so'",
        "ALTER DATABASE postgres SET session_preload_libraries = '/tmp/x.so'",
        "ALTER ROLE postgres SET work_mem = '8MB'",
        "ALTER SYSTEM RESET ALL",
        "SELECT set_config('session_preload_libraries', '/tmp/x.so', false)",
        "UPDATE pg_proc SET probin = '/tmp/x.so'",
        "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "SELECT pg_reload_conf()",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "GRANT pg_execute_server_program TO CURRENT_USER",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "CREATE TABLESPACE t LOCATION '/tmp'",
        "CREATE SUBSCRIPTION s CONNECTION 'host=/tmp' PUBLICATION p WITH (connect = false)",
    ];

    /// What benchmarks, packs and observers do.
    const DONE: [&str; 13] = [
        "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT 1, 'x'",
        "VACUUM (ANALYZE) t",
        "CREATE INDEX CONCURRENTLY t_b ON t (b)",
        "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$",
        "CALL p()",
        "CREATE SCHEMA s; DROP SCHEMA s",
        "ALTER TABLE t SET UNLOGGED",
        "ALTER DATABASE postgres SET work_mem = '8MB'",
        "ALTER ROLE CURRENT_USER SET statement_timeout = 0",
        "SELECT pg_terminate_backend(0)",
        "SET synchronous_commit = off; SET work_mem = '8MB'",
        "SELECT setting FROM pg_settings WHERE name = 'data_directory' AND setting LIKE '/%'",
        "TRUNCATE t; DROP TABLE t",
    ];

    #[test]
    fn scripts_do_what_benchmarks_do_and_nothing_on_the_host_on_every_version() {
        for major in [13, 14, 15, 18] {
            let server = pgdyno_testkit::postgres_of_with(major, &[]).unwrap();
            let target = private(&server);
            let mut session = target.connect().unwrap();
            for sql in REFUSED {
                let error = session.simple_query(sql).map(drop).expect_err(sql);
                assert_eq!(error.sqlstate(), Some("42501"), "{major}: {sql}: {error}");
            }
            for sql in DONE {
                session
                    .simple_query(sql)
                    .unwrap_or_else(|e| panic!("{major}: {sql}: {e}"));
            }
            let rights = "SELECT rolsuper OR pg_has_role('pg_execute_server_program', 'MEMBER') \
                          OR pg_has_role('pg_read_server_files', 'MEMBER') \
                          OR pg_has_role('pg_write_server_files', 'MEMBER'), \
                          pg_has_role('pg_monitor', 'MEMBER') \
                          FROM pg_roles WHERE rolname = current_user";
            let rights = admin::rows(&mut session, rights).unwrap().remove(0);
            assert_eq!(rights, [Some("f".to_owned()), Some("t".to_owned())]);
            if major >= 15 {
                session.simple_query("CHECKPOINT").unwrap();
                session.simple_query("SET deadlock_timeout = '2s'").unwrap();
            }
            // Administration, and scripts with --allow-shell, have all rights.
            for mut session in
                [target.administer(), target.with_all_rights().connect()].map(Result::unwrap)
            {
                let is_superuser =
                    admin::value(&mut session, "SELECT current_setting('is_superuser')");
                assert_eq!(is_superuser.unwrap().as_deref(), Some("on"));
                session.simple_query("CHECKPOINT").unwrap();
            }
        }
    }

    #[test]
    fn trusted_extensions_are_made_and_others_are_not() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let mut session = private(&server).connect().unwrap();
        let extensions = "SELECT name, bool_or(trusted) FROM pg_available_extension_versions \
                          WHERE name IN ('pgcrypto', 'hstore', 'file_fdw', 'dblink', 'postgres_fdw', 'adminpack') \
                          GROUP BY name";
        for row in admin::rows(&mut session, extensions).unwrap() {
            let [Some(name), Some(is_trusted)] = &row[..] else {
                panic!("{row:?}");
            };
            let made = session.simple_query(&format!("CREATE EXTENSION {name}"));
            assert_eq!(made.is_ok(), is_trusted == "t", "{name}");
        }
    }

    #[test]
    fn what_an_object_of_scripts_does_is_not_done_by_the_administrator() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let target = private(&server);
        let mut session = target.connect().unwrap();
        // Functions and operators that would be found where pg_catalog is not the only schema searched.
        let trap = "CREATE FUNCTION public.lower(name) RETURNS text LANGUAGE plpgsql AS \
                    $$ BEGIN RAISE 'trapped'; END $$; \
                    ALTER DATABASE postgres SET search_path = public, pg_catalog";
        session.simple_query(trap).unwrap();
        let mut administration = target.administer().unwrap();
        let lower = "SELECT lower('A'::name)";
        admin::value(&mut administration, lower).unwrap();
        let trapped = admin::value(&mut target.connect().unwrap(), lower);
        assert!(trapped.unwrap_err().to_string().contains("trapped"));
    }

    #[test]
    fn what_a_superuser_made_there_before_is_the_roles_from_then_on() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let named = open::existing(&TargetSpec::at(server.address().url()));
        let mut superuser = named.unwrap().unwrap().connect().unwrap();
        let made = "CREATE TABLE t (a serial, b int) PARTITION BY RANGE (b); \
                    CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (9); \
                    CREATE VIEW v AS SELECT * FROM t; CREATE SCHEMA \"of them\"; \
                    CREATE MATERIALIZED VIEW \"of them\".m AS SELECT 1 AS a; CREATE SEQUENCE s; \
                    CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'";
        // With the role there, and before.
        for _ in 0..2 {
            superuser.simple_query(made).unwrap();
            let mut session = private(&server).connect().unwrap();
            let dropped = "VACUUM t; VACUUM t_1";
            for sql in dropped.split("; ") {
                session.simple_query(sql).unwrap();
                assert!(session.take_notices().is_empty(), "{sql}");
            }
            session
                .simple_query("DROP VIEW v; DROP TABLE t; DROP SCHEMA \"of them\" CASCADE; DROP SEQUENCE s; DROP FUNCTION f()")
                .unwrap();
        }
    }
}
