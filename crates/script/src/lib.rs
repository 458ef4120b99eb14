//! The script language of pgbench 18, and pgdyno's, which has more: lexer, parser, evaluator, random
//! numbers. No I/O.
//!
//! [`Language::parse`] turns a text into a [`Script`], a flat list of [`Command`]s; names of
//! variables become [`Slot`]s of one [`Names`] shared by all scripts. A client runs it with its own
//! [`Vars`], [`Prng`] and [`Draws`]; [`Seeds`] deals the generators as pgbench does, [`Counters`]
//! are what all clients share. Whatever is wrong is said in pgbench's words.
//!
//! What is meant to differ from pgbench: where it reads past the end of a text (a statement that
//! ends in a variable without newline or semicolon), the sane thing is done; `\sleep` does not
//! wrap round after 35 minutes; expressions nest at most 400 deep, statements in reports are cut at a whole character.

mod computing;
mod conditions;
mod counter;
mod digits;
mod draws;
mod error;
mod expr;
mod hash;
mod language;
mod loops;
mod names;
mod number;
mod observe;
mod octets;
mod parse;
pub mod prng;
mod script;
pub mod seeds;
mod shell;
mod sql;
mod statements;
pub mod suggest;
pub mod sysbench;
mod value;
mod vars;
mod ycsb;
mod zipf;

pub use computing::Computing;
pub use conditions::leads_to_elif;
pub use counter::{Counter, Counters, WINDOW};
pub use digits::{INT_ROOM, put_int, write_int};
pub use draws::{Draws, SCRAMBLED_ITEMS, YCSB_THETA};
pub use error::{EvalError, ScriptError, ScriptErrorKind, TooManyArguments};
pub use expr::Expr;
pub use hash::{Octets, fnv1_bytes, fnv1a, fnv1a_bytes, murmur2, permute};
pub use language::Language;
pub use loops::{For, MAX_STEPS};
pub use names::{Names, Slot, is_valid_name};
pub use observe::{Observation, Observe, Operand};
pub use octets::{escape, octets};
pub use parse::parse;
pub use prng::Prng;
pub use script::{Command, Op, Script};
pub use seeds::{SeedChoice, SeedError, Seeds, ThreadSeeds};
pub use shell::{ShellArgs, ShellWord, Sleep};
pub use sql::{Gset, GsetKind, MAX_PARAMETERS, Piece, Sql, Units};
pub use statements::{Scanner, Stop};
pub use value::{DebugOutput, Text, Value};
pub use vars::{MAX_TEXT_BYTES, Vars};
pub use ycsb::KeyFormat;
pub use zipf::{Gray, Zipf, zeta};
