//! The `pgdyno` program as a user meets it, on a real PostgreSQL: command lines in, texts, exit
//! codes and tables out.

mod accounting;
mod calibrate;
mod calibrate_self;
mod checks;
#[path = "../e2e/child.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of run, which use all of it"
)]
mod child;
mod ci;
mod compare;
mod config;
mod dashboards;
mod deploy;
mod deploy_schemas;
mod disturb;
mod disturbances;
mod engine;
mod evidence;
mod exit_codes;
mod export_parquet;
mod forged;
mod forms;
mod full_disk;
mod grow;
mod help;
mod history;
mod lab;
mod load;
mod lost_server;
mod many;
mod mistakes;
mod observe;
mod observe_host;
mod own_data;
mod own_pack;
mod pack;
mod packs;
mod pgbench;
mod pgbench_tools;
mod pgio;
mod planted_secret;
mod repeat;
mod secrets;
mod server;
mod slob;
mod spec;
mod store;
mod store_verbs;
mod support;
mod sysbench;
mod team;
mod team_away;
mod terminal;
mod tpcc;
mod trust;
mod waiting;
mod workload;
mod ybio;
mod ycsb;
mod ycsb_command;
