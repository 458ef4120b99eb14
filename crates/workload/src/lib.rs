//! The workload: packs and script files, what the user chose of them, and their tables.

pub mod contention;
mod counting;
mod expression;
pub mod filling;
pub mod folder;
pub mod loader;
pub mod manifest;
pub mod mark;
pub mod mix;
pub mod needs;
pub mod pack;
pub mod params;
pub mod pgbench_tables;
pub mod procedures;
pub mod recipe;
pub mod refusal;
pub mod resolve;
pub mod scale;
pub mod script_files;
pub mod shipped;
pub mod spread;
pub mod sql_words;
pub mod state;
pub mod statements;
pub mod stop;
pub mod table_params;
pub mod template;
