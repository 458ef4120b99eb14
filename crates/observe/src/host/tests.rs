//! The instruments on this very host, beside a real server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pgdyno_measurement::{Interval, Lags};
use pgdyno_platform::proc::{self, cpu as proc_cpu};

use super::*;
use crate::testing::{Bench, Figures};
use pgdyno_database::dialect::POSTGRESQL;
use pgdyno_database::locate::Device;
use pgdyno_database::open::{self, Target};
use pgdyno_model::{Fact, Observer};
use pgdyno_spec::TargetSpec;

fn target(url: &str) -> Target {
    let found = open::existing(&TargetSpec::at(url)).map(Option::unwrap);
    found.unwrap_or_else(|e| panic!("{e}"))
}

fn scout() -> Scout {
    let url = pgdyno_testkit::postgres().address().url();
    Scout::new(&target(&url), &POSTGRESQL, None)
}

/// Of a server that cannot be reached.
fn lost_scout() -> Scout {
    Scout::new(
        &target("postgresql://me@127.0.0.1:1/d?sslmode=disable"),
        &POSTGRESQL,
        None,
    )
}

fn seconds_of(mode: &str) -> f64 {
    let text = proc::text("/proc/stat").unwrap();
    let modes = proc_cpu::parse(&text).unwrap().modes.named();
    let (_, ticks) = modes.into_iter().find(|(name, _)| *name == mode).unwrap();
    ticks as f64 / proc::ticks_per_second() as f64
}

fn burn(for_: Duration) {
    let begun = Instant::now();
    let mut x = 1u64;
    while begun.elapsed() < for_ {
        x = std::hint::black_box(x.wrapping_mul(3).wrapping_add(1));
    }
}

#[test]
fn cpu_time_is_what_the_kernel_says_before_and_after() {
    let mut bench = Bench::new(cpu::Cpu::new(scout()));
    let outer_before = seconds_of("user");
    bench.begin().unwrap();
    let inner_before = seconds_of("user");
    burn(Duration::from_millis(300));
    bench.read().unwrap();
    let inner_after = seconds_of("user");
    let (result, batch) = bench.end();
    let outer_after = seconds_of("user");
    result.unwrap();
    let grown = batch.grown("host.cpu", "user");
    // Readings outside and inside of its own. A tick of it may still be on its way.
    assert!(grown >= inner_after - inner_before - 0.02, "{grown}");
    assert!(grown <= outer_after - outer_before + 0.02, "{grown}");
    for mode in ["system", "idle", "iowait", "steal"] {
        assert!(batch.grown("host.cpu", mode) >= 0.0);
    }
    assert!(batch.grown("host.switches", "") > 0.0);
    assert!(batch.values("host.tasks.running", "")[0] >= 1.0);
    let fact = |name: &str| {
        let mut facts = batch.facts.iter();
        let found = facts.find(|(_, known, _)| known == name);
        found.map(|(_, _, value)| value.as_str().unwrap().to_owned())
    };
    assert_eq!(fact("host.role").unwrap(), "client and server");
    let why = fact("host.role_because").unwrap();
    assert!(why.contains("(postgres) of this host"), "{why}");
    // It is certain where the server is, so it is certain who the others are.
    assert!(!batch.values("host.cpu.others", "").is_empty());
}

#[test]
fn cpu_use_has_no_owner_when_the_servers_host_is_uncertain() {
    let mut bench = Bench::new(cpu::Cpu::new(lost_scout()));
    bench.begin().unwrap();
    std::thread::sleep(Duration::from_millis(150));
    let (result, batch) = bench.end();
    result.unwrap();
    let names = batch.series.iter().map(|new| new.series.name.clone());
    assert!(names.clone().any(|name| name == "host.cpu"));
    assert!(
        !names
            .into_iter()
            .any(|name| name.starts_with("host.cpu.") || name.contains("server"))
    );
    let gap = &batch.gaps[0];
    assert_eq!(gap.label, "server");
    assert!(gap.gap.remedy.as_ref().unwrap().contains("--scrape node="));
}

#[test]
fn memory_and_network_are_what_the_kernel_says() {
    let mut bench = Bench::new(memory::Memory);
    bench.begin().unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    let reported = proc::memory::parse(&proc::text("/proc/meminfo").unwrap());
    let total = reported.total.unwrap() as f64;
    let available = batch.values("host.memory.available", "")[0];
    assert!(available > 0.0 && available < total, "{available}");
    assert!(batch.values("host.memory.dirty", "")[0] < total);
    assert!(batch.grown("host.paging.written", "") >= 0.0);

    let mut bench = Bench::new(network::Network::default());
    bench.begin().unwrap();
    let payload = [7u8; 4096];
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    std::io::Write::write_all(&mut near, &payload).unwrap();
    let mut received = [0; 4096];
    std::io::Read::read_exact(&mut far, &mut received).unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    assert!(batch.grown("host.network.received", "lo") >= 4096.0);
    assert!(batch.grown("host.network.sent_packets", "lo") >= 1.0);
    assert!(batch.grown("host.tcp.retransmitted", "") >= 0.0);
}

