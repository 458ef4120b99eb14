use super::*;

fn spec(during: &str) -> DisturbSpec {
    DisturbSpec {
        during: Some(during.into()),
        ..DisturbSpec::default()
    }
}

#[test]
fn names_and_options_are_read_and_mistakes_are_answered_with_the_nearest() {
    let (entry, given) = read("idle-lock for=3s lock=table").unwrap();
    assert_eq!(entry.name, "idle-lock");
    assert_eq!(
        (given.time("for"), given.text("lock")),
        (Duration::from_secs(3), "table")
    );
    assert_eq!(given.text("table"), "");
    assert_eq!(read("failover").unwrap().0.name, "promotion");
    assert_eq!(
        command("idle-lock:for=3s,lock=table"),
        "pgdyno:idle-lock for=3s lock=table"
    );
    assert_eq!(command("checkpoint"), "pgdyno:checkpoint");
    // As --during has it.
    assert_eq!(command("pgdyno:sigstop:for=3s"), "pgdyno:sigstop for=3s");
    for (wrong, says) in [
        ("idle-loc", "did you mean \"idle-lock\"?"),
        ("xyzzy", "--list"),
        ("idle-lock lok=row", "did you mean \"lock\"?"),
        ("idle-lock for=soon", "for: "),
        ("idle-lock lock=page", "one of row, table"),
        ("idle-lock lock", "key=value"),
        ("connection-storm connections=0", "from 1 to 10000"),
        ("connection-storm connections=10001", "from 1 to 10000"),
        ("block-limit rate=fast", "rate is bytes a second"),
        ("net-bandwidth rate=0", "rate is bytes a second"),
        ("cpu-quota percent=0", "from 1 on"),
        ("sigstop,restart", "a --with of its own"),
        ("checkpoint a=b", "nor any other"),
        ("sigstop for=3s for=4s", "for is given twice"),
        ("base-backup rate=31", "from 32 to 1048576"),
    ] {
        let why = read(wrong).unwrap_err().to_string();
        assert!(why.contains(says), "{wrong}: {why}");
    }
}

#[test]
fn what_could_harm_a_named_server_asks_for_yes_and_says_what_could_happen() {
    let named = TargetSpec::at("postgresql://db1/x");
    let why = check(&spec("pgdyno:sigstop"), &named)
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("no client is served") && why.contains("--yes"),
        "{why}"
    );
    let mut agreed = spec("pgdyno:sigstop");
    agreed.yes = true;
    check(&agreed, &named).unwrap();
    check(&spec("pgdyno:checkpoint"), &named).unwrap();
    check(&spec("pgdyno:sigstop"), &TargetSpec::default()).unwrap();
    agreed.during = Some("pgdyno:restart".into());
    let why = check(&agreed, &named).unwrap_err().to_string();
    assert!(
        why.contains("private server") && why.contains("systemctl"),
        "{why}"
    );
    let refused = |during: &str, target: &TargetSpec| {
        let why = check(&spec(during), target).unwrap_err().to_string();
        assert!(!why.contains("could harm"), "{why}");
        why
    };
    let none = TargetSpec::default();
    assert!(refused("pgdyno:promotion", &none).contains("--pg-standby async"));
    assert!(refused("pgdyno:lagging-standby", &none).contains("--pg-standby sync"));
    // A server that is named is not made private by --yes.
    assert!(refused("pgdyno:promotion", &named).contains("leave --url out"));
    let pair = TargetSpec {
        pg_standby: Some(Replication::Async),
        ..none
    };
    assert!(refused("pgdyno:lagging-standby", &pair).contains("--pg-standby sync"));
    check(&spec("pgdyno:promotion"), &pair).unwrap();
}

#[test]
fn each_is_described_and_its_defaults_are_what_it_takes() {
    let mut names = Vec::new();
    for entry in all() {
        let (_, given) = read(entry.name).unwrap();
        assert_eq!(
            entry.lasts.is_some(),
            entry.keys.iter().any(|key| key.name == "for")
        );
        if let Some(lasts) = entry.lasts {
            assert_eq!(given.text("for"), lasts);
        }
        for text in [entry.summary, entry.risks, entry.undone] {
            assert!(
                !text.is_empty() && !text.ends_with('.') && text.len() < 200,
                "{text}"
            );
        }
        for key in entry.keys.iter().filter(|key| !key.default.is_empty()) {
            let typed = format!("{} {}={}", entry.name, key.name, key.default);
            read(&typed).unwrap();
        }
        names.push(entry.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count >= 16, "{count}");
}

#[test]
fn the_longest_says_how_long_a_trial_is_disturbed() {
    let mut both = spec("pgdyno:sigstop for=2s");
    both.at.push("12s pgdyno:idle-lock".parse().unwrap());
    assert_eq!(lasts(&both).unwrap(), Some(Duration::from_secs(5)));
    assert_eq!(lasts(&spec("pgdyno:checkpoint")).unwrap(), None);
    assert_eq!(lasts(&spec("true")).unwrap(), None);
    // Each keeps its own time, in writing.
    let mut three = spec("pgdyno:sigstop");
    three
        .at
        .push("12s pgdyno:long-transaction".parse().unwrap());
    three
        .at
        .push("12s pgdyno:idle-lock for=1s".parse().unwrap());
    three.at.push("12s pgdyno:checkpoint".parse().unwrap());
    three.at.push("12s true".parse().unwrap());
    last_as_the_longest(&mut three).unwrap();
    assert_eq!(three.lasting, Some(Duration::from_secs(20)));
    let commands: Vec<String> = three
        .steps()
        .iter()
        .map(|step| step.command.public())
        .collect();
    assert_eq!(
        commands,
        [
            "pgdyno:sigstop for=5s",
            "pgdyno:long-transaction",
            "pgdyno:idle-lock for=1s",
            "pgdyno:checkpoint",
            "true"
        ]
    );
}

#[test]
fn what_is_made_ready_before_is_named_once() {
    let mut twice = spec("pgdyno:wal-full");
    check(&twice, &TargetSpec::default()).unwrap();
    twice.at.push("20s pgdyno:wal-full".parse().unwrap());
    let why = check(&twice, &TargetSpec::default())
        .unwrap_err()
        .to_string();
    assert!(why.contains("once in a trial"), "{why}");
}
