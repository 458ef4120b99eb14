//! The lines: each as it is in its article, what is typed instead of a part of it and why, and how
//! its output differs from the tool's and why.
//!
//! Lines of psql, of package managers and of shells are left out, but for those that pgio's article
//! types between pgio's own.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Theirs,
}

/// Where a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The article whose file begins with this number.
    Seed(u8),
    /// An article names the tool and types none of its lines: one of the tool's own manual.
    ManualOf(&'static str),
}

/// A tool that pgdyno replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Pgbench,
    YsqlBench,
    Pgio,
    Ybio,
    PgbenchTools,
    Cockroach,
    Ycsb,
    GoYcsb,
}

/// What is typed instead of a part of a line.
#[derive(Debug)]
pub struct Instead {
    /// Whose line is changed; both when it is none of them.
    pub side: Option<Side>,
    pub typed: &'static str,
    pub now: &'static str,
    pub why: &'static str,
}

/// Lines of output that one of the two has alone.
#[derive(Debug)]
pub struct Differs {
    pub side: Side,
    /// What is in these lines.
    pub has: &'static str,
    /// They go on, blank lines and all, to one of these lines; each is alone when there is none here.
    pub until: &'static [&'static str],
    pub why: &'static str,
}

/// What a line's output is compared with.
#[derive(Debug)]
pub enum Beside {
    /// Stock pgbench, at the same time.
    Stock,
    /// A recording, and the tool itself where it is here.
    Recorded,
    Article(&'static str),
    /// Nothing, and why not: the test says what must be so.
    Nothing(&'static str),
}

#[derive(Debug)]
pub struct Line {
    pub name: &'static str,
    pub from: From,
    pub tool: Tool,
    pub typed: &'static str,
    pub instead: &'static [Instead],
    pub beside: Beside,
    pub differs: &'static [Differs],
}

impl Line {
    /// What is typed on this side.
    pub fn command(&self, side: Side) -> String {
        let mut command = self.typed.to_owned();
        for instead in self.instead {
            if instead.side.is_none_or(|of| of == side) {
                command = command.replace(instead.typed, instead.now);
            }
        }
        command
    }
}

/// The lines of a tool, in their order.
pub fn of(tool: Tool) -> impl Iterator<Item = &'static Line> {
    all().filter(move |line| line.tool == tool)
}

pub fn all() -> impl Iterator<Item = &'static Line> {
    let lists = [PGBENCH, PGIO, YBIO, PGBENCH_TOOLS, COCKROACH, YCSB];
    lists.into_iter().flatten()
}

/// The line of this name.
#[track_caller]
pub fn line(name: &str) -> &'static Line {
    let found = all().find(|line| line.name == name);
    found.unwrap_or_else(|| panic!("no line {name}"))
}

const fn both(typed: &'static str, now: &'static str, why: &'static str) -> Instead {
    Instead {
        side: None,
        typed,
        now,
        why,
    }
}

const fn ours(typed: &'static str, now: &'static str, why: &'static str) -> Instead {
    Instead {
        side: Some(Side::Ours),
        typed,
        now,
        why,
    }
}

const fn theirs(typed: &'static str, now: &'static str, why: &'static str) -> Instead {
    Instead {
        side: Some(Side::Theirs),
        typed,
        now,
        why,
    }
}

const fn ours_alone(has: &'static str, why: &'static str) -> Differs {
    Differs {
        side: Side::Ours,
        has,
        until: &[],
        why,
    }
}

/// What pgdyno prints after a run.
const fn summary(has: &'static str) -> Differs {
    Differs {
        side: Side::Ours,
        has,
        until: &["CALL", crate::seeds::compare::STANDARD_ERROR],
        why: "pgdyno's own figures come after the tool's",
    }
}

const fn theirs_alone(has: &'static str, why: &'static str) -> Differs {
    Differs {
        side: Side::Theirs,
        has,
        until: &[],
        why,
    }
}

