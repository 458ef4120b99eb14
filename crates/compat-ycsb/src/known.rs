//! Which properties there are. Both tools ignore what they do not know; a misspelt property measures
//! something else, so it is a warning.

use pgdyno_run::experiment::nearest;

use super::YcsbTool;
use super::properties::Properties;

/// What becomes of a property.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PropertyFate {
    /// `plan` reads it, or it makes no difference.
    Used,
    /// It would make a difference, and does not here.
    Without(&'static str),
}

use PropertyFate::{Used, Without};

const JAVA_ONLY: &str = "pgdyno is no Java program";

/// Those of both tools: CoreWorkload's. (Facts: CoreWorkload and Client of YCSB, go-ycsb's prop.)
const CORE: &[(&str, PropertyFate)] = &[
    ("workload", Used),
    ("db", Used),
    ("table", Used),
    ("fieldcount", Used),
    ("fieldlength", Used),
    ("fieldlengthdistribution", Used),
    ("fieldlengthhistogram", Used),
    ("readallfields", Used),
    ("writeallfields", Used),
    ("dataintegrity", Used),
    ("readproportion", Used),
    ("updateproportion", Used),
    ("insertproportion", Used),
    ("scanproportion", Used),
    ("readmodifywriteproportion", Used),
    ("requestdistribution", Used),
    ("zeropadding", Used),
    ("minscanlength", Used),
    ("maxscanlength", Used),
    ("scanlengthdistribution", Used),
    ("insertorder", Used),
    ("hotspotdatafraction", Used),
    ("hotspotopnfraction", Used),
    ("exponential.percentile", Used),
    ("exponential.frac", Used),
    ("core_workload_insertion_retry_limit", Used),
    ("core_workload_insertion_retry_interval", Used),
    ("recordcount", Used),
    ("operationcount", Used),
    ("insertstart", Used),
    ("insertcount", Used),
    ("threadcount", Used),
    ("target", Used),
    ("maxexecutiontime", Used),
    ("dotransactions", Used),
    ("measurementtype", Used),
    ("measurement.interval", Used),
    ("status", Used),
    ("label", Used),
    ("exportfile", Used),
    ("pgdyno.store", Used),
];

const JAVA: &[(&str, PropertyFate)] = &[
    ("fieldnameprefix", Used),
    ("minfieldlength", Used),
    ("readallfieldsbyname", Used),
    ("core_workload_insertion_keep_going_on_error", Used),
    ("status.interval", Used),
    ("exporter", Used),
    ("hdrhistogram.percentiles", Used),
    ("hdrhistogram.fileoutput", Used),
    ("hdrhistogram.output.path", Used),
    ("measurement.histogram.verbose", Used),
    ("measurement.raw.output_file", Used),
    ("measurement.raw.no_summary", Used),
    ("measurement.trackjvm", Without(JAVA_ONLY)),
    ("histogram.buckets", Used),
    ("timeseries.granularity", Used),
    ("reportlatencyforeacherror", Used),
    ("latencytrackederrors", Used),
    ("spin.sleep", Used),
    ("columnfamily", Used),
    ("maxscanrate", Used),
    ("scanoptimelimit", Used),
    ("discardscannedrecord", Used),
    ("db.driver", Used),
    ("db.url", Used),
    ("db.user", Used),
    ("db.passwd", Used),
    ("db.batchsize", Used),
    ("jdbc.fetchsize", Used),
    ("jdbc.autocommit", Used),
    ("jdbc.batchupdateapi", Used),
];

const GO: &[(&str, PropertyFate)] = &[
    ("keyprefix", Used),
    ("warmuptime", Used),
    ("batch.size", Used),
    ("outputstyle", Used),
    ("silence", Used),
    ("verbose", Without("statements are not printed")),
    ("dropdata", Used),
    ("debug.pprof", Used),
    ("command", Used),
    ("measurement.output_file", Used),
    ("histogram.percentiles.export", Used),
    ("histogram.percentiles.export.filepath", Used),
    ("pg.host", Used),
    ("pg.port", Used),
    ("pg.user", Used),
    ("pg.password", Used),
    ("pg.db", Used),
    ("pg.sslmode", Used),
];

fn of(tool: YcsbTool) -> impl Iterator<Item = &'static (&'static str, PropertyFate)> {
    let own = match tool {
        YcsbTool::Ycsb => JAVA,
        YcsbTool::GoYcsb => GO,
    };
    CORE.iter().chain(own)
}

/// A warning for each property that does nothing here.
pub fn warnings(tool: YcsbTool, properties: &Properties) -> Vec<String> {
    let warning = |(name, _): (&str, &str)| {
        if name.starts_with("htrace.") {
            return Some(format!("{name} does nothing here: {JAVA_ONLY}"));
        }
        match of(tool).find(|(known, _)| *known == name) {
            Some((_, Used)) => None,
            Some((_, Without(why))) => Some(format!("{name} does nothing here: {why}")),
            None => {
                let near = nearest(name, of(tool).map(|(known, _)| *known));
                let near = near.map(|near| format!("; did you mean {near}?"));
                let near = near.unwrap_or_default();
                Some(format!("{name} is no property that pgdyno knows{near}"))
            }
        }
    };
    properties.all().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_property_is_named_with_the_right_one() {
        let mut properties = Properties::default();
        properties.read("recordcuont=1\nrecordcount=1\nhtrace.x=1\nfrobnicate.me=2\npg.host=h");
        let java = warnings(YcsbTool::Ycsb, &properties);
        assert_eq!(
            java,
            [
                "frobnicate.me is no property that pgdyno knows",
                "htrace.x does nothing here: pgdyno is no Java program",
                "pg.host is no property that pgdyno knows",
                "recordcuont is no property that pgdyno knows; did you mean recordcount?",
            ]
        );
        assert_eq!(warnings(YcsbTool::GoYcsb, &properties).len(), 3);
    }

    #[test]
    fn a_property_is_listed_once() {
        for tool in [YcsbTool::Ycsb, YcsbTool::GoYcsb] {
            let mut names: Vec<&str> = of(tool).map(|(name, _)| *name).collect();
            let listed = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), listed);
        }
    }
}
