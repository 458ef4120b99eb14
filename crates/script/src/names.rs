//! Variable names and their slots.
//!
//! One [`Names`] is shared by all scripts of a trial, so that a name is looked up once, when a
//! script is parsed, and never while it runs. It holds no values: those are in [`crate::Vars`]. The
//! names of shared counters are here as well; they have nothing to do with variables' names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counter::CounterId;

/// The place of a variable in a [`crate::Vars`]: what a name becomes when a script is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// The slot as an index into tables of [`Names::len`] entries.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A name with what is known about it once and for all.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub text: Box<str>,
    /// Whether a value may be assigned to it: a script can mention names that nothing can set.
    pub valid: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Names {
    list: Arc<Vec<Name>>,
    index: HashMap<Box<str>, Slot>,
    counters: Vec<Box<str>>,
}

impl Names {
    pub fn new() -> Self {
        Self::default()
    }

    /// The slot of `name`, made when it is new. Any text is taken, also one that
    /// [`is_valid_name`] refuses: a script may mention it, and only assigning to it fails.
    pub fn intern(&mut self, name: &str) -> Slot {
        if let Some(&slot) = self.index.get(name) {
            return slot;
        }
        let slot = Slot(self.list.len() as u32);
        Arc::make_mut(&mut self.list).push(Name {
            text: name.into(),
            valid: is_valid_name(name),
        });
        self.index.insert(name.into(), slot);
        slot
    }

    /// The slot of `name`, if some script or option mentions it.
    pub fn get(&self, name: &str) -> Option<Slot> {
        self.index.get(name).copied()
    }

    /// The name that got `slot`; the empty text for a slot of another interner.
    pub fn name(&self, slot: Slot) -> &str {
        self.list.get(slot.index()).map_or("", |name| &name.text)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no name yet.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The counter of this name, made when it is new.
    pub(crate) fn counter(&mut self, name: &str) -> CounterId {
        let known = self.counters.iter().position(|its| &**its == name);
        let at = known.unwrap_or_else(|| {
            self.counters.push(name.into());
            self.counters.len() - 1
        });
        CounterId(at as u32)
    }

    /// The names of all counters, in the order in which scripts mention them.
    pub fn counters(&self) -> &[Box<str>] {
        &self.counters
    }

    pub(crate) fn shared(&self) -> Arc<Vec<Name>> {
        Arc::clone(&self.list)
    }
}

/// Whether `byte` may begin a variable's name: a letter, an underscore, or any byte outside ASCII.
pub(crate) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether `byte` may stand later in a variable's name: also a digit.
pub(crate) fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}

/// Whether a value may be assigned to a variable of this name.
pub fn is_valid_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|&first| starts_name(first))
        && bytes.iter().all(|&byte| continues_name(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_slot() {
        let mut names = Names::new();
        let a = names.intern("a");
        let b = names.intern("b");
        assert_ne!(a, b);
        assert_eq!(names.intern("a"), a);
        assert_eq!(names.get("b"), Some(b));
        assert_eq!(names.get("c"), None);
        assert_eq!((names.name(a), names.name(b)), ("a", "b"));
        assert_eq!(names.len(), 2);
        assert_eq!(names.name(Slot(7)), "");
    }

    #[test]
    fn names_begin_with_a_letter_underscore_or_non_ascii() {
        for good in ["a", "_", "A9_z", "é", "naïve", "x日本"] {
            assert!(is_valid_name(good), "{good}");
        }
        for bad in ["", "9a", "a-b", "a b", "a.b", "?column?", ":x"] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }
}
