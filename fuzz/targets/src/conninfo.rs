//! Connection strings. What is printed reads back as the same, and never has the password in it.

use pgdyno_session::{ConnInfo, ConnInfoError, Env, Given, names_a_target, resolve};
use pgdyno_spec::secret::without_secrets;

const PASSWORD: &str = "hUnTeR2-XyZ";

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Which file is read is the user's own word.
    if text.contains("passfile") || text.contains('\0') {
        return;
    }
    printed_reads_back(&text);
    if text.contains(PASSWORD) {
        return;
    }
    // Where the password comes first, nothing before can make something else of it.
    for (first, with_password) in [
        (true, format!("postgresql://me:{PASSWORD}@{text}")),
        (true, format!("password='{PASSWORD}' {text}")),
        (true, format!("password={PASSWORD} {text}")),
        (false, format!("postgres://{text}?password={PASSWORD}")),
        (false, format!("{text} password = {PASSWORD}")),
    ] {
        password_is_not_shown(&with_password, first);
    }
}

fn password_is_not_shown(text: &str, is_password: bool) {
    let shown = match of(text) {
        Ok(info) if info.has_password() => {
            let masked = [Some("***"), None].map(|mask| without_secrets(text, mask));
            format!("{info} {info:?} {masked:?}")
        }
        Err(error) if is_password => format!("{error} {error:?}"),
        _ => return,
    };
    assert!(!shown.contains(PASSWORD), "{text:?}: {shown}");
}

fn of(text: &str) -> Result<ConnInfo, ConnInfoError> {
    // No service files but those named here.
    let env = Env::empty()
        .with_os_user("me")
        .with("PGSYSCONFDIR", "/nonexistent")
        .with("PGSERVICEFILE", "/nonexistent/services");
    let given = Given::target(text);
    names_a_target(&given, &env);
    resolve(&given, &env)
}

fn printed_reads_back(text: &str) {
    let Ok(info) = of(text) else {
        return;
    };
    let printed = info.to_string();
    let again = of(&printed).unwrap_or_else(|e| panic!("{text:?} is {printed:?}: {e}"));
    assert_eq!(again.to_string(), printed, "{text:?}");
    assert_eq!(again.user(), info.user(), "{text:?}");
    assert_eq!(again.dbname(), info.dbname(), "{text:?}");
    assert!(again.hosts().eq(info.hosts()), "{text:?}");
    assert_eq!(again.port(), info.port(), "{text:?}");
    assert!(!again.has_password(), "{text:?}: {printed:?}");
    for name in [
        "sslmode",
        "options",
        "application_name",
        "connect_timeout",
        "sslrootcert",
    ] {
        let (had, has) = (info.option(name), again.option(name));
        assert_eq!(
            has.unwrap_or_default(),
            had.unwrap_or_default(),
            "{text:?}: {name}"
        );
    }
}
