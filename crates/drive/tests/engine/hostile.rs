//! Servers that do not keep to the protocol, or never stop sending: no transaction of theirs counts
//! as committed, and neither time nor memory goes on for ever.

use std::time::{Duration, Instant};

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::DriveError;
use pgdyno_spec::{OnConnectionLoss, QueryMode, Until};
use pgdyno_testkit::HostileServer;
use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};
use pgdyno_wire::limits::{ASIDES_BYTES_MAX, ROW_KEPT_BYTES_MAX, TEXT_BYTES_MAX};
use pgdyno_wire::{Addr, Candidate};

use crate::support::*;

/// What a hostile server does takes a blink, or the seconds that a test gives it.
const HANGS: Duration = Duration::from_secs(20);

/// A way to a server that plays these steps in place of the answer to what is marked.
fn hostile(steps: Vec<Step>) -> Candidate {
    let server = HostileServer::start(&socket(), When::Asked("marked"), steps);
    candidate_at(Addr::Tcp(server.address()), &[])
}

fn sends(messages: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(messages.concat())]
}

/// Runs one transaction, in which nothing can be committed before the marked statement is, and gives
/// what was said.
#[track_caller]
fn fails(name: &str, mode: QueryMode, script: &str, steps: Vec<Step>) -> String {
    let begun = Instant::now();
    let (recording, seen) = run(&Drive {
        endpoints: vec![vec![hostile(steps)]],
        ..drive_in(mode, script)
    });
    assert!(begun.elapsed() < HANGS, "{name}: {:?}", begun.elapsed());
    let counts = counts(&recording);
    assert_eq!(counts.committed, 0, "{name}, {mode:?}: {counts:?}");
    assert_eq!(counts.total(), 1, "{name}, {mode:?}: {counts:?}");
    assert_eq!(recording.clients.aborted, 1, "{name}, {mode:?}");
    seen.messages.join("\n")
}

#[test]
fn what_breaks_the_protocol_is_no_commit() {
    let two = || described(&["a", "b"]);
    let cut = |mut message: Vec<u8>, bytes: usize| {
        message.truncate(message.len() - bytes);
        let length = (message.len() as u32 - 1).to_be_bytes();
        message[1..5].copy_from_slice(&length);
        message
    };
    // Type, what counts the columns or says how long a value is, the value.
    let value = |length: i32, bytes: &[u8]| {
        let body = [&[0, 1], &length.to_be_bytes()[..], bytes].concat();
        server_message(b'D', &body)
    };
    let incomplete = "has not completed this one";
    let disagree = "message contents do not agree with length in message type \"D\"";
    let cases: [(&str, Vec<Vec<u8>>, &str); 16] = [
        ("nothing but ready", vec![], incomplete),
        (
            "rows without an end",
            vec![two(), row(&["1", "2"])],
            incomplete,
        ),
        (
            "rows without columns",
            vec![row(&["1"])],
            "without prior row description",
        ),
        (
            "a column too few",
            vec![two(), row(&["1"])],
            "1 columns in place of 2",
        ),
        (
            "a column too many",
            vec![two(), row(&["1", "2", "3"])],
            "3 columns in place of 2",
        ),
        (
            "rows after the end",
            vec![described(&["a"]), complete("SELECT 0"), row(&["1"])],
            "without prior row description",
        ),
        (
            "a value longer than its row",
            vec![described(&["a"]), value(100, b"x")],
            disagree,
        ),
        (
            "a value of no length",
            vec![described(&["a"]), value(-2, b"")],
            disagree,
        ),
        (
            "a value shorter than its row",
            vec![described(&["a"]), value(1, b"xy")],
            disagree,
        ),
        (
            "a row that ends in a length",
            vec![described(&["a"]), cut(value(1, b""), 2)],
            disagree,
        ),
        ("half a column", vec![cut(two(), 3)], "message type \"T\""),
        (
            "a tag without an end",
            vec![server_message(b'C', b"SELECT 1")],
            "message type \"C\"",
        ),
        (
            "a status that is none",
            vec![complete("SELECT 1"), ready(b'?')],
            "message type \"Z\"",
        ),
        (
            "authentication",
            vec![server_message(b'R', &[0; 4])],
            "first received character was \"R\"",
        ),
        (
            "a type that is none",
            vec![server_message(b'x', b"")],
            "first received character was \"x\"",
        ),
        (
            "rows of a COPY",
            vec![server_message(b'd', b"1\n")],
            "first received character was \"d\"",
        ),
    ];
    for (name, messages, words) in cases {
        let steps = || sends(&[messages.concat(), complete("SELECT 1"), ready(b'I')]);
        let steps = || {
            if words == incomplete {
                sends(&[messages.concat(), ready(b'I')])
            } else {
                steps()
            }
        };
        for mode in [QueryMode::Simple, QueryMode::Extended] {
            let said = fails(name, mode, "select 1 as marked;", steps());
            assert!(said.contains(words), "{name}, {mode:?}: {said}");
            assert!(
                said.contains("aborted in command 0 query "),
                "{name}: {said}"
            );
        }
    }
}