const SHORT: &str = "a test is short";
const SERVER: &str = "the test's server";
/// Seed 0 names its server by variables, which the test sets: PGHOST, PGPORT, PGUSER, PGDATABASE, and
/// SCALE=1 instead of 100.
const TWO_SECONDS: &[Instead] = &[both("-T 60", "-T 2", SHORT), both("-P 5", "-P 1", SHORT)];
// Of ysql_bench there is neither a program here nor a recording: it comes with YugabyteDB's server.
// Its lines run beside stock pgbench, whose form its reports have here.
const NO_YUGABYTEDB: &str = "PostgreSQL, on which retries are the same: YugabyteDB is not here";
const NO_YSQL_BENCH: &str = "ysql_bench comes with YugabyteDB's server";

const PGBENCH: &[Line] = &[
    Line {
        name: "pgbench-version",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: "pgbench --version",
        instead: &[],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-initialize",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --initialize \
 --host=${PGHOST} \
 --username=${PGUSER} \
 --port=${PGPORT} \
 --no-vacuum \
 --scale=${SCALE} \
 --foreign-keys \
${PGDATABASE}",
        instead: &[],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-initialize-in-the-server",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --initialize \
 --init-steps=dtGpf \
 --host=${PGHOST} \
 --username=${PGUSER} \
 --port=${PGPORT} \
 --no-vacuum \
 --scale=${SCALE} \
 --foreign-keys \
${PGDATABASE}",
        instead: &[],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-script",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --host=${PGHOST} \
 --no-vacuum \
 --file=tpcb-original.sql@1 \
 --client=8 \
 --jobs=8 \
 --username=${PGUSER} \
 --port=${PGPORT} \
 -T 60 \
 -P 5 \
 ${PGDATABASE}",
        instead: TWO_SECONDS,
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-failures-detailed",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --host=${PGHOST} \
 --no-vacuum \
 --file=tpcb-original.sql@1 \
 --client=8 \
 --jobs=8 \
 --username=${PGUSER} \
 --port=${PGPORT} \
 -T 60 \
 -P 5 \
 --failures-detailed \
 ${PGDATABASE}",
        instead: TWO_SECONDS,
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-verbose-errors",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --host=${PGHOST} \
 --no-vacuum \
 --file=tpcb-original.sql@1 \
 --client=8 \
 --jobs=8 \
 --username=${PGUSER} \
 --port=${PGPORT} \
 -T 60 \
 -P 5 \
 --failures-detailed \
 --verbose-errors \
 ${PGDATABASE}",
        instead: TWO_SECONDS,
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-max-tries",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --host=${PGHOST} \
 --no-vacuum \
 --file=tpcb-original.sql@1 \
 --client=8 \
 --jobs=8 \
 --username=${PGUSER} \
 --port=${PGPORT} \
 -T 60 \
 -P 5 \
 --failures-detailed \
 --max-tries=10 \
 ${PGDATABASE}",
        instead: TWO_SECONDS,
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-prepared",
        from: From::Seed(0),
        tool: Tool::Pgbench,
        typed: r"pgbench \
 --host=${PGHOST} \
 --no-vacuum \
 --file=tpcb-original.sql@1 \
 --client=8 \
 --jobs=8 \
 --username=${PGUSER} \
 --port=${PGPORT} \
 -T 60 \
 -P 5 \
 --failures-detailed \
 --max-tries=10 \
 --protocol=prepared \
 ${PGDATABASE}",
        instead: TWO_SECONDS,
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-procedure",
        from: From::Seed(2),
        tool: Tool::Pgbench,
        typed: "pgbench --no-vacuum --protocol=prepared --file=/tmp/simple-update.sql --time 30 --jobs=10 --client=10 -h localhost -p 5433 -U postgres franck",
        instead: &[
            both("--time 30", "--time 1", SHORT),
            both("-p 5433", "-p $PGPORT", SERVER),
            both(
                "/tmp/simple-update.sql",
                "call.sql",
                "the article's two scripts have one name",
            ),
        ],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "ysql_bench-script",
        from: From::Seed(2),
        tool: Tool::YsqlBench,
        typed: "ysql_bench -r --max-tries=10 --no-vacuum --protocol=prepared --file=/tmp/simple-update.sql --time 30 --jobs=10 --client=10 -h localhost -p 5433 -U postgres franck",
        instead: &[
            both("--time 30", "--time 1", SHORT),
            both("-p 5433", "-p $PGPORT", NO_YUGABYTEDB),
            both("/tmp/", "", "a folder of the test's own"),
            theirs("ysql_bench", "pgbench", NO_YSQL_BENCH),
        ],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "ysql_bench-builtin",
        from: From::Seed(2),
        tool: Tool::YsqlBench,
        typed: "ysql_bench -r --max-tries=10 --no-vacuum --protocol=prepared --builtin=simple-update --time 30 --jobs=10 --client=10 -h localhost -p 5433 -U postgres franck",
        instead: &[
            both("--time 30", "--time 1", SHORT),
            both("-p 5433", "-p $PGPORT", NO_YUGABYTEDB),
            theirs("ysql_bench", "pgbench", NO_YSQL_BENCH),
        ],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-all-steps",
        from: From::Seed(2),
        tool: Tool::Pgbench,
        typed: "time pgbench --initialize --init-steps=dtgvpf --host localhost -p 5432 -U postgres",
        instead: &[both("-p 5432", "-p $PGPORT", SERVER)],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-builtin",
        from: From::Seed(2),
        tool: Tool::Pgbench,
        typed: "pgbench -r --no-vacuum --protocol=prepared --builtin=simple-update --time 30 --jobs=10 --client=10 -h localhost -p 5432 -U postgres",
        instead: &[
            both("--time 30", "--time 1", SHORT),
            both("-p 5432", "-p $PGPORT", SERVER),
        ],
        beside: Beside::Stock,
        differs: &[],
    },
    Line {
        name: "pgbench-i",
        from: From::Seed(3),
        tool: Tool::Pgbench,
        typed: "pgbench -i",
        instead: &[],
        beside: Beside::Stock,
        differs: &[],
    },
];

