//! A place of pgdyno's own on the disk, in which all that it leaves is seen.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::kill::moments::Moment;
use crate::support::{Ran, pgdyno};

/// Nothing here takes so long: what does, hangs.
const HANGS: Duration = Duration::from_secs(180);
/// A second that has just ended may not be written yet; a busy machine is a little later.
const UNWRITTEN_S: f64 = 2.5;

/// The cache, the notebook, the folder of temporary files, and the working directory.
pub struct Home {
    dir: tempfile::TempDir,
    store: Option<String>,
}

/// A command that was killed, or ended before it could be.
pub struct Cut {
    pub was_killed: bool,
    pub began: SystemTime,
    pub at: SystemTime,
}

impl Home {
    pub fn new() -> Home {
        let dir = pgdyno_testkit::home();
        for name in ["world", "world/tmp", "said"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Home { dir, store: None }
    }

    /// With the notebook on a server.
    pub fn with_store(url: &str) -> Home {
        let mut home = Home::new();
        home.store = Some(url.to_owned());
        home
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("world")
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        // An argument may be a URL or a list in quotes, but has no blank.
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut command = pgdyno(&args);
        command
            .current_dir(self.path())
            .envs(pgdyno_testkit::own_cache(&self.path().join("cache")))
            .env(
                "PGDYNO_STORE",
                self.store.clone().map_or(self.notebook(), PathBuf::from),
            )
            .env("XDG_DATA_HOME", self.path().join("data"))
            .env("TMPDIR", self.path().join("tmp"));
        command
    }

    fn notebook(&self) -> PathBuf {
        self.path().join("notebook.sqlite")
    }

    /// Starts `pgdyno LINE` as the leader of a process group, its output in files.
    fn start(&self, line: &str) -> Child {
        let said = |name: &str| File::create(self.dir.path().join("said").join(name)).unwrap();
        self.command(line)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(said("out"))
            .stderr(said("err"))
            .spawn()
            .unwrap()
    }

    /// `pgdyno LINE` to its end.
    #[track_caller]
    pub fn run(&self, line: &str) -> Ran {
        let mut child = self.start(line);
        let ended = wait_for_end(&mut child, HANGS);
        let said = |name| fs::read_to_string(self.dir.path().join("said").join(name)).unwrap();
        let (stdout, stderr) = (said("out"), said("err"));
        if !ended {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it hangs: {line}: {stdout}{stderr}");
        }
        let code = child.wait().unwrap().code();
        Ran {
            code,
            stdout,
            stderr,
        }
    }

    /// `pgdyno LINE` to its end. Where the server still executes the last statement of a load that was
    /// killed, pgdyno says to wait until it is done: that must be enough.
    #[track_caller]
    pub fn run_when_free(&self, line: &str) -> Ran {
        let began = Instant::now();
        loop {
            let ran = self.run(line);
            let is_loading = ran.stderr.contains("another pgdyno is loading");
            if !is_loading || began.elapsed() > HANGS {
                return ran;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Kills `pgdyno LINE` so long after its start.
    pub fn cut(&self, line: &str, after: Duration, whole_group: bool) -> Cut {
        let began = SystemTime::now();
        let mut child = self.start(line);
        let over = wait_for_end(&mut child, after);
        let at = SystemTime::now();
        if !over && whole_group {
            let group = format!("kill -9 -{}", child.id());
            let killed = Command::new("sh").args(["-c", &group]).status().unwrap();
            assert!(killed.success(), "the group was there");
        }
        let _ = child.kill();
        child.wait().unwrap();
        Cut {
            was_killed: !over,
            began,
            at,
        }
    }

    /// Kills `pgdyno LINE` as soon as it removes the directory of its private server.
    pub fn cut_at_removal(&self, line: &str) {
        let mut child = self.start(line);
        let whole = || {
            let servers = fs::read_dir(self.path().join("cache/servers"));
            let mut servers = servers.into_iter().flatten().flatten();
            let has = |server: &Path, name| server.join(name).exists();
            servers.any(|s| has(&s.path(), "lock") && has(&s.path(), "data/PG_VERSION"))
        };
        let began = Instant::now();
        for is_whole in [true, false] {
            while whole() != is_whole && began.elapsed() < HANGS {
                std::hint::spin_loop();
            }
        }
        let _ = child.kill();
        child.wait().unwrap();
    }

    /// Kills `first` at the moment and, if the moment says so, `then`, which goes on at once.
    pub fn cut_at(&self, moment: &Moment, first: &str, then: &str) -> Cut {
        let cut = self.cut(first, moment.at, moment.whole_group);
        if let Some(after) = moment.again {
            self.cut(then, after, !moment.whole_group);
        }
        cut
    }

    /// Waits until no process of a server of this home is left.
    #[track_caller]
    pub fn wait_for_no_process(&self) {
        let began = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "left: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Command lines of processes that work here, or on what is here.
    fn processes(&self) -> Vec<String> {
        let here = self.path();
        let name = here.display().to_string();
        let line_of = |folder: PathBuf| {
            let line = fs::read(folder.join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let works_here =
                fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&here));
            (works_here || line.contains(&name)).then_some(line)
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| line_of(entry.path())).collect()
    }

    /// Nothing is left but the notebook and what is named: no process, lock that is held, directory of
    /// a server, journal of settings, temporary file.
    #[track_caller]
    pub fn is_clean_but_for(&self, names: &[&str]) {
        self.wait_for_no_process();
        let mut left = Vec::new();
        files_below(&self.path(), &mut left);
        let may_stay = [
            "notebook.sqlite",
            "cache/servers/.pgdyno-lock",
            "cache/templates/.pgdyno-lock",
        ];
        left.retain(|path| {
            let name = path.strip_prefix(self.path()).unwrap().to_str().unwrap();
            // Whole templates have the version in their name.
            let template = name.strip_prefix("cache/templates/");
            let is_whole = template.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
            !is_whole
                && !may_stay.contains(&name)
                && !names.iter().any(|may_stay| name.starts_with(may_stay))
        });
        assert_eq!(left, Vec::<PathBuf>::new(), "left behind");
        for folder in ["cache/servers", "tmp"] {
            let folders = fs::read_dir(self.path().join(folder))
                .into_iter()
                .flatten()
                .flatten();
            let folders: Vec<_> = folders
                .filter(|e| e.path().is_dir())
                .map(|e| e.path())
                .collect();
            assert_eq!(folders, Vec::<PathBuf>::new(), "left behind");
        }
    }

    /// Killed early enough, pgdyno has made no notebook, or an empty file for it.
    pub fn has_notebook(&self) -> bool {
        fs::metadata(self.notebook()).is_ok_and(|file| file.len() > 0)
    }

    fn open(&self) -> Connection {
        Connection::open(self.notebook()).unwrap()
    }

    /// The only value of a query of the notebook, as text; `NULL` becomes nothing.
    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        let sql = format!("SELECT coalesce(CAST(({sql}) AS text), '')");
        self.open().query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    /// The next start of pgdyno that opens the notebook ends the trial that was cut: all of its seconds
    /// are there. The notebook is sound, and each trial's totals are those of its seconds.
    #[track_caller]
    pub fn notebook_has_all_until(&self, cut: &Cut) {
        if !self.has_notebook() {
            return;
        }
        self.run("ls").expect(0, &[]);
        for sound in ["integrity_check", "foreign_key_check"] {
            let mut found = Vec::new();
            let open = self.open();
            let reported = open.pragma_query(None, sound, |row| {
                found.push(row.get::<_, String>(0)?);
                Ok(())
            });
            reported.unwrap();
            assert!(matches!(&found[..], []) || found == ["ok"], "{found:?}");
        }
        assert_eq!(
            self.value("SELECT count(*) FROM trial WHERE state IN ('running', 'failed')"),
            "0"
        );
        let wrong = "SELECT count(*) FROM trial t WHERE (committed, failed) IS NOT \
                     (SELECT coalesce(sum(committed), 0), coalesce(sum(failed), 0) FROM second s \
                      WHERE s.trial = t.number AND NOT s.warmup)";
        assert_eq!(
            self.value(wrong),
            "0",
            "trials whose seconds do not come to their totals"
        );
        let ended = "SELECT (julianday(ended) - 2440587.5) * 86400 FROM trial \
                     WHERE state = 'aborted' ORDER BY number LIMIT 1";
        if let (true, Ok(ended_s)) = (cut.was_killed, self.value(ended).parse::<f64>()) {
            let unwritten_s = seconds(cut.at) - ended_s;
            assert!(
                unwritten_s < UNWRITTEN_S,
                "{unwritten_s} s before the kill are not there"
            );
            let number = self.value("SELECT min(number) FROM trial WHERE state = 'aborted'");
            self.run(&format!("show {number}"))
                .expect(0, &["aborted (its pgdyno ended"]);
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Also when the test has failed: no kept server is left behind.
        if self.path().join("cache/servers/kept.json").exists() {
            let _ = self.command("server stop --discard").output();
        }
    }
}

pub fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

fn wait_for_end(child: &mut Child, limit: Duration) -> bool {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let left = limit.saturating_sub(began.elapsed());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(Duration::from_millis(2)));
    }
    true
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            files_below(&entry.path(), found)
        } else {
            found.push(entry.path())
        }
    }
}

/// `--pg-bindir DIR` of the programs that tests run.
pub fn programs() -> String {
    let bindir = pgdyno_testkit::installation().bindir.display();
    format!("--pg-bindir {bindir}")
}