#[test]
fn what_keeps_to_the_protocol_is_a_commit() {
    let texts = server_text(b'N', "NOTICE", "00000", "hello");
    let result = [
        described(&["a", "b"]),
        texts,
        row(&["1", ""]),
        complete("SELECT 1"),
    ]
    .concat();
    let empty = server_message(b'I', b"");
    for answer in [result.clone(), empty, result.repeat(3)] {
        let (recording, _) = run(&Drive {
            endpoints: vec![vec![hostile(sends(&[answer, ready(b'I')]))]],
            ..drive("select 1 as marked;")
        });
        assert_eq!(counts(&recording).committed, 1);
    }
}

#[test]
fn statements_that_are_not_prepared_or_not_answered_are_no_commit() {
    let words = "has not completed this one";
    let said = fails(
        "unprepared",
        QueryMode::Prepared,
        "select 1 as marked;",
        sends(&[ready(b'I')]),
    );
    assert!(said.contains(words), "{said}");
    let half = sends(&[complete("SELECT 1"), ready(b'I')]);
    let script = "\\startpipeline\nselect 1 as marked;\nselect 2;\n\\endpipeline\n";
    let said = fails("half a pipeline", QueryMode::Extended, script, half);
    assert!(said.contains(words), "{said}");
}

#[test]
fn an_answer_to_nothing_is_no_answer_to_the_next_statement() {
    // One that comes with the answer before it, without waiting.
    let twice = [complete("SELECT 1"), ready(b'I')].concat().repeat(2);
    let script = "select 1 as marked;\nselect 2;\n";
    let said = fails("twice", QueryMode::Simple, script, sends(&[twice]));
    assert!(said.contains("arrived from server while idle"), "{said}");
}

#[test]
fn an_answer_after_the_servers_last_words_is_none() {
    let fatal = server_text(b'E', "FATAL", "57P01", "the end");
    let done = || [complete("SELECT 1"), ready(b'I')].concat();
    let steps = vec![
        Step::Send([done(), fatal].concat()),
        Step::Await,
        Step::Send(done()),
    ];
    let script = "select 1 as marked;\nselect 2;\n";
    let said = fails("last words", QueryMode::Simple, script, steps);
    assert!(said.contains("the end"), "{said}");
}

#[test]
fn a_client_that_reconnects_does_so_after_a_broken_answer() {
    // It is not known what became of a statement that may commit of itself; one that plainly reads commits
    // nothing.
    for (script, unknown) in [("select marked();", 3), ("select 1 as marked;", 0)] {
        let (recording, seen) = run(&Drive {
            endpoints: vec![vec![hostile(sends(&[ready(b'I')]))]],
            on_connection_loss: OnConnectionLoss::Reconnect,
            until: transactions(3),
            ..drive(script)
        });
        let counts = counts(&recording);
        assert_eq!((counts.committed, counts.unknown), (0, unknown), "{script}");
        assert_eq!(counts.failed_total(), 3 - unknown, "{script}");
        let text = "client 0 lost its connection: the server is ready for the next query";
        assert!(seen.messages[0].starts_with(text), "{seen:?}");
    }
}

