//! Files of histories: what is written is read again, and what cannot be read is said with its place.

use pgdyno_isolation::{
    Depth, Format, History, Level, LevelVerdict, Progress, Status, check, read, read_with, write,
};

use super::notation::{checked, history, names};
use super::store::{Kind, Rule, Settings, run};

fn text(history: &History, format: Format) -> String {
    let mut bytes = Vec::new();
    write(history, format, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_history_is_written_and_read_again_in_both_formats() {
    for (seed, kind) in (0..).zip([Kind::Lists, Kind::Registers, Kind::Groups]) {
        let settings = Settings {
            rule: Rule::ReadCommitted,
            kind,
            transactions: 200,
            clients: 5,
            keys: 5,
            failures: true,
        };
        let history = run(&settings, seed).finish().unwrap();
        for format in [Format::Edn, Format::Json] {
            let written = text(&history, format);
            let again = read(&written).unwrap();
            assert_eq!(text(&again, format), written);
            assert_eq!(checked(&again).found.len(), checked(&history).found.len());
        }
    }
}

#[test]
fn elles_own_notation_is_read() {
    let history = read(
        "; github.com/jepsen-io/history
        [#jepsen.history.Op{:index 0, :time 5120, :type :invoke, :process 3, :f :txn, :value [[:append 7 1] [:r :x nil]]}
         {:index 1 :time 6000 :type :info :process :nemesis :f :start :value nil}
         {:index 4 :time 9001 :type :ok :process 3 :f :txn :value [[:append 7 1] [:r :x [2 5]]], :error [:a \"b\\n\"]}
         {:index 5 :time 9002 :type :invoke :process 4 :value [[:r 7 nil]]}
         {:index 6 :time 9003 :type :info :process 4 :value [[:r 7 nil]] :error :timeout}]",
    )
    .unwrap();
    let [first, second] = history.transactions() else {
        panic!("{:?}", history.transactions());
    };
    assert_eq!(
        (first.begin_ns, first.end_ns, first.status),
        (5120, 9001, Status::Committed)
    );
    assert_eq!((second.client, second.status), (4, Status::Unknown));
    let json = text(&history, Format::Json);
    let second_line = json.lines().nth(1).unwrap();
    assert!(
        second_line.contains(r#""value":[["append",7,1],["r","x",[2,5]]]"#),
        "{second_line}"
    );
}

#[test]
fn another_checker_reads_what_is_written() {
    let history = history("r x[] a y1 | r y[] a x1");
    let edn = adya::History::from_edn(&text(&history, Format::Edn)).unwrap();
    let json = adya::History::from_json(&text(&history, Format::Json)).unwrap();
    for theirs in [edn, json] {
        let report = adya::check(&theirs, adya::Workload::ListAppend, &adya::Opts::default());
        assert_eq!(report.anomaly_types, ["G2-item"]);
    }
}

const BEGUN: &str = "{:type :invoke :process 0 :value [[:append 1 1]]}\n";

#[test]
fn a_history_cut_off_is_checked_up_to_there_and_says_so() {
    let whole = text(&history("a x1 | r x[1]"), Format::Edn);
    for bytes in 1..whole.len() {
        let history = read(&whole[..bytes]).unwrap();
        let report = checked(&history);
        assert_eq!(names(&report), [""; 0], "{bytes}");
    }
    let report = checked(&read(&format!("{BEGUN}{{:type :o")).unwrap());
    assert_eq!(
        report.notes,
        ["the history is cut off in line 2: 1 transactions had begun and count as unknown"]
    );
    assert_eq!(report.counts.unknown, 1);
}

#[test]
fn a_history_of_no_transactions_keeps_nothing_and_breaks_nothing() {
    for text in ["", "[]", "\n; nothing\n", BEGUN] {
        let report = checked(&read(text).unwrap());
        let why = LevelVerdict::NotKnown("no transaction committed".to_owned());
        assert!(
            report.levels.iter().all(|(_, kept)| *kept == why),
            "{report}"
        );
        assert_eq!(report.counts.at_most(), None);
    }
}

#[test]
fn transactions_that_have_nothing_to_do_with_each_other_say_nothing_of_a_level() {
    let report = checked(&history("a x1 | a y1"));
    let why = LevelVerdict::NotKnown("no transaction depends on another".to_owned());
    assert_eq!(*report.verdict(Level::Serializable), why);
}

#[test]
fn a_clock_that_steps_back_leaves_the_order_of_a_file_and_takes_that_of_times() {
    let file = "{:type :invoke :time 90 :process 0 :value [[:append 1 1]]}
        {:type :ok :time 50 :process 0 :value [[:append 1 1]]}
        {:type :invoke :time 60 :process 1 :value [[:r 1 nil]]}
        {:type :ok :time 70 :process 1 :value [[:r 1 []]]}";
    let report = checked(&read(file).unwrap());
    assert_eq!(names(&report), ["lost-write", "G-single-item-realtime"]);
    assert_eq!(
        report.notes,
        ["the clock went back 1 times, by 40 ns at most: the order of events is that of the file"]
    );

    let mut builder = pgdyno_isolation::Builder::new();
    let key = builder.key(1);
    builder.begin(0, Status::Committed, 90, 50).append(key, 1);
    builder
        .begin(1, Status::Committed, 60, 70)
        .read_list(key, &[]);
    let report = checked(&builder.finish().unwrap());
    assert_eq!(names(&report), [""; 0]);
    assert_eq!(
        *report.verdict(Level::StrictSerializable),
        LevelVerdict::NotKnown("the clock went back".to_owned())
    );
    assert_eq!(
        *report.verdict(Level::StrongSessionSerializable),
        LevelVerdict::NoViolation
    );
    assert_eq!(
        report.notes,
        ["the clock went back 1 times, by 40 ns at most: real-time order is not checked"]
    );
}

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_place() {
    let operation =
        |operation: &str| format!("{BEGUN}{{:type :ok :process 0 :value [{operation}]}}");
    for (text, problem) in [
        (
            "7".to_owned(),
            "line 1, column 1: the number 7 where an event is expected",
        ),
        (
            "{:type :ok}".to_owned(),
            "line 1, column 1: an event without :process",
        ),
        (
            "{:process [1]}".to_owned(),
            ":process is a list, not a number",
        ),
        (
            "{:process 1}".to_owned(),
            "an event without :type (:invoke, :ok, :fail or :info)",
        ),
        (
            "{:process 1 :type :done}".to_owned(),
            ":type is done; there are :invoke",
        ),
        (
            "{:process 1 :type :ok}".to_owned(),
            "process 1 ends a transaction that has not begun",
        ),
        (
            "{:process -1 :type :invoke :value []} {:process -1 :type :ok :value []}".to_owned(),
            "process -1 is not between 0",
        ),
        (
            format!("{BEGUN}{BEGUN}"),
            "line 2, column 1: process 0 begins a transaction while that of line 1",
        ),
        (
            "{:index 5 :process 1 :type :invoke}\n{:index 4 :process 1 :type :ok}".to_owned(),
            "line 2, column 1: :index 4 follows 5: events must stand in the order",
        ),
        (
            "{:process 1 :time :x}".to_owned(),
            ":time is \"x\", not a number of nanoseconds",
        ),
        (
            operation("7"),
            "line 2, column 1: the number 7 where an operation is expected",
        ),
        (operation("[:r]"), "an operation needs a verb and a key"),
        (
            operation("[:r [] 1]"),
            "a key is a list, not a number or a word",
        ),
        (
            operation("[:cas 1 2]"),
            "unknown operation cas; there are append and r",
        ),
        (
            operation("[:append 1 1.5]"),
            ":append with \"1.5\": values are integers, unique for each key",
        ),
        (
            operation("[:r 1 [:a]]"),
            "a read returned \"a\": values are integers",
        ),
        (
            format!("{BEGUN}{{:type :ok :process 0 :value 3}}"),
            ":value is the number 3, not a list of operations",
        ),
        (
            format!("{BEGUN}{{:type ]"),
            "line 2, column 8: unexpected \"]\"; expected one map for each event",
        ),
        (
            "{:a \"\\q\"}".to_owned(),
            "unknown escape \"\\q\" in a string",
        ),
        (
            "{:a \"\\uzzzz\"}".to_owned(),
            "\\u without four hexadecimal digits",
        ),
        (
            "{:a \"b\n\"}".to_owned(),
            "a string that its line does not end",
        ),
        (
            format!("{BEGUN}{{:type :info :process 0}}\n{BEGUN}"),
            "line 3, column 1: process 0 begins a transaction after its :info in line 2",
        ),
        (
            operation("[:append 1 1] [:r 1 [1]]"),
            "ends a transaction of 2 operations, begun with 1, unlike :invoke in line 1",
        ),
        (
            operation("[:append 1 2]"),
            "line 2, column 1: operation 1 has another verb, key or written value, unlike :invoke in line 1",
        ),
        (
            operation("[:r 1 [1]]"),
            "operation 1 has another verb, key or written value",
        ),
        ("[".repeat(20), "more than 12 lists or maps in one another"),
        (
            "{:type :invoke :process 0 :value [[:append 1 1] [:w 1 2]]}\n{:type :ok :process 0}"
                .replace("0}", "0 :value [[:append 1 1] [:w 1 2]]}"),
            "key 1 is a list, but transaction T1 uses it as a register: give each kind keys of its own",
        ),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn a_value_that_is_written_twice_is_refused_with_both_writers() {
    let error = check(&history("a x1 | a x1"), Depth::All, &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "value 1 of key x is written twice, by T1 and T2: a value must name its write; \
         use new values also when a transaction is tried again"
    );
}

#[test]
fn reading_a_large_file_tells_how_far_it_is() {
    let line = "{:type :invoke :process 0 :value []} {:type :ok :process 0 :value []}\n";
    let text = line.repeat((3 << 20) / line.len() + 1);
    let mut reported: Vec<Progress> = Vec::new();
    read_with(&text, &mut |progress| reported.push(progress)).unwrap();
    assert_eq!(reported.len(), 3, "{reported:?}");
    let of = text.len() as u64;
    assert!(reported.is_sorted_by_key(|at| at.done));
    assert!(
        reported
            .iter()
            .all(|at| at.phase == "reading" && at.of == of && at.done <= of)
    );
}
