//! Hints that are the same in every run: on a terminal they are told whole the first time of a day, and
//! shortly afterwards. A stamp in the user's state directory has the day.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_platform::user;
use pgdyno_report::summary::Hints;

const SECONDS_A_DAY: u64 = 86_400;

/// How they are to be told now.
pub fn wanted() -> Hints {
    let known = place().and_then(|place| fs::read_to_string(place).ok());
    match known.is_some_and(|day| day.trim() == today()) {
        true => Hints::Short,
        false => Hints::Whole,
    }
}

/// Notes that they were told. Where nothing can be written they are told whole again.
pub fn told(hints: Hints) {
    if hints == Hints::Whole
        && let Some(place) = place()
    {
        let folder = place.parent().unwrap_or(Path::new(""));
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&place, today()));
    }
}

fn place() -> Option<PathBuf> {
    user::state_home().map(|home| home.join("pgdyno/hints-told"))
}

/// The day by universal time, as a number.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    (seconds / SECONDS_A_DAY).to_string()
}
