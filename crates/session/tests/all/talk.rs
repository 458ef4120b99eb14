//! Talking to a real server: queries, errors, notices, COPY, cancel, lost connections.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::common::{Server, Setup, shared};
use pgdyno_session::{Error, NOTICES_MAX, Session, quote_ident, quote_literal};
use pgdyno_wire::backend::TransactionStatus;

static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());

fn server() -> Arc<Server> {
    shared(
        &SERVER,
        Setup {
            tls: true,
            ..Setup::default()
        },
    )
}

#[test]
fn a_query_returns_columns_rows_nulls_and_tags() {
    let server = server();
    let mut session = server.admin();
    let outcomes = session
        .simple_query("SELECT 1 AS one, NULL AS nothing, 'ä' AS text; CREATE TEMP TABLE t AS SELECT generate_series(1, 5); ; DELETE FROM t WHERE generate_series > 2")
        .unwrap();
    assert_eq!(outcomes.len(), 3);
    let names: Vec<&str> = outcomes[0]
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["one", "nothing", "text"]);
    assert_eq!(outcomes[0].columns[0].type_oid, 23);
    assert_eq!(
        outcomes[0].rows,
        [[Some("1".to_owned()), None, Some("ä".to_owned())]]
    );
    assert_eq!(
        (outcomes[1].tag.as_str(), outcomes[1].affected),
        ("SELECT 5", Some(5))
    );
    assert_eq!(
        (outcomes[2].tag.as_str(), outcomes[2].affected),
        ("DELETE 3", Some(3))
    );
    assert_eq!(session.execute("SET work_mem = '1MB'").unwrap(), 0);
    let empty = session.simple_query("").unwrap();
    assert_eq!((empty.len(), empty[0].tag.as_str()), (1, ""));
    assert_eq!(session.query_one_value("SELECT NULL").unwrap(), None);
    for sql in [
        "SELECT generate_series(1, 3)",
        "SELECT 1 WHERE false",
        "SELECT",
        "SET work_mem = '1MB'",
    ] {
        assert!(
            matches!(session.query_one_value(sql), Err(Error::Usage(_))),
            "{sql}"
        );
    }
    session.close();
}

#[test]
fn quoted_names_and_values_arrive_as_they_are() {
    let server = server();
    let mut session = server.admin();
    for nasty in [
        "it's",
        "back\\slash",
        "double\"quote",
        "\\'; DROP TABLE x; --",
        "ünï",
    ] {
        for conforming in ["on", "off"] {
            session.execute(&format!("SET escape_string_warning = off; SET standard_conforming_strings = {conforming}")).unwrap();
            let sql = format!("SELECT {} AS {}", quote_literal(nasty), quote_ident(nasty));
            let outcome = session.query(&sql).unwrap();
            assert_eq!(outcome.rows[0][0].as_deref(), Some(nasty));
            assert_eq!(outcome.columns[0].name, nasty);
        }
    }
}

#[test]
fn an_error_keeps_every_field_and_the_session_goes_on() {
    let server = server();
    let mut session = server.admin();
    session
        .execute("CREATE TEMP TABLE u (k int CONSTRAINT u_key PRIMARY KEY)")
        .unwrap();
    let error = session
        .simple_query("INSERT INTO u VALUES (7), (7)")
        .unwrap_err();
    assert_eq!(error.sqlstate(), Some("23505"));
    assert_eq!(
        error.to_string(),
        "ERROR:  duplicate key value violates unique constraint \"u_key\" (SQLSTATE 23505)\nDETAIL:  Key (k)=(7) already exists."
    );
    let server_error = error.server().unwrap();
    assert_eq!(
        server_error.libpq_text(None).lines().next().unwrap(),
        "ERROR:  duplicate key value violates unique constraint \"u_key\""
    );
    for (code, expected) in [
        (b'S', "ERROR"),
        (b'V', "ERROR"),
        (b't', "u"),
        (b'n', "u_key"),
        (b'R', "_bt_check_unique"),
    ] {
        assert_eq!(server_error.field(code), Some(expected));
    }
    assert!(
        server_error.field(b's').unwrap().starts_with("pg_temp")
            && server_error.field(b'L').is_some()
    );
    let hinted = session.simple_query("SELECT kk FROM u").unwrap_err();
    assert_eq!(
        hinted.server().unwrap().hint().unwrap(),
        "Perhaps you meant to reference the column \"u.k\"."
    );
    assert_eq!(hinted.server().unwrap().field(b'P'), Some("8"));
    assert_eq!(
        hinted
            .server()
            .unwrap()
            .libpq_text(Some("SELECT kk FROM u")),
        "ERROR:  column \"kk\" does not exist\nLINE 1: SELECT kk FROM u\n               ^\n\
         HINT:  Perhaps you meant to reference the column \"u.k\"."
    );
    let nested = session
        .simple_query("DO $$ BEGIN EXECUTE 'SELECT 1/0'; END $$")
        .unwrap_err();
    assert!(
        nested
            .to_string()
            .contains("\nCONTEXT:  SQL statement \"SELECT 1/0\""),
        "{nested}"
    );
    session.simple_query("BEGIN").unwrap();
    assert_eq!(
        session.transaction_status(),
        TransactionStatus::InTransaction
    );
    session.simple_query("SELECT 1/0").unwrap_err();
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    session.simple_query("ROLLBACK").unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
}

