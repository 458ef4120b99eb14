//! Proxies between clients and each endpoint (`--via`), and what the network through them is like at
//! present.
//!
//! Not for: the proxy itself (`pgdyno_link`), what can be asked for (`spec::network`).

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgdyno_database::open::Target;
use pgdyno_database::reach::round_trip;
use pgdyno_drive::Drive;
use pgdyno_link::{Delay, Direction, How, Link, LinkProxy, Side, Upstream};
use pgdyno_model::Fact;
use pgdyno_model::note::{Note, Severity};
use pgdyno_model::{Observer, Outcome};
use pgdyno_platform::host;
use pgdyno_spec::{
    Exit, Failure,
    network::{NetworkFault, NetworkStep, Ways},
    text,
};
use pgdyno_wire::{Addr, Candidate};

use crate::companion::{Begun, Companion, Ending, Scene};

/// One of so many of the host's CPUs carries connections, up to so many threads a proxy.
const CPUS_PER_THREAD: usize = 4;
const THREADS_MAX: usize = 4;
/// How long connecting for the measurement may take.
const MEASURE_LIMIT: Duration = Duration::from_secs(2);
/// Jitter repeats from trial to trial.
const JITTER_SEED: u64 = 1;

/// The proxies of a trial. When dropped their ports are closed and their threads have ended.
#[derive(Debug)]
pub struct Via {
    proxies: Vec<Proxy>,
    /// What holds at present, each with its number.
    active: Mutex<(u64, Vec<(u64, NetworkStep)>)>,
    /// What it adds to a round trip when idle, in µs.
    adds_us: Fact<u64>,
}

/// A proxy before one address.
#[derive(Debug)]
struct Proxy {
    leads_to: Addr,
    /// The endpoint's name, and its number from 1.
    endpoint: (String, usize),
    link: LinkProxy,
}

impl Via {
    /// A proxy before each address of each endpoint; and what the first one costs.
    ///
    /// # Errors
    /// There are no ports or threads, or an endpoint's server is to be checked in a way that does not
    /// pass through a proxy.
    fn start(target: &Target) -> io::Result<Via> {
        let threads = (host::cpus() as usize / CPUS_PER_THREAD).clamp(1, THREADS_MAX);
        let mut proxies: Vec<Proxy> = Vec::new();
        for (index, endpoint) in target.endpoints_of_all_roles().enumerate() {
            for candidate in &endpoint.candidates {
                if candidate.require_peer.is_some() {
                    return Err(io::Error::other(
                        "requirepeer asks who is at the other end of a Unix socket, which is the proxy with \
                         --via: leave one of them out",
                    ));
                }
                if proxies.iter().any(|proxy| proxy.leads_to == candidate.addr) {
                    continue;
                }
                let upstream = match &candidate.addr {
                    Addr::Tcp(address) => Upstream::Tcp(*address),
                    Addr::Unix(path) => Upstream::Unix(path.clone()),
                };
                proxies.push(Proxy {
                    leads_to: candidate.addr.clone(),
                    endpoint: (endpoint.name.clone(), index + 1),
                    link: Link::to(upstream).name("via").threads(threads).start()?,
                });
            }
        }
        let mut via = Via {
            proxies,
            active: Mutex::default(),
            adds_us: Fact::Unknown("not measured".to_owned()),
        };
        via.adds_us = via.measured(target);
        Ok(via)
    }

