//! Validity notes from what the server's views tell. Pure functions, as in `crates/run/src/validity.rs`.

use pgdyno_model::{Note, Severity};
use pgdyno_spec::text;

/// From so many other sessions at work on average they are spoken of: a tenth of one is a query of
/// six seconds in a minute.
const OTHERS_MIN: f64 = 0.1;
/// From this share of dead rows on a table is said to await vacuum: autovacuum would come
/// (autovacuum_vacuum_scale_factor).
const DEAD_SHARE: f64 = 0.2;
/// So few dead rows are nothing, whatever their share.
const DEAD_MIN: f64 = 1000.0;

/// What vacuum has left behind in a table, before the trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vacuumed {
    pub dead: f64,
    pub live: f64,
    /// Whether it has rows that the planner knows nothing of.
    pub never_analyzed: bool,
}

/// Sessions that are not the trial's were in statements; so many on average.
pub fn others_active(mean: f64) -> Option<Note> {
    (mean >= OTHERS_MIN).then(|| {
        Note::new(
            "other-sessions-active",
            Severity::Warning,
            format!("other sessions were active on the server: {mean:.1} at a time on average"),
            "find them in pg_stat_activity, and measure without them",
        )
    })
}

/// The server's clock jumped by so many seconds at once.
pub fn clock_jumped(jump_s: f64) -> Option<Note> {
    let direction = if jump_s < 0.0 { "back" } else { "forward" };
    (jump_s != 0.0).then(|| {
        Note::new(
            "server-clock-jumped",
            Severity::Warning,
            format!(
                "the server's clock jumped {direction} by {}: times of checkpoints and autovacuum may be \
                 wrong by that much",
                text::seconds(jump_s.abs())
            ),
            "let the time service slew the clock, not step it (chronyd, or ntpd without -g)",
        )
    })
}

/// Tables that the trial used and that had not been vacuumed or analyzed when it began.
pub fn not_vacuumed(used: &[(&str, Vacuumed)]) -> Option<Note> {
    // pgdyno's own tables are made for each trial.
    let used = used.iter().filter(|(name, _)| !name.starts_with("pgdyno_"));
    let reported = used.filter_map(|(name, vacuumed)| {
        let Vacuumed {
            dead,
            live,
            never_analyzed,
        } = *vacuumed;
        let share = dead / (dead + live).max(1.0);
        if dead >= DEAD_MIN && share >= DEAD_SHARE {
            Some(format!(
                "{name} ({} of its rows dead)",
                text::roughly(share)
            ))
        } else {
            never_analyzed.then(|| format!("{name} (never analyzed)"))
        }
    });
    let reported: Vec<String> = reported.collect();
    (!reported.is_empty()).then(|| {
        Note::new(
            "table-not-vacuumed",
            Severity::Warning,
            format!(
                "tables were not vacuumed before the trial: {}",
                reported.join(", ")
            ),
            "VACUUM ANALYZE them first (a sweep does so between trials)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_at_work_are_noted_and_a_glimpse_of_them_is_not() {
        assert_eq!(others_active(0.05), None);
        let note = others_active(1.26).unwrap();
        assert!(note.sentence.contains("1.3 at a time"), "{}", note.sentence);
    }

    #[test]
    fn a_jump_of_the_servers_clock_is_noted_with_its_direction() {
        assert_eq!(clock_jumped(0.0), None);
        let back = clock_jumped(-2.04).unwrap().sentence;
        assert!(back.contains("back by 2.04 s"), "{back}");
        assert!(
            clock_jumped(7.0)
                .unwrap()
                .sentence
                .contains("forward by 7.00 s")
        );
    }

    #[test]
    fn tables_that_await_vacuum_or_were_never_analyzed_are_noted_by_name() {
        let state = |dead, live, never_analyzed| Vacuumed {
            dead,
            live,
            never_analyzed,
        };
        let clean = ("clean", state(100.0, 1e6, false));
        let small = ("small", state(900.0, 10.0, false));
        assert_eq!(not_vacuumed(&[clean, small]), None);
        let bloated = ("bloated", state(3e5, 7e5, false));
        let new = ("new", state(0.0, 10.0, true));
        let note = not_vacuumed(&[clean, bloated, new]).unwrap();
        let reported = "bloated (30 % of its rows dead), new (never analyzed)";
        assert!(note.sentence.ends_with(reported), "{}", note.sentence);
    }
}
