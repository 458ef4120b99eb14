//! What disturbances need, looked at before anything is done: one function, by need.

use pgdyno_database::dialect::Version;
use pgdyno_platform::user;
use serde::Serialize;

use super::{Given, Scene, cgroup, sql, wal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The role is a superuser.
    Superuser,
    /// The role may make checkpoints.
    Checkpointer,
    /// A private server that pgdyno has started for this run.
    OwnServer,
    /// A private server with a standby.
    Pair,
    /// pgdyno runs on the server's host, as root or as the server's user.
    SameHost,
    Root,
    /// The host has a cgroup hierarchy with the controller for CPU.
    Cgroup,
    /// The host has a cgroup hierarchy with the controller for block devices, and the data lie on one.
    BlockDevice,
    /// pgdyno may mount a file system of its own.
    Mount,
    /// The role may replicate, and a WAL sender is free.
    Replication,
    /// A table of the workload.
    Table,
    /// The tables are the role's.
    Owner,
    /// The tables are the role's, or it may maintain them.
    Maintainer,
    /// The role may change rows of the tables.
    Writer,
    /// Proxies between clients and endpoints.
    Via,
}

impl Need {
    pub fn words(self) -> &'static str {
        match self {
            Need::Superuser => "a superuser",
            Need::Checkpointer => "a superuser, or a member of pg_checkpoint",
            Need::OwnServer => "a private server (no --url)",
            Need::Pair => "a private server with a standby (--pg-standby)",
            Need::SameHost => "the server's host, as root or the server's user",
            Need::Root => "root",
            Need::Cgroup => "a cgroup hierarchy (v1 or v2) with the cpu controller",
            Need::BlockDevice => {
                "a cgroup hierarchy (v1: blkio, v2: io), and data on a block device"
            }
            Need::Mount => "the right to mount (CAP_SYS_ADMIN), a loop device, and mkfs.ext4",
            Need::Replication => "a role with REPLICATION",
            Need::Table => "a table of the workload",
            Need::Owner => "the owner of the table, or a superuser",
            Need::Maintainer => {
                "the owner of the table, a superuser, or the privilege MAINTAIN (from 17 on)"
            }
            Need::Writer => "a role that may SELECT and UPDATE the table",
            Need::Via => "pgdyno's proxies (--via)",
        }
    }

    /// What is missing of it; asks the server where only that can tell.
    pub(super) fn missing(self, scene: &Scene<'_>, given: &Given) -> Option<String> {
        let unless = |is_there: bool| (!is_there).then(|| format!("it needs {}", self.words()));
        let why = |found: Result<(), String>| found.err();
        match self {
            Need::OwnServer => unless(scene.target.own_server().is_some()),
            Need::Pair => unless(scene.target.pair().is_some()),
            Need::SameHost => unless(scene.facts.same_host.known() == Some(&true)),
            Need::Root => unless(user::is_root()),
            Need::Via => unless(scene.via.is_some()),
            Need::Cgroup => why(cgroup::Group::of(&cgroup::CPU, "self").map(drop)),
            Need::BlockDevice => why(cgroup::Group::of(&cgroup::BLOCK, "self").and_then(|_| {
                let directory = scene.facts.data_directory.known();
                let directory = directory.ok_or("the data directory is not known")?;
                cgroup::disk_under(directory).map(drop)
            })),
            Need::Mount => why(wal::may_mount()),
            Need::Superuser => self.unless_asked(
                scene,
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user",
            ),
            // Documented: since 15 members of pg_checkpoint may, too.
            Need::Checkpointer => self.unless_asked(
                scene,
                "SELECT rolsuper OR EXISTS (SELECT FROM pg_roles AS given \
                 WHERE given.rolname = 'pg_checkpoint' AND pg_has_role(given.oid, 'MEMBER')) \
                 FROM pg_roles WHERE rolname = current_user",
            ),
            // A superuser has all roles and privileges.
            Need::Owner => self.unless_of_tables(scene, given, "pg_has_role(c.relowner, 'USAGE')"),
            Need::Maintainer => {
                // Documented: MAINTAIN since 17.
                let may = if scene.product.is_since(Version::new(17, 0)) {
                    "(pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'MAINTAIN'))"
                } else {
                    "pg_has_role(c.relowner, 'USAGE')"
                };
                self.unless_of_tables(scene, given, may)
            }
            Need::Writer => self.unless_of_tables(
                scene,
                given,
                "has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'UPDATE')",
            ),
            // That it connects as a WAL sender, and which table there is, is tried when it is made.
            Need::Replication | Need::Table => None,
        }
    }

    /// Unless the server answers with true.
    fn unless_asked(self, scene: &Scene<'_>, sql: &str) -> Option<String> {
        let answer = sql::connect(&scene.target.administration())
            .and_then(|mut session| sql::value(&mut session, sql));
        match answer {
            Ok(answer) if answer.as_deref() == Some("t") => None,
            Ok(_) => Some(format!("it needs {}", self.words())),
            Err(why) => Some(why),
        }
    }

    /// Unless this is so of the table that is named, or else of all of the workload's.
    fn unless_of_tables(self, scene: &Scene<'_>, given: &Given, may: &str) -> Option<String> {
        let refused = format!(
            "SELECT string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname) \
             FROM unnest(ARRAY[{}]::text[]) AS named(name) \
             JOIN pg_class AS c ON c.oid = to_regclass(named.name) \
             WHERE c.relkind IN ('r', 'p') AND NOT ({may})",
            sql::names(scene, given.text("table"))
        );
        let refused =
            sql::connect(scene.target).and_then(|mut session| sql::value(&mut session, &refused));
        match refused {
            Ok(refused) => refused.map(|tables| format!("it needs {}: of {tables}", self.words())),
            Err(why) => Some(why),
        }
    }
}