    /// Has them connect through the proxies.
    fn lead<'c>(&self, candidates: impl IntoIterator<Item = &'c mut Candidate>) {
        for candidate in candidates {
            let mut proxies = self.proxies.iter();
            let proxy = proxies.find(|proxy| proxy.leads_to == candidate.addr);
            candidate.via = proxy.map(|proxy| proxy.link.address());
        }
    }

    /// What a round trip through the first proxy takes longer than one without.
    fn measured(&self, target: &Target) -> Fact<u64> {
        let median = |target: &Target| {
            let mut session = target
                .connect_within(MEASURE_LIMIT)
                .map_err(|e| e.to_string())?;
            let trip = round_trip(&mut session);
            session.close();
            match trip {
                Fact::Known(trip) => Ok(trip.median_us),
                Fact::Unknown(why) => Err(why),
            }
        };
        let mut through = target.clone();
        let endpoints = through.endpoints.iter_mut();
        self.lead(endpoints.flat_map(|endpoint| &mut endpoint.candidates));
        match median(target).and_then(|direct| Ok((direct, median(&through)?))) {
            Ok((direct, via)) => Fact::Known(via.saturating_sub(direct)),
            Err(why) => Fact::Unknown(why.lines().next().unwrap_or_default().to_owned()),
        }
    }

    /// That latencies have it in them.
    fn note(&self) -> Note {
        let sentence = match &self.adds_us {
            Fact::Known(us) => format!(
                "latencies include about {} a round trip of pgdyno's proxy: it was measured when idle",
                text::time(*us as f64)
            ),
            Fact::Unknown(why) => {
                format!("latencies include pgdyno's proxy: its cost could not be measured: {why}")
            }
        };
        Note::new(
            "via-proxy",
            Severity::Notice,
            sentence,
            "compare only with trials that have --via, too, such as controls",
        )
    }

    /// Whether the endpoint that a disturbance names is there.
    ///
    /// # Errors
    /// It is not; with those that are.
    pub fn check(&self, step: &NetworkStep) -> Result<(), String> {
        if self.of(step).next().is_some() {
            return Ok(());
        }
        let mut names: Vec<&str> = self.proxies.iter().map(|p| p.endpoint.0.as_str()).collect();
        names.dedup();
        Err(format!(
            "there is no endpoint {}: it is one of {}, or a number from 1",
            step.endpoint.as_deref().unwrap_or_default(),
            names.join(", ")
        ))
    }

    fn of(&self, step: &NetworkStep) -> impl Iterator<Item = &Proxy> {
        self.proxies.iter().filter(move |proxy| {
            let (name, number) = &proxy.endpoint;
            let asked = step.endpoint.as_deref();
            asked.is_none_or(|asked| asked == name || asked.parse() == Ok(*number))
        })
    }

    /// Begins a disturbance; gives its number for [`Self::end`], if it does not happen at one moment.
    pub fn begin(&self, step: &NetworkStep) -> Option<u64> {
        match step.fault {
            NetworkFault::Cut => self
                .of(step)
                .for_each(|proxy| proxy.link.cut_now(How::Reset)),
            NetworkFault::HalfOpen(closes_server) => {
                let side = if closes_server {
                    Side::Server
                } else {
                    Side::Client
                };
                self.of(step).for_each(|proxy| proxy.link.lose(side));
            }
            _ => {
                let mut active = self.active();
                active.0 += 1;
                let number = active.0;
                active.1.push((number, step.clone()));
                self.apply(&active.1, step.fault);
                return Some(number);
            }
        }
        None
    }

    /// Ends it: what it held up goes on.
    pub fn end(&self, number: u64) {
        let mut active = self.active();
        let at = active.1.iter().position(|(other, _)| *other == number);
        if let Some(at) = at {
            let (_, step) = active.1.remove(at);
            self.apply(&active.1, step.fault);
        }
    }

    fn active(&self) -> MutexGuard<'_, (u64, Vec<(u64, NetworkStep)>)> {
        // Nothing in it is ever half done.
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the proxies be as all together say, in what this fault is about: delays add up, the least
    /// bandwidth holds, and what any of them blocks is blocked.
    fn apply(&self, active: &[(u64, NetworkStep)], about: NetworkFault) {
        for proxy in &self.proxies {
            let faults = active.iter().map(|(_, step)| step);
            let faults =
                faults.filter(|step| self.of(step).any(|other| std::ptr::eq(other, proxy)));
            let faults: Vec<NetworkFault> = faults.map(|step| step.fault).collect();
            for direction in Direction::BOTH {
                let is_it = |ways: Ways| match direction {
                    Direction::ToServer => ways != Ways::ToClient,
                    Direction::ToClient => ways != Ways::ToServer,
                };
                let link = &proxy.link;
                match about {
                    NetworkFault::Delay(..) | NetworkFault::Jitter(..) => {
                        let (mut fixed, mut jitter) = (Duration::ZERO, Duration::ZERO);
                        for fault in &faults {
                            match *fault {
                                NetworkFault::Delay(time, ways) if is_it(ways) => fixed += time,
                                NetworkFault::Jitter(time, ways) if is_it(ways) => jitter += time,
                                _ => {}
                            }
                        }
                        let delay = Delay::of(fixed).with_jitter(jitter, JITTER_SEED);
                        link.set_delay(direction, delay);
                    }
                    NetworkFault::Bandwidth(..) => {
                        let rates = faults.iter().filter_map(|fault| match *fault {
                            NetworkFault::Bandwidth(rate, ways) if is_it(ways) => Some(rate),
                            _ => None,
                        });
                        link.set_bandwidth(direction, rates.min());
                    }
                    NetworkFault::Blocked(_) => {
                        let blocks = |fault: &NetworkFault| matches!(*fault, NetworkFault::Blocked(ways) if is_it(ways));
                        if faults.iter().any(blocks) {
                            link.block(direction)
                        } else {
                            link.unblock(direction)
                        }
                    }
                    NetworkFault::Cut | NetworkFault::HalfOpen(_) => {}
                }
            }
        }
    }
}

/// The proxies of a trial, if it has any.
pub type Proxies = Option<Arc<Via>>;

/// Starts them, where the trial asks for them.
///
/// # Errors
/// There are several generators; as [`Via::start`].
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    if !scene.spec.via {
        return Ok(None);
    }
    let usage = |text: String| Failure::with(Exit::Usage, text);
    if scene.share.is_some() {
        let text = "--via is for one generator: each would have proxies of its own, and one of them would \
                    be disturbed";
        return Err(usage(text.to_owned()));
    }
    let via = Via::start(&scene.prepared.target).map_err(|e| usage(format!("--via: {e}")))?;
    let via = Arc::new(via);
    scene.via = Some(Arc::clone(&via));
    Ok(Some(Box::new(OfTrial(via))))
}

/// Disturbances share them.
struct OfTrial(Arc<Via>);

impl Observer<Outcome> for OfTrial {}

impl Companion for OfTrial {
    fn set_up(&self, drive: &mut Drive) {
        self.0.lead(drive.endpoints.iter_mut().flatten());
    }

    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        end.notes.push(self.0.note());
    }
}