const NO_SCRIPTS_TO_EDIT: &str = "pgdyno's setup.sh is one call of pgdyno, which drops its own tables alone and chooses the index: nothing to find and to change in it, and grep says so by its exit code";

const PGIO: &[Line] = &[
    Line {
        name: "pgio-clone",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "git clone https://github.com/therealkevinc/pgio.git",
        instead: &[
            ours(
                "git clone https://github.com/therealkevinc/pgio.git",
                "pgdyno pgio files pgio",
                "writes setup.sh and runit.sh that call pgdyno",
            ),
            theirs(
                "git clone https://github.com/therealkevinc/pgio.git",
                "cp -r $PEER pgio",
                "PGDYNO_PEER_PGIO is a clone",
            ),
        ],
        beside: Beside::Nothing("what a shell prints of pgio's own files"),
        differs: &[],
    },
    Line {
        name: "pgio-tar",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "tar -zxvf pgio/pgio*.tar.gz",
        instead: &[ours(
            "tar -zxvf pgio/pgio*.tar.gz",
            "true",
            "there is no archive to unpack",
        )],
        beside: Beside::Nothing("what a shell prints of pgio's own files"),
        differs: &[],
    },
    Line {
        name: "pgio-sed-drop",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "sed -ie 's/for i in {1..8192}/for i in {1..$NUM_SCHEMAS}/' pgio/setup.sh",
        instead: &[],
        beside: Beside::Nothing(NO_SCRIPTS_TO_EDIT),
        differs: &[],
    },
    Line {
        name: "pgio-grep-drop",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: r#"grep -C3 "DROP TABLE" pgio/setup.sh"#,
        instead: &[],
        beside: Beside::Nothing(NO_SCRIPTS_TO_EDIT),
        differs: &[],
    },
    Line {
        name: "pgio-sed-index",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "sed -ie '/^create index/s/mykey/& asc/' pgio/setup.sh",
        instead: &[],
        beside: Beside::Nothing(NO_SCRIPTS_TO_EDIT),
        differs: &[],
    },
    Line {
        name: "pgio-grep-index",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: r#"grep -C3 "create index" pgio/setup.sh"#,
        instead: &[],
        beside: Beside::Nothing(NO_SCRIPTS_TO_EDIT),
        differs: &[],
    },
    Line {
        name: "pgio-conf",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: r#"echo "UPDATE_PCT=0 RUN_TIME=1000 NUM_SCHEMAS=1 NUM_THREADS=1 WORK_UNIT=1000 UPDATE_WORK_UNIT=8 SCALE=1000000 DBNAME=yugabyte CONNECT_STRING='postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte' CREATE_BASE_TABLE=TRUE" > pgio/pgio.conf"#,
        instead: &[
            both("RUN_TIME=1000", "RUN_TIME=3", SHORT),
            both("SCALE=1000000", "SCALE=16384", SHORT),
            both(
                "postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte",
                "$URL",
                SERVER,
            ),
        ],
        beside: Beside::Nothing("it prints nothing"),
        differs: &[],
    },
    Line {
        name: "pgio-setup",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "( cd pgio ; sh ./setup.sh )",
        instead: &[],
        beside: Beside::Recorded,
        differs: &[
            theirs_alone(
                "Waiting for batch. ",
                "pgdyno loads all schemas at once, whatever NUM_THREADS says",
            ),
            ours_alone(
                " rows each, loaded in ",
                "what was loaded, as every load of pgdyno says it",
            ),
        ],
    },
    Line {
        name: "pgio-count",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: r#"psql "$CONNECT_STRING" <<< "select count(*) from pgio1;""#,
        instead: &[],
        beside: Beside::Nothing("psql's answer"),
        differs: &[],
    },
    Line {
        name: "pgio-runit",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "( cd pgio ; sh ./runit.sh )",
        instead: &[],
        beside: Beside::Recorded,
        differs: &[summary("slob  active ")],
    },
    Line {
        name: "pgio-session",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "cat /var/tmp/pgio/.pgio_schema_1_1.out",
        instead: &[both("/var/tmp/", "", "a folder of the test's own")],
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "pgio-grow",
        from: From::Seed(1),
        tool: Tool::Pgio,
        typed: "do $$ begin for i in 1..5 loop insert into pgio1 select * from pgio_base; commit; end loop; end; $$;",
        instead: &[
            both(
                "do $$",
                "psql \"$CONNECT_STRING\" <<'SQL'\ndo $$",
                "a statement: the article types it in psql",
            ),
            both(
                "end; $$;",
                "end; $$;\nSQL",
                "a statement: the article types it in psql",
            ),
        ],
        beside: Beside::Nothing("psql's answer"),
        differs: &[],
    },
];

