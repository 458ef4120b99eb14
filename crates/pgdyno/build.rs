//! Has pgdyno built again when a shipped pack changes, a file added included, and linked where it is loaded.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=../../workloads");
    println!("cargo::rerun-if-changed=build.rs");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_static = of_target("FEATURE").split(',').any(|it| it == "crt-static");
    // Else each start writes 170,000 addresses of vtables: three quarters of the time of a short command.
    if of_target("OS") == "linux" && of_target("ENV") == "gnu" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