#[test]
fn start_up_ends_at_its_timeout_or_limit_whatever_arrives() {
    let authenticated = server_message(b'R', &[0; 4]);
    let notice = server_text(b'N', "NOTICE", "00000", "hello");
    let setting = server_message(b'S', b"name\0value\0");
    let large = |tag: u8, bytes: u32| [&[tag], &bytes.to_be_bytes()[..]].concat();
    let pause = millis(5);
    let limit = "more than 1048576 bytes during startup";
    let too_long = "is this a server of PostgreSQL's protocol?";
    let cases = [
        (vec![Step::Stall], "timeout expired"),
        (
            vec![Step::Trickle(authenticated.clone(), millis(200))],
            "timeout expired",
        ),
        (
            vec![
                Step::Send(authenticated.clone()),
                Step::Trickle(notice.clone(), pause),
            ],
            "timeout expired",
        ),
        (
            vec![
                Step::Send(authenticated.clone()),
                Step::Trickle(setting.clone(), pause),
            ],
            "timeout expired",
        ),
        (
            vec![Step::Send(authenticated.clone()), Step::Flood(notice)],
            limit,
        ),
        (
            vec![Step::Send(authenticated.clone()), Step::Flood(setting)],
            limit,
        ),
        (
            vec![
                Step::Send([authenticated.clone(), large(b'N', 1 << 29)].concat()),
                Step::Flood(vec![b'x']),
            ],
            too_long,
        ),
        (
            vec![
                Step::Send([authenticated.clone(), large(b'D', 1 << 29)].concat()),
                Step::Flood(vec![b'x']),
            ],
            limit,
        ),
        (
            vec![Step::Flood(vec![b'x'])],
            "expected authentication request from server",
        ),
        (
            vec![Step::Flood(authenticated)],
            "unexpected message from server during startup",
        ),
    ];
    for (steps, words) in cases {
        let server = HostileServer::start(&socket(), When::Connected, steps.clone());
        let candidate = Candidate {
            connect_timeout: Some(Duration::from_secs(1)),
            ..candidate_at(Addr::Tcp(server.address()), &[])
        };
        let begun = Instant::now();
        let result = Drive {
            endpoints: vec![vec![candidate]],
            ..drive("select 1;")
        }
        .run(&Control::default(), &mut Seen::default());
        let Err(DriveError::Connect { text, .. }) = result else {
            panic!("{steps:?}: {result:?}");
        };
        assert!(text.contains(words), "{steps:?}: {text}");
        assert!(begun.elapsed() < HANGS, "{steps:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn notices_for_ever_end_the_connection_and_few_of_them_are_shown() {
    let notice = server_text(b'N', "NOTICE", "00000", &"hello ".repeat(100));
    let begun = Instant::now();
    let (recording, seen) = run(&Drive {
        endpoints: vec![vec![hostile(vec![Step::Flood(notice)])]],
        ..drive("select 1 as marked;")
    });
    assert!(begun.elapsed() < HANGS, "{:?}", begun.elapsed());
    assert_eq!(counts(&recording).committed, 0);
    let bytes: usize = seen.messages.iter().map(String::len).sum();
    assert!(bytes < 2 << 20, "{bytes}");
    let all = seen.messages.join("\n");
    assert!(all.contains(" notices of the server are not shown"));
    assert!(all.contains(&format!(
        "more than {ASIDES_BYTES_MAX} bytes of messages without data"
    )));
}

#[test]
fn a_message_is_no_longer_than_its_limit() {
    let long = |tag: u8, bytes: usize| {
        let head = [&[tag], &(bytes as u32).to_be_bytes()[..]].concat();
        vec![Step::Send(head), Step::Flood(vec![b'x'])]
    };
    for tag in *b"ENAT" {
        let said = fails(
            "long",
            QueryMode::Simple,
            "select 1 as marked;",
            long(tag, 1 << 29),
        );
        assert!(
            said.contains(&format!("and {TEXT_BYTES_MAX} bytes is the limit")),
            "{said}"
        );
    }
    let said = fails(
        "long",
        QueryMode::Simple,
        "select 1 as marked;",
        long(b'C', 1 << 29),
    );
    assert!(said.contains("lost synchronization with server"), "{said}");
    // A row whose values a script wants is kept.
    let mut steps = sends(&[described(&["a"]), vec![b'D', 0x3f, 0, 0, 0, 0, 1]]);
    steps.push(Step::Flood(vec![b'x']));
    let said = fails(
        "gset",
        QueryMode::Simple,
        "select 1 as marked \\gset\n",
        steps,
    );
    assert!(
        said.contains(&format!("and {ROW_KEPT_BYTES_MAX} bytes is the limit")),
        "{said}"
    );
}

#[test]
fn long_rows_pass_by_and_are_checked() {
    let piece = || vec![b'x'; 1 << 20];
    // So many pieces, in two columns.
    let head = |length: usize, first: usize| {
        let body = [
            &(length as u32 + 4).to_be_bytes()[..],
            &[0, 2],
            &(first as u32).to_be_bytes(),
        ]
        .concat();
        [vec![b'D'], body].concat()
    };
    let null = [255_u8; 4];
    let steps = |head: Vec<u8>, after: &[u8]| {
        vec![
            Step::Send([described(&["a", "b"]), head].concat()),
            Step::Times(100, piece()),
            Step::Send([after, &complete("SELECT 1"), &ready(b'I')].concat()),
        ]
    };
    let value = 100 << 20;
    let (recording, seen) = run(&Drive {
        endpoints: vec![vec![hostile(steps(head(value + 10, value), &null))]],
        ..drive("select 1 as marked;")
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(counts(&recording).committed, 1);
    // A second column that is not there, and one too many bytes.
    for steps in [
        steps(head(value + 6, value), b""),
        steps(head(value + 11, value), &[255; 5]),
    ] {
        let said = fails("long row", QueryMode::Simple, "select 1 as marked;", steps);
        assert!(
            said.contains("message contents do not agree with length"),
            "{said}"
        );
    }
}

#[test]
fn rows_for_ever_do_not_keep_a_run_from_stopping() {
    let flood = vec![Step::Send(described(&["a"])), Step::Flood(row(&["1"]))];
    let control = Control::default();
    let stop = control.clone();
    std::thread::spawn(move || {
        std::thread::sleep(millis(500));
        stop.finish();
    });
    let begun = Instant::now();
    let (recording, _) = run_with(
        &Drive {
            endpoints: vec![vec![hostile(flood)]],
            grace: millis(500),
            until: Until::Elapsed(Duration::from_secs(600)),
            ..drive("select 1 as marked;")
        },
        &control,
    );
    assert!(begun.elapsed() < HANGS, "{:?}", begun.elapsed());
    assert_eq!(counts(&recording).committed, 0);
}
