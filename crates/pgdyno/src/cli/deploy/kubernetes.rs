//! `pgdyno deploy kubernetes`: an Indexed Job of generators, and a Job that loads their tables before.

use clap::Args;

use super::started::Started;
use super::{Generators, label};
use pgdyno_spec::{Exit, Failure};

const SECRETS: &str = "they are in the Secret: command lines of pods are readable by others";

/// What the Secret must have.
const NEEDED: [&str; 2] = ["PGDYNO_STORE", "PGHOST"];

/// What it may have besides.
const OPTIONAL: [&str; 6] = [
    "PGPORT",
    "PGUSER",
    "PGPASSWORD",
    "PGDATABASE",
    "PGSSLMODE",
    "PGSSLROOTCERT",
];

/// Where a pod may write: its home, and its folder for temporary files.
const HOME: &str = "/home/pgdyno";

/// The pods, and what runs in them.
#[derive(Debug, Args)]
#[command(
    override_usage = "pgdyno deploy kubernetes --image IMAGE --generators N -- COMMAND…",
    after_help = "\
Examples:
  pgdyno deploy kubernetes --generators 16 --image registry.example/pgdyno:1 \\
      -- run tpcb --param scale=1000 -c 4000 -R 200000 -T 5m > pgdyno.yaml
  kubectl create secret generic pgdyno-urls --from-env-file=pgdyno.env
  kubectl apply -f pgdyno.yaml -l app.kubernetes.io/component=load
  kubectl wait --for=condition=complete --timeout=24h job/pgdyno-load
  kubectl apply -f pgdyno.yaml -l app.kubernetes.io/component=generators

  pgdyno deploy kubernetes --generators 4 --image pgdyno:1 --cpu 4 --memory 2Gi --namespace bench \\
      -- run tpcb -c 64 -T 5m --join-deadline 10m        where nodes are slow to come

pgdyno.env has a line NAME=VALUE for each of PGDYNO_STORE (the notebook, as a whole URL), PGHOST, and
as needed PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE, PGSSLROOTCERT.
Nothing is started: pgdyno help scale-out, which also says how the image is made."
)]
pub struct KubernetesArgs {
    /// The image that has pgdyno (a package: *.oci.tar), and the files that the command names
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    image: String,

    /// Name of the Job; the Job that loads is NAME-load
    #[arg(long, value_name = "NAME", value_parser = label, default_value = "pgdyno")]
    name: String,

    /// Namespace of the Jobs and the Secret [default: the one that kubectl has]
    #[arg(long, value_name = "NAMESPACE", value_parser = label)]
    namespace: Option<String>,

    /// CPUs of each generator, both requested and the limit: 2, 500m
    #[arg(long, value_name = "CPUS", value_parser = cpus, default_value = "2")]
    cpu: String,

    /// Memory of each generator, both requested and the limit
    #[arg(long, value_name = "SIZE", value_parser = memory, default_value = "1Gi")]
    memory: String,

    /// The Secret that has what names the notebook and the server
    #[arg(long, value_name = "NAME", value_parser = label, default_value = "pgdyno-urls")]
    secret: String,

    /// What is started.
    #[command(flatten)]
    generators: Generators,
}

impl KubernetesArgs {
    /// The manifests.
    ///
    /// # Errors
    /// The command cannot be started so; a name made of `--name` is too long.
    pub fn manifests(&self) -> Result<String, Failure> {
        let started = Started::new(&self.generators, SECRETS)?;
        let last = self.generators.generators - 1;
        self.check_length(&format!("-{last}"))?;
        let mut text = self.how_to(started.load.is_some());
        if let Some(load) = &started.load {
            self.check_length("-load")?;
            text += &self.load_job(&escaped(load));
        }
        Ok(text + &self.generators_job(&started))
    }

    /// A pod's host name is that of its Job and its index: a label, too.
    fn check_length(&self, behind: &str) -> Result<(), Failure> {
        let whole = format!("{}{behind}", self.name);
        match label(&whole) {
            Ok(_) => Ok(()),
            Err(_) => {
                let text = format!("--name {}: {whole} has more than 63 letters", self.name);
                Err(Failure::with(Exit::Usage, text).hint("take a shorter one: --name pgdyno"))
            }
        }
    }

