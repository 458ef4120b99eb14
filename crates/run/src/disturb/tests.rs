use super::*;

fn spec(during: &str) -> DisturbSpec {
    DisturbSpec {
        during: Some(during.into()),
        before: Some(Duration::from_millis(20)),
        ..DisturbSpec::default()
    }
}

/// Begins, and waits until it is `enough`.
fn begun(spec: &DisturbSpec, enough: impl Fn(&str) -> bool) -> Disturbance {
    let started = Disturbance::start(spec, Duration::ZERO, Vec::new(), Vec::new());
    let mut disturbance = started.unwrap();
    disturbance.begun(SystemTime::now());
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let texts: Vec<String> = {
            let state = disturbance.shared.state();
            state.happened.iter().map(|it| it.text.clone()).collect()
        };
        if enough(&texts.join("\n")) {
            return disturbance;
        }
        assert!(Instant::now() < end, "{texts:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn waits_for(path: &std::path::Path) {
    let end = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < end, "{} is missing", path.display());
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn commands_run_at_their_moments_and_are_undone() {
    let spec = DisturbSpec {
        at: vec!["50ms echo b; exit 3".parse().unwrap()],
        undo: Some("echo back".into()),
        ..spec("echo a")
    };
    let disturbed = begun(&spec, |texts| texts.lines().count() == 2)
        .finish()
        .unwrap();
    let [a, b] = &disturbed.commands[..] else {
        panic!("{disturbed:?}");
    };
    assert_eq!((a.due_us, a.output.as_str()), (Some(20_000), "a\n"));
    assert!(a.began_us >= a.due_us && b.began_us >= b.due_us);
    assert_eq!((a.end, a.exit_code), (CommandEnd::Exited, Some(0)));
    assert_eq!(b.exit_code, Some(3));
    assert_eq!(disturbed.began_us, a.began_us);
    assert_eq!(disturbed.ended_us, b.ended_us);
    let undo = disturbed.undo.as_ref().unwrap();
    assert_eq!((undo.output.as_str(), undo.exit_code), ("back\n", Some(0)));
    let troubles = disturbed.troubles();
    assert_eq!(troubles, ["`echo b; exit 3` ended with exit code 3 (b)"]);
}

#[test]
fn one_that_never_ends_is_ended_with_the_trial_and_what_comes_later_is_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there");
    let spec = DisturbSpec {
        at: vec!["1h true".parse().unwrap()],
        ..spec(&format!("touch {}; sleep 600", there.display()))
    };
    let mut disturbance = begun(&spec, |_| true);
    waits_for(&there);
    let disturbed = disturbance.finish().unwrap();
    let troubles = disturbed.troubles();
    assert!(troubles[0].ends_with("still ran when the trial was over, and was ended"));
    assert_eq!(troubles[1], "`true` was not run: the trial was over before");
    assert_eq!(disturbed.undo, None);
}

#[test]
fn a_command_is_ended_by_its_limit_or_as_asked() {
    let limited = DisturbSpec {
        command_timeout: Some(Duration::from_millis(50)),
        ..spec("sleep 600")
    };
    let disturbed = begun(&limited, |texts| texts.contains("signal 15"))
        .finish()
        .unwrap();
    assert_eq!(disturbed.commands[0].end, CommandEnd::TimedOut);
    assert!(disturbed.troubles()[0].contains("--command-timeout"));
    let lasting = DisturbSpec {
        lasting: Some(Duration::from_millis(50)),
        ..spec("sleep 600")
    };
    let disturbed = begun(&lasting, |texts| texts.contains("signal 15"))
        .finish()
        .unwrap();
    assert_eq!(disturbed.commands[0].end, CommandEnd::Ended);
    assert_eq!(disturbed.troubles(), [""; 0]);
    assert_eq!(disturbed.ended_us, Some(70_000));
}

#[test]
fn it_is_undone_when_the_trial_panics_and_not_when_nothing_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let (there, back) = (dir.path().join("there"), dir.path().join("back"));
    let undone = DisturbSpec {
        undo: Some(format!("touch {}", back.display()).as_str().into()),
        ..spec(&format!("touch {}", there.display()))
    };
    // Clients never began.
    let started = Disturbance::start(&undone, Duration::ZERO, Vec::new(), Vec::new()).unwrap();
    drop(started);
    assert!(!there.exists() && !back.exists());
    let panicked = thread::spawn(move || {
        let _disturbance = begun(&undone, |texts| texts.contains("exit code 0"));
        std::panic::resume_unwind(Box::new("broken"));
    });
    assert!(panicked.join().is_err());
    assert!(back.exists());
}

#[test]
fn what_was_done_stays_until_the_trial_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let back = dir.path().join("back");
    let spec = DisturbSpec {
        undo: Some(format!("touch {}", back.display()).as_str().into()),
        ..spec("true")
    };
    let mut disturbance = begun(&spec, |texts| texts.contains("exit code 0"));
    // Long enough for an undo that does not wait.
    thread::sleep(Duration::from_millis(100));
    assert!(!back.exists());
    disturbance.finish().unwrap();
    assert!(back.exists());
}

#[test]
fn a_control_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there");
    let control = DisturbSpec {
        control: true,
        lasting: Some(Duration::from_millis(10)),
        ..spec(&format!("touch {}", there.display()))
    };
    let mut disturbance = begun(&control, |_| true);
    let until = Instant::now() + Duration::from_secs(1);
    assert!(!disturbance.shared.is_over_by(until));
    let disturbed = disturbance.finish().unwrap();
    assert!(!there.exists());
    assert_eq!(disturbed.commands, []);
    assert!(disturbed.control);
    assert_eq!(
        (disturbed.began_us, disturbed.ended_us),
        (Some(20_000), Some(30_000))
    );
}

#[test]
fn disturbances_are_events_of_the_trial() {
    let disturbance = begun(&spec("echo a"), |texts| texts.contains("exit code 0"));
    let mut instrument = disturbance.instrument().unwrap();
    instrument.begin(&mut Readings::default()).unwrap();
    let mut out = Readings::default();
    instrument.read(&mut out).unwrap();
    assert!(
        format!("{out:?}").contains("echo a: exit code 0"),
        "{out:?}"
    );
    instrument.read(&mut Readings::default()).unwrap();
    assert!(disturbance.shared.state().happened.is_empty());
}