#[test]
fn notices_are_collected_or_handed_over_and_settings_followed() {
    let server = server();
    let mut session = server.admin();
    session
        .execute("DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two' USING HINT = 'h'; END $$")
        .unwrap();
    let notices = session.take_notices();
    let texts: Vec<String> = notices
        .iter()
        .map(|n| format!("{} {} {:?}", n.severity(), n.message(), n.hint()))
        .collect();
    assert_eq!(texts, ["NOTICE one None", "WARNING two Some(\"h\")"]);
    assert!(session.take_notices().is_empty());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let copy = heard.clone();
    session.on_notice(move |notice| copy.lock().unwrap().push(notice.message().to_owned()));
    session
        .execute("DO $$ BEGIN RAISE NOTICE 'three'; END $$")
        .unwrap();
    assert_eq!(*heard.lock().unwrap(), ["three"]);
    assert!(session.take_notices().is_empty());
    assert!(session.parameter("server_version").is_some());
    session
        .execute("SET application_name = 'renamed'; LISTEN x; NOTIFY x")
        .unwrap();
    assert_eq!(session.parameter("application_name"), Some("renamed"));
    assert_eq!(
        session.query_one_value("SELECT 1").unwrap().as_deref(),
        Some("1")
    );
}

#[test]
fn copy_stores_rows_in_any_pieces_plain_and_encrypted() {
    let server = server();
    for options in [
        "user=postgres",
        "host=127.0.0.1 user=postgres sslmode=require",
    ] {
        let mut session = server.try_connect(options).unwrap();
        session
            .execute("CREATE TEMP TABLE c (a int, b text)")
            .unwrap();
        let mut copy = session.copy_in("COPY c FROM STDIN").unwrap();
        let filler = "x".repeat(90);
        for i in 0..50_000 {
            copy.write_with(|out| out.extend_from_slice(format!("{i}\t{filler}").as_bytes()))
                .unwrap();
            copy.write(b"\n").unwrap();
        }
        assert_eq!(copy.finish().unwrap(), 50_000);
        let sum = session
            .query_one_value("SELECT sum(a) || ' ' || sum(length(b)) FROM c")
            .unwrap();
        assert_eq!(sum.as_deref(), Some("1249975000 4500000"));
        assert_eq!(
            session
                .copy_in("TRUNCATE c; COPY c FROM STDIN")
                .unwrap()
                .finish()
                .unwrap(),
            0
        );
    }
}

#[test]
fn a_wrong_row_ends_the_copy_long_before_its_end() {
    let server = server();
    let mut session = server.admin();
    session.execute("CREATE TEMP TABLE c (a int)").unwrap();
    let mut copy = session.copy_in("COPY c FROM STDIN").unwrap();
    copy.write(b"1\nnot a number\n").unwrap();
    let row = b"2\n".repeat(50_000);
    let mut written = 0;
    let error = loop {
        match copy.write(&row) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 20_000, "the error was never noticed");
    };
    assert_eq!(error.sqlstate(), Some("22P02"));
    assert!(
        error
            .to_string()
            .contains("COPY c, line 2, column a: \"not a number\""),
        "{error}"
    );
    assert!(matches!(copy.finish(), Err(Error::Usage(_))));
    // An error only known at the end arrives with the end.
    session
        .execute("CREATE TEMP TABLE k (a int PRIMARY KEY)")
        .unwrap();
    let mut copy = session.copy_in("COPY k FROM STDIN").unwrap();
    copy.write(b"1\n1\n").unwrap();
    assert_eq!(copy.finish().unwrap_err().sqlstate(), Some("23505"));
    assert_eq!(
        session
            .query_one_value("SELECT count(*) FROM k")
            .unwrap()
            .as_deref(),
        Some("0")
    );
}