const YBIO: &[Line] = &[
    Line {
        name: "ybio-setup",
        from: From::ManualOf("ybio, named in seed 1: its test.sh"),
        tool: Tool::Ybio,
        typed: r#"for i in {1..4} ; do psql <<<"call setup(tab_prefix=>'bench',tab_num=>${i},tab_rows=>1e7::int,batch_size=>100000);" & done ; wait"#,
        instead: &[
            both("1e7::int", "2e4::int", SHORT),
            both("batch_size=>100000", "batch_size=>10000", SHORT),
            both(
                " & done ; wait",
                " ; done",
                "one after the other: lines of several calls come in any order",
            ),
            ours(
                "psql <<<",
                "ybio ",
                "ybio is a file of procedures for psql; here it is a command that takes the call",
            ),
        ],
        beside: Beside::Recorded,
        differs: &[theirs_alone(
            " does not exist, skipping",
            "of ybio's DROP TABLE IF EXISTS; pgdyno looks first",
        )],
    },
    Line {
        name: "ybio-runit",
        from: From::ManualOf("ybio, named in seed 1: its test.sh"),
        tool: Tool::Ybio,
        typed: r#"for i in {1..4} ; do psql <<<"call runit(tab_prefix=>'bench',tab_num=>${i},tab_rows=>1e7::int,batch_size=>1000,run_duration=>interval '1 hour',pct_update=>10);" & done ; wait"#,
        instead: &[
            both("1e7::int", "2e4::int", SHORT),
            both("interval '1 hour'", "interval '1 second'", SHORT),
            both("batch_size=>1000", "batch_size=>200", SHORT),
            both(
                " & done ; wait",
                " ; done",
                "one after the other: lines of several calls come in any order",
            ),
            ours(
                "psql <<<",
                "ybio ",
                "ybio is a file of procedures for psql; here it is a command that takes the call",
            ),
        ],
        beside: Beside::Recorded,
        differs: &[summary("ybio  active ")],
    },
];

