//! What the host itself can do, without a database: a message to another thread and back, and a sync
//! of the file system that has the server's log. A server on this host is judged by it.
//!
//! The server's own files are not touched: the file that is synced lies beside its data directory, or
//! elsewhere on the same file system, and has no name while it is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_database::dialect::Probes;
use pgdyno_model::Fact;
use pgdyno_model::document::Facts;
use pgdyno_model::document::calibration::HostSpeed;

/// About what a short query and its answer take.
const MESSAGE: usize = 64;
/// A page of PostgreSQL's log.
const BLOCK: usize = 8192;
/// Blocks of the file: they are there before they are synced, as the log's are.
const BLOCKS: u64 = 128;
/// Neither takes longer than that.
const TIME_MAX: Duration = Duration::from_secs(1);
/// With fewer a median says little.
const COUNT_MIN: usize = 5;
const ROUND_TRIPS_MAX: usize = 5000;
const SYNCS_MAX: usize = 200;

/// Measures it where it is the yardstick. `is_tcp`: how the server is reached.
pub fn speed(facts: &Facts, probes: &Probes, is_tcp: bool) -> Fact<HostSpeed> {
    let Some(work_us) = probes.work_us else {
        return Fact::Unknown("several nodes answer together".to_owned());
    };
    match &facts.same_host {
        Fact::Known(true) => {}
        Fact::Known(false) => return Fact::Unknown("the server is on another host".to_owned()),
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
    }
    // An address of this host can lead through a tunnel or into a container.
    if let Fact::Known(directory) = &facts.data_directory
        && let Err(error) = fs::metadata(directory)
        && error.kind() == io::ErrorKind::NotFound
    {
        let directory = directory.display();
        return Fact::Unknown(format!("its data are not on this host ({directory})"));
    }
    match round_trip_us(is_tcp) {
        Ok(round_trip_us) => Fact::Known(HostSpeed {
            round_trip_us,
            way: if is_tcp {
                "the loopback"
            } else {
                "a Unix socket"
            }
            .to_owned(),
            sync_us: match &facts.data_directory {
                Fact::Known(directory) => sync_us(directory),
                Fact::Unknown(why) => Fact::Unknown(why.clone()),
            },
            work_us: f64::from(work_us),
        }),
        Err(error) => Fact::Unknown(format!("this host's round trip: {error}")),
    }
}

/// The median of messages to a thread that sends them back.
fn round_trip_us(is_tcp: bool) -> io::Result<f64> {
    if !is_tcp {
        let (here, there) = UnixStream::pair()?;
        here.set_read_timeout(Some(TIME_MAX))?;
        echoed(here, there)
    } else {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let here = TcpStream::connect(listener.local_addr()?)?;
        let (there, _) = listener.accept()?;
        here.set_nodelay(true)?;
        there.set_nodelay(true)?;
        here.set_read_timeout(Some(TIME_MAX))?;
        echoed(here, there)
    }
}

fn echoed(
    mut here: impl Read + Write,
    mut there: impl Read + Write + Send + 'static,
) -> io::Result<f64> {
    // Ends when `here` is closed.
    let echo = thread::Builder::new().spawn(move || {
        let mut message = [0; MESSAGE];
        while there.read_exact(&mut message).is_ok() && there.write_all(&message).is_ok() {}
    })?;
    let mut message = [0; MESSAGE];
    let result = median_us(ROUND_TRIPS_MAX, |_| {
        here.write_all(&message)?;
        here.read_exact(&mut message)
    });
    drop(here);
    let _ = echo.join();
    result
}

/// The median of blocks written and synced on the file system of this data directory's log.
fn sync_us(data_directory: &Path) -> Fact<f64> {
    let synced = beside(data_directory).and_then(|mut file| {
        let block = [0x5a; BLOCK];
        for _ in 0..BLOCKS {
            file.write_all(&block)?;
        }
        file.sync_all()?;
        median_us(SYNCS_MAX, |number| {
            let at = number as u64 % BLOCKS * BLOCK as u64;
            file.write_all_at(&block, at)?;
            file.sync_data()
        })
    });
    match synced {
        Ok(us) => Fact::Known(us),
        Err(error) => Fact::Unknown(format!(
            "no file can be synced beside {}: {error}",
            data_directory.display()
        )),
    }
}

