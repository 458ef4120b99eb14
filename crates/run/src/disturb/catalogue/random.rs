//! Chaos with a seed (`pgdyno lab disturb --with random --seed 7 --for 10m`): a sequence of disturbances, drawn from
//! what the target allows. The same seed, target and options give the same list.
//!
//! Not for: carrying it out (`super::super`): it is a list of commands as any other.

use std::time::Duration;

use pgdyno_database::dialect::{POSTGRESQL, Product};
use pgdyno_database::facts;
use pgdyno_database::open::{self, Target};
use pgdyno_model::document::Facts;
use pgdyno_platform::user;
use pgdyno_spec::{
    Exit, Failure, OWN, Replication, Step, TargetSpec, Timed, suggest::nearest, text,
};
use pgdyno_stats::SplitMix64;

use super::{Entry, Given, Kind, Need, Scene, all, cgroup};

pub const NAME: &str = "random";

/// How long one lasts: whole seconds from 1 to this.
const LASTS_MAX_S: u64 = 8;
/// The room of one that lasts until it is done.
const UNTIL_DONE: Duration = Duration::from_secs(5);
/// Pauses are whole seconds from 3 to this: time for clients to be served again.
const PAUSE_S: (u64, u64) = (3, 12);
/// Those that are not drawn, and why.
const LEFT_OUT: [(&str, &str); 2] = [
    (
        "promotion",
        "the killed primary is made a standby again only before the next trial",
    ),
    (
        "wal-full",
        "it moves WAL before the trial, which changes all of it",
    ),
];

/// What is to be drawn from.
#[derive(Debug, Default)]
pub struct Wanted<'a> {
    pub only: &'a [String],
    pub except: &'a [String],
    /// What could harm a server that is not pgdyno's own may be done.
    pub yes: bool,
    pub via: bool,
}

/// Where the trials will be.
pub enum Place {
    /// A private server, or a pair.
    Own(Option<Replication>),
    /// A server that is there.
    Named(Box<(Target, Product, Facts)>),
}

impl Place {
    /// Where this leads, which is asked what it is.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn of(target: &TargetSpec) -> Result<Self, Failure> {
        let Some(named) = open::existing(target)? else {
            return Ok(Self::Own(target.pg_standby));
        };
        let mut session = named.connect()?;
        let facts = facts::collect(&mut session);
        let product = Product::ask(&mut session).unwrap_or_else(|_| Product::presumed(&session));
        session.close();
        Ok(Self::Named(Box::new((named, product, facts))))
    }

    /// Whether it has what is needed, as far as that is known before there are tables.
    fn has(&self, need: Need, via: bool) -> Result<(), String> {
        let missing = || Err(format!("it needs {}", need.words()));
        let unless = |is_there: bool| if is_there { Ok(()) } else { missing() };
        match (self, need) {
            (_, Need::Via) => unless(via),
            (_, Need::Table | Need::Owner | Need::Maintainer | Need::Writer) => Ok(()),
            (Self::Own(pair), Need::OwnServer) => unless(pair.is_none()),
            (Self::Own(pair), Need::Pair) => unless(pair.is_some()),
            (Self::Own(_), Need::Root) => unless(user::is_root()),
            (Self::Own(_), Need::Cgroup) => cgroup::Group::of(&cgroup::CPU, "self").map(drop),
            (Self::Own(_), Need::BlockDevice) => {
                let cache = pgdyno_server::Cache::from_env().map_err(|e| e.to_string())?;
                cgroup::Group::of(&cgroup::BLOCK, "self")?;
                cgroup::disk_under(cache.path()).map(drop)
            }
            (
                Self::Own(_),
                Need::Superuser
                | Need::Checkpointer
                | Need::SameHost
                | Need::Mount
                | Need::Replication,
            ) => Ok(()),
            (Self::Named(named), need) => {
                let (target, product, facts) = &**named;
                let scene = Scene {
                    target,
                    product,
                    facts,
                    tables: Vec::new(),
                    via: None,
                };
                need.missing(&scene, &Given::default()).map_or(Ok(()), Err)
            }
        }
    }

    /// Whether this one may be drawn.
    fn allows(&self, entry: &Entry, wanted: &Wanted<'_>) -> Result<(), String> {
        if let Some((_, why)) = LEFT_OUT.iter().find(|(name, _)| *name == entry.name) {
            return Err((*why).to_owned());
        }
        let dialect = match self {
            Self::Own(_) => &POSTGRESQL,
            Self::Named(named) => named.1.dialect,
        };
        dialect
            .disturbances
            .allow(entry.name)
            .map_err(str::to_owned)?;
        if matches!(self, Self::Named(_)) && entry.harms && !wanted.yes {
            return Err("it could harm this server: --yes".to_owned());
        }
        if entry.name == "lagging-standby" && matches!(self, Self::Own(Some(Replication::Async))) {
            return Err("commits do not wait for the standby: --pg-standby sync".to_owned());
        }
        entry
            .needs
            .iter()
            .try_for_each(|need| self.has(*need, wanted.via))
    }
}

