//! The functions a script can call, by name: what they are called, how many arguments they take.

/// A function called by name. What looks like an operator is in [`super::code::Code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// That many, and perhaps a seed behind them, else `:default_seed`.
    AndSeed(usize),
}

/// A function's entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub name: &'static str,
    pub arity: Arity,
    pub function: Function,
}

const fn entry(name: &'static str, arity: Arity, function: Function) -> Entry {
    Entry {
        name,
        arity,
        function,
    }
}

const FUNCTIONS: [Entry; 21] = {
    use Arity::*;
    [
        entry("mod", Exactly(2), Function::Mod),
        entry("abs", Exactly(1), Function::Abs),
        entry("least", AtLeastOne, Function::Least),
        entry("greatest", AtLeastOne, Function::Greatest),
        entry("debug", Exactly(1), Function::Debug),
        entry("pi", Exactly(0), Function::Pi),
        entry("sqrt", Exactly(1), Function::Sqrt),
        entry("ln", Exactly(1), Function::Ln),
        entry("exp", Exactly(1), Function::Exp),
        entry("int", Exactly(1), Function::Int),
        entry("double", Exactly(1), Function::Double),
        entry("random", Exactly(2), Function::Random),
        entry("random_gaussian", Exactly(3), Function::RandomGaussian),
        entry(
            "random_exponential",
            Exactly(3),
            Function::RandomExponential,
        ),
        entry("random_zipfian", Exactly(3), Function::RandomZipfian),
        entry("pow", Exactly(2), Function::Power),
        entry("power", Exactly(2), Function::Power),
        entry("hash", AndSeed(1), Function::HashMurmur2),
        entry("hash_murmur2", AndSeed(1), Function::HashMurmur2),
        entry("hash_fnv1a", AndSeed(1), Function::HashFnv1a),
        entry("permute", AndSeed(2), Function::Permute),
    ]
};

/// The function of this name, in any case.
pub(crate) fn find(name: &str) -> Option<Entry> {
    FUNCTIONS
        .into_iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}

impl Entry {
    /// What is wrong with a call that has `given` arguments.
    pub fn complaint(self, given: usize) -> Option<&'static str> {
        let fits = match self.arity {
            Arity::AtLeastOne if given == 0 => return Some("at least one argument expected"),
            Arity::AtLeastOne => true,
            Arity::Exactly(count) => given == count,
            Arity::AndSeed(count) => given == count || given == count + 1,
        };
        (!fits).then_some("unexpected number of arguments")
    }

    /// Whether a call with `given` arguments leaves its seed to `:default_seed`.
    pub fn wants_seed(self, given: usize) -> bool {
        self.arity == Arity::AndSeed(given)
    }
}
