//! The same kind of mistake has the same exit code, wherever it is made (docs/guide.md): 2 when the
//! command line asks for what is not there or cannot be, 1 when something that is there has a mistake.

use std::fs;
use std::path::Path;

use crate::support::{pgdyno, ran};

/// Nothing listens there: what can be known without a server must be said before.
const NOWHERE: &str = "host=127.0.0.1 port=1 user=x";

fn pack(folder: &Path, manifest: &str, script: &str) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("pack.toml"), manifest).unwrap();
    fs::write(folder.join("a.sql"), script).unwrap();
}

#[test]
fn packs_templates_scripts_and_experiments_agree_about_exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    let here = |name: &str| dir.path().join(name);
    let good = "name = 'x'\nsummary = 's'\nscript = [{ name = 'a', file = 'a.sql' }]\n";
    pack(&here("manifest"), "name =", "SELECT 1;\n");
    pack(
        &here("missing"),
        &good.replace("a.sql", "b.sql"),
        "SELECT 1;\n",
    );
    pack(&here("script"), good, "\\set a rand(1, 2)\n");
    let templates = format!("templates = true\n{good}");
    pack(&here("template"), &templates, "SELECT {{nothing}};\n");
    pack(&here("good"), good, "SELECT 1;\n");
    fs::write(here("bad.sql"), "\\set a rand(1, 2)\n").unwrap();
    fs::write(here("binary.sql"), b"SELECT \xff").unwrap();
    fs::write(here("good.sql"), "SELECT 1;\n").unwrap();
    fs::write(here("pgio.conf"), "SCALE=1G\nrm -rf /\n").unwrap();
    for (name, text) in [
        ("no-toml", "workload = "),
        ("no-pack", "workload = 'tcpb'"),
        ("no-script", "workload = 'nowhere.sql'"),
        ("no-param", "workload = 'tpcb'\nparams.sale = 1"),
        ("bad-param", "workload = 'tpcb'\nparams.scale = 0"),
        ("no-mix", "workload = 'tpcb'\nmix = 'x'"),
        (
            "bad-mode",
            "workload = 'tpcb'\nmix = 'batch'\nquery_mode = 'prepared'",
        ),
        ("bad-clients", "workload = 'tpcb'\nclients = 'many'"),
        ("of-script", "workload = 'bad.sql'"),
        ("of-template", "workload = './template'"),
    ] {
        fs::write(here(&format!("{name}.toml")), text).unwrap();
    }
    for (code, commands) in [
        // What is there has a mistake.
        (
            1,
            &[
                "run ./manifest",
                "run ./missing",
                "run ./script",
                "run ./template",
                "run bad.sql",
                "run binary.sql",
                "load ./manifest",
                "load ./missing",
                "pack show ./manifest",
                "sweep no-toml.toml",
                "sweep no-pack.toml",
                "sweep no-script.toml",
                "sweep no-param.toml",
                "sweep bad-param.toml",
                "sweep no-mix.toml",
                "sweep bad-mode.toml",
                "sweep bad-clients.toml",
                "sweep of-script.toml",
                "sweep of-template.toml",
                "pgio run",
            ][..],
        ),
        // The command line asks for what is not there or cannot be.
        (
            2,
            &[
                "run tcpb",
                "run ./nowhere",
                "run nowhere.sql",
                "load tcpb",
                "load ./nowhere",
                "pack show tcpb",
                "sweep nowhere.toml",
                "pgio run --conf nowhere.conf",
                "run tpcb --param sale=1",
                "run tpcb --param scale=0",
                "run tpcb --mix x",
                "run good.sql --mix x",
                "run tpcb@2",
                "run good.sql@x",
                "run good.sql@0",
                "run tpcb good.sql",
                "run tpcb --mix batch --query-mode prepared",
                "run good.sql --param 1x=1",
                "load tpcb --param sale=1",
                "load tpcb --mix x",
                "run good.sql --clients many",
                "run good.sql --observe nope",
                "lab retries --param sale=1",
            ],
        ),
        // The server cannot be reached.
        (
            3,
            &[
                "run ./good",
                "run good.sql",
                "run tpcb",
                "load tpcb",
                "target",
            ],
        ),
    ] {
        for command in commands {
            let mut words: Vec<&str> = command.split(' ').collect();
            match words.as_slice() {
                ["pack", ..] => {}
                ["pgio", ..] | ["target"] if words.len() > 1 => {}
                ["target"] => words.push(NOWHERE),
                _ => words.extend(["--url", NOWHERE]),
            }
            let ran = ran(pgdyno(&words).current_dir(dir.path()));
            assert_eq!(ran.code, Some(code), "{command}: {ran:#?}");
            assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        }
    }
}