    fn how_to(&self, loads: bool) -> String {
        let Self { name, secret, .. } = self;
        let generators = self.generators.generators;
        let space = self.namespace.as_ref();
        let space = space.map_or(String::new(), |space| format!(" --namespace={space}"));
        let apply = format!("kubectl apply{space} -f FILE -l app.kubernetes.io/component");
        let load = if !loads {
            String::new()
        } else {
            format!(
                "\
        #   {apply}=load
        #   kubectl wait{space} --for=condition=complete --timeout=24h job/{name}-load
        "
            )
        };
        format!(
            "\
# {generators} pgdynos measure together (pgdyno help scale-out). FILE is this file; pgdyno.env has lines such as
# PGDYNO_STORE=postgresql://… and PGHOST=…, and goes into the Secret that names the notebook and the server:
#   kubectl create secret generic {secret}{space} --from-env-file=pgdyno.env
{load}#   {apply}=generators
#   kubectl logs{space} --prefix --max-log-requests={generators} --tail=-1 -l app.kubernetes.io/instance={name}
# To measure again, delete the Jobs first: kubectl delete{space} --ignore-not-found job {name} {name}-load
"
        )
    }

    fn load_job(&self, words: &[String]) -> String {
        let (metadata, pod) = (self.metadata("-load", "load"), self.pod("load", words));
        // A load goes on where it stopped.
        format!(
            "\
---
apiVersion: batch/v1
kind: Job
{metadata}spec:
  completions: 1
  parallelism: 1
  backoffLimit: 3
{pod}"
        )
    }

    fn generators_job(&self, started: &Started) -> String {
        let generators = self.generators.generators;
        let mut words = escaped(&started.verb);
        words.extend(["--generators".to_owned(), generators.to_string()]);
        words.extend(["--join".to_owned(), "$(PGDYNO_JOIN)".to_owned()]);
        words.extend(escaped(&started.options));
        let metadata = self.metadata("", "generators");
        let pod = self.pod("generators", &words);
        format!(
            "\
---
apiVersion: batch/v1
kind: Job
{metadata}spec:
  completionMode: Indexed
  completions: {generators}
  parallelism: {generators}
  # A generator that died cannot come back; the others go on.
  backoffLimitPerIndex: 0
{pod}\
        # What the generators of this Job join by. Kubernetes sets JOB_COMPLETION_INDEX itself.
        - name: PGDYNO_JOIN
          valueFrom:
            fieldRef:
              fieldPath: \"metadata.labels['batch.kubernetes.io/controller-uid']\"
"
        )
    }

    fn metadata(&self, behind: &str, component: &str) -> String {
        let name = &self.name;
        let space = self.namespace.as_ref();
        let space = space.map_or(String::new(), |n| format!("  namespace: {}\n", string(n)));
        let (whole, labels) = (format!("{name}{behind}"), self.labels("    ", component));
        format!(
            "metadata:\n  name: {}\n{space}  labels:\n{labels}",
            string(&whole)
        )
    }

    fn labels(&self, indent: &str, component: &str) -> String {
        let name = string(&self.name);
        format!(
            "\
{indent}app.kubernetes.io/name: pgdyno
{indent}app.kubernetes.io/instance: {name}
{indent}app.kubernetes.io/component: {component}
"
        )
    }