#[test]
fn a_copy_given_up_stores_nothing_and_leaves_the_session_usable() {
    let server = server();
    let mut session = server.admin();
    session.execute("CREATE TEMP TABLE c (a int)").unwrap();
    let mut copy = session.copy_in("COPY c FROM STDIN").unwrap();
    copy.write(b"1\n").unwrap();
    copy.abort("enough").unwrap();
    let mut copy = session.copy_in("COPY c FROM STDIN").unwrap();
    copy.write(&b"1\n".repeat(500_000)).unwrap();
    drop(copy);
    assert_eq!(
        session
            .query_one_value("SELECT count(*) FROM c")
            .unwrap()
            .as_deref(),
        Some("0")
    );
    let error = session
        .copy_in("COPY nowhere FROM STDIN")
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.sqlstate(), Some("42P01"));
    let error = session.copy_in("SELECT 1").map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Usage(_)));
    for sql in [
        "COPY c FROM STDIN",
        "COPY (SELECT generate_series(1, 100000)) TO STDOUT",
    ] {
        assert!(
            matches!(session.simple_query(sql), Err(Error::Usage(_))),
            "{sql}"
        );
    }
    assert_eq!(
        session.query_one_value("SELECT 1").unwrap().as_deref(),
        Some("1")
    );
}

#[test]
fn a_running_statement_can_be_cancelled_from_another_thread() {
    let server = server();
    for options in [
        "user=postgres",
        "host=127.0.0.1 user=postgres sslmode=disable",
        "host=127.0.0.1 user=postgres sslmode=require",
        "host=127.0.0.1 user=postgres sslmode=prefer",
    ] {
        let mut session = server.try_connect(options).unwrap();
        let handle = session.cancel_handle();
        let started = Instant::now();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            handle.cancel().unwrap();
        });
        let error = session.simple_query("SELECT pg_sleep(30)").unwrap_err();
        assert_eq!(error.sqlstate(), Some("57014"), "{options}");
        assert!(started.elapsed() < Duration::from_secs(10));
        canceller.join().unwrap();
        assert_eq!(
            session.query_one_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );
    }
}

#[test]
fn kept_statements_are_prepared_once() {
    let server = server();
    let mut session = server.admin();
    let ask = |session: &mut Session, sql: &str, value: &str| {
        let mut found = None;
        let answer = session.query_each(sql, &[Some(value)], &mut |_, values| {
            found = values[0].map(|value| String::from_utf8_lossy(value).into_owned());
        });
        answer.map(|_| found)
    };
    let prepared = |session: &mut Session| {
        let query = "SELECT count(*) FROM pg_prepared_statements";
        session.query_one_value(query).unwrap()
    };
    let count = |text: &str| Some(text.to_owned());
    let sql = "SELECT $1::int + 1";
    assert_eq!(ask(&mut session, sql, "1").unwrap().as_deref(), Some("2"));
    assert_eq!(prepared(&mut session), count("0"));
    session.keep_statements(1);
    for value in ["5", "6", "7"] {
        assert!(ask(&mut session, sql, value).is_ok());
    }
    assert_eq!(
        ask(&mut session, "SELECT $1", "more").unwrap(),
        count("more")
    );
    assert_eq!(prepared(&mut session), count("1"));
    // An error of one execution leaves the statement there.
    assert_eq!(
        ask(&mut session, sql, "x").unwrap_err().sqlstate(),
        Some("22P02")
    );
    assert_eq!(ask(&mut session, sql, "8").unwrap(), count("9"));
    // What something else has taken away is refused, and asked without a name it is answered.
    session.execute("DEALLOCATE ALL").unwrap();
    assert_eq!(
        ask(&mut session, sql, "1").unwrap_err().sqlstate(),
        Some("26000")
    );
    session.keep_statements(0);
    assert_eq!(ask(&mut session, sql, "1").unwrap(), count("2"));
}

#[test]
fn rows_are_taken_one_by_one_with_parameters_that_may_be_null() {
    let server = server();
    let mut session = server.admin();
    let sql = "SELECT n, $1::text FROM generate_series(1, $2::int) n";
    let mut rows = Vec::new();
    let affected = session.query_each(sql, &[None, Some("3")], &mut |columns, values| {
        assert_eq!((columns.len(), &*columns[0].name), (2, "n"));
        rows.push((values[0].map(<[u8]>::to_vec), values[1].is_none()));
    });
    assert_eq!(affected.unwrap(), Some(3));
    let row = |text: &str| (Some(text.as_bytes().to_vec()), true);
    assert_eq!(rows, [row("1"), row("2"), row("3")]);
    // An error behind rows that were taken already; the session goes on.
    let mut count = 0;
    let sql = "SELECT 1 / (3 - n) FROM generate_series(1, 5) n";
    let error = session.query_each(sql, &[], &mut |_, _| count += 1);
    assert_eq!(error.unwrap_err().sqlstate(), Some("22012"));
    assert_eq!(count, 2);
    assert_eq!(
        session.query_one_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );
}

