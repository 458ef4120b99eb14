//! The points of an experiment: at the end of a sweep, and from the notebook.

use serde_json::{Value, json};

use crate::support::{Database, document_of, ran};
use crate::sweep::written::Experiment;

#[test]
fn a_sweep_ends_with_a_row_a_point_and_the_notebook_shows_it_again() {
    let database = Database::new("sweep_points");
    let experiment = Experiment::new(
        "workload = 'select-only'\nduration = '300ms'\nrepeats = 2\nreset.settle = 0\n\
         order = 'interleaved'\nclients = [2, 1]\n",
        &database,
    );
    let swept = experiment.run(&[]).expect(0, &["4 of 4 trials complete"]);
    let show = |args: &[&str]| {
        let all = [&["show", "--experiment"], args].concat();
        ran(&mut experiment.command(&all))
    };
    let shown = show(&["e"]).expect(0, &["experiment e, "]);
    let table = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::to_owned);
        let lines = lines.skip_while(|line| !line.starts_with("point "));
        lines.take_while(|line| !line.is_empty()).collect()
    };
    let (at_end, again) = (table(&swept.stdout), table(&shown.stdout));
    assert_eq!(at_end, again);
    assert!(at_end[1].starts_with("1 client "), "{at_end:?}");
    assert!(at_end[2].starts_with("2 clients "), "{at_end:?}");
    assert!(
        at_end[4].contains("( ) range over the repeats"),
        "{at_end:?}"
    );

    // The figures are those of the trials.
    let json: Value = serde_json::from_str(&show(&["e", "--json"]).stdout).unwrap();
    assert_eq!(json["points"].as_array().map(Vec::len), Some(2));
    for point in json["points"].as_array().unwrap() {
        let clients = &point["varied"]["clients"];
        let trials = experiment.query(&format!(
            "SELECT sum(committed) AS committed, min(goodput_per_s) AS low, \
             max(goodput_per_s) AS high FROM trial WHERE clients = {clients}"
        ));
        let goodput = &point["figures"]["goodput"]["over_repeats"];
        assert_eq!(point["committed"], trials[0]["committed"]);
        assert_eq!(
            (&goodput["min"], &goodput["max"]),
            (&trials[0]["low"], &trials[0]["high"])
        );
        assert_eq!(
            (&goodput["n"], &goodput["interval"]),
            (&json!(2), &Value::Null)
        );
        assert!(point["figures"]["p50"]["together_us"].as_u64() > Some(0));
    }

    let exclude = ["exclude", "1", "--reason", "the cache was cold"];
    ran(&mut experiment.command(&exclude)).expect(0, &[]);
    show(&["e"]).expect(
        0,
        &["left out  trial 1 (2 clients, repeat 1): excluded: the cache was cold"],
    );
    let listed = ran(&mut experiment.command(&["ls", "--experiments", "--json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        (
            &listed[0]["name"],
            &listed[0]["trials"],
            &listed[0]["complete"]
        ),
        (&json!("e"), &json!(4), &json!(3))
    );
    let uuid = listed[0]["uuid"].as_str().unwrap();
    show(&["e.toml"]).expect(0, &["experiment e, "]);
    show(&[&uuid[..8]]).expect(0, &["experiment e, "]);
    ran(&mut experiment.command(&["ls", "--experiments"])).expect(0, &["begun, UTC", &uuid[..8]]);

    show(&["another"]).expect(
        2,
        &["there is no experiment another", "pgdyno ls --experiments"],
    );
    ran(&mut experiment.command(&["show"])).expect(0, &["trial 4, "]);
    // An experiment by another name, with a tag on its trials.
    let other = ["--name", "other", "--tag", "new"];
    experiment
        .run(&other)
        .expect(0, &["4 of 4 trials complete"]);
    ran(&mut experiment.command(&["show", "tag:new"]))
        .expect(0, &["trial 8, ", "experiment   other"]);
    show(&["other"]).expect(0, &["experiment other, "]);
    ran(&mut experiment.command(&["show", "tag:x"]))
        .expect(2, &["the notebook has no trial with tag x", "pgdyno ls"]);
    let both = ["show", "1", "--experiment", "e"];
    ran(&mut experiment.command(&both)).expect(2, &["cannot be used with"]);
    let both = ["ls", "--experiments", "--tag", "x"];
    ran(&mut experiment.command(&both)).expect(2, &["cannot be used with"]);
}

