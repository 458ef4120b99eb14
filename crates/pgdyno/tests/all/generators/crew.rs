//! Generators, the notebook in which they meet, and the server that they measure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use pgdyno_server::Server;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, Ran, notebook, pgdyno, ran};

/// The server of notebooks: not the one that is measured.
pub fn notes() -> &'static Server {
    static NOTES: OnceLock<Server> = OnceLock::new();
    NOTES.get_or_init(|| pgdyno_testkit::postgres_with(&["max_connections=300"]))
}

pub struct Crew {
    pub target: Database,
    pub store: String,
    /// By which way generators reach it, where that is another.
    pub says: Option<String>,
    home: tempfile::TempDir,
}

impl Crew {
    /// They meet in a file.
    pub fn in_file(name: &str) -> Crew {
        Crew::in_file_of(&Database::new(name))
    }

    /// The same server, another notebook.
    pub fn in_file_of(target: &Database) -> Crew {
        let home = tempfile::tempdir().unwrap();
        Crew {
            target: Database {
                url: target.url.clone(),
            },
            store: home.path().join("notebook.sqlite").display().to_string(),
            says: None,
            home,
        }
    }

    /// They meet on a server.
    pub fn on_server(name: &str) -> Crew {
        Crew::of(Database::new(name), Database::on(notes(), name).url)
    }

    /// They measure this, and meet in a notebook that is made at this URL.
    pub fn of(target: Database, store: String) -> Crew {
        let crew = Crew {
            target,
            store,
            says: None,
            home: tempfile::tempdir().unwrap(),
        };
        crew.pgdyno(&format!("store init {}", crew.store))
            .expect(0, &["made a notebook at postgresql://"]);
        crew
    }

    /// `pgdyno LINE`, where no argument has a blank; nothing says which generator it is.
    pub fn command(&self, line: &str) -> Command {
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut command = pgdyno(&args);
        command
            .current_dir(self.home.path())
            .env("PGDYNO_STORE", &self.store)
            .env("XDG_DATA_HOME", self.home.path().join("data"));
        for name in ["OMPI_COMM_WORLD_RANK", "JOB_COMPLETION_INDEX"] {
            command.env_remove(name);
        }
        for name in ["SLURM_PROCID", "PMI_RANK", "PMIX_RANK"] {
            command.env_remove(name);
        }
        command
    }

    pub fn pgdyno(&self, line: &str) -> Ran {
        ran(&mut self.command(line))
    }

    pub fn start(&self, line: &str) -> Running {
        let mut command = self.command(line);
        if let Some(says) = &self.says {
            command.env("PGDYNO_STORE", says);
        }
        Running::start(command.args(["--url", &self.target.url]))
    }

    /// So many generators of the same line, which go on until they end.
    pub fn run(&self, count: u32, line: &str) -> Vec<Ran> {
        let line = format!("{line} --generators {count}");
        let all: Vec<Running> = (0..count).map(|_| self.start(&line)).collect();
        all.into_iter().map(Running::ended).collect()
    }

    #[track_caller]
    pub fn run_well(&self, count: u32, line: &str) {
        let all = self.run(count, line);
        // What went wrong with one, another may say.
        let well = all.iter().all(|ran| ran.code == Some(0));
        assert!(well, "{line}: {all:#?}");
        for ran in all {
            ran.expect(0, &["kept as trial"]);
        }
    }