/// Draws the commands: the first after `before`, all to be over `lasting` after that, with pauses between. Each of
/// those that are allowed comes once before any comes again.
///
/// # Errors
/// A name that is not one, or nothing is allowed: why not.
pub fn draw(
    seed: u64,
    (before, lasting): (Duration, Duration),
    wanted: &Wanted<'_>,
    place: &Place,
) -> Result<Vec<Timed>, Failure> {
    let usage = |text: String| Failure::with(Exit::Usage, text);
    for name in wanted.only.iter().chain(wanted.except) {
        if !all().any(|entry| entry.name == name) {
            let failure = usage(format!("there is no disturbance \"{name}\""));
            return Err(match nearest(name, all().map(|entry| entry.name)) {
                Some(word) => failure.hint(format!("did you mean \"{word}\"?")),
                None => failure.hint("all of them: pgdyno lab disturb --list"),
            });
        }
    }
    let mut allowed = Vec::new();
    let mut refused = Vec::new();
    let has = |names: &[String], entry: &Entry| names.iter().any(|name| name == entry.name);
    let asked = all().filter(|entry| wanted.only.is_empty() || has(wanted.only, entry));
    for entry in asked.filter(|entry| !has(wanted.except, entry)) {
        match place.allows(entry, wanted) {
            Ok(()) => allowed.push(entry),
            Err(why) if has(wanted.only, entry) => {
                return Err(usage(format!("{} is not drawn: {why}", entry.name)));
            }
            Err(why) => refused.push(format!("{}: {why}", entry.name)),
        }
    }
    if allowed.is_empty() {
        let failure = usage("nothing is left to be drawn from".to_owned());
        return Err(refused.into_iter().fold(failure, Failure::detail));
    }
    let mut draw = Draw(SplitMix64(seed));
    let mut steps = Vec::new();
    let mut bag: Vec<&Entry> = Vec::new();
    let mut at = Duration::ZERO;
    loop {
        if bag.is_empty() {
            bag = allowed.clone();
        }
        let entry = bag.swap_remove(draw.below(bag.len() as u64) as usize);
        let (command, takes) = draw.command(entry, lasting);
        if at + takes > lasting && !steps.is_empty() {
            return Ok(steps);
        }
        steps.push(Timed(Step {
            at: before + at,
            command: command.as_str().into(),
        }));
        let pause = PAUSE_S.0 + draw.below(PAUSE_S.1 - PAUSE_S.0 + 1);
        at += takes + Duration::from_secs(pause);
    }
}

struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        (self.0.share() * count as f64) as u64
    }

    /// A command, and how long it takes: of what lasts how long, and of words which, are drawn.
    fn command(&mut self, entry: &Entry, at_most: Duration) -> (String, Duration) {
        let mut command = format!("{OWN}{}", entry.name);
        let mut takes = UNTIL_DONE;
        for key in entry.keys {
            let value = match key.kind {
                Kind::Time if key.name == "for" => {
                    let seconds = 1 + self.below(LASTS_MAX_S);
                    takes = Duration::from_secs(seconds).min(at_most);
                    text::as_typed(takes)
                }
                Kind::Words(words) => words[self.below(words.len() as u64) as usize].to_owned(),
                _ => continue,
            };
            command.push_str(&format!(" {}={value}", key.name));
        }
        (command, takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturb::catalogue::read;

    const TEN_MINUTES: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(600));

    fn drawn(seed: u64, wanted: &Wanted<'_>, place: &Place) -> Vec<String> {
        let steps = draw(seed, TEN_MINUTES, wanted, place).unwrap();
        steps.iter().map(ToString::to_string).collect()
    }

    fn names(drawn: &[String]) -> Vec<&str> {
        drawn
            .iter()
            .map(|line| line.split([' ', ':']).nth(2).unwrap())
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_list_and_another_seed_another() {
        let (wanted, own) = (Wanted::default(), Place::Own(None));
        let list = drawn(7, &wanted, &own);
        assert_eq!(list, drawn(7, &wanted, &own));
        assert_ne!(list, drawn(8, &wanted, &own));
        assert!(list[0].starts_with("10s pgdyno:"), "{list:?}");
        assert!(list.len() > 25, "{list:?}");
        let mut is_free = Duration::ZERO;
        for step in draw(7, TEN_MINUTES, &wanted, &own).unwrap() {
            let (entry, given) = read(step.0.own().unwrap()).unwrap();
            let lasts = entry.lasts.map_or(UNTIL_DONE, |_| given.time("for"));
            assert!(step.0.at >= is_free, "{step}");
            is_free = step.0.at + lasts + Duration::from_secs(PAUSE_S.0);
            assert!(step.0.at + lasts <= TEN_MINUTES.0 + TEN_MINUTES.1, "{step}");
        }
        // Each comes once before any comes again.
        let mut once: Vec<&str> = names(&list)[..12].to_vec();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), 12, "{list:?}");
    }

    #[test]
    fn what_the_target_does_not_allow_is_not_drawn() {
        let own = drawn(1, &Wanted::default(), &Place::Own(None));
        let own = names(&own);
        let has = |name: &str| own.contains(&name);
        assert!(has("restart") && has("checkpoint") && has("sigstop"));
        assert!(!has("net-cut") && !has("lagging-standby") && !has("promotion"));
        let via = Wanted {
            via: true,
            ..Wanted::default()
        };
        let via = drawn(1, &via, &Place::Own(None));
        assert!(names(&via).contains(&"net-cut"), "{via:?}");
        let pair = drawn(1, &Wanted::default(), &Place::Own(Some(Replication::Sync)));
        let pair = names(&pair);
        assert!(pair.contains(&"lagging-standby") && !pair.contains(&"restart"));
        let pair = drawn(1, &Wanted::default(), &Place::Own(Some(Replication::Async)));
        assert!(!names(&pair).contains(&"lagging-standby"));
    }

    #[test]
    fn names_choose_and_what_cannot_be_drawn_is_refused_with_its_reason() {
        let name = |name: &str| vec![name.to_owned()];
        let own = Place::Own(None);
        let only = [name("checkpoint"), name("analyze")].concat();
        let wanted = Wanted {
            only: &only,
            ..Wanted::default()
        };
        let list = drawn(3, &wanted, &own);
        assert!(names(&list).iter().all(|it| only.iter().any(|o| o == it)));
        let except = Wanted {
            except: &only,
            ..Wanted::default()
        };
        let list = drawn(3, &except, &own);
        assert!(!names(&list).iter().any(|it| only.iter().any(|o| o == it)));
        for (only, except, says) in [
            (name("chekpoint"), vec![], "did you mean \"checkpoint\"?"),
            (name("net-cut"), vec![], "pgdyno's proxies (--via)"),
            (name("promotion"), vec![], "only before the next trial"),
            (name("analyze"), name("analyze"), "nothing is left"),
        ] {
            let wanted = Wanted {
                only: &only,
                except: &except,
                ..Wanted::default()
            };
            let why = draw(3, TEN_MINUTES, &wanted, &own).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
        // However short, there is one.
        let short = (Duration::ZERO, Duration::from_secs(1));
        assert_eq!(draw(1, short, &Wanted::default(), &own).unwrap().len(), 1);
    }
}
