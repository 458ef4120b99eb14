//! The mistakes that those make who come from pgbench, psql, sysbench, YCSB or cockroach's workload: what each is
//! answered with, and its exit code.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use pgdyno_testkit::closed_address;
use pgdyno_testkit::hostile::server_text;

use crate::support::{Database, notebook, pgdyno, ran};

/// What is typed after `pgdyno`, the exit code, and what must be said. `URL` is the server with pgbench's
/// tables of scale 1; `READER` the same as a role that may do nothing; `REFUSES` one that wants another password;
/// `FULL` one that takes 12 connections; `UNHEARD` an address where nothing listens; `DATABASE` and `ROLE` name what the server does not have.
type Row = (&'static str, i32, &'static [&'static str]);

const COMMANDS: &[Row] = &[
    (
        "rnu tpcb",
        2,
        &["no command \"rnu\"", "did you mean pgdyno run?"],
    ),
    (
        "init -s 10",
        2,
        &["no command \"init\"", "did you mean pgdyno load?"],
    ),
    ("benchmark", 2, &["did you mean pgdyno run?"]),
    ("list", 2, &["did you mean pgdyno ls?"]),
    (
        "-c 8 -T 60 bench",
        2,
        &["a command comes first", "pgdyno pgbench"],
    ),
    (
        "-i -s 10 bench",
        2,
        &["a command comes first", "pgdyno pgbench"],
    ),
    ("lab retreis", 2, &["did you mean pgdyno lab retries?"]),
    ("help slobb", 2, &["did you mean slob?", "pgdyno help"]),
    ("completions powershell", 2, &["bash, zsh, fish"]),
];

const OPTIONS: &[Row] = &[
    ("run tpcb --cliens 4", 2, &["'--cliens'", "'--clients'"]),
    ("run tpcb -s 10", 2, &["--param scale=10"]),
    ("run tpcb --scale=10", 2, &["--param scale=10"]),
    ("run tpcb -P 5", 2, &["leave it out", "pgdyno report"]),
    ("run -i", 2, &["pgdyno load tpcb"]),
    ("run tpcb -l", 2, &["pgdyno pgbench -l"]),
    ("run tpcb -h db1", 2, &["--url host=db1"]),
    ("run tpcb --host=db1", 2, &["--url host=db1"]),
    ("ls -U me", 2, &["pgdyno ls uses no server"]),
    ("run tpcb -L 50", 2, &["milliseconds in pgbench", "-L 50ms"]),
    ("run tpcb -c 0", 2, &["--clients", "from 1 to 100000"]),
    ("run tpcb -c -1", 2, &["'-1' for '--clients"]),
    (
        "run tpcb -c four",
        2,
        &["'four' for '--clients", "positive whole number"],
    ),
    ("run tpcb -j 0", 2, &["--threads", "from 1 to 4096"]),
    (
        "run tpcb -t 10 -T 10",
        2,
        &["--transactions", "cannot be used with", "--duration"],
    ),
    (
        "run tpcb -t 0",
        2,
        &["'0' for '--transactions", "1 or more", "-T 60s"],
    ),
    ("run tpcb -T 0", 2, &["--duration", "longer than nothing"]),
    (
        "run tpcb -T 10sec",
        2,
        &["--duration", "500ms, 60s, 2m, 1h"],
    ),
    ("run tpcb -T -5", 2, &["'-5' for '--duration"]),
    (
        "run tpcb -R fast",
        2,
        &["--rate", "transactions a second", "^"],
    ),
    ("run tpcb -R 1.5k", 2, &["--rate", "written out: 1500"]),
    ("run tpcb -R 100/s", 2, &["--rate", "500@30s", "^"]),
    ("run tpcb --isolation serialisable", 2, &["'serializable'"]),
    ("run tpcb -M preparde", 2, &["'prepared'"]),
    ("run tpcb --observe hots", 2, &["did you mean host?"]),
    (
        "run tpcb --tag a,b",
        2,
        &["a word without spaces and commas"],
    ),
    (
        "run tpcb --url URL --pg-set work_mem=1GB",
        2,
        &["--pg-set", "--url selects another"],
    ),
];

const WORKLOADS: &[Row] = &[
    ("run", 2, &["<WORKLOAD|SCRIPT[@WEIGHT]>"]),
    (
        "run tcpb --url URL",
        2,
        &["tcpb: unknown pack", "did you mean tpcb?"],
    ),
    ("run pgbench --url URL", 2, &["did you mean tpcb?"]),
    ("run bench --url URL", 2, &["did you mean tpcb?"]),
    (
        "run tpcb select-only --url URL",
        2,
        &["cannot run with other scripts"],
    ),
    (
        "run tpcb --url URL --mix bacth",
        2,
        &["did you mean batch?"],
    ),
    (
        "run tpcb --url URL --param scael=1",
        2,
        &["did you mean scale?", "fillfactor"],
    ),
    ("run tpcb --url URL --param scale=ten", 2, &["whole number"]),
    ("run tpcb --url URL --param scale", 2, &["NAME=VALUE"]),
    (
        "run missing.sql --url URL",
        2,
        &["\"missing.sql\"", "No such file"],
    ),
    (
        "run good.sql@ten --url URL",
        2,
        &["invalid weight specification: @ten", "a.sql@9"],
    ),
    (
        "run tpcb --json out.json --url URL",
        2,
        &["--json=out.json"],
    ),
    (
        "run experiment.toml --url URL",
        2,
        &["pgdyno sweep experiment.toml"],
    ),
    (
        "run function.sql --url URL",
        1,
        &[
            "function.sql:2:",
            "(rand: did you mean random?)",
            "\\set a rand(1, 10)\n          ^",
        ],
    ),
    (
        "run command.sql --url URL",
        1,
        &["command.sql:1:", "invalid command", "did you mean \\set?"],
    ),
    (
        "run if.sql --url URL",
        1,
        &["if.sql:1:", "\\if without matching \\endif", "\n\\if true"],
    ),
    (
        "run table.sql --url URL -t 1",
        1,
        &[
            "table.sql:1: ERROR:  relation \"pgbench_acounts\" does not exist",
            "SELECT abalance FROM pgbench_acounts;\n                     ^",
        ],
    ),
];

/// Words in the place of a command.
const NO_COMMANDS: &[Row] = &[
    ("tpcb", 2, &["it is a workload: pgdyno run tpcb"]),
    ("mine.sql", 2, &["pgdyno run mine.sql"]),
    ("mine.toml", 2, &["pgdyno sweep mine.toml"]),
    (
        "oltp_read_write run",
        2,
        &["pgdyno sysbench oltp_read_write"],
    ),
    (
        "postgresql://me:s3cret@db1/bench",
        2,
        &["a command comes before", "pgdyno run tpcb --url"],
    ),
    ("-d bench", 2, &["a command comes first"]),
    ("cleanup tpcb", 2, &["pgdyno load --replace", "pgdyno rm"]),
    ("status", 2, &["pgdyno server status"]),
    ("stop", 2, &["pgdyno server stop", "Ctrl-C"]),
    ("psql", 2, &["psql \"$(pgdyno server url)\""]),
    (
        "server restart",
        2,
        &["pgdyno server stop, then pgdyno server start"],
    ),
    ("pack ls", 2, &["pgdyno pack list"]),
    ("pack create mine", 2, &["pgdyno pack new NAME"]),
    ("pack tpcb", 2, &["pgdyno pack list tpcb"]),
    ("deploy k8s", 2, &["pgdyno deploy kubernetes"]),
    ("slob run", 2, &["pgdyno slob sweep", "pgdyno run slob"]),
    ("lab isolatoin", 2, &["did you mean pgdyno lab isolation?"]),
    (
        "config set url x",
        2,
        &["pgdyno config takes no \"set\"", "pgdyno.toml"],
    ),
    ("ls tpcb", 2, &["pgdyno ls --workload NAME"]),
];

const OF_OTHERS: &[Row] = &[
    (
        "run oltp_read_write --threads=4 --tables=10",
        2,
        &["sysbench's", "pgdyno sysbench"],
    ),
    ("run tpcb --report-interval=1", 2, &["pgdyno sysbench"]),
    ("run tpcb --pgsql-host=db1", 2, &["pgdyno sysbench"]),
    (
        "run oltp_read_write --url URL",
        2,
        &["pgdyno sysbench oltp_read_write"],
    ),
    ("run workloada --url URL", 2, &["pgdyno run ycsb --mix a"]),
    (
        "run ycsb -P workloads/workloada",
        2,
        &["YCSB's -P FILE is for pgdyno ycsb"],
    ),
    ("run kv --concurrency 4", 2, &["-c COUNT"]),
    ("run kv --max-rate 100", 2, &["-R PER_SECOND"]),
    ("run kv --ramp 5s", 2, &["--warmup TIME"]),
    ("run kv --tolerate-errors", 2, &["--continue-on-error"]),
    (
        "run tpcb --retry-limit 5",
        2,
        &["--retry restart --max-tries COUNT"],
    ),
    ("run tpcb --think-time 5ms", 2, &["\\think 0.05"]),
    ("run tpcb --pipeline", 2, &["\\startpipeline"]),
    (
        "run tpcb --user me",
        2,
        &["postgresql://USER@HOST/DATABASE"],
    ),
    ("run tpcb --database bench", 2, &["-d NAME"]),
    ("run tpcb --sslmode require", 2, &["?sslmode=require"]),
    (
        "run tpcb --password=s3cret",
        2,
        &["takes no value", "PGPASSWORD"],
    ),
    ("run tpcb -o first.html", 2, &["pgdyno report -o FILE.html"]),
    ("run tpcb --csv", 2, &["pgdyno ls --csv"]),
    ("run tpcb --version", 2, &["pgdyno --version"]),
    (
        "run tpcb --nothing-like-it",
        2,
        &["'--nothing-like-it'", "Usage: pgdyno run"],
    ),
    (
        "run tpcb bench --url URL",
        2,
        &["cannot run with other scripts", "-d NAME"],
    ),
    (
        "run tpcb -f good.sql --url URL",
        2,
        &["cannot run with other scripts", "give script files only"],
    ),
];

const VALUES: &[Row] = &[
    ("run tpcb -U", 2, &["-U needs a user: -U me"]),
    ("run tpcb -p", 2, &["-p needs a port"]),
    (
        "run tpcb -p 99999",
        2,
        &["invalid port number: \"99999\"", "from 1 to 65535"],
    ),
    (
        "run tpcb -p abc",
        2,
        &["\"abc\"", "\"port\"", "from 1 to 65535"],
    ),
    (
        "run tpcb --url postgresql://h:0/b",
        2,
        &["invalid port number: \"0\"", "from 1 to 65535"],
    ),
    (
        "run tpcb --max-tries many",
        2,
        &["'many'", "a whole number", "0 sets no limit"],
    ),
    (
        "run tpcb -j many",
        2,
        &["'many' for '--threads", "a whole number"],
    ),
    ("run tpcb -j 5000", 2, &["from 1 to 4096"]),
    (
        "run tpcb --seed abc",
        2,
        &["'abc' for '--seed", "a whole number"],
    ),
    (
        "run tpcb -t 99999999999999999999",
        2,
        &["'--transactions", "too large"],
    ),
    (
        "run tpcb -c 1,2,4",
        2,
        &["'1,2,4' for '--clients", "pgdyno sweep"],
    ),
    (
        "run tpcb -c 1-8",
        2,
        &["'1-8' for '--clients", "pgdyno sweep"],
    ),
    (
        "run tpcb -T 1d",
        2,
        &["'1d' for '--duration", "500ms, 60s, 2m, 1h"],
    ),
    (
        "run tpcb -W --url URL",
        2,
        &[
            "-W asks for a password, but there is no terminal",
            "PGPASSWORD",
        ],
    ),
    (
        "load",
        2,
        &[
            "pgdyno load needs <WORKLOAD>",
            "for example: pgdyno load tpcb",
        ],
    ),
    ("load good.sql --url URL", 2, &["pgdyno run good.sql"]),
    (
        "compare 1",
        2,
        &[
            "pgdyno compare needs <B>",
            "for example: pgdyno compare 3-8 9-14",
        ],
    ),
    (
        "rerun",
        2,
        &[
            "pgdyno rerun needs <TRIAL|BUNDLE>",
            "for example: pgdyno rerun 12",
        ],
    ),
    (
        "exclude 1",
        2,
        &["needs --reason", "for example: pgdyno exclude 12 --reason"],
    ),
    (
        "export",
        2,
        &["needs --output", "for example: pgdyno export -o"],
    ),
    (
        "sql",
        2,
        &["needs <SELECT>", "for example: pgdyno sql \"SELECT"],
    ),
    (
        "completions",
        2,
        &["needs <SHELL>", "for example: pgdyno completions bash"],
    ),
    (
        "lab disturb",
        2,
        &[
            "pgdyno lab disturb needs",
            "for example: pgdyno lab disturb tpcb",
        ],
    ),
    (
        "show last",
        2,
        &["no trial last", "the newest is meant where none is named"],
    ),
    (
        "show -1",
        2,
        &["pgdyno show has no option -1", "the newest trial"],
    ),
    (
        "sweep good.sql",
        2,
        &["a script, not an experiment", "workload = 'good.sql'"],
    ),
    (
        "sweep -c 1,2,4",
        2,
        &["pgdyno sweep has no option -c", "--preset quick --print"],
    ),
    (
        "target",
        2,
        &[
            "nothing names a server",
            "pgdyno server start",
            "--facts=postgresql",
        ],
    ),
];

/// What is missing, in two words, or too much.
const WORDS: &[Row] = &[
    (
        "run tpcb --param scale 10",
        2,
        &[
            "--param scale 10: it must be NAME=VALUE",
            "--param scale=10",
        ],
    ),
    (
        "run tpcb --warmup 5 s",
        2,
        &["a space between number and unit", "--warmup 5s"],
    ),
    (
        "run tpcb -c",
        2,
        &["--clients needs <COUNT>", "for example: -c 8"],
    ),
    (
        "run tpcb --mix",
        2,
        &["--mix needs <NAME>", "pgdyno pack list WORKLOAD"],
    ),
    (
        "run tpcb -c 8x",
        2,
        &["invalid value '8x'", "for example: -c 8"],
    ),
    (
        "run tpcb -R 500tps",
        2,
        &["invalid value '500tps'", "for example: -R 500"],
    ),
    (
        "run tpcb --backoff 1ms",
        2,
        &["exponential=BASE,CAP,JITTER", "for example: --backoff"],
    ),
    (
        "run tpcb --serve 8080",
        2,
        &["after an equals sign", "--serve=8080"],
    ),
    ("run tpcb --json out.json", 2, &["--json=out.json"]),
    (
        "run tpcb --ulr postgresql://h/b",
        2,
        &["no option --ulr", "did you mean --url?"],
    ),
    (
        "run good.slq --url URL",
        2,
        &["\"good.slq\"", "did you mean good.sql?", "pgdyno pack list"],
    ),
    (
        "load tpcb scale=10",
        2,
        &["takes no \"scale=10\"", "--param scale=10"],
    ),
    (
        "compare 1 2 3",
        2,
        &["takes no \"3\"", "pgdyno compare 1,2 3-5"],
    ),
    (
        "show experiment disks",
        2,
        &["takes no \"disks\"", "--experiment NAME"],
    ),
    (
        "report 1 -o",
        2,
        &["--output needs <FILE>", "-o first.html"],
    ),
    ("serve --port 8080", 2, &["type --listen 8080"]),
    (
        "ls --since yesterday",
        2,
        &["an age (30m, 12h, 7d)", "for example: --since 7d"],
    ),
    (
        "sweep --preset capacity --slo 20",
        2,
        &["has no unit", "--slo 20ms, or --slo 20s"],
    ),
    ("check-history none.edn", 2, &["none.edn", "--history FILE"]),
];

const SCRIPTS: &[Row] = &[
    (
        "run value.sql --url URL -t 1",
        1,
        &[
            "value.sql:2: ERROR:  syntax error",
            "SELECT :nothing;\n       ^",
            "--param nothing=VALUE",
        ],
    ),
    (
        "run set.sql --url URL -t 1",
        1,
        &[
            "set.sql:1: undefined variable \"nothing\"",
            "\\set a :nothing + 1",
        ],
    ),
    (
        "run range.sql --url URL -t 1",
        1,
        &[
            "range.sql:1: empty range given to random",
            "\n\\set a random(5, 1)",
        ],
    ),
    (
        "run copy.sql --url URL",
        1,
        &["copy.sql:1:", "\\copy is a command of psql"],
    ),
    (
        "run open.sql --url URL -t 1",
        1,
        &["open.sql", "end it with COMMIT or END"],
    ),
];

const SERVERS: &[Row] = &[
    (
        "run tpcb --url mysql://root@localhost/b",
        2,
        &["mysql://", "--url postgresql://USER@HOST:PORT/DATABASE"],
    ),
    (
        "run tpcb --url localhost:5432",
        2,
        &["neither begins with postgresql://"],
    ),
    (
        "run tpcb --url prot=5432",
        2,
        &["invalid connection option \"prot\""],
    ),
    (
        "run tpcb --url UNHEARD",
        3,
        &[
            "Connection refused",
            "start the server, or correct its host and port",
        ],
    ),
    (
        "run tpcb --url DATABASE",
        3,
        &["database \"bnech\" does not exist", "CREATE DATABASE"],
    ),
    (
        "run tpcb --url ROLE",
        3,
        &["role \"missing_role\" does not exist", "CREATE ROLE"],
    ),
    (
        "run tpcb --url REFUSES",
        3,
        &["password authentication failed", "PGPASSWORD"],
    ),
    (
        "run tpcb --url READER",
        1,
        &["permission denied", "the role lacks a privilege"],
    ),
    (
        "run tpcb --url URL --param scale=10",
        1,
        &["with scale = 1, not 10", "--replace"],
    ),
    (
        "load tpcb --url URL --param scale=10",
        1,
        &["with scale = 1, not 10", "--replace"],
    ),
    (
        "run good.sql --url FULL -c 20",
        3,
        &["too many clients", "max_connections is"],
    ),
];

const KEPT: &[Row] = &[
    ("sweep", 2, &["pgdyno sweep FILE", "--preset"]),
    ("sweep --preset quik", 2, &["'quick'"]),
    (
        "sweep missing.toml",
        2,
        &["missing.toml", "No such file", "--preset quick --print"],
    ),
    (
        "sweep key.toml --url URL",
        1,
        &["key.toml:2:1", "did you mean \"clients\"?", "^^^^^^"],
    ),
    (
        "sweep pack.toml --url URL",
        1,
        &["pack.toml", "did you mean tpcb?"],
    ),
    (
        "sweep time.toml --url URL",
        1,
        &["time.toml:2:12", "500ms, 60s, 2m, 1h"],
    ),
    ("show 999", 2, &["no trial 999", "pgdyno ls"]),
    ("show tag:none", 2, &["no trial with tag none", "pgdyno ls"]),
    ("report 999", 2, &["no trial 999", "pgdyno ls"]),
    (
        "compare before after",
        2,
        &["no experiment before", "pgdyno ls"],
    ),
    ("rerun 999", 2, &["no trial 999", "pgdyno ls"]),
];

/// A word of another thing: its place, and what to type.
const MEANT: &[Row] = &[
    (
        "run tpcb -T 5 min",
        2,
        &["a space between number and unit", "-T 5m"],
    ),
    (
        "run tpcb -T 10 seconds",
        2,
        &["a space between number and unit", "-T 10s"],
    ),
    (
        "run tpcb --duration=5 min",
        2,
        &["\"min\" is no script", "right after its number: -T 60s"],
    ),
    (
        "run tpcb scale=10 --url URL",
        2,
        &["\"scale=10\" is no script", "--param scale=10"],
    ),
    (
        "run good.sql scale=10 --url URL",
        2,
        &["\"scale=10\" is no script", "--param scale=10"],
    ),
    (
        "run ycsb -p recordcount=1000",
        2,
        &["-p is the server's port", "--param recordcount=1000"],
    ),
    ("run tpcb -p 1=2 --url URL", 2, &["-p is the server's port"]),
    (
        "run tpcb --url host=127.0.0.1,port=6361",
        3,
        &["\"port=6361\"", "--url 'host=127.0.0.1 port=5432"],
    ),
    (
        "run tpcb --url postgresql://no-such-host.invalid/b",
        3,
        &[
            "\"no-such-host.invalid\"",
            "check the host's name: --url, PGHOST",
        ],
    ),
    (
        "compare 3..8 9..14",
        2,
        &["3..8", "3-8, for compare and report"],
    ),
    (
        "report 3:8",
        2,
        &["no trial 3:8", "3-8, for compare and report"],
    ),
    (
        "run tpcb -t 10 -T 10",
        2,
        &["pgdyno: error: ", "leave one of them out"],
    ),
    (
        "run tpcb -T 10 -T 20",
        2,
        &["--duration is given twice", "leave one of them out"],
    ),
    (
        "run tpcb -c x",
        2,
        &["a number of clients is a positive whole number\n"],
    ),
    (
        "run tpcb --isolation x",
        2,
        &[
            "pgdyno: error: invalid value 'x'",
            "[possible values: read-",
        ],
    ),
    (
        "run tpcb --cliens 4",
        2,
        &[
            "pgdyno: error: unexpected argument '--cliens'",
            "pgdyno: hint: a similar argument",
        ],
    ),
    (
        "run tpcb --url URL --pg-set work_mem=1GB",
        2,
        &["--url selects another", "leave out --url, or"],
    ),
    (
        "report 1 -o none/x.html",
        1,
        &[
            "cannot write none/x.html",
            "there is no folder none: mkdir -p none",
        ],
    ),
    (
        "run good.sql -t 1 --json=none/x --url URL",
        2,
        &["none/x", "mkdir -p none"],
    ),
    (
        "pack show tpcb --to none/x",
        1,
        &["none/x", "mkdir -p none"],
    ),
    (
        "pack new none/a/mine",
        1,
        &["none/a/mine", "mkdir -p none/a"],
    ),
    (
        "run empty.sql --url URL",
        1,
        &[
            "empty command list for script \"empty.sql\"",
            "pgdyno help scripts",
        ],
    ),
    (
        "run short.sql --url URL",
        1,
        &["short.sql:1:", "(rnd: did you mean random?)"],
    ),
    (
        "run strange.sql --url URL",
        1,
        &["strange.sql:1:", "frobnicate: pgdyno help scripts"],
    ),
    ("help xyzzy", 2, &["no document and no command"]),
];

/// In an experiment's file: line, column, way out.
const FILES: &[Row] = &[
    (
        "sweep pack.toml --url URL",
        1,
        &[
            "pack.toml:1:12: tcpb: unknown pack",
            "\nworkload = 'tcpb'\n",
        ],
    ),
    (
        "sweep param.toml --url URL",
        1,
        &["param.toml:3:9: --param sclae=1", "did you mean scale?"],
    ),
    (
        "sweep name.toml --url URL",
        1,
        &[
            "name.toml:3:12: ",
            "no such setting among those that a file may set: work_men = 4MB",
            "did you mean \"work_mem\"?",
        ],
    ),
    (
        "sweep name.toml --allow-shell --url URL",
        1,
        &[
            "name.toml:3:1: ",
            "no setting \"work_men\"",
            "did you mean \"work_mem\"?",
        ],
    ),
    (
        "sweep value.toml --url URL",
        1,
        &[
            "value.toml:4:21: ",
            "invalid value for parameter \"work_mem\"",
            "\"kB\"",
            "pg_settings",
        ],
    ),
    (
        "sweep text.toml --url URL",
        1,
        &["text.toml:2:11: ", "hint: clients = [1,2,4]"],
    ),
    (
        "sweep open.toml --url URL",
        1,
        &["open.toml:2:11: the list that begins here is not closed"],
    ),
    (
        "sweep end.toml --url URL",
        1,
        &["end.toml:2:11: the list that begins here is not closed"],
    ),
    (
        "sweep none.toml --url URL",
        1,
        &["none.toml:2:11: clients: it must be a whole number from 1"],
    ),
];

#[test]
fn each_typical_mistake_is_answered_with_what_to_type() {
    let db = Database::new("mistakes");
    db.pgdyno(&["load", "tpcb", "-q"]).expect(0, &[]);
    db.sql("DROP ROLE IF EXISTS mistaken; CREATE ROLE mistaken LOGIN");
    let [reader, role] = ["mistaken", "missing_role"]
        .map(|name| db.url.replace("://postgres@", &format!("://{name}@")));
    let database = db.url.replace("/mistakes?", "/bnech?");
    let unheard = format!("postgresql://me@{}/b", closed_address());
    let refuses = refusing_server();
    // Not the shared server: others need its connections.
    let small = pgdyno_testkit::postgres_with(&["max_connections=12"]);
    let full = Database::on(&small, "has_no_room").url;
    let places = [
        ("URL", &db.url),
        ("READER", &reader),
        ("ROLE", &role),
        ("DATABASE", &database),
        ("UNHEARD", &unheard),
        ("REFUSES", &refuses),
        ("FULL", &full),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("good.sql", "SELECT 1;\n"),
        ("function.sql", "SELECT 1;\n\\set a rand(1, 10)\n"),
        ("command.sql", "\\sett a 1\n"),
        ("if.sql", "\\if true\nSELECT 1;\n"),
        ("table.sql", "SELECT abalance FROM pgbench_acounts;\n"),
        ("value.sql", "SELECT 1;\nSELECT :nothing;\n"),
        ("set.sql", "\\set a :nothing + 1\nSELECT 1;\n"),
        ("range.sql", "\\set a random(5, 1)\nSELECT 1;\n"),
        ("copy.sql", "\\copy t from stdin\n"),
        ("open.sql", "BEGIN;\nSELECT 1;\n"),
        ("empty.sql", "-- nothing\n"),
        ("short.sql", "\\set a rnd(1, 10)\n"),
        ("strange.sql", "\\set a frobnicate(1, 10)\n"),
        ("param.toml", "workload = 'tpcb'\n[params]\nsclae = 1\n"),
        (
            "name.toml",
            "workload = 'tpcb'\n[settings]\nwork_men = '4MB'\n",
        ),
        (
            "value.toml",
            "workload = 'tpcb'\nduration = '1s'\n[settings]\nwork_mem = [ '4MB', '64 megabytes']\n",
        ),
        ("text.toml", "workload = 'tpcb'\nclients = '1,2,4'\n"),
        (
            "open.toml",
            "workload = 'tpcb'\nclients = [1,2\n[settings]\nwork_mem = '4MB'\n",
        ),
        ("end.toml", "workload = 'tpcb'\nclients = [1, 2,\n\n"),
        ("none.toml", "workload = 'tpcb'\nclients = 0\n"),
        ("experiment.toml", "workload = 'tpcb'\n"),
        ("key.toml", "workload = 'tpcb'\ncliets = [1, 2]\n"),
        ("pack.toml", "workload = 'tcpb'\n"),
        ("time.toml", "workload = 'tpcb'\nduration = '10 parsecs'\n"),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let store = notebook::at(&dir.path().join("notebook.sqlite"));
    // So that there is a notebook without what is asked of it.
    ran(pgdyno(&["run", "good.sql", "-t", "1", "--url", &db.url])
        .env("PGDYNO_STORE", &store)
        .current_dir(dir.path()))
    .expect(0, &[]);

    let tables = [
        COMMANDS,
        NO_COMMANDS,
        OPTIONS,
        OF_OTHERS,
        VALUES,
        WORKLOADS,
        WORDS,
        SCRIPTS,
        SERVERS,
        KEPT,
        MEANT,
        FILES,
    ];
    let rows = tables.concat();
    assert!(rows.len() >= 180, "{}", rows.len());
    let mut wrong = Vec::new();
    for (line, code, texts) in rows {
        let words: Vec<&str> = line.split(' ').map(|word| filled(word, &places)).collect();
        let answer = ran(pgdyno(&words)
            .env("PGDYNO_STORE", &store)
            // Where no server is kept.
            .envs(pgdyno_testkit::own_cache(&dir.path().join("cache")))
            .current_dir(dir.path()));
        let lacks = answer.lacks(code, texts);
        wrong.extend(lacks.map(|lacks| format!("pgdyno {line}: {lacks}\n{answer:#?}")));
        assert!(!answer.stderr.contains("s3cret"), "{answer:#?}");
        // A server that was named need not be named.
        assert!(
            !answer.stderr.contains("name the server with"),
            "{answer:#?}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(db.value("SELECT count(*) FROM pgbench_branches"), "1");
    let tables = db.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    assert_eq!(tables, "4", "a mistake made tables");
}

fn filled<'a>(word: &'a str, places: &[(&str, &'a String)]) -> &'a str {
    let place = places.iter().find(|(name, _)| *name == word);
    place.map_or(word, |(_, url)| url)
}

/// The URL of a server that takes no password.
fn refusing_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut startup = [0; 1024];
            let _ = client.read(&mut startup);
            let text = "password authentication failed for user \"me\"";
            let _ = client.write_all(&server_text(b'E', "FATAL", "28P01", text));
        }
    });
    format!("postgresql://me:wrong@{address}/b?sslmode=disable")
}
