//! The functions a script can call, by name: what they are called, how many arguments they take,
//! whose they are.

use crate::Language;

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
    Text(TextFunction),
    Draw(DrawFunction),
}

/// A function of pgdyno that makes or measures texts, or hashes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFunction {
    Text,
    Length,
    Elt,
    Lpad,
    Rpad,
    ZeroPad,
    Substring,
    Unsigned,
    Fnv1,
    Fnv1a,
    Sha1,
    YcsbKey,
    YcsbValue,
}

/// A function of pgdyno that draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawFunction {
    RandomString,
    RandomMask,
    SysbenchGaussian,
    SysbenchSpecial,
    SysbenchPareto,
    Uniform,
    Zipfian,
    ScrambledZipfian,
    Latest,
    YcsbZipfian,
    YcsbLatest,
    Hotspot,
    Exponential,
    Sequential,
    NextKey,
    Fresh,
    Acknowledged,
    Readable,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// That many, and perhaps a seed behind them, else `:default_seed`.
    AndSeed(usize),
    Between(usize, usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub name: &'static str,
    pub arity: Arity,
    pub function: Function,
    /// By argument, the first one being the lowest bit: whether it is a text, so that a variable
    /// from outside that is there is taken as it came, even if it looks like a number.
    pub texts: u8,
    /// Whether the first argument is the name of a counter, in quotes.
    pub names_counter: bool,
    pub language: Language,
}

const fn entry(name: &'static str, arity: Arity, function: Function) -> Entry {
    Entry {
        name,
        arity,
        function,
        texts: 0,
        names_counter: false,
        language: Language::Pgbench,
    }
}

const fn text(name: &'static str, arity: Arity, texts: u8, function: TextFunction) -> Entry {
    Entry {
        texts,
        language: Language::Pgdyno,
        ..entry(name, arity, Function::Text(function))
    }
}

const fn draw(name: &'static str, arity: Arity, function: DrawFunction) -> Entry {
    Entry {
        names_counter: matches!(
            function,
            DrawFunction::Sequential
                | DrawFunction::NextKey
                | DrawFunction::Fresh
                | DrawFunction::Acknowledged
                | DrawFunction::Readable
        ),
        language: Language::Pgdyno,
        ..entry(name, arity, Function::Draw(function))
    }
}

const FUNCTIONS: [Entry; 53] = {
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
        text("text", Exactly(1), 0b1, TextFunction::Text),
        text("length", Exactly(1), 0b1, TextFunction::Length),
        text("elt", Between(2, 16), 0, TextFunction::Elt),
        text("lpad", Between(2, 3), 0b101, TextFunction::Lpad),
        text("rpad", Between(2, 3), 0b101, TextFunction::Rpad),
        text("zero_pad", Exactly(2), 0, TextFunction::ZeroPad),
        text("substring", Between(2, 3), 0b1, TextFunction::Substring),
        text("substr", Between(2, 3), 0b1, TextFunction::Substring),
        text("unsigned", Exactly(1), 0, TextFunction::Unsigned),
        text("fnv1", Between(1, 2), 0b10, TextFunction::Fnv1),
        text("fnv1a", Between(1, 2), 0b10, TextFunction::Fnv1a),
        text("sha1", Between(1, 2), 0, TextFunction::Sha1),
        text("ycsb_key", Between(2, 3), 0b10, TextFunction::YcsbKey),
        text("ycsb_value", Exactly(3), 0b11, TextFunction::YcsbValue),
        draw("random_string", Exactly(1), DrawFunction::RandomString),
        Entry {
            texts: 0b1,
            ..draw("random_mask", Exactly(1), DrawFunction::RandomMask)
        },
        draw("uniform", Exactly(2), DrawFunction::Uniform),
        draw("zipfian", Between(3, 4), DrawFunction::Zipfian),
        draw(
            "scrambled_zipfian",
            Between(2, 4),
            DrawFunction::ScrambledZipfian,
        ),
        draw("latest", Between(2, 3), DrawFunction::Latest),
        draw("ycsb_zipfian", Exactly(2), DrawFunction::YcsbZipfian),
        draw("ycsb_latest", Exactly(3), DrawFunction::YcsbLatest),
        draw(
            "sysbench_gaussian",
            Exactly(3),
            DrawFunction::SysbenchGaussian,
        ),
        draw(
            "sysbench_special",
            Exactly(5),
            DrawFunction::SysbenchSpecial,
        ),
        draw("sysbench_pareto", Exactly(3), DrawFunction::SysbenchPareto),
        draw("hotspot", Exactly(4), DrawFunction::Hotspot),
        draw("exponential", Between(4, 5), DrawFunction::Exponential),
        draw("sequential", Exactly(3), DrawFunction::Sequential),
        draw("next_key", Between(2, 3), DrawFunction::NextKey),
        draw("fresh", Exactly(2), DrawFunction::Fresh),
        draw("acknowledged", Exactly(2), DrawFunction::Acknowledged),
        draw("readable", Exactly(3), DrawFunction::Readable),
    ]
};

/// The function of this name, in any case, if the language has it.
pub(crate) fn find(name: &str, language: Language) -> Option<Entry> {
    FUNCTIONS
        .into_iter()
        .filter(|entry| language.is_pgdyno() || entry.language == Language::Pgbench)
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Every name, in lower case.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter().map(|entry| entry.name)
}

impl Entry {
    /// What is wrong with a call that has `given` arguments.
    pub fn complaint(self, given: usize) -> Option<&'static str> {
        let fits = match self.arity {
            Arity::AtLeastOne if given == 0 => return Some("at least one argument expected"),
            Arity::AtLeastOne => true,
            Arity::Exactly(count) => given == count,
            Arity::AndSeed(count) => given == count || given == count + 1,
            Arity::Between(least, most) => (least..=most).contains(&given),
        };
        (!fits).then_some("unexpected number of arguments")
    }

    /// Whether a call with `given` arguments leaves its seed to `:default_seed`.
    pub fn wants_seed(self, given: usize) -> bool {
        self.arity == Arity::AndSeed(given)
    }
}
