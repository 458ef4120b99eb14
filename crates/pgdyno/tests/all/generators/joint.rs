//! All is well: what comes of several generators is one trial, and what one process would have measured.

use serde_json::Value;

use crate::generators::crew::{Crew, ends, number, rows};

/// Four generators, eight clients; the server's rows and the parts tell what must have come of it.
fn four_are_one(crew: &Crew) {
    let load = crew.pgdyno(&format!("load tpcb --url {}", crew.target.url));
    load.expect(0, &[]);
    crew.run_well(4, "run tpcb -c 8 -T 2 -R 400 --json=run.json");
    let whole = crew.whole("complete");
    let committed = number(&whole["measured"]["committed"]);
    assert!(committed > 0, "{whole}");
    let history = crew.target.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(committed.to_string(), history);
    assert_eq!(ends(&whole), ["complete"; 4]);
    assert_eq!(number(&whole["trial"]["clients"]), 8);
    assert_eq!(number(&whole["generators"]["asked"]), 4);
    let mut sum = 0;
    let mut seconds: Vec<u64> = Vec::new();
    for (index, row) in rows(&whole).iter().enumerate() {
        assert_eq!(
            (number(&row["generator"]), number(&row["clients"])),
            (index as u64, 2)
        );
        let part = crew.shown(number(&row["trial"]));
        let of_part = number(&part["measured"]["committed"]);
        assert_eq!(of_part, number(&row["committed"]));
        assert_eq!(number(&part["trial"]["clients"]), 2);
        sum += of_part;
        add_seconds(&mut seconds, &part);
    }
    assert_eq!(sum, committed);
    let mut of_whole = Vec::new();
    add_seconds(&mut of_whole, &whole);
    assert_eq!(of_whole, seconds);
    percentiles_are_those_of_all(crew, &whole);
    let shown = crew.pgdyno("show 5").expect(0, &["generator  clients"]);
    assert!(!shown.stdout.contains("died"), "{shown:#?}");
}

fn add_seconds(sums: &mut Vec<u64>, document: &Value) {
    for second in document["seconds"].as_array().unwrap() {
        let at = (number(&second["start_us"]) / 1_000_000) as usize;
        sums.resize(sums.len().max(at + 1), 0);
        let scripts = second["scripts"].as_array().unwrap().iter();
        sums[at] += scripts.map(|s| number(&s["committed"])).sum::<u64>();
    }
}

/// The histograms that the parts kept, added up behind pgdyno's back.
fn percentiles_are_those_of_all(crew: &Crew, whole: &Value) {
    let of = "FROM second JOIN part ON part.trial = second.trial WHERE part.generator >= 0";
    let all = crew.latencies("service_histogram", of);
    let service = &whole["measured"]["service"];
    assert_eq!(number(&service["count"]), all.len());
    let max_us = crew.value(&format!("SELECT max(service_max_us) {of}"));
    assert_eq!(service["max_us"].to_string(), max_us);
    for (name, percent) in [
        ("p50_us", 50.0),
        ("p90_us", 90.0),
        ("p95_us", 95.0),
        ("p99_us", 99.0),
    ] {
        let has_ten_above = all.len() as f64 * (1.0 - percent / 100.0) >= 10.0 - 1e-6;
        let of_all = all
            .value_at_percentile(percent)
            .min(max_us.parse().unwrap());
        let expected = has_ten_above.then_some(of_all);
        assert_eq!(service[name].as_u64(), expected, "{name}");
    }
}

#[test]
fn four_generators_that_meet_in_a_file_are_one_trial() {
    let crew = Crew::in_file("joint_file");
    four_are_one(&crew);
    its_parts_go_where_it_goes(&crew);
}

#[test]
fn four_generators_that_meet_on_a_server_are_one_trial() {
    let crew = Crew::on_server("joint_server");
    four_are_one(&crew);
    its_parts_go_where_it_goes(&crew);
}

/// Trial 5 of a notebook, parts 1 to 4.
fn its_parts_go_where_it_goes(crew: &Crew) {
    let (alone, other) = (
        crew.write("alone.sql", "SELECT 1"),
        Crew::in_file_of(&crew.target),
    );
    let copy = format!("{alone}ite");
    crew.pgdyno(&format!("export 5 -o {copy}"))
        .expect(0, &["5 trials written"]);
    // Where numbers are others.
    let line = format!("run {alone} -t 1 --url {}", crew.target.url);
    other.pgdyno(&line).expect(0, &[]);
    other.pgdyno(&line).expect(0, &[]);
    other
        .pgdyno(&format!("import {copy}"))
        .expect(0, &["5 trials added"]);
    other
        .pgdyno(&format!("import {copy}"))
        .expect(0, &["0 trials added"]);
    let listed = other.listed();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let (number_there, whole) = (listed[0].0, crew.shown(5));
    // By when they began: what was imported is older.
    let number_there = listed
        .iter()
        .map(|(n, _)| *n)
        .find(|n| *n > 2)
        .unwrap_or(number_there);
    let there = other.shown(number_there);
    for (row, row_there) in rows(&whole).iter().zip(rows(&there)) {
        let part_there = other.shown(number(&row_there["trial"]));
        assert_eq!(
            part_there["measured"],
            crew.shown(number(&row["trial"]))["measured"]
        );
        assert_eq!(part_there["measured"]["committed"], row["committed"]);
    }
    let all = "SELECT count(*) FROM trial";
    assert_eq!(other.value(all), "7");
    other
        .pgdyno(&format!("rm {number_there} --yes"))
        .expect(0, &[]);
    assert_eq!(
        (other.value(all), other.value("SELECT count(*) FROM part")),
        ("2".into(), "0".into())
    );
    assert_eq!(crew.value("SELECT count(*) FROM part"), "5");
}

