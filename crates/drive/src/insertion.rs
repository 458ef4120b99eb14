//! Commands put into a parsed script, whose jumps then lead where they did.

use pgdyno_script::{Command, Op, Script};

/// Puts each command before the one that has its place now; the places are in order, and may be the number
/// of commands. What leads to a place leads to what was put there first.
pub(crate) fn insert(script: &mut Script, added: Vec<(usize, Command)>) {
    let places: Vec<usize> = added.iter().map(|(place, _)| *place).collect();
    let before = |to: usize| places.iter().filter(|place| **place < to).count();
    for command in &mut script.commands {
        match &mut command.op {
            Op::If { on_false, .. } => *on_false += before(*on_false),
            Op::Elif { on_false, end, .. } => {
                *on_false += before(*on_false);
                *end += before(*end);
            }
            Op::Else { end } => *end += before(*end),
            Op::For(its) => its.end += before(its.end),
            // It names a command, not a place to go on.
            Op::EndFor { begin } => *begin += before(*begin + 1),
            _ => {}
        }
    }
    let line_at = |place: usize| {
        let next = script.commands.get(place).or(script.commands.last());
        next.map_or(1, |command| command.line)
    };
    let lines: Vec<u32> = places.iter().map(|place| line_at(*place)).collect();
    // From behind, so that the places before stay what they are.
    for ((place, mut command), line) in added.into_iter().zip(lines).rev() {
        command.line = line;
        script.commands.insert(place, command);
    }
}