    /// A file beside the notebook, with this in it; its name.
    pub fn write(&self, name: &str, text: &str) -> String {
        let file = self.file(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    /// A file beside the notebook.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A program that starts generators, with an environment that names the notebook and this database of
    /// the server that tests share.
    pub fn launcher(&self, program: &str, database: &str) -> Command {
        let of_pgdyno = self.command("");
        let mut command = Command::new(program);
        command.current_dir(self.home.path());
        for (name, value) in of_pgdyno.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let address = pgdyno_testkit::postgres().address();
        command
            .env("PGHOST", &address.socket_dir)
            .env("PGPORT", address.port.to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", database);
        command
    }

    /// A pack whose tables take so many seconds to create; its folder.
    pub fn slow_pack(&self, seconds: u32) -> String {
        let manifest = "name = \"slow\"\nsummary = \"Tables that take long\"\n\
                        description = \"No more.\"\nschema = \"schema.sql\"\n\
                        [[table]]\nname = \"slow\"\nrows = \"10\"\n\
                        columns = [{ name = \"id\", value = \":row\" }]\n\
                        [[script]]\nname = \"read\"\nfile = \"read.sql\"\n";
        let pack = self.write("pack.toml", manifest);
        let schema = format!("CREATE TABLE slow (id int);\nSELECT pg_sleep({seconds});\n");
        self.write("schema.sql", &schema);
        self.write("read.sql", "SELECT count(*) FROM slow;\n");
        pack.trim_end_matches("/pack.toml").to_owned()
    }

    /// The latencies of all seconds that a clause picks, added up behind pgdyno's back.
    pub fn latencies(&self, column: &str, of: &str) -> Histogram<u64> {
        let texts = if self.store.starts_with("postgresql:") {
            format!("string_agg(encode({column}, 'hex'), ' ')")
        } else {
            format!("group_concat(hex({column}), ' ')")
        };
        let texts = self.value(&format!("SELECT {texts} {of}"));
        let mut all = Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        for text in texts.split(' ').filter(|text| !text.is_empty()) {
            let octets = (0..text.len() / 2).map(|i| &text[2 * i..2 * i + 2]);
            let bytes: Vec<u8> = octets.map(|o| u8::from_str_radix(o, 16).unwrap()).collect();
            let one: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            all.add(one).unwrap();
        }
        all
    }

    /// Values of the first row of a query of the notebook, joined by `|`.
    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        notebook::value(Path::new(&self.store), sql)
    }

    /// A number of the notebook; nothing while that is in the making.
    pub fn number(&self, sql: &str) -> Option<i64> {
        notebook::number(Path::new(&self.store), sql)
    }

    /// The trials that are listed: number and state.
    #[track_caller]
    pub fn listed(&self) -> Vec<(u64, String)> {
        self.listed_in(&self.store)
    }

    /// The same of another notebook.
    #[track_caller]
    pub fn listed_in(&self, store: &str) -> Vec<(u64, String)> {
        let ran = self.pgdyno(&format!("ls --json --store {store}"));
        let rows: Vec<Value> = serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap();
        let listed = |row: &Value| {
            let state = row["state"].as_str().unwrap();
            (row["number"].as_u64().unwrap(), state.to_owned())
        };
        rows.iter().map(listed).collect()
    }

    /// The only trial that is listed, as JSON.
    #[track_caller]
    pub fn whole(&self, state: &str) -> Value {
        let listed = self.listed();
        let [(number, its_state)] = &listed[..] else {
            panic!("not one trial: {listed:?}");
        };
        assert_eq!(its_state, state);
        self.shown(*number)
    }

    #[track_caller]
    pub fn shown(&self, number: u64) -> Value {
        let shown = self.pgdyno(&format!("show {number} --json")).expect(0, &[]);
        serde_json::from_str(&shown.stdout).unwrap()
    }
}

/// What each generator is said to have done.
#[track_caller]
pub fn rows(whole: &Value) -> &[Value] {
    whole["generators"]["list"].as_array().unwrap()
}

#[track_caller]
pub fn ends(whole: &Value) -> Vec<&str> {
    let ends = rows(whole).iter().map(|row| row["end"].as_str().unwrap());
    ends.collect()
}

/// The sentence of a note.
#[track_caller]
pub fn note(whole: &Value, code: &str, severity: &str) -> String {
    let notes = whole["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["code"] == code);
    let note = note.unwrap_or_else(|| panic!("no {code} in {notes:#?}"));
    assert_eq!(note["severity"], severity, "{note}");
    note["sentence"].as_str().unwrap().to_owned()
}

/// A whole number of a document.
#[track_caller]
pub fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}
