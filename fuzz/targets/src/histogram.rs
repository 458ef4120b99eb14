//! Histograms as the notebook has them. What is none is refused; what is one is, encoded again, the
//! same, and its figures agree with each other.

use pgdyno_measurement::{Latencies, Packed};

pub fn run(bytes: &[u8]) {
    let Some((sums, bytes)) = bytes.split_first_chunk::<16>() else {
        return;
    };
    let [sum_us, max_us] = [0, 8].map(|at| {
        let bytes: [u8; 8] = sums[at..at + 8].try_into().expect("eight bytes");
        u64::from_be_bytes(bytes)
    });
    let squares = u128::from(sum_us) << (max_us % 64);
    let Some(packed) = Packed::from_parts(bytes.to_vec(), sum_us, squares, max_us) else {
        return;
    };
    let latencies = packed.unpack();
    check(&latencies);
    let again = latencies.pack();
    let read = Packed::from_parts(
        again.bytes().to_vec(),
        again.sum_us(),
        squares,
        again.max_us(),
    );
    let read = read.expect("what was encoded is a histogram").unpack();
    assert!(read == latencies, "{read:?} and {latencies:?}");
    assert_eq!(read.pack().bytes(), again.bytes());

    let mut twice = latencies.clone();
    twice.merge(&latencies);
    twice.merge(&latencies);
    check(&twice);
}

fn check(latencies: &Latencies) {
    let histogram = latencies.histogram();
    let (mut counted, mut behind_us) = (0u64, 0);
    for bucket in histogram.buckets() {
        assert!(bucket.lowest_us <= bucket.highest_us && bucket.count > 0);
        assert!(counted == 0 || bucket.lowest_us > behind_us, "{bucket:?}");
        behind_us = bucket.highest_us;
        counted = counted.saturating_add(bucket.count);
    }
    assert_eq!(counted, latencies.count());
    let shares = [0.0, 0.5, 0.9, 0.99, 1.0].map(|share| histogram.quantile_us(share));
    assert!(shares.is_sorted(), "{shares:?}");
    assert_eq!(shares[4].is_some(), counted > 0);
    let _ = (
        latencies.mean_us(),
        latencies.stddev_us(),
        latencies.percentile_us(99.0),
    );
}
