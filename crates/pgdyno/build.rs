//! Has pgdyno built again when a shipped pack changes, a file added included.

fn main() {
    println!("cargo::rerun-if-changed=../../workloads");
}
