//! WAL that finds no room: the private server's WAL lies on a small file system of pgdyno's own, which is full for a
//! while.
//!
//! Nothing of the host's is filled: the file system is in a sparse file (an image) beside the server's data. The
//! server is restarted before clients begin and after they have ended, in controls as well, so that both have the
//! same file system under their WAL.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_database::open::Target;
use pgdyno_platform::file_system;
use pgdyno_server::Server;
use pgdyno_spec::text;

use super::given::lasting;
use super::guard::Guard;
use super::{Act, Entry, Need, sql};
use crate::disturb::own::Control;
use crate::settings::{self, Header, Journal};

/// Beside what WAL may usually take (`max_wal_size`, twice: it is a soft limit).
const MORE_BYTES: u64 = 256 << 20;
/// How long what uses the file system may keep it mounted when its server has ended.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(10);
/// How often a server that is down is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of CAP_SYS_ADMIN (capabilities(7)).
const SYS_ADMIN: u32 = 21;

pub(super) static ENTRIES: [Entry; 1] = [Entry {
    name: "wal-full",
    summary: "fills the file system of WAL: the server panics, and starts only when there is room",
    keys: &[lasting("5s")],
    needs: &[Need::OwnServer, Need::Root, Need::Mount],
    risks: "no client is served meanwhile; the server is restarted before and after the trial, to move its WAL",
    harms: true,
    undone: "the disk has room again after that time, and the server is started if it is down; WAL is moved \
     back and the file \
             system unmounted after the trial, after kill -9 at once, else by pgdyno restore",
    lasts: Some("5s"),
    make: |scene, given| {
        let server = scene.target.own_server().cloned();
        let server = server.ok_or("there is no private server")?;
        let mut session = sql::connect(scene.target)?;
        let usual = "SELECT pg_size_bytes(current_setting('max_wal_size'))";
        let usual = sql::value(&mut session, usual)?;
        let usual: u64 = usual
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or(1 << 30);
        let size = 2 * usual + MORE_BYTES;
        let parent = server.data_dir();
        let parent = parent.parent().unwrap_or(Path::new("/"));
        let free = file_system::free_bytes(parent).map_err(|e| e.to_string())?;
        if free < size {
            return Err(format!(
                "a file system of {} in {} has room for {} only: less with --pg-set max_wal_size=…",
                text::bytes(size as f64),
                parent.display(),
                text::bytes(free as f64)
            ));
        }
        Ok(Box::new(WalFull {
            mounted: parent.join("wal"),
            image: parent.join("wal.image"),
            target: scene.target.clone(),
            server,
            size,
            lasting: given.time("for"),
            prepared: None,
            filler: None,
        }))
    },
}];

