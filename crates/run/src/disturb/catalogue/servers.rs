//! Servers of pgdyno's own that are restarted, killed, failed over, or lag behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_database::pair::Pair;
use pgdyno_server::Server;
use pgdyno_spec::{Replication, text};

use super::given::lasting;
use super::{Act, Entry, Key, Kind, Need, Scene};
use crate::disturb::own::Control;

/// A synchronous standby that lags.
pub(super) const LAG: &str = "lagging-standby";

pub(super) static ENTRIES: [Entry; 5] = [
    Entry {
        name: "restart",
        summary: "stops the server as pg_ctl -m fast does, with a checkpoint, and starts it again",
        keys: &[],
        needs: &[Need::OwnServer],
        risks: "all connections are lost",
        harms: true,
        undone: "undo is not needed: it runs again",
        lasts: None,
        make: |scene, _| restart(scene, How::Fast),
    },
    Entry {
        name: "restart-immediate",
        summary: "stops the server as pg_ctl -m immediate does, and starts it again: it recovers",
        keys: &[],
        needs: &[Need::OwnServer],
        risks: "all connections are lost, and the server recovers as after a crash",
        harms: true,
        undone: "undo is not needed: it runs again",
        lasts: None,
        make: |scene, _| restart(scene, How::Immediate),
    },
    Entry {
        name: "kill-postmaster",
        summary: "kill -9 of the server's first process; it is started again when the others have ended",
        keys: &[Key {
            name: "down",
            default: "1s",
            kind: Kind::Time,
            help: "how long until it is started again",
        }],
        needs: &[Need::OwnServer],
        risks: "all connections are lost, and the server recovers as after a crash",
        harms: true,
        undone: "it is started again, also after Ctrl-C",
        lasts: None,
        make: |scene, given| restart(scene, How::Killed(given.time("down"))),
    },
    Entry {
        name: "promotion",
        summary: "kills the primary of the private pair and promotes its standby; also called pgdyno:failover",
        keys: &[Key {
            name: "behind",
            default: "",
            kind: Kind::Time,
            help: "how long the standby receives nothing before the primary is killed, if at all: what is \
                   committed meanwhile is lost, unless commits wait for the standby",
        }],
        needs: &[Need::Pair],
        risks: "with --pg-standby async what the standby has not is lost",
        harms: true,
        undone: "the killed server is made a standby of the other before the next trial",
        lasts: None,
        make: |scene, given| {
            Ok(Box::new(Promotion {
                pair: pair(scene)?,
                behind: given.time("behind"),
                is_cut_off: false,
            }))
        },
    },
    Entry {
        name: LAG,
        summary: "a synchronous standby applies WAL late, and commits wait for it (remote_apply)",
        keys: &[
            lasting("10s"),
            Key {
                name: "delay",
                default: "200ms",
                kind: Kind::Time,
                help: "how much later it applies (recovery_min_apply_delay)",
            },
        ],
        needs: &[Need::Pair],
        risks: "the delay of every commit",
        harms: true,
        undone: "both settings are taken back after its time",
        lasts: Some("10s"),
        make: |scene, given| {
            let pair = pair(scene)?;
            if pair.replication() != Replication::Sync {
                return Err("commits do not wait for the standby: --pg-standby sync".to_owned());
            }
            Ok(Box::new(Lag {
                pair,
                delay: given.time("delay"),
                lasting: given.time("for"),
                is_on: false,
            }))
        },
    },
];

fn pair(scene: &Scene<'_>) -> Result<Arc<Pair>, String> {
    let pair = scene.target.pair().cloned();
    pair.ok_or_else(|| "there is no private server with a standby".to_owned())
}

fn restart(scene: &Scene<'_>, how: How) -> Result<Box<dyn Act>, String> {
    let server = scene.target.own_server().cloned();
    let server = server.ok_or("there is no private server")?;
    Ok(Box::new(Restart {
        server,
        how,
        is_down: false,
    }))
}

#[derive(Clone, Copy)]
enum How {
    Fast,
    Immediate,
    Killed(Duration),
}

struct Restart {
    server: Arc<Server>,
    how: How,
    is_down: bool,
}

impl Act for Restart {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let begun = Instant::now();
        self.is_down = true;
        let done = match self.how {
            How::Fast => self.server.restart(),
            How::Immediate => self.server.restart_at_once(),
            How::Killed(down) => self.server.kill_first().and_then(|()| {
                let gone = begun.elapsed();
                control.last(down.saturating_sub(gone));
                control.say(format_args!(
                    "the first process was killed, and the last one was gone after {}",
                    text::time(gone.as_micros() as f64)
                ));
                self.server.start_again()
            }),
        };
        done.map_err(|e| e.to_string())?;
        self.is_down = false;
        let took = text::time(begun.elapsed().as_micros() as f64);
        control.say(format_args!(
            "the server took connections again after {took}"
        ));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        if !self.is_down || self.server.is_running() {
            return Ok(None);
        }
        self.server.start_again().map_err(|e| e.to_string())?;
        Ok(Some("started the server again".to_owned()))
    }
}

struct Promotion {
    pair: Arc<Pair>,
    behind: Duration,
    is_cut_off: bool,
}

impl Act for Promotion {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        if !self.behind.is_zero() {
            self.is_cut_off = true;
            self.pair.stop_receiving().map_err(|e| e.to_string())?;
            control.last(self.behind);
        }
        let done = self.pair.fail_over().map_err(|e| e.to_string())?;
        self.is_cut_off = false;
        let time = |time: Duration| text::time(time.as_micros() as f64);
        if !self.behind.is_zero() {
            control.say(format_args!(
                "the standby had received nothing for {}",
                time(self.behind)
            ));
        }
        control.say(format_args!(
            "the primary was gone after {}, and the standby took writes {} later",
            time(done.killed),
            time(done.promoted)
        ));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        if !std::mem::take(&mut self.is_cut_off) {
            return Ok(None);
        }
        self.pair.receive_again().map_err(|e| e.to_string())?;
        Ok(Some("the standby receives again".to_owned()))
    }
}

struct Lag {
    pair: Arc<Pair>,
    delay: Duration,
    lasting: Duration,
    is_on: bool,
}

impl Act for Lag {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        self.is_on = true;
        self.pair.lag(self.delay).map_err(|e| e.to_string())?;
        control.last(self.lasting);
        self.undo()?;
        control.say(format_args!(
            "the standby applied {} late, and commits waited for it",
            text::time(self.delay.as_micros() as f64)
        ));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        if !self.is_on {
            return Ok(None);
        }
        self.pair.keep_up().map_err(|e| e.to_string())?;
        self.is_on = false;
        Ok(Some("the standby keeps up again".to_owned()))
    }
}
