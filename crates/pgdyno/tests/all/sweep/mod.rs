//! `pgdyno sweep` and `pgdyno restore` from end to end on a real PostgreSQL: matrices, what is
//! written down, and what is left after Ctrl-C and SIGKILL.

mod ahead;
mod capacity;
mod command_line;
mod examples;
mod interrupted;
mod points;
mod settings;
mod trials;
mod written;
