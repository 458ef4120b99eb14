//! Recordings made by hand, replayed on a real PostgreSQL: planted causes are given the lateness that they
//! caused, and what a server does to a session is counted.

mod causes;
mod logs;
mod made;
mod order;
mod results;
mod wire;
