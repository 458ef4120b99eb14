//! A control plane of Kubernetes on this host: Debian's etcd, and the API server, the controller of Jobs
//! and kubectl that scripts/control-plane builds. It has no node: nothing runs its pods.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::child::wait_until;
use crate::generators::daemons::Daemons;
use crate::support::{Ran, ran};

pub struct Plane {
    daemons: Daemons,
    programs: PathBuf,
}

impl Plane {
    /// Starts an empty one.
    ///
    /// # Errors
    /// Why there can be none here.
    pub fn start() -> Result<Plane, String> {
        let programs = pgdyno_testkit::tools_dir().join("control-plane");
        if !programs.join("release").is_file() {
            let dir = programs.display();
            return Err(format!(
                "no Kubernetes here: scripts/control-plane {dir} builds it"
            ));
        }
        pgdyno_testkit::debian(&["etcd", "openssl"], &["etcd-server", "openssl"])?;
        let mut plane = Plane {
            daemons: Daemons::new(),
            programs,
        };
        plane.start_daemons();
        Ok(plane)
    }

    fn start_daemons(&mut self) {
        let dir = self.daemons.folder().display().to_string();
        let [of_etcd, of_peers, of_api] = pgdyno_testkit::free_ports();
        let key = format!("genrsa -out {dir}/accounts.key 2048");
        let mut openssl = Command::new("openssl");
        ran(openssl.args(key.split(' ')).stdin(Stdio::null())).expect(0, &[]);
        let token = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        let token = token.trim_end();
        let tokens = format!("{token},admin,1,system:masters\n");
        fs::write(format!("{dir}/tokens.csv"), tokens).unwrap();
        // The server makes its certificate itself.
        let access = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: test, cluster: {{server: \"https://127.0.0.1:{of_api}\", \
             insecure-skip-tls-verify: true}}}}]\n\
             users: [{{name: admin, user: {{token: {token}}}}}]\n\
             contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]\n"
        );
        fs::write(self.access(), access).unwrap();
        self.start_daemon(
            "etcd",
            &format!(
                "etcd --data-dir {dir}/etcd --listen-client-urls http://127.0.0.1:{of_etcd} \
                 --advertise-client-urls http://127.0.0.1:{of_etcd} \
                 --listen-peer-urls http://127.0.0.1:{of_peers}"
            ),
        );
        // Service accounts are made by a controller that does not run here.
        self.start_daemon(
            "kube-apiserver",
            &format!(
                "kube-apiserver --etcd-servers http://127.0.0.1:{of_etcd} --cert-dir {dir}/certificates \
                 --bind-address 127.0.0.1 --secure-port {of_api} --token-auth-file {dir}/tokens.csv \
                 --authorization-mode AlwaysAllow --service-cluster-ip-range 10.0.0.0/24 \
                 --service-account-issuer https://kubernetes.test --disable-admission-plugins ServiceAccount \
                 --service-account-key-file {dir}/accounts.key \
                 --service-account-signing-key-file {dir}/accounts.key"
            ),
        );
        wait_until("the API server is ready", || {
            self.sh("kubectl get --raw /readyz", Path::new("/")).code == Some(0)
        });
        let access = self.access().display().to_string();
        self.start_daemon(
            "kube-controller-manager",
            &format!(
                "kube-controller-manager --kubeconfig {access} --controllers=job-controller \
                 --leader-elect=false --secure-port=0"
            ),
        );
    }

    fn access(&self) -> PathBuf {
        self.daemons.folder().join("kubeconfig")
    }

    fn start_daemon(&mut self, name: &str, line: &str) {
        let command = self.command(line);
        self.daemons.start(name, command);
    }

    /// A command of a shell that finds kubectl, which asks this one.
    fn command(&self, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec {line}")])
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("KUBECONFIG", self.access())
            .stdin(Stdio::null());
        command
    }

    /// A line that a user types in a folder.
    pub fn sh(&self, line: &str, folder: &Path) -> Ran {
        ran(self.command(line).current_dir(folder))
    }

    /// `kubectl get WHAT`, as JSON.
    #[track_caller]
    pub fn get(&self, what: &str) -> Value {
        let ran = self.sh(&format!("kubectl get {what} -o json"), Path::new("/"));
        serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap()
    }

    /// Says what the kubelet of a node says of a pod that has ended.
    #[track_caller]
    pub fn pod_ended(&self, pod: &Value, phase: &str) {
        let meta = &pod["metadata"];
        let (space, name) = (meta["namespace"].as_str(), meta["name"].as_str());
        let line = format!(
            "kubectl patch pod {} --namespace={} --subresource=status --type=merge \
             -p '{{\"status\":{{\"phase\":\"{phase}\"}}}}'",
            name.unwrap(),
            space.unwrap()
        );
        self.sh(&line, Path::new("/")).expect(0, &[]);
    }
}
