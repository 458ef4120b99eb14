//! What a run says beside the tool's own output: lost connections and errors.

use pgdyno_measurement::{Event, Level, Message};
use pgdyno_model::Observer;
use pgdyno_output::remark;

/// Prints it on standard error.
pub struct YcsbMessages;

impl<O> Observer<O> for YcsbMessages {
    fn event(&mut self, event: &Event) {
        remark!("pgdyno: {}", event.text);
    }

    fn message(&mut self, message: &Message) {
        if message.level == Level::Error {
            remark!("pgdyno: {}", message.text);
        }
    }
}