const PGBENCH_TOOLS: &[Line] = &[
    Line {
        name: "pgbench-tools-newset",
        from: From::ManualOf("pgbench-tools, of seed 3: its README"),
        tool: Tool::PgbenchTools,
        typed: "./newset 'Initial Config'",
        instead: &[ours(
            "./newset 'Initial Config'",
            "pgdyno sweep --from-pgbench-tools config --print | sed \"s/^name = .*/name = 'Initial Config'/\" > set.toml",
            "a set is an experiment's file, with its name in it",
        )],
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "pgbench-tools-runset",
        from: From::Seed(3),
        tool: Tool::PgbenchTools,
        typed: "./runset",
        instead: &[ours(
            "./runset",
            "pgdyno sweep set.toml --url $URL",
            "pgdyno has no command of this name",
        )],
        beside: Beside::Recorded,
        differs: &[],
    },
];

/// What seed 4 shows of `workload init`.
const IMPORTED: &str = "I191210 02:21:30.263658 1 workload/workloadsql/dataload.go:135  imported usertable (0s, 10000 rows)\n";

/// What seed 4 shows of `workload run`, without its "(remove for brevity)".
const TICKS_AND_TOTALS: &str = "\
_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)
   60.0s        0 3308.2         3217.5 0.3 0.3     0.5 4.5 read
   60.0s        0 178.5          168.3 0.8 0.9   1.0 2.6 update
_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total
   60.0s        0 193063         3217.5 0.3      0.3   0.4 0.5     17.8 read
_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total
   60.0s        0 10097          168.3 0.8      0.8      1.0 1.4     12.1 update
";

/// No article types them: they are there because there are recordings.
const CAPTURED: &str = "cockroach workload, of seed 4: its program `workload` on CockroachDB 19.1";
const OF_CAPTURED: &[Instead] = &[both(
    "'postgresql://root@127.0.0.1:26257?sslmode=disable'",
    "$NODE",
    "the server just started, whose port is another",
)];
const OF_CAPTURED_RUN: &[Instead] = &[
    both(
        "'postgresql://root@127.0.0.1:26257?sslmode=disable'",
        "$NODE --display-format=simple-19.1",
        "the server just started, whose port is another; that version's form",
    ),
    both("--duration 10s", "--duration 2s", SHORT),
];

