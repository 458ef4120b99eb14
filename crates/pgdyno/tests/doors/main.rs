//! The `pgdyno` program as a user meets it, on a real PostgreSQL: command lines in, texts, exit
//! codes and tables out.

mod compare;
mod forms;
mod lab;
mod load;
mod pack;
mod pgbench;
mod server;
mod store;
mod store_verbs;
mod support;
mod workload;
mod ycsb;