    /// The pod's template. Its environment comes last, so that more of it can follow.
    fn pod(&self, component: &str, words: &[String]) -> String {
        let (image, args) = (string(&self.image), list(words));
        let (cpu, memory) = (string(&self.cpu), string(&self.memory));
        let labels = self.labels("        ", component);
        let selected = self.labels("            ", component);
        let needed = NEEDED.iter().map(|name| self.of_secret(name, false));
        let optional = OPTIONAL.iter().map(|name| self.of_secret(name, true));
        let environment: String = needed.chain(optional).collect();
        format!(
            "  template:
    metadata:
      labels:
{labels}    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 120
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
{selected}      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      volumes:
      # Rows wait here while the notebook is away, as long as the pod lives.
      - name: home
        emptyDir: {{}}
      containers:
      - name: pgdyno
        image: {image}
        command: [\"pgdyno\"]
        args: {args}
        resources:
          requests:
            cpu: {cpu}
            memory: {memory}
          limits:
            cpu: {cpu}
            memory: {memory}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [\"ALL\"]
        volumeMounts:
        - name: home
          mountPath: {HOME}
        env:
        - name: HOME
          value: {HOME}
        - name: TMPDIR
          value: {HOME}
{environment}"
        )
    }

    fn of_secret(&self, variable: &str, is_optional: bool) -> String {
        let secret = string(&self.secret);
        let optional = if is_optional {
            "              optional: true\n"
        } else {
            ""
        };
        format!(
            "        - name: {variable}
          valueFrom:
            secretKeyRef:
              name: {secret}
              key: {variable}
{optional}"
        )
    }
}

/// As Kubernetes gives them on: it replaces `$(NAME)` in arguments, and `$$` is one `$`.
fn escaped(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.replace('$', "$$")).collect()
}

/// A list in YAML's flow style, which is JSON too.
fn list(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| string(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A string of YAML and JSON. What YAML takes for a line break or does not print is escaped.
fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\u{2028}' | '\u{2029}' | '\u{feff}' => quoted += &format!("\\u{:04x}", c as u32),
            c if c.is_control() => quoted += &format!("\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn image(text: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.chars().all(is_inner) {
        Ok(text.to_owned())
    } else {
        Err("an image is named like registry.example/pgdyno:1".to_owned())
    }
}

fn cpus(text: &str) -> Result<String, String> {
    let allowed = "CPUs are a number such as 2, 0.5 or 500m";
    quantity(text, &["", "m"], allowed)
}

fn memory(text: &str) -> Result<String, String> {
    let units = ["Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T", ""];
    quantity(text, &units, "memory is a size such as 1Gi or 512Mi")
}

/// A number above zero, with one of these units.
fn quantity(text: &str, units: &[&str], allowed: &str) -> Result<String, String> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse::<f64>().is_ok_and(|number| number > 0.0);
    if number && units.contains(&unit) {
        Ok(text.to_owned())
    } else {
        Err(allowed.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_the_same_in_yaml_json_and_the_pod() {
        for word in ["tpcb", "a \"b\" \\c", "é: #", "\u{85}\u{2028}\t", "- x", ""] {
            let read: String = serde_json::from_str(&string(word)).unwrap();
            assert_eq!(read, word);
        }
        assert_eq!(string("\u{85}\u{2028}"), r#""\u0085\u2028""#);
        let words = ["$(HOME)".to_owned(), "a$b".to_owned()];
        assert_eq!(list(&escaped(&words)), r#"["$$(HOME)", "a$$b"]"#);
    }

    #[test]
    fn sizes_are_those_that_kubernetes_reads() {
        for right in ["2", "0.5", "500m"] {
            assert_eq!(cpus(right).as_deref(), Ok(right));
        }
        for wrong in ["", "0", "-1", "2x", "m", "1.2.3", "2 "] {
            assert!(cpus(wrong).unwrap_err().contains("500m"), "{wrong:?}");
        }
        assert_eq!(memory("512Mi").as_deref(), Ok("512Mi"));
        for wrong in ["1GiB", "0Gi", "1m", "Gi"] {
            assert!(memory(wrong).unwrap_err().contains("1Gi"), "{wrong:?}");
        }
        for wrong in ["", "-x", "a b", "a\nb", "a\"b"] {
            assert!(image(wrong).unwrap_err().contains("registry"), "{wrong:?}");
        }
        let long = "registry.example:5000/a/pgdyno@sha256:0123";
        assert_eq!(image(long).as_deref(), Ok(long));
    }
}