const COCKROACH: &[Line] = &[
    Line {
        name: "cockroach-start",
        from: From::Seed(4),
        tool: Tool::Cockroach,
        typed: "cockroach start-single-node --insecure --background",
        instead: &[both(
            "--background",
            "--background --listen-addr=localhost:$LISTEN",
            "26257 may be in use",
        )],
        beside: Beside::Nothing(
            "there is no recording of it; what it starts is PostgreSQL, and it says so",
        ),
        differs: &[],
    },
    Line {
        name: "cockroach-init",
        from: From::Seed(4),
        tool: Tool::Cockroach,
        typed: "cockroach workload init ycsb",
        instead: &[both(
            "init ycsb",
            "init ycsb $NODE",
            "the server just started, whose port is another",
        )],
        beside: Beside::Article(IMPORTED),
        differs: &[],
    },
    Line {
        name: "cockroach-run",
        from: From::Seed(4),
        tool: Tool::Cockroach,
        typed: "cockroach workload run ycsb --concurrency 1 --duration 60s",
        instead: &[
            both("60s", "2s", SHORT),
            both(
                "run ycsb",
                "run ycsb $NODE",
                "the server just started, whose port is another",
            ),
        ],
        beside: Beside::Article(TICKS_AND_TOTALS),
        differs: &[],
    },
    Line {
        name: "cockroach-kv-init",
        from: From::ManualOf(CAPTURED),
        tool: Tool::Cockroach,
        typed: "workload init kv 'postgresql://root@127.0.0.1:26257?sslmode=disable'",
        instead: OF_CAPTURED,
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "cockroach-kv-run",
        from: From::ManualOf(CAPTURED),
        tool: Tool::Cockroach,
        typed: "workload run kv --concurrency 8 --duration 10s --read-percent 50 'postgresql://root@127.0.0.1:26257?sslmode=disable'",
        instead: OF_CAPTURED_RUN,
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "cockroach-bank-init",
        from: From::ManualOf(CAPTURED),
        tool: Tool::Cockroach,
        typed: "workload init bank 'postgresql://root@127.0.0.1:26257?sslmode=disable'",
        instead: OF_CAPTURED,
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "cockroach-bank-run",
        from: From::ManualOf(CAPTURED),
        tool: Tool::Cockroach,
        typed: "workload run bank --concurrency 8 --duration 10s 'postgresql://root@127.0.0.1:26257?sslmode=disable'",
        instead: OF_CAPTURED_RUN,
        beside: Beside::Recorded,
        differs: &[theirs_alone(
            "starting 9 splits",
            "of its log; PostgreSQL has no splits",
        )],
    },
];

const OF_JAVA: &[Differs] = &[
    theirs_alone("java -cp ", "the launcher's call of Java"),
    theirs_alone(
        "_G1_",
        "Java's garbage collectors, of which pgdyno has none",
    ),
    theirs_alone("YCSB Client 0", "its version"),
    ours_alone("YCSB Client of pgdyno", "its version"),
];

const YCSB: &[Line] = &[
    Line {
        name: "ycsb-load",
        from: From::ManualOf("YCSB, named in seed 4: the README of its JDBC binding"),
        tool: Tool::Ycsb,
        typed: "bin/ycsb load jdbc -P workloads/workloada -P db.properties -cp mysql-connector-java.jar",
        instead: &[both(
            "mysql-connector-java.jar",
            "$JDBC",
            "PostgreSQL's driver",
        )],
        beside: Beside::Recorded,
        differs: OF_JAVA,
    },
    Line {
        name: "ycsb-run",
        from: From::ManualOf("YCSB, named in seed 4: the README of its JDBC binding"),
        tool: Tool::Ycsb,
        typed: "bin/ycsb run jdbc -P workloads/workloada -P db.properties -cp mysql-connector-java.jar",
        instead: &[both(
            "mysql-connector-java.jar",
            "$JDBC",
            "PostgreSQL's driver",
        )],
        beside: Beside::Recorded,
        differs: OF_JAVA,
    },
    Line {
        name: "go-ycsb-load",
        from: From::ManualOf("go-ycsb: its README"),
        tool: Tool::GoYcsb,
        typed: "./bin/go-ycsb load basic -P workloads/workloada",
        instead: &[both(
            "basic -P",
            "pg -P db.properties -P",
            "a database instead of one that prints what it is asked",
        )],
        beside: Beside::Recorded,
        differs: &[],
    },
    Line {
        name: "go-ycsb-run",
        from: From::ManualOf("go-ycsb: its README"),
        tool: Tool::GoYcsb,
        typed: "./bin/go-ycsb run basic -P workloads/workloada",
        instead: &[both(
            "basic -P",
            "pg -P db.properties -P",
            "a database instead of one that prints what it is asked",
        )],
        beside: Beside::Recorded,
        differs: &[],
    },
];

