//! The network between clients and endpoints, through pgdyno's own proxies (`--via`).
//!
//! Not for: what can be asked for (`spec::network`), the proxies (`run/via.rs`).

use std::sync::Arc;
use std::time::Duration;

use pgdyno_spec::{
    ShellCommand,
    network::{NETWORK, NetworkFault, NetworkStep},
};

use super::given::lasting;
use super::{Act, Entry, Given, Key, Kind, Made, Make, Need, Scene};
use crate::companion::via::Via;
use crate::disturb::own::Control;

const RISKS: &str = "only this trial's clients notice";
const UNDONE: &str = "after its time; the proxies end with the trial";
const LASTS: &str = "5s";

const ENDPOINT: Key = Key {
    name: "endpoint",
    default: "",
    kind: Kind::Name,
    help: "an endpoint's name, or its number from 1; unless given, all",
};

const DIRECTION: Key = Key {
    name: "direction",
    default: "both",
    kind: Kind::Words(&["to-server", "to-client", "both"]),
    help: "which way",
};

const fn ms(default: &'static str, help: &'static str) -> Key {
    Key {
        name: "ms",
        default,
        kind: Kind::Count,
        help,
    }
}

const fn entry(
    name: &'static str,
    summary: &'static str,
    keys: &'static [Key],
    lasts: Option<&'static str>,
    make: Make,
) -> Entry {
    Entry {
        name,
        summary,
        keys,
        needs: &[Need::Via],
        risks: RISKS,
        harms: false,
        undone: UNDONE,
        lasts,
        make,
    }
}

pub(super) static ENTRIES: [Entry; 7] = [
    entry(
        "net-delay",
        "messages arrive later in each direction, so a round trip is delayed twice",
        &[
            lasting(LASTS),
            ms("50", "how much later"),
            DIRECTION,
            ENDPOINT,
        ],
        Some(LASTS),
        |scene, given| made("delay", scene, given),
    ),
    entry(
        "net-jitter",
        "delays messages by a random time up to this, in order",
        &[
            lasting(LASTS),
            ms("20", "the longest delay"),
            DIRECTION,
            ENDPOINT,
        ],
        Some(LASTS),
        |scene, given| made("jitter", scene, given),
    ),
    entry(
        "net-bandwidth",
        "limits all connections to an endpoint to this many bytes a second together",
        &[
            lasting(LASTS),
            Key {
                name: "rate",
                default: "1MB",
                kind: Kind::Rate,
                help: "bytes a second: 500kB, 1MB",
            },
            DIRECTION,
            ENDPOINT,
        ],
        Some(LASTS),
        |scene, given| made("bandwidth", scene, given),
    ),
    entry(
        "net-cut",
        "resets all connections; new ones work",
        &[ENDPOINT],
        None,
        |scene, given| made("cut", scene, given),
    ),
    entry(
        "net-black-hole",
        "nothing arrives, and no connection is closed",
        &[lasting(LASTS), ENDPOINT],
        Some(LASTS),
        |scene, given| made("black-hole", scene, given),
    ),
    entry(
        "net-half-open",
        "closes one end of each connection; the other end does not notice",
        &[
            Key {
                name: "closed",
                default: "server",
                kind: Kind::Words(&["server", "client"]),
                help: "whose end is closed",
            },
            ENDPOINT,
        ],
        None,
        |scene, given| made("half-open", scene, given),
    ),
    entry(
        "net-one-way",
        "one direction is lost",
        &[
            lasting(LASTS),
            Key {
                name: "direction",
                default: "to-client",
                kind: Kind::Words(&["to-server", "to-client"]),
                help: "which way",
            },
            ENDPOINT,
        ],
        Some(LASTS),
        |scene, given| made("one-way", scene, given),
    ),
];

fn made(name: &str, scene: &Scene<'_>, given: &Given) -> Made {
    let via = scene
        .via
        .ok_or_else(|| format!("it needs {}", Need::Via.words()))?;
    let options = given.set().filter(|(key, _)| *key != "for");
    let options: String = options
        .map(|(key, value)| format!(" {key}={value}"))
        .collect();
    let command = ShellCommand::from(format!("{NETWORK}{name}{options}").as_str());
    let step = NetworkStep::of(&command).ok_or("it is not understood")??;
    via.check(&step)?;
    Ok(Box::new(Disturbed {
        via: Arc::clone(via),
        lasting: given.time("for"),
        step,
        holds: None,
    }))
}

struct Disturbed {
    via: Arc<Via>,
    step: NetworkStep,
    lasting: Duration,
    /// Its number, while it holds.
    holds: Option<u64>,
}

impl Act for Disturbed {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        self.holds = self.via.begin(&self.step);
        if self.holds.is_some() {
            control.last(self.lasting);
        }
        self.end();
        control.say(words(&self.step));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        Ok(self.end().then(|| "the network is as it was".to_owned()))
    }
}

impl Disturbed {
    fn end(&mut self) -> bool {
        let number = self.holds.take();
        number.into_iter().for_each(|number| self.via.end(number));
        number.is_some()
    }
}

/// What was done, for its output.
fn words(step: &NetworkStep) -> String {
    let done = match step.fault {
        NetworkFault::Delay(time, _) => format!("bytes arrived {time:?} later one way"),
        NetworkFault::Jitter(time, _) => format!("bytes arrived up to {time:?} later one way"),
        NetworkFault::Bandwidth(rate, _) => {
            format!("{rate} bytes a second passed each way at most")
        }
        NetworkFault::Cut => "connections were reset".to_owned(),
        NetworkFault::Blocked(_) => "nothing passed".to_owned(),
        NetworkFault::HalfOpen(true) => {
            "closed the server's ends without a message to clients".to_owned()
        }
        NetworkFault::HalfOpen(false) => {
            "closed the clients' ends without a message to the server".to_owned()
        }
    };
    let place = step.endpoint.as_deref();
    let place = place.map_or_else(
        || "all endpoints".to_owned(),
        |name| format!("endpoint {name}"),
    );
    format!("{done}, {place}")
}
