//! A replay for programs.

use serde_json::{Value, json};

use pgdyno_replay::{Options, Replayed, Times};

use super::SyncArg;
use crate::cli::record::show::losses;

/// Grows when a field of the document changes its meaning or goes.
const FORMAT: u32 = 1;

pub fn of(replayed: &Replayed, options: &Options) -> Value {
    let lateness = &replayed.lateness;
    let text = |number: u32| {
        replayed
            .texts
            .get(number as usize)
            .map(|of| of.text.as_str())
    };
    let worst = lateness.worst.iter().map(|worst| {
        json!({
            "text": text(worst.slow.text),
            "session": worst.slow.session,
            "planned_us": worst.slow.planned / 1000,
            "took_us": worst.slow.took_ns / 1000,
            "recorded_us": worst.slow.recorded_ns.map(|ns| ns / 1000),
            "charged_us": worst.charged_ns / 1000,
            "statements": worst.statements,
        })
    });
    let texts = replayed.texts.iter().map(|of| {
        json!({
            "text": of.text,
            "fingerprint": format!("{:016x}", of.fingerprint),
            "statements": of.statements,
            "failed": of.failed,
            "other_rows": of.other_rows,
            "other_values": of.other_values,
            "charged_us": of.charged_ns / 1000,
            "then": times(&of.then),
            "now": times(&of.now),
        })
    });
    let obstacles = replayed.obstacles.iter();
    let obstacles =
        obstacles.map(|(obstacle, count)| json!({"why": obstacle.words(), "statements": count}));
    let new = replayed.errors.new.iter();
    let new = new.map(
        |(state, (count, message))| json!({"state": state, "statements": count, "first": message}),
    );
    json!({
        "format": FORMAT,
        "speed": options.speed,
        "sync": SyncArg::name(options.sync),
        "length_us": replayed.length.as_micros() as u64,
        "statements": {
            "sent": replayed.sent,
            "answered": replayed.answered,
            "unsent": replayed.unsent,
            "unanswered": replayed.unanswered,
            "rows": replayed.rows,
            "left_out_by_only": replayed.others,
        },
        "sessions": {
            "count": replayed.sessions,
            "most": replayed.sessions_most,
            "lost": replayed.connections_lost,
            "refused": replayed.connections_refused,
            "first_refusal": replayed.first_refusal,
        },
        "lateness": {
            "total_ns": lateness.total_ns,
            "within_1_ms": lateness.on_time,
            "times": times(&lateness.times),
            "waited_for_ns": {
                "connection": lateness.waits.connection_ns,
                "own_session": lateness.waits.earlier_ns,
                "order": lateness.waits.order_ns,
                "generator": lateness.waits.generator_ns,
            },
            "caused_by_ns": {
                "connection": lateness.connection_ns,
                "order": lateness.order_ns,
                "slow_statements": lateness.slow_ns,
                "generator": lateness.generator_ns,
            },
            "worst": worst.collect::<Vec<_>>(),
        },
        "errors": {
            "then_and_now": replayed.errors.same,
            "other": replayed.errors.other,
            "gone": replayed.errors.gone,
            "new": new.collect::<Vec<_>>(),
        },
        "answers": {
            "compared": replayed.answers.compared,
            "other_rows": replayed.answers.other_rows,
            "values_compared": replayed.answers.values_compared,
            "other_values": replayed.answers.other_values,
        },
        "keys": {
            "differed": replayed.keys.differed,
            "replaced": replayed.keys.replaced,
            "unknown": replayed.keys.unknown,
        },
        "order": {
            "waited": replayed.order.waited,
            "broken": replayed.order.broken,
            "undetermined": replayed.order.undetermined,
        },
        "texts": texts.collect::<Vec<_>>(),
        "not_replayed": obstacles.collect::<Vec<_>>(),
        "lost": losses(replayed.losses),
        "cpu_us": replayed.cpu_us,
        "is_interrupted": replayed.is_interrupted,
    })
}

fn times(times: &Times) -> Value {
    json!({
        "count": times.count,
        "sum_us": times.sum_us,
        "p50_us": times.percentile_us(50.0),
        "p99_us": times.percentile_us(99.0),
    })
}