#[test]
fn each_line_is_in_its_article_and_each_change_in_its_line() {
    let mut names = std::collections::BTreeSet::new();
    for line in all() {
        assert!(names.insert(line.name), "{} is there twice", line.name);
        for instead in line.instead {
            let side = instead.side.unwrap_or(Side::Ours);
            let changed = line.command(side).contains(instead.now);
            assert!(
                changed && !instead.why.is_empty(),
                "{}: {instead:?}",
                line.name
            );
        }
        let reason = match line.beside {
            Beside::Nothing(reason) => reason,
            Beside::Stock | Beside::Recorded | Beside::Article(_) => line.name,
        };
        let mut reasons = line.differs.iter().map(|differs| differs.why);
        assert!(
            !reason.is_empty() && reasons.all(|why| !why.is_empty()),
            "{}",
            line.name
        );
        match line.from {
            From::Seed(number) => assert!(
                article(number).is_none_or(|text| text.contains(line.typed)),
                "{}: not in seed {number}\n{}",
                line.name,
                line.typed
            ),
            From::ManualOf(tool) => assert!(!tool.is_empty(), "{}", line.name),
        }
    }
}

#[test]
fn each_line_of_an_article_is_in_the_table() {
    // Without the articles this says only that the table's lines are found as such.
    for number in 0..5 {
        let from = |line: &&Line| line.from == From::Seed(number);
        let typed: Vec<&str> = all().filter(from).map(|line| line.typed).collect();
        let text = article(number).unwrap_or_else(|| typed.join("\n"));
        let commands = commands(&text);
        let missing: Vec<_> = commands
            .iter()
            .filter(|one| !typed.contains(&one.as_str()))
            .collect();
        assert!(missing.is_empty(), "seed {number}: {missing:#?}");
        assert!(!commands.is_empty(), "seed {number} has none");
    }
}

/// The command lines of a text that belong to a tool, each with the lines that it goes on in. What a
/// tool prints begins with its name too, and with no option.
fn commands(text: &str) -> Vec<String> {
    const BEGIN: [&str; 10] = [
        "pgbench -",
        "pgbench \\",
        "time pgbench ",
        "ysql_bench ",
        "( cd pgio",
        "cat /var/tmp/pgio",
        "cockroach ",
        "newset",
        "./runset",
        "bin/ycsb",
    ];
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        // With a prompt before it.
        let line = line.split_once("]$ ").map_or(line, |(_, typed)| typed);
        if !BEGIN.iter().any(|begin| line.starts_with(begin)) {
            continue;
        }
        let mut command = line.trim_end().to_owned();
        while command.ends_with('\\') {
            command.push('\n');
            command.push_str(lines.next().unwrap_or_default());
        }
        found.push(command);
    }
    found
}

/// An article, where they are.
fn article(number: u8) -> Option<String> {
    let folder = crate::seeds::compare::peer("PGDYNO_SEEDS")?;
    let files = std::fs::read_dir(folder).expect("PGDYNO_SEEDS is a folder");
    let mut paths = files.map(|file| file.expect("it is read").path());
    let starts = format!("{number:03}_");
    let is_it = |path: &std::path::PathBuf| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with(&starts))
    };
    let path = paths.find(is_it).expect("all five are there");
    let text = std::fs::read_to_string(path).expect("it is read");
    // A page has them for spaces here and there.
    Some(text.replace('\u{a0}', " "))
}