/// Of a number of clients that moves each generator has its part at each moment.
#[test]
fn clients_that_move_are_followed_by_all_generators_together() {
    let crew = Crew::in_file("joint_moving");
    let script = crew.write("slow.sql", "SELECT pg_sleep(0.01);");
    let line = format!("run {script} -c 2@2s,8@2s,0@1s -j 2");
    crew.run_well(3, &line);
    let whole = crew.whole("complete");
    assert_eq!(whole["trial"]["clients_profile"], "2@2s,8@2s,0@1s");
    assert_eq!(number(&whole["trial"]["clients"]), 8);
    let phases = whole["phases"].as_array().unwrap();
    for (phase, asked) in phases.iter().zip([2.0, 8.0, 0.0]) {
        let figure = |of: &Value| of.as_f64().unwrap();
        // A client that is to rest ends its transaction first.
        let longest_us = figure(&phase["service"]["max_us"]);
        let ending = 8.0 * longest_us / figure(&phase["measured_us"]);
        let working = figure(&phase["clients_working"]);
        assert!((working - asked).abs() < 0.1 + ending, "{phases:#?}");
    }
    // Two of three generators have one of the two clients that work first.
    let of_parts: Vec<Vec<u64>> = rows(&whole)
        .iter()
        .map(|row| {
            let mut seconds = Vec::new();
            let part = crew.shown(number(&row["trial"]));
            assert!(part.get("client_course").is_none(), "{part}");
            add_seconds(&mut seconds, &part);
            seconds
        })
        .collect();
    let at_first: Vec<bool> = of_parts.iter().map(|seconds| seconds[0] > 0).collect();
    assert_eq!(at_first, [true, true, false], "{of_parts:?}");
    let later = of_parts.iter().map(|seconds| seconds[3]);
    assert!(later.min() > Some(60), "{of_parts:?}");
}

/// What a client draws depends on the seed and its number, however many processes there are.
#[test]
fn clients_do_what_those_of_one_process_would() {
    let crew = Crew::in_file("joint_clients");
    let table = "client int, one bigint, two double precision";
    crew.target.sql(&format!(
        "CREATE TABLE of_one ({table}); CREATE TABLE of_all ({table})"
    ));
    // One less than the generators can share evenly.
    let line = |table: &str| {
        let text = format!(
            "\\set one random(1, 1000000000)\n\\set two random_gaussian(1, 1000000, 3)\n\
             INSERT INTO {table} VALUES (:client_id, :one, :two);\n"
        );
        let script = crew.write(&format!("{table}.sql"), &text);
        format!("run {script} -c 7 -t 10 --seed 11")
    };
    crew.run_well(3, &line("of_all"));
    let alone = format!("{} -j 1 --url {}", line("of_one"), crew.target.url);
    crew.pgdyno(&alone).expect(0, &[]);
    let differ = "(SELECT * FROM of_all EXCEPT ALL SELECT * FROM of_one) UNION ALL \
                  (SELECT * FROM of_one EXCEPT ALL SELECT * FROM of_all)";
    let differ = format!("SELECT count(*) FROM ({differ}) AS both_ways");
    assert_eq!(crew.target.value(&differ), "0");
    let clients =
        "SELECT count(*), count(DISTINCT client), max(client), count(DISTINCT one) FROM of_all";
    assert_eq!(crew.target.value(clients), "70|7|6|70");
}

/// The first generator's seed is that of all, where none is given.
#[test]
fn without_a_seed_no_two_clients_draw_the_same() {
    let crew = Crew::in_file("joint_seed");
    crew.target
        .sql("CREATE TABLE drawn (client int, one bigint)");
    let text = "\\set one random(1, 1000000000)\nINSERT INTO drawn VALUES (:client_id, :one);\n";
    let script = crew.write("drawn.sql", text);
    crew.run_well(2, &format!("run {script} -c 4 -t 25"));
    let drawn = "SELECT count(*), count(DISTINCT one), count(DISTINCT client) FROM drawn";
    assert_eq!(crew.target.value(drawn), "100|100|4");
    let seeds = "SELECT count(DISTINCT seed), count(*) FROM trial";
    assert_eq!(crew.value(seeds), "1|3");
}
