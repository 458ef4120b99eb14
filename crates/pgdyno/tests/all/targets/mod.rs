//! pgdyno on products that no test machine has: what a real CockroachDB answered once is played
//! back, byte for byte (`recorded/README.md`); what rests on documentation alone is held to the
//! statements that the documentation asks for (`documented`).

mod cases;
mod clusters;
mod documented;
mod documented_products;
mod documented_sysbench;
mod joining;
mod masks;
mod message;
mod others;
mod products;
mod recorder;
mod recording;
mod replay;
mod sent;
mod standby;