/// Whether a file system can be made and mounted here, as far as one can tell without doing it.
///
/// # Errors
/// What is missing.
pub(super) fn may_mount() -> Result<(), String> {
    let wanting = |what: &str| {
        Err(format!(
            "{what}; it makes and mounts a small file system for WAL, which needs {}: or have the WAL of a server of \
             your own on a small file system, and fill that by --during 'fallocate …'",
            Need::Mount.words()
        ))
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let has = has.and_then(|has| u64::from_str_radix(has.trim(), 16).ok());
    if has.unwrap_or(0) & (1 << SYS_ADMIN) == 0 {
        return wanting("pgdyno has no CAP_SYS_ADMIN");
    }
    if !Path::new("/dev/loop-control").exists() {
        return wanting("there is no /dev/loop-control");
    }
    match Command::new("mkfs.ext4").arg("-V").output() {
        Ok(_) => Ok(()),
        Err(_) => wanting("mkfs.ext4 is not found"),
    }
}

struct WalFull {
    server: Arc<Server>,
    target: Target,
    /// The file system, in bytes.
    size: u64,
    mounted: PathBuf,
    image: PathBuf,
    lasting: Duration,
    prepared: Option<(Journal, Guard)>,
    /// What takes all the room, while it does.
    filler: Option<PathBuf>,
}

impl Act for WalFull {
    fn prepare(&mut self) -> Result<(), String> {
        let point = &self.mounted;
        let directory = settings::directory().map_err(|e| e.message)?;
        let header = Header {
            target: self.target.administration_address().to_owned(),
            title: self.target.title.clone(),
            system_identifier: None,
        };
        let mut journal = Journal::create(&directory, &header).map_err(|e| e.message)?;
        journal.note_mount(point).map_err(|e| e.message)?;
        // The server ends with pgdyno, and its processes a moment later.
        let quoted = point.to_string_lossy().replace('\'', r"'\''");
        let guard = Guard::start(&format!(
            "for i in $(seq 200); do umount '{quoted}' && break; sleep 0.05; done"
        ));
        self.prepared = Some((journal, guard.map_err(|e| e.to_string())?));
        let image = &self.image;
        File::create(image)
            .and_then(|file| file.set_len(self.size))
            .map_err(|e| format!("{}: {e}", image.display()))?;
        // All users may fill it (-m 0).
        run(Command::new("mkfs.ext4")
            .args(["-q", "-F", "-m", "0"])
            .arg(image))?;
        fs::create_dir(point).map_err(|e| format!("{}: {e}", point.display()))?;
        run(Command::new("mount")
            .args(["-t", "ext4", "-o", "loop"])
            .args([image, point]))?;
        self.server
            .move_wal(&point.join("pg_wal"))
            .map_err(|e| e.to_string())
    }

    fn run(&mut self, control: &Control) -> Result<(), String> {
        let filler = self.mounted.join("filler");
        self.filler = Some(filler.clone());
        let begun = Instant::now();
        let filled =
            file_system::fill(&filler).map_err(|e| format!("{}: {e}", filler.display()))?;
        self.use_up(control);
        let since = |begun: Instant| text::time(begun.elapsed().as_micros() as f64);
        control.say(format_args!(
            "a file took {}, all that was left, and WAL had no room after {}",
            text::bytes(filled as f64),
            since(begun)
        ));
        control.last(self.lasting.saturating_sub(begun.elapsed()));
        let there_is_room = Instant::now();
        let started = self.make_room()?;
        let how = if started {
            "started again"
        } else {
            "back by itself"
        };
        control.say(format_args!(
            "there was room again after {}, and the server, {how}, took connections {} later",
            text::time((there_is_room - begun).as_micros() as f64),
            since(there_is_room)
        ));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        let Some((journal, guard)) = self.prepared.take() else {
            return Ok(None);
        };
        self.make_room()?;
        let point = self.mounted.display();
        self.server
            .bring_wal_back()
            .map_err(|e| format!("{e}; its WAL is in {point}"))?;
        settings::unmount(&self.mounted, UNMOUNT_LIMIT)
            .map_err(|why| format!("{why}; put it back by umount {point}"))?;
        let _ = fs::remove_dir(&self.mounted);
        let _ = fs::remove_file(&self.image);
        journal.remove().map_err(|e| e.message)?;
        drop(guard);
        Ok(Some(
            "WAL is in the data directory again, and its file system unmounted".to_owned(),
        ))
    }
}

impl WalFull {
    /// Has the server use the segments that it has in reserve: without room for another it panics.
    fn use_up(&self, control: &Control) {
        let segments = fs::read_dir(self.mounted.join("pg_wal"));
        let segments = segments.map_or(0, Iterator::count);
        let Ok(mut session) = sql::connect(&self.target) else {
            return; // It has none left.
        };
        for _ in 0..2 * segments {
            let next = "SELECT pg_logical_emit_message(false, 'pgdyno', ''), pg_switch_wal()";
            if control.is_over() || session.simple_query(next).is_err() {
                return;
            }
        }
    }

    /// Removes what takes the room, and waits until the server is back; whether it had to be started.
    fn make_room(&mut self) -> Result<bool, String> {
        let Some(filler) = &self.filler else {
            return Ok(false);
        };
        fs::remove_file(filler)
            .map_err(|e| format!("{}: {e}; remove it, and WAL has room", filler.display()))?;
        self.filler = None;
        let until = Instant::now() + sql::UNDO_LIMIT;
        loop {
            if !self.server.is_running() {
                return self
                    .server
                    .start_again()
                    .map(|()| true)
                    .map_err(|e| e.to_string());
            }
            match sql::connect(&self.target) {
                Ok(_) => return Ok(false),
                Err(why) if Instant::now() > until => return Err(why),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| format!("{program}: {e}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        ))
    }
}
