//! What Prometheus endpoints answer: samples, printed in the format, read back as the same samples.

use pgdyno_observe::prometheus::{Sample, samples};

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = samples(&text);
    let read: Vec<Sample<'_>> = lines.by_ref().collect();
    assert!(read.len() + lines.bad_lines <= text.lines().count());
    for sample in read {
        let printed = printed(&sample);
        let again: Vec<Sample<'_>> = samples(&printed).collect();
        let [again] = &again[..] else {
            panic!("{sample:?} is printed as {printed:?} and read as {again:?}");
        };
        assert_eq!((again.name, &again.labels), (sample.name, &sample.labels));
        assert!(
            again.value == sample.value || sample.value.is_nan() && again.value.is_nan(),
            "{printed}"
        );
    }
}

fn printed(sample: &Sample<'_>) -> String {
    let labels = sample.labels.iter().map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    let labels: Vec<String> = labels.collect();
    format!("{}{{{}}} {}", sample.name, labels.join(","), sample.value)
}
