//! The axes. A new one is a file here and a line in [`ALL`].

mod connections;
mod experiment;
mod generators;
mod length;
mod load;
mod pipeline;
mod rows;
mod scripts;
mod statements;
mod threads;
mod trials;
mod width;

use super::axis::GrowthAxis;

/// All of them, in the order of the page.
pub const ALL: &[&GrowthAxis] = &[
    &connections::CLOSED,
    &connections::BY_RATE,
    &connections::STUB_CLOSED,
    &connections::STUB_BY_RATE,
    &threads::AXIS,
    &statements::AXIS,
    &scripts::RUN,
    &scripts::KEPT,
    &rows::AXIS,
    &width::AXIS,
    &pipeline::AXIS,
    &length::RUN,
    &length::KEPT,
    &length::SHOW,
    &length::PAGE,
    &experiment::POINTS,
    &experiment::REPEATS,
    &trials::NEWEST,
    &trials::LIST,
    &trials::OPEN,
    &trials::COMPARE,
    &generators::AXIS,
    &load::LOAD,
    &load::GROW,
];
