//! A recording as a file: what is written is read, whatever happens to the file.

mod damaged;
mod drawn;
mod ordered;
mod summed;
mod written;
