//! pgbench, to the letter.
#![allow(dead_code)] // Only initialisation is here yet, and no verb leads to it.

pub mod init;

// Until the option names it.
const _: init::PartitionMethod = init::PartitionMethod::Hash;