/// A new file without a name on the same file system as the log.
fn beside(data_directory: &Path) -> io::Result<File> {
    // The log can have a disk of its own; only the server's user may look.
    let log = fs::canonicalize(data_directory.join("pg_wal"));
    let log = log.unwrap_or_else(|_| data_directory.to_owned());
    let device = match fs::metadata(&log) {
        Ok(log) => log.dev(),
        Err(_) => fs::metadata(data_directory)?.dev(),
    };
    let mut places: Vec<PathBuf> = log
        .ancestors()
        .filter(|place| !place.starts_with(data_directory))
        .map(Path::to_owned)
        .collect();
    places.extend([PathBuf::from("/var/tmp"), std::env::temp_dir()]);
    places.extend(std::env::current_dir());
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in places {
        if !fs::metadata(&place).is_ok_and(|there| there.dev() == device) {
            continue;
        }
        match nameless(&place) {
            Ok(file) => return Ok(file),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn nameless(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!(".pgdyno-sync-{}", std::process::id()));
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// The median time of what is done again and again, for a second at most.
fn median_us(most: usize, mut once: impl FnMut(usize) -> io::Result<()>) -> io::Result<f64> {
    let began = Instant::now();
    let mut times = Vec::with_capacity(most);
    for number in 0..most {
        let from = Instant::now();
        once(number)?;
        times.push(from.elapsed());
        if began.elapsed() > TIME_MAX && times.len() >= COUNT_MIN {
            break;
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 2].as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_database::dialect::{COCKROACHDB, POSTGRESQL};

    fn facts(same_host: bool, data_directory: &Path) -> Facts {
        Facts {
            same_host: Fact::Known(same_host),
            data_directory: Fact::Known(data_directory.to_owned()),
            ..Facts::unknown("not asked")
        }
    }

    #[test]
    fn both_are_measured_beside_the_data_and_nothing_is_left() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        for is_tcp in [false, true] {
            let speed = speed(&facts(true, &data), &POSTGRESQL.probes, is_tcp);
            let speed = speed.known().unwrap();
            assert!(speed.round_trip_us > 0.0 && speed.round_trip_us < 1e6);
            assert!(*speed.sync_us.known().unwrap() > 0.0, "{speed:?}");
            let left = [folder.path(), &data].map(|path| fs::read_dir(path).unwrap().count());
            assert_eq!(left, [1, 0]);
        }
    }

    #[test]
    fn another_host_or_several_nodes_are_not_judged_by_this_host() {
        let here = Path::new("/");
        let elsewhere = speed(&facts(false, here), &POSTGRESQL.probes, true);
        let Fact::Unknown(why) = elsewhere else {
            panic!("{elsewhere:?}")
        };
        assert_eq!(why, "the server is on another host");
        let nodes = speed(&facts(true, here), &COCKROACHDB.probes, true);
        assert!(matches!(nodes, Fact::Unknown(why) if why.contains("nodes")));
    }

    #[test]
    fn a_server_behind_a_tunnel_is_not_judged_by_this_host() {
        let facts = facts(true, Path::new("/no/such/data"));
        let Fact::Unknown(why) = speed(&facts, &POSTGRESQL.probes, true) else {
            panic!("judged")
        };
        assert_eq!(why, "its data are not on this host (/no/such/data)");
    }

    #[test]
    fn data_that_the_role_may_not_see_leave_the_sync_unknown() {
        let facts = Facts {
            data_directory: Fact::Unknown("permission denied".to_owned()),
            ..facts(true, Path::new("/"))
        };
        let speed = speed(&facts, &POSTGRESQL.probes, false);
        let sync_us = &speed.known().unwrap().sync_us;
        assert_eq!(*sync_us, Fact::Unknown("permission denied".to_owned()));
    }
}
