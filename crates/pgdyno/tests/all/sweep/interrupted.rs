//! Ctrl-C during a sweep.

use pgdyno_platform::child::Signal;

use crate::child::{Running, wait_until};
use crate::support::Database;
use crate::sweep::written::Experiment;

#[test]
fn ctrl_c_ends_the_trial_in_good_order_and_says_how_to_go_on() {
    let database = Database::new("sweep_interrupted");
    let experiment = Experiment::new(
        "workload = 'select-only'\nreset.settle = 0\n\
         [[zip]]\nclients = [1, 2]\nduration = ['300ms', '40s']\n",
        &database,
    );
    let running = Running::start(&mut experiment.sweep(&[]));
    wait_until("the first trial", || experiment.completed() == 1);
    // Sessions of the first one are still seen for a moment, but do nothing.
    let at_work = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
                   AND query LIKE 'SELECT abalance%'";
    database.wait_for(at_work);
    running.signal(Signal::Interrupt);
    let texts = [
        "(interrupted)",
        "1 of 2 trials complete",
        "pgdyno sweep e.toml --url … --resume",
    ];
    running.ended().expect(130, &texts);
    let trials = experiment.trials();
    assert_eq!((trials.len(), &trials[1]["state"]), (2, &"aborted".into()));
    assert_eq!(trials[1]["end"], "interrupted");
    assert!(trials[1]["measured"]["committed"].as_u64().unwrap() > 0);
}

#[test]
fn ctrl_c_between_two_trials_does_not_wait() {
    let database = Database::new("sweep_settling");
    let experiment = Experiment::new(
        "workload = 'select-only'\nduration = '200ms'\nrepeats = 2\nreset.settle = '1h'\n",
        &database,
    );
    let running = Running::start(&mut experiment.sweep(&[]));
    // It settles before the first trial.
    database.wait_for(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
         AND query LIKE 'SET %statement_timeout = 0%'",
    );
    running.signal(Signal::Terminate);
    running
        .ended()
        .expect(143, &["0 of 2 trials complete", "--resume"]);
    assert_eq!(experiment.trials()[0]["state"], "aborted");
}
