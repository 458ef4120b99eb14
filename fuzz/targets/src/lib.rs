//! Fuzz targets: each is a function that takes any bytes and panics when something does not hold
//! that must hold for all of them. `tests/replay.rs` runs them over the corpus, `fuzz/driver` lets
//! libFuzzer look for more. See fuzz/README.md.

mod conninfo;
mod experiment;
mod histogram;
mod pack;
mod pieces;
mod prometheus;
mod script;
mod startup;
mod status;
mod store;
mod units;
mod wire;

/// A function that takes any bytes.
pub struct Target {
    /// What `make fuzz TARGET=` and the corpus call it.
    pub name: &'static str,
    /// Longer inputs find nothing that shorter ones do not.
    pub bytes_max: usize,
    /// Panics when something is wrong.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, bytes_max: usize, run: fn(&[u8])) -> Target {
    Target {
        name,
        bytes_max,
        run,
    }
}

pub const TARGETS: &[Target] = &[
    target("conninfo", 512, conninfo::run),
    target("experiment", 2048, experiment::run),
    target("histogram", 1024, histogram::run),
    target("pack", 8192, pack::run),
    target("pgio", 1024, pgdyno_compat_pgio::fuzz::conf),
    target("prometheus", 2048, prometheus::run),
    target("script", 2048, script::run),
    target("startup", 1024, startup::run),
    target("status", 2048, status::run),
    target("store", 512, store::run),
    target("units", 512, units::run),
    target("wire", 1024, wire::run),
    target("x509", 2048, pgdyno_wire::fuzz::certificate),
    target("ycsb", 1024, pgdyno_compat_ycsb::fuzz::properties),
];

/// The target of this name.
///
/// # Errors
/// There is none; the text lists them.
pub fn find(name: &str) -> Result<&'static Target, String> {
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            format!(
                "there is no target \"{name}\" (there are: {})",
                names.join(", ")
            )
        })
}
