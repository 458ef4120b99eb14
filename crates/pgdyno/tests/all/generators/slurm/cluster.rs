//! Slurm of Debian's packages on this host: munged, slurmctld and four slurmd, each of which is a node,
//! with a configuration, a key and ports of their own. Nothing of a Slurm that is here is touched.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_platform::user::{User, uid};

use crate::child::wait_until;
use crate::generators::daemons::Daemons;

pub const NODES: usize = 4;

/// A running Slurm; dropped, it ends with all that it runs.
pub struct Cluster {
    daemons: Daemons,
}

impl Cluster {
    /// Starts one whose nodes are idle.
    ///
    /// # Errors
    /// Why there can be none here.
    pub fn start() -> Result<Cluster, String> {
        let programs = ["munged", "slurmctld", "slurmd", "sbatch", "scontrol"];
        let packages = ["munge", "slurmctld", "slurmd", "slurm-client"];
        pgdyno_testkit::debian(&programs, &packages)?;
        let daemons = Daemons::new();
        let mut cluster = Cluster { daemons };
        cluster.configure();
        let dir = cluster.dir();
        let munged = format!(
            "munged --foreground --key-file={dir}/munge.key --socket={dir}/munge.sock \
             --pid-file={dir}/munged.pid --log-file={dir}/munged.log \
             --seed-file={dir}/munged.seed --origin=127.0.0.1"
        );
        cluster.start_daemon("munged", &munged);
        let socket = format!("{dir}/munge.sock");
        wait_until("munge's socket", || Path::new(&socket).exists());
        // A path that is not absolute stalls steps.
        let slurmctld = format!("slurmctld -D -f {dir}/slurm.conf");
        cluster.start_daemon("slurmctld", &slurmctld);
        for node in 1..=NODES {
            let slurmd = format!("slurmd -D -N n{node} -f {dir}/slurm.conf");
            cluster.start_daemon(&format!("n{node}"), &slurmd);
        }
        wait_until("four idle nodes", || {
            cluster.ask("sinfo --noheader --Node --format=%T") == "idle\n".repeat(NODES)
        });
        Ok(cluster)
    }

    fn dir(&self) -> String {
        self.daemons.folder().display().to_string()
    }

    fn configure(&self) {
        let dir = self.dir();
        let key = format!("{dir}/munge.key");
        let random: Vec<u8> = (0..64)
            .flat_map(|_| fs::read("/proc/sys/kernel/random/uuid").unwrap())
            .collect();
        fs::write(&key, random).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o400)).unwrap();
        fs::create_dir(format!("{dir}/state")).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim_end().split('.').next().unwrap().to_owned();
        let user = User::with_uid(uid()).unwrap().expect("it has a name").name;
        let [of_controller, of_nodes @ ..] = pgdyno_testkit::free_ports::<{ NODES + 1 }>();
        // proctrack/linuxproc and task/none need no cgroups. A node that is silent is given up after
        // seconds, not minutes.
        let mut text = format!(
            "ClusterName=pgdyno\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={of_controller}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={dir}/munge.sock\n\
             StateSaveLocation={dir}/state\nSlurmctldPidFile={dir}/slurmctld.pid\n\
             SlurmctldLogFile={dir}/slurmctld.log\nSlurmdPidFile={dir}/slurmd-%n.pid\n\
             SlurmdSpoolDir={dir}/spool-%n\nSlurmdLogFile={dir}/slurmd-%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
             JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n\
             SlurmdParameters=config_overrides\nSlurmdTimeout=5\nMessageTimeout=5\nKillWait=5\n\
             PartitionName=all Nodes=n[1-{NODES}] Default=YES State=UP\n"
        );
        for (index, port) in of_nodes.iter().enumerate() {
            let node = index + 1;
            fs::create_dir(format!("{dir}/spool-n{node}")).unwrap();
            text += &format!(
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2\n"
            );
        }
        fs::write(format!("{dir}/slurm.conf"), text).unwrap();
    }

    fn start_daemon(&mut self, name: &str, line: &str) {
        let command = self.command(line);
        self.daemons.start(name, command);
    }

    /// A program of Slurm, which asks this one; no argument has a blank.
    pub fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        self.surround(&mut command);
        command
    }

    /// Makes a program ask this Slurm, and none that the tests run in.
    pub fn surround(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["SLURM_", "SBATCH_", "SRUN_"]
                .iter()
                .any(|p| name.starts_with(p))
            {
                command.env_remove(name);
            }
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let program = Path::new(env!("CARGO_BIN_EXE_pgdyno")).parent().unwrap();
        let path = format!("{}:{path}:/usr/sbin:/sbin", program.display());
        command
            .env("PATH", path)
            .env("SLURM_CONF", self.daemons.folder().join("slurm.conf"));
    }

    /// What a program of Slurm prints; nothing where it fails.
    pub fn ask(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        if output.status.success() {
            String::from_utf8(output.stdout).unwrap()
        } else {
            String::new()
        }
    }

    /// What Slurm says of one of its things: `JobState` of `job 3`.
    pub fn field(&self, thing: &str, field: &str) -> Option<String> {
        let line = self.ask(&format!("scontrol --oneliner show {thing}"));
        let mut fields = line.split_whitespace();
        let value = fields.find_map(|word| word.strip_prefix(field)?.strip_prefix('='));
        value.map(str::to_owned)
    }

    /// Waits until a job has ended; in which state.
    #[track_caller]
    pub fn ended(&self, job: &str) -> String {
        let job = format!("job {job}");
        let mut state = String::new();
        wait_until("the end of a job", || {
            state = self.field(&job, "JobState").unwrap_or_default();
            !["", "PENDING", "CONFIGURING", "RUNNING", "COMPLETING"].contains(&state.as_str())
        });
        state
    }

    /// Processes of a job's first step on a node: which process is task `SLURM_PROCID`.
    fn tasks(&self, job: &str, node: usize) -> Vec<(u32, u32)> {
        let listed = self.ask(&format!("scontrol listpids {job}.0 n{node}"));
        let task = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [pid, _, _, _, global] = fields[..] else {
                return None;
            };
            Some((pid.parse().ok()?, global.parse().ok()?))
        };
        listed.lines().filter_map(task).collect()
    }

    /// Kills a node as a power cut does: its slurmd, its steps, and their tasks. Which tasks they were.
    #[track_caller]
    pub fn kill_node(&mut self, job: &str, node: usize) -> Vec<u32> {
        let tasks = self.tasks(job, node);
        assert!(!tasks.is_empty(), "node {node} runs nothing");
        let steps: Vec<u32> = tasks.iter().map(|(pid, _)| parent(*pid)).collect();
        self.daemons.kill(&format!("n{node}"));
        // A step that sees its task die says so; a node without power does not.
        for pid in steps.iter().chain(tasks.iter().map(|(pid, _)| pid)) {
            send_signal(*pid, Signal::Kill).unwrap();
        }
        tasks.iter().map(|(_, number)| *number).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Steps are children of none of the daemons: Slurm ends them.
        for job in self.ask("squeue --noheader --format=%A").lines() {
            self.ask(&format!("scancel {job}"));
        }
        let began = Instant::now();
        while !self.ask("squeue --noheader").is_empty() && began.elapsed() < Duration::from_secs(20)
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.unwrap().trim().parse().unwrap()
}
