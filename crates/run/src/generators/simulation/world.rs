//! True time, and whose turn it is: every generator has its threads, of which one at a time runs, until
//! it sleeps. So a seed always gives the same schedule.

use std::any::Any;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::plan::{Draw, Plan, S};
use crate::generators::time::Time;

const LONGEST: u64 = 900 * S;
/// When it begins, in microseconds since 1970.
const BEGIN_US: u64 = 1_800_000_000_000_000;

thread_local!(static TASK: Cell<usize> = const { Cell::new(usize::MAX) });

/// With it threads of a killed process end.
struct Killed;

#[derive(Default)]
struct Turn(Mutex<bool>, Condvar);

impl Turn {
    fn give(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut is_mine = self.0.lock().unwrap();
        while !*is_mine {
            is_mine = self.1.wait(is_mine).unwrap();
        }
        *is_mine = false;
    }
}

struct Task {
    turn: Arc<Turn>,
    host: usize,
    name: String,
}

struct Inner {
    now: u64,
    /// When which task goes on; in the order in which they began to wait.
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    waits: u64,
    tasks: Vec<Task>,
    running: usize,
    draw: Draw,
    violation: Option<String>,
}

pub(super) struct World {
    pub(super) plan: Plan,
    base: Instant,
    planted: u32,
    inner: Mutex<Inner>,
    end: Condvar,
}

impl World {
    pub(super) fn of(plan: Plan, planted: u32) -> Arc<Self> {
        Arc::new(Self {
            base: Instant::now(),
            planted,
            end: Condvar::new(),
            inner: Mutex::new(Inner {
                now: 0,
                queue: BinaryHeap::new(),
                waits: 0,
                tasks: Vec::new(),
                running: 0,
                draw: Draw::of(plan.seed),
                violation: None,
            }),
            plan,
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(super) fn now(&self) -> u64 {
        self.inner().now
    }

    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Draw) -> T) -> T {
        draw(&mut self.inner().draw)
    }

    /// Something is wrong: the schedule ends.
    pub(super) fn violated(&self, text: String) {
        self.inner().violation.get_or_insert(text);
    }

    pub(super) fn violation(&self) -> Option<String> {
        self.inner().violation.clone()
    }

    /// A new task of a host, from then on.
    pub(super) fn add(
        self: &Arc<Self>,
        (host, name, at): (usize, &str, u64),
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let turn = Arc::new(Turn::default());
        let task = {
            let mut inner = self.inner();
            inner.tasks.push(Task {
                turn: Arc::clone(&turn),
                host,
                name: name.to_owned(),
            });
            let task = inner.tasks.len() - 1;
            inner.running += 1;
            inner.wait_until(at, task);
            task
        };
        let world = Arc::clone(self);
        let thread = thread::Builder::new().stack_size(512 * 1024);
        thread
            .spawn(move || {
                TASK.set(task);
                pgdyno_testkit::planted::choose(world.planted);
                turn.wait();
                let done = catch_unwind(AssertUnwindSafe(|| {
                    world.live(task);
                    work();
                }));
                if let Err(panic) = done
                    && !panic.is::<Killed>()
                {
                    world.violated(format!("panic: {}", words(&*panic)));
                }
                world.leave();
            })
            .map(|_| ())
    }

    /// Lets all tasks run until each has ended.
    pub(super) fn run(&self) {
        let mut inner = self.inner();
        if inner.running == 0 {
            return;
        }
        let first = inner.next();
        inner.tasks[first].turn.give();
        while inner.running > 0 {
            inner = self.end.wait(inner).unwrap();
        }
    }

    fn leave(&self) {
        let mut inner = self.inner();
        inner.running -= 1;
        if inner.running == 0 {
            return self.end.notify_all();
        }
        let next = inner.next();
        let turn = Arc::clone(&inner.tasks[next].turn);
        drop(inner);
        turn.give();
    }

    /// This task waits until then, in true time.
    pub(super) fn wait_until(&self, at: u64) {
        let task = TASK.get();
        let mut inner = self.inner();
        let at = at.max(inner.now);
        inner.wait_until(at, task);
        let next = inner.next();
        if next != task {
            let (theirs, own) = (&inner.tasks[next].turn, &inner.tasks[task].turn);
            let (theirs, own) = (Arc::clone(theirs), Arc::clone(own));
            drop(inner);
            theirs.give();
            own.wait();
        } else {
            drop(inner);
        }
        if !thread::panicking() {
            self.live(task);
        }
    }

    pub(super) fn wait(&self, length: u64) {
        let at = self.now() + length;
        self.wait_until(at);
    }

    /// Ends this thread where its process is dead, or the schedule over.
    fn live(&self, task: usize) {
        let mut inner = self.inner();
        let (now, host) = (inner.now, inner.tasks[task].host);
        if now > LONGEST && inner.violation.is_none() {
            let name = &inner.tasks[task].name;
            inner.violation = Some(format!("generator at {host} ({name}) waits for ever"));
        }
        let is_dead = self.plan.hosts[host].dies.is_some_and(|at| at <= now);
        if is_dead || inner.violation.is_some() {
            drop(inner);
            resume_unwind(Box::new(Killed));
        }
    }

    /// The notebook's clock, in microseconds since 1970.
    pub(super) fn notebook_us(&self) -> u64 {
        BEGIN_US + drifted(self.now(), self.plan.notebook_ppm) / 1000
    }

    pub(super) fn time(self: &Arc<Self>, host: usize) -> Arc<dyn Time> {
        let world = Arc::clone(self);
        Arc::new(TimeOf { world, host })
    }
}

impl Inner {
    fn wait_until(&mut self, at: u64, task: usize) {
        self.waits += 1;
        self.queue.push(Reverse((at, self.waits, task)));
    }

    /// Who goes on next; time goes on with it.
    fn next(&mut self) -> usize {
        let Reverse((at, _, task)) = self.queue.pop().expect("each task that does not run waits");
        self.now = self.now.max(at);
        task
    }
}

fn drifted(true_ns: u64, ppm: i64) -> u64 {
    let more = i128::from(true_ns) * i128::from(ppm) / 1_000_000;
    (i128::from(true_ns) + more) as u64
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without words").to_owned()
}

struct TimeOf {
    world: Arc<World>,
    host: usize,
}

impl TimeOf {
    fn plan(&self) -> &super::plan::Host {
        &self.world.plan.hosts[self.host]
    }

    fn monotonic(&self) -> u64 {
        drifted(self.world.now(), self.plan().drift_ppm)
    }
}

impl Time for TimeOf {
    fn now(&self) -> Instant {
        self.world.base + Duration::from_nanos(self.monotonic())
    }

    fn wall(&self) -> SystemTime {
        let now = self.world.now();
        let steps = self.plan().steps.iter().filter(|(at, _)| *at <= now);
        let off_us = self.plan().skew_us + steps.map(|(_, us)| us).sum::<i64>();
        let us = (BEGIN_US + self.monotonic() / 1000).saturating_add_signed(off_us);
        UNIX_EPOCH + Duration::from_micros(us)
    }

    fn sleep(&self, length: Duration) {
        let late = self.plan().oversleeps;
        let late = self.world.draw(|draw| draw.range(0, late));
        self.world
            .wait(drifted(length.as_nanos() as u64, -self.plan().drift_ppm) + late);
    }

    fn spin(&self) {
        self.world.wait(20_000);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let at = self.world.now();
        self.world.add((self.host, name, at), work)
    }
}
