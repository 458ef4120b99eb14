//! Several pgdynos that measure one trial together: what they make of it, what is refused, and what
//! becomes of it when one of them is late, stopped, or killed; under Slurm, MPI and Kubernetes. Each is a process of its own, as in
//! life; they meet in a notebook in a file or on a server.
//!
//! What takes minutes: `make test-long PART=generators`. `PGDYNO_SEED=7` draws its moments again.

mod alone;
mod away;
// It takes longest, mostly waiting: tests begin in the order of their names.
mod a_dead_loader;
mod a_dead_one;
mod crew;
mod daemons;
mod ended;
mod filled;
mod joint;
mod keys;
mod killed;
mod killed_filling;
mod kubernetes;
mod late;
mod lines;
mod many;
mod mpi;
mod refused;
mod slurm;
