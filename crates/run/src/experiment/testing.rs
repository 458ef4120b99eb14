//! For tests of experiments that pgdyno makes itself.

use std::path::Path;

use super::plan::Plan;
use super::reader;
use super::toml_text::Source;
use pgdyno_spec::{TargetSpec, experiment::Commented};

/// The plan of an experiment, whose text must read back as the same experiment.
pub fn planned(made: &Commented) -> Plan {
    let text = made.to_toml();
    let source = Source {
        name: "made",
        text: &text,
    };
    let read = reader::read(source, "", Path::new("")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(read, made.experiment, "{text}");
    // Comments are for people alone.
    let bare = made.experiment.to_toml();
    let source = Source {
        name: "bare",
        text: &bare,
    };
    assert_eq!(reader::read(source, "", Path::new("")).as_ref(), Ok(&read));
    let plan = Plan::new(read, &TargetSpec::default(), 1);
    plan.unwrap_or_else(|e| panic!("{e}\n{text}"))
}
