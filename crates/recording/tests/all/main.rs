//! A recording as a file: what is written is read, whatever happens to the file. And from the wire: what real
//! sessions say to a real PostgreSQL is what is in it.

mod damaged;
mod drawn;
mod ordered;
mod summed;
mod wire;
mod written;
