//! What evaluating an expression reads and changes.

use crate::{DebugOutput, Draws, Prng, Vars};

/// What steps work with besides the stack.
pub(super) struct World<'a> {
    pub literals: &'a [Box<str>],
    pub vars: &'a mut Vars,
    pub prng: &'a mut Prng,
    pub draws: &'a mut Draws,
    pub debug: &'a mut dyn FnMut(DebugOutput),
}
