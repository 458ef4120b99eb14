//! JSON that servers and notebooks have: the first byte says which document the rest is.

use pgdyno_database::cluster::nodes_in_json;
use pgdyno_spec::TrialSpec;
use pgdyno_workload::mark::ProcedureMark;

pub fn run(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    match kind {
        b'n' => match nodes_in_json(text) {
            Ok(nodes) => assert!(nodes.iter().all(|node| !node.address.is_empty())),
            Err(why) => assert!(!why.is_empty()),
        },
        b'e' => pgdyno_observe::accounting::fuzz(text),
        b's' => spec(text),
        b'm' => {
            if let Some(mark) = ProcedureMark::read(text) {
                assert_eq!(ProcedureMark::read(&mark.comment()), Some(mark));
            }
        }
        _ => {}
    }
}

/// A trial's options: kept and read again they are the same, and so are the words to type.
fn spec(text: &str) {
    let Ok(spec) = serde_json::from_str::<TrialSpec>(text) else {
        return;
    };
    let kept = serde_json::to_string(&spec).expect("a spec can be kept");
    let again: TrialSpec = serde_json::from_str(&kept).unwrap_or_else(|e| panic!("{kept}: {e}"));
    assert_eq!(again, spec, "{kept}");
    assert_eq!(again.words(), spec.words(), "{kept}");
}
