//! CPUs: the server's, the generator's, and those that others take.

use super::{COMPUTE, Limit, READ};
use crate::verdict::processes::{Burner, Quota, pin};
use crate::verdict::stage::{Made, Stage};

pub const LIMITS: &[Limit] = &[
    Limit {
        name: "expensive statements",
        made: "statements of 5 ms of CPU, 4 clients",
        right: &["server-cpu"],
        partly: &[],
        make: |stage| Ok(stage.trial(COMPUTE, &["-c", "4"]).run()),
    },
    Limit {
        name: "one client",
        made: "one row by its key, one client, idle host",
        right: &["server-cpu"],
        // A cheap statement costs the client no less.
        partly: &["client"],
        make: |stage| Ok(stage.trial(READ, &[]).run()),
    },
    Limit {
        name: "expensive planning",
        made: "a query of 300 partitions without rows, 4 clients",
        right: &["server-cpu"],
        partly: &[],
        make: |stage| {
            Ok(stage
                .trial("SELECT count(*) FROM parts WHERE id = 1;\n", &["-c", "4"])
                .run())
        },
    },
    Limit {
        name: "server on one CPU",
        made: "the server pinned to one CPU of two; statements of 5 ms of CPU, 6 clients",
        right: &["server-cpu"],
        partly: &[],
        make: server_on_one_cpu,
    },
    Limit {
        name: "parallel query",
        made: "one client, two workers and a leader that only waits for them",
        right: &["ipc", "server-cpu"],
        partly: &[],
        make: parallel_query,
    },
    Limit {
        name: "quota of the server",
        made: "the server in a control group with 0.3 CPUs; statements of 5 ms of CPU, 4 clients",
        right: &["cpu-quota"],
        partly: &[],
        make: |stage| quota_of_server(stage, 0.3, COMPUTE, "4"),
    },
    Limit {
        name: "quota of the server, cheap statements",
        made: "the server in a control group with 0.2 CPUs; one row by its key, 8 clients",
        right: &["cpu-quota"],
        partly: &[],
        make: |stage| quota_of_server(stage, 0.2, READ, "8"),
    },
    Limit {
        name: "quota of the generator",
        made: "pgdyno in a control group with 0.1 CPUs; one row by its key, 4 clients",
        right: &["client"],
        partly: &[],
        make: quota_of_generator,
    },
    Limit {
        name: "starved generator",
        made: "pgdyno and four burners on one CPU, the server on the other; one row by its key, 4 clients",
        // Both say that pgdyno gets no CPU; the second also why.
        right: &["client", "other-processes"],
        partly: &[],
        make: starved_generator,
    },
    Limit {
        name: "expensive script",
        made: "1,500 lines of \\set before a read; pgdyno on one CPU, the server on the other, 4 clients",
        right: &["client"],
        partly: &[],
        make: expensive_script,
    },
    Limit {
        name: "busy host",
        made: "eight burners on all CPUs; one row by its key, 4 clients",
        right: &["other-processes"],
        partly: &["client"],
        make: |stage| busy_host(stage, 8, &["-c", "4"]),
    },
    Limit {
        name: "rate and limit on a busy host",
        made: "eight burners on all CPUs; 3,000 transactions/s with a limit of 50 ms, 4 clients",
        right: &["other-processes"],
        partly: &["client"],
        make: |stage| busy_host(stage, 8, &["-c", "4", "-R", "3000", "-L", "50ms"]),
    },
];

fn server_on_one_cpu(stage: &Stage) -> Made {
    pin(stage.server.pid(), "0");
    let json = stage.trial(COMPUTE, &["-c", "6"]).run();
    pin(stage.server.pid(), "0-1");
    Ok(json)
}

fn parallel_query(stage: &Stage) -> Made {
    stage.db.sql(
        "ALTER DATABASE limits SET debug_parallel_query = off;
         ALTER DATABASE limits SET parallel_setup_cost = 0;
         ALTER DATABASE limits SET parallel_tuple_cost = 0;
         ALTER DATABASE limits SET min_parallel_table_scan_size = 0;
         ALTER DATABASE limits SET parallel_leader_participation = off",
    );
    let script = "SELECT sum(sqrt(a.id * b.n)) FROM point a, generate_series(1, 60) b (n);\n";
    let json = stage.trial(script, &[]).run();
    stage.db.sql("ALTER DATABASE limits RESET ALL");
    Ok(json)
}

fn quota_of_server(stage: &Stage, cpus: f64, script: &str, clients: &str) -> Made {
    let quota = Quota::of(cpus, "server")?;
    quota.take(stage.server.pid());
    Ok(stage.trial(script, &["-c", clients]).run())
}

fn quota_of_generator(stage: &Stage) -> Made {
    let quota = Quota::of(0.1, "generator")?;
    Ok(stage.trial(READ, &["-c", "4"]).under(&quota).run())
}

fn starved_generator(stage: &Stage) -> Made {
    pin(stage.server.pid(), "1");
    let burners: Vec<Burner> = (0..4).map(|_| Burner::on("0")).collect();
    let json = stage.trial(READ, &["-c", "4"]).on_cpus("0").run();
    drop(burners);
    pin(stage.server.pid(), "0-1");
    Ok(json)
}

fn expensive_script(stage: &Stage) -> Made {
    let line = "\\set x hash(random(1, 1000000)) % 1000 + permute(random(1, 1000), 1000, 7)\n";
    let script = line.repeat(1500) + READ;
    pin(stage.server.pid(), "1");
    let json = stage.trial(&script, &["-c", "4"]).on_cpus("0").run();
    pin(stage.server.pid(), "0-1");
    Ok(json)
}

fn busy_host(stage: &Stage, burners: usize, args: &[&str]) -> Made {
    let burners: Vec<Burner> = (0..burners).map(|_| Burner::on("0-1")).collect();
    let json = stage.trial(READ, args).run();
    drop(burners);
    Ok(json)
}
