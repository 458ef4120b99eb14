//! Naming a server: what libpq accepts is accepted, with the same meaning and the same complaints.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use pgdyno_session::{ConnInfo, ConnInfoError, Env, Given, names_a_target, resolve};
use pgdyno_wire::{Addr, Encryption, SessionAttrs};

fn env() -> Env {
    Env::empty().with_os_user("os")
}

fn read(text: &str) -> Result<ConnInfo, ConnInfoError> {
    resolve(&Given::target(text), &env())
}

fn shown(text: &str) -> String {
    match read(text) {
        Ok(info) => info.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn uris_mean_what_they_mean_to_libpq() {
    for (uri, expected) in [
        ("postgresql://", "user=os dbname=os"),
        ("postgres://host", "host=host user=os dbname=os"),
        (
            "postgresql://me:p%40ss@host:5433/db",
            "host=host port=5433 user=me dbname=db",
        ),
        ("postgresql://me@host/", "host=host user=me dbname=me"),
        ("postgresql://host/db?", "host=host user=os dbname=db"),
        ("postgresql://host?user=me&", "host=host user=me dbname=me"),
        (
            "postgresql://[::1]:5433/db",
            "host=::1 port=5433 user=os dbname=db",
        ),
        (
            "postgresql://[2001:db8::1234]",
            "host=2001:db8::1234 user=os dbname=os",
        ),
        (
            "postgresql://a:1,b:2,[::1]:3/db",
            "host=a,b,::1 port=1,2,3 user=os dbname=db",
        ),
        (
            "postgresql://a,b/db?port=7",
            "host=a,b port=7 user=os dbname=db",
        ),
        (
            "postgresql://a,b:2/db",
            "host=a,b port=,2 user=os dbname=db",
        ),
        (
            "postgresql://%2Ftmp%2Fsock/db",
            "host=/tmp/sock user=os dbname=db",
        ),
        (
            "postgresql:///db?host=/tmp/sock&port=1",
            "host=/tmp/sock port=1 user=os dbname=db",
        ),
        ("postgresql://@/db", "user=os dbname=db"),
        ("postgresql://h/a%20b", "host=h user=os dbname='a b'"),
        ("postgresql://h/ a ", "host=h user=os dbname=a"),
        (
            "postgresql://h/db?ssl=true",
            "host=h user=os dbname=db sslmode=require",
        ),
        (
            "postgresql://h/db?application%5Fname=x",
            "host=h user=os dbname=db application_name=x",
        ),
        (
            "postgresql://h/db/more?user=a",
            "host=h user=a dbname=db/more",
        ),
    ] {
        assert_eq!(shown(uri), expected, "{uri}");
    }
}

#[test]
fn malformed_uris_are_refused_in_libpqs_words() {
    for (uri, expected) in [
        (
            "postgresql://[::1/db",
            "end of string reached when looking for matching \"]\" in IPv6 host address in URI: \"postgresql://[::1/db\"",
        ),
        (
            "postgresql://[]/db",
            "IPv6 host address may not be empty in URI: \"postgresql://[]/db\"",
        ),
        (
            "postgresql://[::1]x",
            "unexpected character \"x\" at position 19 in URI (expected \":\" or \"/\"): \"postgresql://[::1]x\"",
        ),
        (
            "postgresql://h/%zz",
            "invalid percent-encoded token: \"%zz\"",
        ),
        ("postgresql://h/%1", "invalid percent-encoded token: \"%1\""),
        (
            "postgresql://h/%00",
            "forbidden value %00 in percent-encoded value: \"%00\"",
        ),
        (
            "postgresql://h/a b",
            "unexpected spaces found in \"a b\", use percent-encoded spaces (%20) instead",
        ),
        (
            "postgresql://h/db?user",
            "missing key/value separator \"=\" in URI query parameter: \"user\"",
        ),
        (
            "postgresql://h/db?user=a=b",
            "extra key/value separator \"=\" in URI query parameter: \"user\"",
        ),
        (
            "postgresql://h/db?zzz=1",
            "invalid URI query parameter: \"zzz\"",
        ),
        (
            "postgresql://h:5x/db",
            "invalid integer value \"5x\" for connection option \"port\"\na port is a whole number from 1 to \
             65535, as in postgresql://USER@HOST:5432/DATABASE, port=5432 or PGPORT",
        ),
        (
            "postgresql://h:65536/db",
            "invalid port number: \"65536\"\na port is a whole number from 1 to \
             65535, as in postgresql://USER@HOST:5432/DATABASE, port=5432 or PGPORT",
        ),
        (
            "postgresql://h:0/db",
            "invalid port number: \"0\"\na port is a whole number from 1 to \
             65535, as in postgresql://USER@HOST:5432/DATABASE, port=5432 or PGPORT",
        ),
        (
            "postgresql://h:1,h2:2,h3/db?port=1,2",
            "could not match 2 port numbers to 3 hosts",
        ),
        (
            "postgresql://h/db?hostaddr=127.0.0.1,127.0.0.2",
            "could not match 1 host names to 2 hostaddr values",
        ),
    ] {
        assert_eq!(shown(uri), format!("error: {expected}"), "{uri}");
    }
}

#[test]
fn key_value_strings_take_quotes_escapes_and_blanks() {
    for (text, expected) in [
        (
            "host=h port = 5433 dbname= 'my db' user=a\\ b",
            "host=h port=5433 user='a b' dbname='my db'",
        ),
        (
            "dbname='it\\'s' user='back\\\\slash'",
            "user='back\\\\slash' dbname='it\\'s'",
        ),
        ("user='' dbname=x", "user=os dbname=x"),
        ("user=a user=b", "user=b dbname=b"),
        ("host=a,b port=5433", "host=a,b port=5433 user=os dbname=os"),
        (
            "hostaddr=127.0.0.1 host=name",
            "host=name hostaddr=127.0.0.1 user=os dbname=os",
        ),
        ("bare name", "user=os dbname='bare name'"),
        ("", "user=os dbname=os"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
    for (text, expected) in [
        (
            "host=h dbname",
            "missing \"=\" after \"dbname\" in connection info string",
        ),
        (
            "host='h",
            "unterminated quoted string in connection info string",
        ),
        ("hots=h", "invalid connection option \"hots\""),
        (
            "host=h sslmode=never",
            "invalid sslmode value: \"never\"\nit may be disable, allow, prefer, require, verify-ca, verify-full",
        ),
        (
            "host=h connect_timeout=soon",
            "invalid integer value \"soon\" for connection option \"connect_timeout\"",
        ),
        (
            "require_auth=md5,!none",
            "negative require_auth method \"!none\" cannot be mixed with non-negative methods",
        ),
        (
            "target_session_attrs=best",
            "invalid target_session_attrs value: \"best\"\nit may be any, read-write, read-only, primary, standby, prefer-standby",
        ),
        (
            "sslrootcert=system sslmode=require",
            "weak sslmode \"require\" may not be used with sslrootcert=system (use \"verify-full\")",
        ),
        (
            "sslnegotiation=direct",
            "weak sslmode \"prefer\" may not be used with sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")",
        ),
        (
            "gssencmode=require",
            "gssencmode value \"require\" invalid when GSSAPI support is not compiled in",
        ),
        (
            "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2 sslmode=require host=127.0.0.1",
            "invalid SSL protocol version range",
        ),
        (
            "min_protocol_version=3.2 max_protocol_version=3.0",
            "\"min_protocol_version\" is greater than \"max_protocol_version\"",
        ),
        (
            "scram_max_iterations=0",
            "invalid scram_max_iterations value: \"0\"\nit may be 1 or more",
        ),
        (
            "scram_client_key=x",
            "connection option \"scram_client_key\" is not supported",
        ),
    ] {
        let error = read(text)
            .and_then(|info| info.candidates())
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn a_string_wins_over_options_and_both_over_the_environment() {
    let env = env()
        .with("PGHOST", "env")
        .with("PGUSER", "envuser")
        .with("PGPORT", "7")
        .with("PGDATABASE", "envdb");
    let mut given = Given {
        host: Some("opt".into()),
        ..Given::default()
    };
    assert_eq!(
        resolve(&given, &env).unwrap().to_string(),
        "host=opt port=7 user=envuser dbname=envdb"
    );
    given.target = Some("host=str".into());
    assert_eq!(
        resolve(&given, &env).unwrap().to_string(),
        "host=str port=7 user=envuser dbname=envdb"
    );
    given.target = Some("postgresql://u@/".into());
    assert_eq!(
        resolve(&given, &env).unwrap().to_string(),
        "host=opt port=7 user=u dbname=envdb"
    );
    given.target = Some("plain".into());
    assert_eq!(
        resolve(&given, &env).unwrap().to_string(),
        "host=opt port=7 user=envuser dbname=plain"
    );
}

#[test]
fn every_variable_of_the_environment_is_heard() {
    let env = env()
        .with("PGHOSTADDR", "127.0.0.1")
        .with("PGSSLMODE", "disable")
        .with("PGCHANNELBINDING", "disable")
        .with("PGREQUIREAUTH", "none")
        .with("PGSCRAMMAXITERATIONS", "5000")
        .with("PGTARGETSESSIONATTRS", "primary")
        .with("PGLOADBALANCEHOSTS", "random")
        .with("PGOPTIONS", "-c geqo=off")
        .with("PGCONNECT_TIMEOUT", "3")
        .with("PGAPPNAME", "app")
        .with("PGCLIENTENCODING", "auto")
        .with("PGTZ", "UTC")
        .with("PGDATESTYLE", "default")
        .with("PGPASSWORD", "hidden");
    let info = resolve(
        &Given {
            fallback_application_name: Some("fall".into()),
            ..Given::default()
        },
        &env,
    )
    .unwrap();
    assert!(info.load_balances() && info.has_password());
    let candidates = info.candidates().unwrap().list;
    let candidate = &candidates[0];
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidate.addr, Addr::Tcp("127.0.0.1:5432".parse().unwrap()));
    assert_eq!(candidate.connect_timeout, Some(Duration::from_secs(3)));
    let login = &candidate.login;
    assert!(matches!(login.encryption, Encryption::Plain));
    assert_eq!(login.session_attrs, SessionAttrs::Primary);
    assert_eq!(login.require_auth.text(), "none");
    assert_eq!(login.scram_iterations_max, 5000);
    assert_eq!(login.password.as_ref().unwrap().expose(), "hidden");
    let parameters: Vec<String> = login
        .parameters
        .iter()
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    assert_eq!(
        parameters,
        [
            "database=os",
            "options=-c geqo=off",
            "application_name=app",
            "client_encoding=UTF8",
            "timezone=UTC"
        ]
    );
    for wrong in [
        "PGSSLMODE",
        "PGCHANNELBINDING",
        "PGREQUIREAUTH",
        "PGSCRAMMAXITERATIONS",
        "PGTARGETSESSIONATTRS",
        "PGLOADBALANCEHOSTS",
        "PGCONNECT_TIMEOUT",
        "PGPORT",
        "PGSSLNEGOTIATION",
        "PGGSSENCMODE",
    ] {
        let error = resolve(&Given::default(), &env.clone().with(wrong, "nonsense")).unwrap_err();
        assert!(error.to_string().contains("nonsense"), "{wrong}: {error}");
    }
}

#[test]
fn only_what_says_where_names_a_target() {
    let bare = Given::target("mydb");
    assert!(!names_a_target(&Given::default(), &env()));
    assert!(!names_a_target(
        &bare,
        &env().with("PGUSER", "x").with("PGDATABASE", "y")
    ));
    assert!(names_a_target(&Given::target("postgres:///"), &env()));
    assert!(names_a_target(&Given::target("dbname=x"), &env()));
    assert!(names_a_target(
        &Given {
            host: Some("h".into()),
            ..Given::default()
        },
        &env()
    ));
    for variable in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"] {
        assert!(
            names_a_target(&bare, &env().with(variable, "1")),
            "{variable}"
        );
        assert!(
            !names_a_target(&bare, &env().with(variable, "")),
            "{variable}"
        );
    }
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    for text in [
        "dbname='two words' user='it\\'s' options='-c a\\\\b'",
        "user='back\\\\slash' dbname=''",
        // A vertical tab separates words too.
        "dbname='a\x0bb' application_name='\x0b'",
        "b1p\x0b",
        "postgresql://h1:1,h2/%20x%3D'?sslmode=verify-full",
    ] {
        let printed = shown(text);
        assert_eq!(shown(&printed), printed, "{text:?}");
    }
}

#[test]
fn secrets_are_shown_nowhere() {
    let env = env().with("PGPASSWORD", "hidden2");
    for target in [
        "postgresql://me:hidden1@h/db",
        "host=h password=hidden1",
        "postgres://h/?password=hidden1",
    ] {
        let given = Given {
            password: Some("hidden3".into()),
            ..Given::target(target)
        };
        let info = resolve(&given, &env).unwrap();
        let candidates = info.with_password("hidden4");
        let text = format!(
            "{info} {info:?} {given:?} {env:?} {:?} {:?}",
            info.option("password"),
            candidates
        );
        assert!(!text.contains("hidden"), "{text}");
        assert!(!format!("{:?}", info.with_dbname("x")).contains("hidden"));
    }
    for wrong in [
        "postgresql://me:hidden@[::1",
        "postgresql://me:hid%zzden@h",
        "postgresql://me:hid den@h",
        "postgresql://h/?password=hidd%00en",
        "postgresql://me:hid/den@h",
        "password=p hidden host=x",
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(!error.contains("hid"), "{error}");
    }
}

#[test]
fn modes_of_tls_unfold_to_attempts() {
    let kinds = |text: &str| -> String {
        let list = read(text).unwrap().candidates().unwrap().list;
        list.iter()
            .map(|c| match c.login.encryption {
                Encryption::Plain => 'p',
                Encryption::TlsIfOffered(_) => 'o',
                Encryption::Tls(_) => 't',
            })
            .collect()
    };
    assert_eq!(kinds("hostaddr=127.0.0.1 sslmode=disable"), "p");
    assert_eq!(kinds("hostaddr=127.0.0.1 sslmode=allow"), "pt");
    assert_eq!(kinds("hostaddr=127.0.0.1"), "op");
    assert_eq!(kinds("hostaddr=127.0.0.1 sslmode=require"), "t");
    assert_eq!(kinds("host=/tmp sslmode=require"), "p");
    assert_eq!(
        kinds("hostaddr=127.0.0.1,127.0.0.2 sslmode=disable target_session_attrs=prefer-standby"),
        "pppp"
    );
}

#[test]
fn verification_without_a_root_certificate_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let env = env().with_home(home.path());
    for mode in ["verify-ca", "verify-full"] {
        let info = resolve(
            &Given::target(format!("hostaddr=127.0.0.1 sslmode={mode}")),
            &env,
        )
        .unwrap();
        let error = info.candidates().unwrap_err().to_string();
        let file = home.path().join(".postgresql/root.crt");
        let start = format!(
            "root certificate file \"{}\" does not exist\nEither provide the file",
            file.display()
        );
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn system_roots_strengthen_the_default_mode() {
    let info = read("host=h sslrootcert=system").unwrap();
    assert_eq!(info.option("sslmode"), Some("verify-full"));
}

#[test]
fn a_password_file_is_searched_for_each_host() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".pgpass");
    fs::write(&file, "# comment\n127.0.0.1:5432:db:me:one\n127.0.0.2:*:*:*:two\nlocalhost:5432:*:me:socket\n127.0.0.1:5432:other:me:four\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let env = env().with_home(home.path());
    let passwords = |info: &ConnInfo| -> Vec<Option<String>> {
        let list = info.candidates().unwrap().list;
        list.iter()
            .map(|c| c.login.password.as_ref().map(|p| p.expose().to_owned()))
            .collect()
    };
    let given = |text: &str| resolve(&Given::target(text), &env).unwrap();
    let info = given("host=127.0.0.1,127.0.0.2,127.0.0.3 user=me dbname=db sslmode=disable");
    assert_eq!(
        passwords(&info),
        [Some("one".to_owned()), Some("two".to_owned()), None]
    );
    assert_eq!(
        passwords(&info.with_dbname("other"))[0],
        Some("four".to_owned())
    );
    assert_eq!(passwords(&given("user=me")), [Some("socket".to_owned())]);
    assert_eq!(
        passwords(&given("host=/tmp user=me")),
        [Some("socket".to_owned())]
    );
    assert_eq!(passwords(&given("host=/elsewhere user=me")), [None]);
    assert_eq!(
        passwords(&given(
            "host=127.0.0.1 user=me dbname=db password=own sslmode=disable"
        )),
        [Some("own".to_owned())]
    );
}

#[test]
fn a_password_file_that_others_can_read_is_ignored_with_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("pass");
    fs::write(&file, "*:*:*:*:secret\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let env = env().with("PGPASSFILE", file.to_str().unwrap());
    let info = resolve(&Given::target("hostaddr=127.0.0.1"), &env).unwrap();
    assert!(!info.has_password());
    assert_eq!(
        info.warnings(),
        [format!(
            "WARNING: password file \"{}\" has group or world access; permissions should be u=rw (0600) or less",
            file.display()
        )]
    );
    let env = env.with("PGPASSFILE", home.path().to_str().unwrap());
    let info = resolve(&Given::target("hostaddr=127.0.0.1"), &env).unwrap();
    assert_eq!(
        info.warnings(),
        [format!(
            "WARNING: password file \"{}\" is not a plain file",
            home.path().display()
        )]
    );
}

#[test]
fn a_service_fills_in_what_was_not_given() {
    let home = tempfile::tempdir().unwrap();
    let system = tempfile::tempdir().unwrap();
    let own = home.path().join(".pg_service.conf");
    fs::write(&own, "# mine\n[other]\nhost=other\n[bench]\nhost=bench.example\nport=5433\nuser=svc\n\n[last]\nhost=last\n").unwrap();
    fs::write(
        system.path().join("pg_service.conf"),
        "[bench]\nhost=shadowed\n[shared]\ndbname=shared db\n",
    )
    .unwrap();
    let env = env()
        .with_home(home.path())
        .with("PGSYSCONFDIR", system.path().to_str().unwrap())
        .with("PGHOST", "env");
    let given = |text: &str, env: &Env| match resolve(&Given::target(text), env) {
        Ok(info) => info.to_string(),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(
        given("service=bench user=mine", &env),
        "host=bench.example port=5433 user=mine dbname=mine service=bench"
    );
    assert_eq!(
        given("postgresql:///?service=shared", &env),
        "host=env user=os dbname='shared db' service=shared"
    );
    assert_eq!(
        given("", &env.clone().with("PGSERVICE", "last")),
        "host=last user=os dbname=os service=last"
    );
    assert_eq!(
        given("service=none", &env),
        "error: definition of service \"none\" not found"
    );
    let missing = env.clone().with("PGSERVICEFILE", "/nonexistent/file");
    assert_eq!(
        given("service=bench", &missing),
        "error: service file \"/nonexistent/file\" not found"
    );
    for (text, expected) in [
        (
            "[bench]\nhost\n",
            "syntax error in service file \"FILE\", line 2",
        ),
        (
            "[bench]\n\nservice=x\n",
            "nested service specifications not supported in service file \"FILE\", line 3",
        ),
        (
            "[bench]\nhots=x\n",
            "syntax error in service file \"FILE\", line 2\ninvalid connection option \"hots\"",
        ),
    ] {
        fs::write(&own, text).unwrap();
        let expected = expected.replace("FILE", own.to_str().unwrap());
        assert_eq!(given("service=bench", &env), format!("error: {expected}"));
    }
}

#[test]
fn names_that_cannot_be_looked_up_are_named() {
    let error = read("host=no-such-host.invalid")
        .unwrap()
        .candidates()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("could not translate host name \"no-such-host.invalid\" to address: "),
        "{error}"
    );
    let found = read("host=no-such-host.invalid,127.0.0.1")
        .unwrap()
        .candidates()
        .unwrap();
    assert!(
        found
            .list
            .iter()
            .all(|c| c.addr == Addr::Tcp("127.0.0.1:5432".parse().unwrap()))
    );
    assert_eq!(found.warnings.len(), 1);
    let error = read("hostaddr=300.1.1.1")
        .unwrap()
        .candidates()
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "could not parse network address \"300.1.1.1\": Name or service not known"
    );
    let long = format!("host=/{}", "x".repeat(120));
    let error = read(&long).unwrap().candidates().unwrap_err().to_string();
    assert!(error.contains("is too long (maximum 107 bytes)"), "{error}");
}

#[test]
fn random_load_balancing_changes_the_order_of_hosts_only() {
    let text = "host=127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4 load_balance_hosts=random target_session_attrs=prefer-standby";
    let info = read(text).unwrap();
    let mut orders = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let list = info.candidates().unwrap().list;
        assert_eq!(list.len(), 16);
        for pair in list.chunks(2) {
            assert_eq!(pair[0].addr, pair[1].addr);
            assert!(matches!(
                pair[0].login.encryption,
                Encryption::TlsIfOffered(_)
            ));
            assert!(matches!(pair[1].login.encryption, Encryption::Plain));
        }
        assert!(
            list[..8]
                .iter()
                .all(|c| c.login.session_attrs == SessionAttrs::Standby)
        );
        assert!(
            list[8..]
                .iter()
                .all(|c| c.login.session_attrs == SessionAttrs::Any)
        );
        orders.insert(list.iter().map(|c| c.host.clone()).collect::<Vec<_>>());
    }
    assert!(orders.len() > 5, "{}", orders.len());
}

#[test]
fn a_list_of_hosts_comes_apart_with_all_else_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pass");
    fs::write(
        &file,
        "a:1:db:me:first\nb:2:db:me:second\nc:7:db:me:third\n",
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "host=a,b,[x],/sock port=1,2,3,4 hostaddr=127.0.0.1,,::1, user=me dbname=db passfile={}",
        file.display()
    );
    let info = read(&text).unwrap();
    let apart = info.each_host();
    let places = apart.iter().map(|info| {
        let hosts: Vec<&str> = info.hosts().collect();
        format!("{} {}", hosts.join(","), info.port())
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        ["127.0.0.1 1", "b 2", "::1 3", "/sock 4"]
    );
    assert!(apart[1].to_string().starts_with("host=b port=2 user=me"));
    let passwords: Vec<bool> = apart.iter().map(ConnInfo::has_password).collect();
    assert_eq!(passwords, [true, true, false, false]);
    let other = apart[0].at("c", 7);
    assert_eq!((other.port(), other.has_password()), ("7", true));
    assert!(other.option("hostaddr").unwrap_or_default().is_empty());
    let candidates = other.at("127.0.0.1", 9).candidates().unwrap().list;
    assert_eq!(candidates[0].place(), "127.0.0.1:9");
    assert_eq!(info.hosts().count(), 4, "the list is as it was");
}

#[test]
fn a_list_for_failover_differs_from_a_list_to_use_whole() {
    let searches = |text: &str| read(text).unwrap().searches_hosts();
    assert!(!searches("host=a,b"));
    assert!(!searches("host=a,b target_session_attrs=any"));
    assert!(searches("host=a,b load_balance_hosts=disable"));
    assert!(searches("host=a,b load_balance_hosts=random"));
    assert!(searches("host=a,b target_session_attrs=read-write"));
    let env = env().with("PGLOADBALANCEHOSTS", "disable");
    let info = resolve(&Given::target("host=a,b"), &env).unwrap();
    assert!(info.searches_hosts());
    assert!(info.at("c", 1).searches_hosts());
}