#[test]
fn a_query_with_parameters_returns_rows_or_the_servers_error() {
    let server = server();
    let mut session = server.admin();
    let sql = "SELECT $1::int + 1, $2 || 'x', nullif($2, $2)";
    let outcome = session.query_with(sql, &["41", "it's"]).unwrap();
    assert_eq!(
        outcome.rows,
        [[Some("42".to_owned()), Some("it'sx".to_owned()), None]]
    );
    let error = session.query_with(sql, &["x", ""]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("22P02"), "{error}");
    let error = session.query_with("SELECT $1", &[]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("08P01"), "{error}");
    let many = vec![""; 65_536];
    let error = session.query_with("SELECT 1", &many).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    // Nothing of all that is in the way of what comes next.
    let created = session
        .query_with("CREATE TEMP TABLE made ()", &[])
        .unwrap();
    assert_eq!(created.tag, "CREATE TABLE");
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
}

#[test]
fn a_terminated_session_tells_the_servers_last_words_and_is_broken() {
    let server = server();
    let mut session = server.admin();
    let pid = session.backend_pid();
    let error = session
        .simple_query("SELECT pg_terminate_backend(pg_backend_pid())")
        .unwrap_err();
    // They arrive before the connection ends, and matter more than that it does.
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    let again = session.simple_query("SELECT 1").unwrap_err();
    assert!(matches!(again, Error::Lost(_)), "{again}");
    assert!(session.is_broken());

    let mut victim = server.admin();
    let mut admin = server.admin();
    admin
        .query(&format!(
            "SELECT pg_terminate_backend({}, 5000)",
            victim.backend_pid()
        ))
        .unwrap();
    let error = victim.simple_query("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    assert_ne!(pid, victim.backend_pid());
}

#[test]
fn a_silent_server_is_given_up_after_the_answer_timeout() {
    let server = server();
    let mut session = server.admin();
    session.set_answer_timeout(Some(Duration::from_millis(300)));
    session.query("SELECT pg_sleep(0.1)").unwrap();
    let started = Instant::now();
    let error = session.query("SELECT pg_sleep(5)").unwrap_err();
    assert_eq!(error.to_string(), "no answer from the server within 0.3 s");
    assert!(started.elapsed() < Duration::from_secs(3));
    assert!(session.is_broken());
}

#[test]
fn notices_during_a_copy_do_not_block_it() {
    let server = server();
    let mut session = server.admin();
    session
        .execute(
            "CREATE TEMP TABLE c (a int); SET client_min_messages = notice; \
             CREATE FUNCTION pg_temp.shout() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE NOTICE '%', repeat('n', 2000); RETURN NEW; END $$; \
             CREATE TRIGGER t BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION pg_temp.shout()",
        )
        .unwrap();
    session.set_answer_timeout(Some(Duration::from_secs(30)));
    let mut copy = session.copy_in("COPY c FROM STDIN").unwrap();
    for _ in 0..20 {
        copy.write(&b"12345678\n".repeat(2_000)).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 40_000);
    assert_eq!(session.take_notices().len(), NOTICES_MAX);
}

#[test]
fn a_large_row_and_a_large_statement_pass_encrypted() {
    let server = server();
    let mut session = server.tcp("user=postgres sslmode=require").unwrap();
    let text = "y".repeat(3_000_000);
    let value = session
        .query_one_value(&format!("SELECT '{text}' || 'z'"))
        .unwrap()
        .unwrap();
    assert_eq!(value.len(), 3_000_001);
}

#[test]
fn startup_settings_reach_the_server() {
    let server = server();
    let mut session = server
        .try_connect(
            "user=postgres application_name=mine options='-c geqo=off -c my.setting=a\\\\ b'",
        )
        .unwrap();
    assert_eq!(
        session
            .query_one_value("SHOW application_name")
            .unwrap()
            .as_deref(),
        Some("mine")
    );
    assert_eq!(
        session.query_one_value("SHOW geqo").unwrap().as_deref(),
        Some("off")
    );
    assert_eq!(
        session
            .query_one_value("SHOW my.setting")
            .unwrap()
            .as_deref(),
        Some("a b")
    );
    // A server older than the protocol asked for says so, and the session goes on with its own.
    server
        .try_connect("user=postgres max_protocol_version=3.2")
        .unwrap();
    let error = server
        .try_connect("user=postgres options='-c nonsense=1'")
        .unwrap_err();
    assert!(
        error.ends_with("FATAL:  unrecognized configuration parameter \"nonsense\""),
        "{error}"
    );
    let keepalive =
        "keepalives_idle=5 keepalives_interval=1 keepalives_count=3 tcp_user_timeout=10000";
    server.tcp(&format!("user=postgres {keepalive}")).unwrap();
}

#[test]
fn a_session_that_was_waited_for_counts_at_no_limit_any_more() {
    let server = server();
    let mut admin = server.admin();
    admin
        .simple_query("CREATE ROLE one_at_a_time LOGIN CONNECTION LIMIT 1")
        .unwrap();
    for _ in 0..20 {
        let session = server.try_connect("user=one_at_a_time");
        session.unwrap().close_and_wait(Duration::from_secs(10));
    }
}
