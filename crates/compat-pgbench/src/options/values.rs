//! Values of options: what they must be, and what is said when they are not.

use std::time::Duration;

use pgdyno_spec::QueryMode;

use crate::c_numbers::{atof, option_int};
use crate::init::PartitionMethod;
use crate::messages::{Kind, Stop};
use pgdyno_spec::text::PERCENTILES;

/// A whole number from 1; `name` names the option in the complaint.
pub fn count(value: &str, name: &str) -> Result<u32, Stop> {
    option_int(value, name, 1, i32::MAX).map(i32::unsigned_abs)
}

/// A number greater than zero; `what` names it in the complaint.
pub fn positive(value: &str, what: &str) -> Result<f64, Stop> {
    match atof(value) {
        number if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(Stop::fatal(format!("invalid {what}: \"{value}\""))),
    }
}

pub fn check_init_steps(steps: &str) -> Result<(), Stop> {
    if steps.is_empty() {
        return Err(Stop::fatal("no initialization steps specified"));
    }
    match steps.chars().find(|step| !"dtgGvpf ".contains(*step)) {
        None => Ok(()),
        Some(step) => Err(
            Stop::fatal(format!("unrecognized initialization step \"{step}\""))
                .and(Kind::Detail, "Allowed step characters are: \"dtgGvpf\"."),
        ),
    }
}

pub fn partition_method(value: &str) -> Result<PartitionMethod, Stop> {
    match value.to_ascii_lowercase().as_str() {
        "range" => Ok(PartitionMethod::Range),
        "hash" => Ok(PartitionMethod::Hash),
        _ => Err(Stop::fatal(format!(
            "invalid partition method, expecting \"range\" or \"hash\", got: \"{value}\""
        ))),
    }
}

pub fn query_mode(value: &str) -> Result<QueryMode, Stop> {
    [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared]
        .into_iter()
        .find(|mode| mode.name() == value)
        .ok_or_else(|| Stop::fatal(format!("invalid query mode (-M): \"{value}\"")))
}

/// `--percentiles`: numbers with commas between them; the usual ones when there is none.
pub fn percentiles(list: &str) -> Result<Vec<f64>, Stop> {
    if list.is_empty() {
        return Ok(PERCENTILES.to_vec());
    }
    let read = |text: &str| match text.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        _ => Err(Stop::fatal(format!("invalid percentile: \"{text}\"")).and(
            Kind::Hint,
            "Percentiles are numbers between 0 and 100, separated by commas: 50,99,99.9.",
        )),
    };
    list.split(',').map(read).collect()
}

/// `--warmup`: seconds, or a number with a unit.
pub fn warmup(value: &str) -> Result<Duration, Stop> {
    pgdyno_spec::duration::parse(value).map_err(|why| {
        Stop::fatal(format!("invalid warm-up time: \"{value}\"")).and(Kind::Hint, why)
    })
}