#[test]
fn a_disk_is_read_as_iostat_does_and_a_missing_one_is_a_gap() {
    let text = proc::text("/proc/diskstats").unwrap_or_default();
    let disks = proc::disk::parse(&text);
    let Some(disk) = disks.iter().max_by_key(|disk| disk.writes) else {
        pgdyno_testkit::record_skip("disk figures", "this host has no disk");
        return;
    };
    let name = disk.name.clone();
    let unasked = || Fact::Unknown("not requested".to_owned());
    let named = [name.clone()];
    let mut bench = Bench::new(disk::Disks::new(&named, lost_scout(), unasked()));
    let before = Device::named(&name).unwrap().read().unwrap();
    bench.begin().unwrap();
    let (result, batch) = bench.end();
    let after = Device::named(&name).unwrap().read().unwrap();
    result.unwrap();
    let writes = batch.grown("host.disk.writes", &name);
    assert!((0.0..=(after.writes - before.writes) as f64).contains(&writes));
    let util = batch.values("host.disk.util", &name)[0];
    assert!((0.0..=100.0).contains(&util), "{util}");
    assert_eq!(batch.values("host.disk.queue", &name).len(), 1);

    let named = ["no such disk".to_owned()];
    let mut bench = Bench::new(disk::Disks::new(&named, lost_scout(), unasked()));
    let gap = bench.begin().unwrap_err();
    assert!(gap.reason.contains("no disk no such disk"), "{gap:?}");
}

#[test]
fn of_a_server_that_is_not_known_to_be_here_the_disk_is_a_gap_with_a_way_out() {
    let unasked = Fact::Unknown("not requested".to_owned());
    let gap = Bench::new(disk::Disks::new(&[], lost_scout(), unasked)).begin();
    let gap = gap.unwrap_err();
    assert!(gap.reason.contains("not known to be"), "{gap:?}");
    assert!(gap.reason.contains("refused"), "{gap:?}");
    assert!(gap.remedy.unwrap().contains("--scrape node="));
}

#[test]
fn the_disk_under_the_servers_data_is_found_or_it_is_said_why_not() {
    let server = pgdyno_testkit::postgres();
    let reported: Fact<PathBuf> = Fact::Known(server.data_dir());
    let unasked = Fact::Unknown("only superusers may know".to_owned());
    // The command line has it too.
    let both =
        [reported, unasked].map(|data| Bench::new(disk::Disks::new(&[], scout(), data)).begin());
    assert_eq!(both[0], both[1]);
    if let Err(gap) = &both[0] {
        assert!(server.data_in_memory(), "{gap:?}");
        assert!(gap.reason.contains("(tmpfs)"), "{gap:?}");
        assert_eq!(gap.remedy.as_deref(), Some("--disk NAME"));
    }
}

#[test]
fn the_servers_cpu_time_is_what_its_work_took() {
    let mut bench = Bench::new(cpu::Cpu::new(scout()));
    bench.begin().unwrap();
    let url = pgdyno_testkit::postgres().address().url();
    let mut session = target(&url).connect().unwrap();
    let works = "SELECT count(*) FROM generate_series(1, 500000)";
    session.query_one_value(works).unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    assert!(batch.grown("host.server.cpu", "") > 0.01);
    assert!(batch.gaps.is_empty(), "{:?}", batch.gaps);
}

#[test]
fn pgdynos_threads_report_cpu_waits_and_lateness() {
    let mut lags = ThreadLags::default();
    let mut bench = Bench::new(clients::Clients::new(lags.clone()));
    bench.begin().unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (ready, is_ready) = std::sync::mpsc::channel();
    // Named as the engine names its threads; no trial of this process has so many.
    let thread = std::thread::Builder::new().name("clients-4711".to_owned());
    let thread = thread.spawn(move || {
        burn(Duration::from_millis(20));
        ready.send(()).unwrap();
        let _ = stopped.recv();
    });
    is_ready.recv().unwrap();
    bench.read().unwrap();
    let mut interval = Interval::default();
    interval.loops.push(pgdyno_measurement::LoopLags {
        thread: 4711,
        lags: Lags::default(),
    });
    Observer::<()>::second(&mut lags, &interval);
    bench.read().unwrap();
    drop(stop);
    let (result, batch) = bench.end();
    result.unwrap();
    thread.unwrap().join().unwrap();
    assert!(batch.grown("client.cpu", "user") >= 0.0);
    let total = batch.totals.iter().map(|total| total.after);
    assert!(total.into_iter().any(|after| after >= 0.01));
    assert!(batch.grown("client.thread.cpu", "thread 4711") >= 0.0);
    assert!(batch.grown("client.thread.waited", "thread 4711") >= 0.0);
    // A loop that attended to nothing has no lag, not one of zero.
    let mut names = batch.series.iter().map(|new| &new.series.name);
    assert!(!names.any(|name| name == "client.lag.max"));
}
