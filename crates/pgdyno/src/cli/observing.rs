//! From what is to be observed, as it was asked for, to what watches: checked, and listening.

use std::collections::BTreeSet;
use std::sync::Arc;

use pgdyno_spec::{Exit, Failure, ObserveSpec};

use pgdyno_database::locate::Device;
use pgdyno_observe::ObserveOptions;
use pgdyno_observe::exposition::Format;
use pgdyno_observe::prometheus_export::PrometheusExport;
use pgdyno_observe::scrape::Scrape;
use pgdyno_output::Verbosity;
use pgdyno_run::experiment::nearest;
use pgdyno_serve::metrics::{self, Exposed};

/// The same as a trial takes it; from here on others can see it.
///
/// # Errors
/// Something cannot be observed as it was asked for, or the address cannot be listened at.
pub fn observing(spec: &ObserveSpec, verbosity: Verbosity) -> Result<ObserveOptions, Failure> {
    let mut names = BTreeSet::new();
    let mut scrapes = Vec::new();
    for (index, address) in spec.scrape.iter().enumerate() {
        // The text may have a password: it is not repeated.
        let wrong = |why: String| {
            let which = match spec.scrape.len() {
                1 => "--scrape".to_owned(),
                _ => format!("--scrape number {}", index + 1),
            };
            Failure::with(Exit::Usage, format!("{which}: {why}"))
                .hint("--scrape node=http://db1:9100/metrics,node_load1,node_disk_*")
        };
        let scrape: Scrape = address.secret().parse().map_err(wrong)?;
        scrape.check().map_err(wrong)?;
        if !names.insert(scrape.name().to_owned()) {
            return Err(wrong(format!("the name {} is used twice", scrape.name())));
        }
        scrapes.push(scrape);
    }
    for scrape in &scrapes {
        // One that answers late or with an error may do better while the trial runs; if nothing
        // listens, the address is wrong.
        scrape.reach().map_err(|why| {
            Failure::new(format!("--scrape {}: {why}", scrape.name()))
                .hint("start that endpoint, or leave out this --scrape")
        })?;
    }
    if let Err(unknown) = pgdyno_observe::check(&spec.instruments) {
        let text = format!("--observe: unknown instrument or group {}", unknown.name);
        let failure = Failure::with(Exit::Usage, text);
        let known = unknown.known.iter().map(String::as_str);
        return Err(match nearest(&unknown.name, known) {
            Some(word) => failure.hint(format!("did you mean {word}?")),
            None => failure,
        }
        .hint(format!("known: {}", unknown.known.join(", "))));
    }
    for name in &spec.disk {
        Device::named(name).map_err(|why| Failure::with(Exit::Usage, format!("--disk: {why}")))?;
    }
    let export = match spec.metrics_listen {
        None => None,
        Some(at) => {
            let export = Arc::<PrometheusExport>::default();
            let served = export.clone();
            let exposed = move |accept: &str| {
                let format = Format::accepted(accept);
                Exposed {
                    content_type: format.content_type(),
                    text: served.text(format),
                }
            };
            let at = metrics::serve(at, exposed).map_err(|e| {
                Failure::new(format!("--metrics-listen: cannot listen at {at}: {e}"))
                    .hint("another port, or end what listens there")
            })?;
            if !verbosity.quiet {
                pgdyno_output::remark!("pgdyno: metrics at http://{at}/metrics");
            }
            Some(export)
        }
    };
    Ok(ObserveOptions {
        spec: spec.clone(),
        scrapes,
        prometheus_export: export,
    })
}
