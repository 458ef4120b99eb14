//! kill -9 of pgdyno at random moments of the whole life of its commands, and what the next start finds:
//! no process and no directory that stays, a notebook that opens and has the seconds until then, an
//! experiment that goes on, settings as they were. A file a command.
//!
//! `PGDYNO_SEED=7` draws the moments of that seed; the seed of each run is printed. `PGDYNO_MOMENTS=10` tries fewer in the
//! long form.

mod calibrate;
mod home;
mod lab;
mod load;
mod moments;
mod run;
mod server_start;
mod slob_sweep;
mod sweep;
mod team;

/// What each command is tested by: at so many moments.
const COMMANDS: [fn(usize); 10] = [
    run::on_a_private_server,
    run::on_a_named_server,
    load::of_two_packs,
    sweep::on_a_named_server,
    sweep::on_a_private_server,
    slob_sweep::on_a_named_server,
    calibrate::on_a_named_server,
    lab::on_a_named_server,
    server_start::of_the_kept_server,
    team::with_a_notebook_on_a_server,
];

/// The short form: all commands at once, so that it takes as long as the longest.
#[test]
fn whatever_moment_pgdyno_is_killed_at_the_next_start_goes_on() {
    pgdyno_testkit::postgres();
    let all: Vec<_> = COMMANDS
        .map(|command| std::thread::spawn(move || command(1)))
        .into_iter()
        .map(std::thread::JoinHandle::join)
        .collect();
    let failed = all.iter().filter(|ended| ended.is_err()).count();
    assert_eq!(failed, 0, "commands that failed; each says why above");
}

/// The long form: one command after the other in each of a few threads, which wait most of the time.
#[test]
#[ignore = "takes minutes: make test-long PART=kill"]
fn fifty_moments_of_each_command() {
    const AT_ONCE: usize = 4;
    let asked = std::env::var("PGDYNO_MOMENTS");
    let moments = asked.map_or(50, |text| text.parse().expect("PGDYNO_MOMENTS is a number"));
    pgdyno_testkit::postgres();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failed = std::sync::atomic::AtomicUsize::new(0);
    let ordering = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(command) = COMMANDS.get(next.fetch_add(1, ordering)) {
                    let ended = std::panic::catch_unwind(|| command(moments));
                    failed.fetch_add(ended.is_err().into(), ordering);
                }
            });
        }
    });
    assert_eq!(
        failed.into_inner(),
        0,
        "commands that failed; each says why above"
    );
}
