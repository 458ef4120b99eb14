//! The language: what is read, evaluated, drawn and refused.
//! One program: each linked program costs seconds to build.

mod draws;
mod errors;
mod language;
mod robustness;
mod scripts;
mod values;