#[test]
fn trials_that_find_the_maximum_are_no_points() {
    let database = Database::new("sweep_maxima");
    let experiment = Experiment::new(
        "workload = 'select-only'\nduration = '300ms'\nreset.settle = 0\nrate = '50%'\n",
        &database,
    );
    experiment.run(&[]).expect(0, &["2 of 2 trials complete"]);
    let show = ["show", "--experiment", "e", "--json"];
    let json = ran(&mut experiment.command(&show));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["maxima"], json!([1]));
    assert_eq!(json["points"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        json["points"][0]["trials"],
        json!([{ "trial": 2, "repeat": 1 }])
    );
    assert_eq!(json["points"][0]["latency"], "response");
}

#[test]
fn levels_that_are_one_in_effect_are_marked() {
    let database = Database::new("sweep_levels");
    let experiment = Experiment::new(
        "workload = 'select-only'\nduration = '300ms'\nreset.settle = 0\n\
         isolation = ['read uncommitted', 'read committed', 'serializable']\n",
        &database,
    );
    let same = "isolation read uncommitted and read committed ran at one level, read \
                committed: the level does not explain differences between these points";
    let swept = experiment
        .run(&[])
        .expect(0, &["3 of 3 trials complete", same]);
    let of = |asked: &str| {
        let mut lines = swept.stdout.lines();
        let line = lines.find(|line| line.starts_with(asked));
        line.unwrap_or_else(|| panic!("{asked}: {swept:#?}"))
            .to_owned()
    };
    assert!(of("read uncommitted").contains(" (ran read committed)"));
    for asked in ["read committed", "serializable"] {
        assert!(!of(asked).contains("ran "), "{asked}");
    }
    let show = ["show", "--experiment", "e", "--json"];
    let shown = ran(&mut experiment.command(&show)).expect(0, &[]);
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    let points = json["points"].as_array().unwrap();
    let levels: Vec<(&str, &str, usize)> = points
        .iter()
        .map(|point| {
            let notes = point["notes"].as_array().unwrap().iter();
            (
                point["varied"]["isolation"].as_str().unwrap(),
                point["isolation_in_effect"].as_str().unwrap(),
                notes
                    .filter(|note| note["code"] == "same-isolation")
                    .count(),
            )
        })
        .collect();
    let expected = [
        ("read uncommitted", "read committed", 1),
        ("read committed", "read committed", 1),
        ("serializable", "serializable", 0),
    ];
    assert_eq!(levels, expected);
    ran(&mut experiment.command(&["report", "e", "-o", "e.html"])).expect(0, &[]);
    let page = std::fs::read_to_string(experiment.store().with_file_name("e.html")).unwrap();
    assert!(page.contains("ran at one level"));
}

/// What it is says its kind, not what its points look like.
#[test]
fn a_sweep_over_forms_is_a_sweep_and_a_laboratory_is_one_by_its_kind() {
    let database = Database::new("sweep_kind");
    let text = "workload = 'tpcb'\nmix = ['statements', 'cte']\nclients = [1, 2]\ntransactions = 20\n\
                reset.settle = 0\n";
    let of = |experiment: &Experiment| {
        experiment.run(&[]).expect(0, &["4 of 4 trials complete"]);
        let shown = ran(&mut experiment.command(&["show", "--experiment", "e", "--json"]));
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let page = experiment.dir.path().join("e.html");
        let args = ["report", "e", "-o", page.to_str().unwrap()];
        ran(&mut experiment.command(&args)).expect(0, &[]);
        let page = document_of(&page);
        (
            shown["experiment"]["kind"].clone(),
            page["retries_lab"].is_object(),
        )
    };
    let sweep = Experiment::new(text, &database);
    assert_eq!(of(&sweep), (json!("sweep"), false));
    let lab = Experiment::new(&format!("kind = 'retries'\n{text}"), &database);
    assert_eq!(of(&lab), (json!("retries"), true));
}
