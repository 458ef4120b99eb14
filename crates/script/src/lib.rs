//! The script language of pgbench 18: lexer, parser, evaluator, random numbers. No I/O.
//!
//! [`parse`] turns a text into a [`Script`], a flat list of [`Command`]s; names of variables become
//! [`Slot`]s of one [`Names`] shared by all scripts. A client runs it with its own [`Vars`] and
//! [`Prng`]; [`Seeds`] deals the generators as pgbench does. Whatever is wrong is said in pgbench's
//! words.
//!
//! What is meant to differ from pgbench: where it reads past the end of a text (a statement that
//! ends in a variable without newline or semicolon) or takes a boolean's bits for a number
//! (`abs(true)`), the sane thing is done; `\sleep` does not wrap round after 35 minutes;
//! expressions nest at most 400 deep, statements in reports are cut at a whole character.

mod conditions;
mod error;
mod expr;
mod hash;
mod names;
mod number;
mod parse;
pub mod prng;
mod script;
pub mod seeds;
mod shell;
mod sql;
mod statements;
mod value;
mod vars;

pub use error::{EvalError, ScriptError, ScriptErrorKind, TooManyArguments};
pub use expr::Expr;
pub use hash::{fnv1a, murmur2, permute};
pub use names::{Names, Slot, is_valid_name};
pub use parse::parse;
pub use prng::Prng;
pub use script::{Command, Op, Script};
pub use seeds::{SeedChoice, SeedError, Seeds, ThreadSeeds};
pub use shell::{ShellArgs, ShellWord, Sleep};
pub use sql::{Gset, GsetKind, MAX_PARAMETERS, Piece, Sql};
pub use value::{DebugOutput, Value};
pub use vars::{Vars, write_int};
