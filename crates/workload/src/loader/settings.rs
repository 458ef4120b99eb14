//! What makes loading bearable on a product: several nodes, settings of the session.

use super::load::Load;
use crate::recipe::Recipe;
use crate::spread::Spread;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{Failure, text};

impl Load<'_, '_, '_, '_> {
    /// What makes loading bearable on this product; a setting that the server does not take is
    /// left alone.
    pub(super) fn settings(&mut self, recipe: &Recipe) -> Result<(), Failure> {
        if recipe.tables.is_empty() {
            return Ok(());
        }
        if let Some(why) = self.product.takes_no_copy() {
            self.means.push(format!("rows by INSERT: {why}"));
        }
        if let Some(rows) = self.facts().filling.batch_rows() {
            self.means
                .push(format!("committed every {} rows", text::count(rows)));
            // Ranges have connections of their own.
            let spreads = self.resume.is_none() && recipe.tables.iter().any(|t| !t.by_ranges);
            let endpoints = if spreads { self.watch.endpoints } else { &[] };
            let (spread, left_out) = Spread::connect(endpoints);
            for node in left_out {
                self.means.push(format!("not filled through {node}"));
            }
            if let Some(spread) = &spread {
                let nodes = spread.nodes();
                self.means.push(format!("filled through {nodes} nodes"));
            }
            self.spread = spread;
        }
        for setting in self.product.load_settings(self.resume.is_some()) {
            let (name, value) = (setting.name, setting.value);
            let applied = self.session.apply_settings(&[(name, value)]);
            let done = applied.and_then(|()| match &mut self.spread {
                Some(spread) => spread.apply_settings(&[(name, value)]),
                None => Ok(()),
            });
            match done {
                Ok(()) => self
                    .means
                    .push(format!("{name} = {value}: {}", setting.why)),
                Err(e) if self.session.is_broken() => {
                    return Err(trouble::server(&e, "could not prepare the session"));
                }
                Err(e) => {
                    let why = e
                        .server()
                        .map_or_else(String::new, |e| e.message().to_owned());
                    self.means.push(format!(
                        "without {name} = {value}, which the server does not take: {why}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Sets what the server needs to split tables, if it is not so; it stays.
    pub(super) fn allow_splits(&mut self) -> Result<(), Failure> {
        let Some(setting) = self.product.splits_need() else {
            return Ok(());
        };
        // The server says to a role that may not see it what the split needs.
        let value = match admin::value(self.session, setting.query) {
            Err(e) if self.session.is_broken() => {
                return Err(trouble::server(
                    &e,
                    "could not look whether tables can be split",
                ));
            }
            value => value.ok().flatten(),
        };
        if value.is_none_or(|value| value == setting.value) {
            return Ok(());
        }
        let (name, value, why) = (setting.name, setting.value, setting.why);
        admin::run(self.session, setting.set).map_err(|e| {
            trouble::server(&e, "could not prepare the server for splits").hint(format!(
                "{why}: have an administrator send {}, or split nothing",
                setting.set
            ))
        })?;
        self.means.push(format!(
            "{name} = {value} for the whole server, which stays: {why}"
        ));
        Ok(())
    }

    /// The session goes on as the user wanted it.
    pub(super) fn reset_settings(&mut self) {
        for setting in self.product.load_settings(self.resume.is_some()) {
            // What was not set needs no reset, and a lost session none either.
            let _ = self.session.reset_settings(&[setting.name]);
        }
    }
}
