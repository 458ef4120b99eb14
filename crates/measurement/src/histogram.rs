//! Counts of latencies by size, in as much memory as there are different sizes.
//!
//! The buckets are HdrHistogram's for 1 µs to one hour and three digits, so that values, percentiles
//! and the encoding are the same; a dense one takes 188 KB however little is in it, and there is one
//! for each statement of a script. Here those of less than 2.048 ms, which have a bucket for each
//! microsecond, reach as far as the longest of them, 8 KB at most. Those beyond come in pages of
//! sixteen, 64 bytes, which are taken when a latency is the first of its page and kept until all is
//! forgotten: at most 1344 in all.

use hdrhistogram::Histogram as Dense;
use hdrhistogram::serialization::Deserializer;

/// Latencies of up to one hour are distinguished.
const HOUR_US: u64 = 3_600_000_000;
/// So are those up to the end of the hour's doubling, 71 minutes. Longer ones count as this long.
const LATENCY_US_MAX: u64 = (1 << 32) - 1;
/// Significant decimal digits of a value.
const DIGITS: u8 = 3;

/// Values below 2048 have a bucket each; from there on each doubling has 1024.
const EXACT_BITS: u32 = 11;
const PART_BITS: u32 = EXACT_BITS - 1;
/// So many buckets are of one value each, which is their number.
const EXACT_BUCKETS: usize = 1 << EXACT_BITS;
/// Latencies below have a bucket each.
pub(super) const EXACT_BELOW_US: u64 = EXACT_BUCKETS as u64;
const PAGE_BUCKETS: usize = 16;

/// HdrHistogram's mark of its encoding V2.
const V2_COOKIE: u32 = 0x1c84_9313;
/// Of what precedes the counts.
const HEAD_BYTES: usize = 40;

/// How many latencies there are of which size.
#[derive(Clone, Default)]
pub struct Histogram {
    /// The counts of values with a bucket each, up to the longest of them.
    exact: Vec<u32>,
    /// The page of each sixteen buckets from there on, counted from 1; 0 where there is none. It reaches
    /// as far as the longest latency.
    directory: Vec<u16>,
    pages: Vec<[u32; PAGE_BUCKETS]>,
    /// What does not fit into 32 bits: buckets, and by how many times 2^32 they have more.
    carries: Vec<(u16, u32)>,
}

/// Latencies that are not distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest that belongs here, in microseconds.
    pub lowest_us: u64,
    /// The longest, which represents all of them.
    pub highest_us: u64,
    pub count: u64,
}

impl Bucket {
    pub fn middle_us(&self) -> u64 {
        self.lowest_us + (self.highest_us - self.lowest_us).div_ceil(2)
    }
}

impl Histogram {
    /// Counts a latency that has a bucket of its own, where none of these was longer before; whether it
    /// has. Most are of this kind, so it takes a few instructions, and tells no more than it must.
    #[inline]
    pub(super) fn counts(&mut self, latency_us: u64) -> bool {
        let Some(counter) = self.exact.get_mut(latency_us as usize) else {
            return false;
        };
        *counter = counter.wrapping_add(1);
        if *counter == 0 {
            self.carry(latency_us as usize, 1);
        }
        true
    }

    /// Counts a latency of at least [`EXACT_BELOW_US`] whose page is there; whether it has.
    #[inline]
    pub(super) fn counts_beyond(&mut self, latency_us: u32) -> bool {
        let bucket = bucket(latency_us.into());
        let beyond = bucket - EXACT_BUCKETS;
        let place = self.directory.get(beyond / PAGE_BUCKETS);
        // Entries count from 1.
        let place = place.map_or(usize::MAX, |page| usize::from(*page).wrapping_sub(1));
        let Some(page) = self.pages.get_mut(place) else {
            return false;
        };
        let counter = &mut page[beyond % PAGE_BUCKETS];
        *counter = counter.wrapping_add(1);
        if *counter == 0 {
            self.carry(bucket, 1);
        }
        true
    }

    /// Adds so many of the same length.
    pub(super) fn record_n(&mut self, latency_us: u64, count: u64) {
        self.add(bucket(latency_us), count);
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if count == 0 {
            return;
        }
        let counter = match bucket.checked_sub(EXACT_BUCKETS) {
            None => {
                self.reach(bucket + 1);
                &mut self.exact[bucket]
            }
            Some(beyond) => {
                let place = self.page(beyond / PAGE_BUCKETS);
                &mut self.pages[place][beyond % PAGE_BUCKETS]
            }
        };
        let sum = u64::from(*counter).saturating_add(count);
        *counter = sum as u32;
        if sum >> 32 > 0 {
            self.carry(bucket, (sum >> 32) as u32);
        }
    }

    /// There are so many buckets of one value each, or more; in few steps, and without room for more than
    /// there can be.
    fn reach(&mut self, buckets: usize) {
        if self.exact.len() < buckets {
            let room = buckets.next_multiple_of(EXACT_BUCKETS / 8);
            self.exact.reserve_exact(room - self.exact.len());
            self.exact.resize(buckets, 0);
        }
    }

    /// A bucket has so many times 2^32 more.
    #[cold]
    #[inline(never)]
    fn carry(&mut self, bucket: usize, times: u32) {
        self.carries.push((bucket as u16, times));
    }

    fn page(&mut self, at: usize) -> usize {
        match self.directory.get(at) {
            Some(page) if *page > 0 => usize::from(*page) - 1,
            _ => self.new_page(at),
        }
    }

    /// The first latency of sixteen buckets. It happens once for each page.
    #[cold]
    fn new_page(&mut self, at: usize) -> usize {
        if self.directory.len() <= at {
            self.directory.resize(at + 1, 0);
        }
        self.pages.push([0; PAGE_BUCKETS]);
        // There are fewer pages than a directory entry can count.
        self.directory[at] = self.pages.len() as u16;
        self.pages.len() - 1
    }

    /// How many latencies there are.
    pub fn count(&self) -> u64 {
        let counts = self.numbered().map(|(_, count)| count);
        counts.fold(0, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.pages.is_empty()
    }

    /// The sums of all latencies that have a bucket of their own, and of their squares.
    pub(super) fn exact_sums(&self) -> (u128, u128) {
        let (mut sum_us, mut sum_us2) = (0, 0);
        let mut add = |us: usize, count: u64| {
            let (us, count) = (us as u128, u128::from(count));
            sum_us += us * count;
            sum_us2 += us * us * count;
        };
        let exact = self.exact.iter().enumerate();
        let some = exact.filter(|(_, low)| **low > 0);
        some.for_each(|(us, low)| add(us, (*low).into()));
        for (bucket, times) in &self.carries {
            if usize::from(*bucket) < EXACT_BUCKETS {
                add(usize::from(*bucket), u64::from(*times) << 32);
            }
        }
        (sum_us, sum_us2)
    }

    /// The buckets with something in them, the shortest first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.numbered().map(|(number, count)| Bucket {
            lowest_us: lowest_us(number),
            highest_us: highest_us(number),
            count,
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, u64)> {
        let exact = self.exact.iter().enumerate();
        let beyond = self.used_pages();
        let beyond = beyond.flat_map(|(first, page)| (first..).zip(page));
        let counted = exact.chain(beyond);
        let counted = counted.map(|(bucket, low)| (bucket, u64::from(*low)));
        let whole = counted.map(|(bucket, low)| (bucket, low.saturating_add(self.carried(bucket))));
        whole.filter(|(_, count)| *count > 0)
    }

    /// The pages that are there, each with its first bucket.
    fn used_pages(&self) -> impl Iterator<Item = (usize, &[u32; PAGE_BUCKETS])> {
        let pages = self.directory.iter().enumerate();
        let used = pages.filter(|(_, page)| **page > 0);
        used.map(|(at, page)| {
            let first = EXACT_BUCKETS + at * PAGE_BUCKETS;
            (first, &self.pages[usize::from(*page) - 1])
        })
    }

    fn carried(&self, bucket: usize) -> u64 {
        let carries = self.carries.iter();
        let of_it = carries.filter(|(number, _)| usize::from(*number) == bucket);
        let carried = of_it.map(|(_, times)| u64::from(*times) << 32);
        carried.fold(0, u64::saturating_add)
    }

    /// The shortest, in microseconds, to three digits.
    pub fn min_us(&self) -> Option<u64> {
        self.buckets().next().map(|bucket| bucket.lowest_us)
    }

    /// The least latency that at least this share (0 to 1) of all does not exceed, in microseconds,
    /// to three digits.
    pub fn quantile_us(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let wanted = (share.min(1.0) * count as f64).ceil().max(1.0) as u64;
        // A float may round up beyond all of them.
        let wanted = wanted.min(count);
        let mut seen = 0u64;
        let mut reached = self.buckets().skip_while(|bucket| {
            seen = seen.saturating_add(bucket.count);
            seen < wanted
        });
        reached.next().map(|bucket| {
            if share == 0.0 {
                bucket.lowest_us
            } else {
                bucket.highest_us
            }
        })
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.reach(other.exact.len());
        if !add_counts(&mut self.exact, &other.exact) {
            self.add_each(0, &other.exact);
        }
        for (first, theirs) in other.used_pages() {
            let place = self.page((first - EXACT_BUCKETS) / PAGE_BUCKETS);
            if !add_counts(&mut self.pages[place], theirs) {
                self.add_each(first, theirs);
            }
        }
        self.carries.extend_from_slice(&other.carries);
    }

    /// Adds counts of buckets from this one on, with what does not fit into 32 bits.
    #[cold]
    fn add_each(&mut self, first: usize, counts: &[u32]) {
        for (bucket, count) in (first..).zip(counts) {
            self.add(bucket, (*count).into());
        }
    }

    /// Forgets all and keeps the memory. Pages are dealt anew: one that is filled and cleared again and
    /// again has memory for the most latencies of one time, not for all that there ever were.
    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.directory.clear();
        self.pages.clear();
        self.carries.clear();
    }

    /// The same with all its buckets (188 KB), for files that HdrHistogram's own code writes.
    pub fn dense(&self) -> Dense<u64> {
        let dense = Dense::new_with_bounds(1, HOUR_US, DIGITS);
        // The bounds are constants that satisfy the constructor's conditions.
        let mut dense = dense.expect("valid bounds");
        for bucket in self.buckets() {
            dense.saturating_record_n(bucket.lowest_us, bucket.count);
        }
        dense
    }

    /// HdrHistogram's encoding V2, which leaves empty buckets out: a header, then for each bucket up
    /// to the last one its count, or below zero how many empty ones follow.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut counts = Vec::new();
        let mut next = 0;
        self.numbered().for_each(|(number, count)| {
            match number - next {
                0 => {}
                1 => write_number(&mut counts, 0),
                gap => write_number(&mut counts, -(gap as i64)),
            }
            write_number(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
            next = number + 1;
        });
        let mut bytes = Vec::with_capacity(HEAD_BYTES + counts.len());
        for word in [V2_COOKIE, counts.len() as u32, 0, u32::from(DIGITS)] {
            bytes.extend_from_slice(&word.to_be_bytes());
        }
        for bound in [1, HOUR_US] {
            bytes.extend_from_slice(&bound.to_be_bytes());
        }
        bytes.extend_from_slice(&1f64.to_be_bytes());
        bytes.extend_from_slice(&counts);
        bytes
    }

    /// What was encoded; `None` when the bytes are no histogram, or one of longer latencies.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        if !has_fair_head(bytes) {
            return None;
        }
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES)?;
        let length = u32::from_be_bytes(*head[4..].first_chunk()?) as usize;
        let numbers = numbers(payload.get(..length)?)?;
        let own = Self::default().encode();
        if (&head[..4], &head[8..]) == (&own[..4], &own[8..]) {
            return Self::of_numbers(&numbers);
        }
        let mut all = Self::default();
        // Of other digits or bounds.
        let read: Dense<u64> = Deserializer::new().deserialize(&mut bytes).ok()?;
        for step in read.iter_recorded() {
            let value_us = step.value_iterated_to();
            let fits = value_us <= LATENCY_US_MAX;
            fits.then(|| all.record_n(value_us, step.count_at_value()))?;
        }
        Some(all)
    }

    /// From counts of one bucket after another, where a negative one represents so many buckets with nothing.
    fn of_numbers(numbers: &[i64]) -> Option<Self> {
        let (mut all, mut at) = (Self::default(), 0_usize);
        for number in numbers {
            match u64::try_from(*number) {
                Err(_) => at = at.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?,
                Ok(count) => {
                    let fits = at <= bucket(LATENCY_US_MAX) || count == 0;
                    fits.then_some(())?;
                    if count > 0 {
                        all.add(at, count);
                    }
                    at = at.checked_add(1)?;
                }
            }
        }
        Some(all)
    }
}

/// What the head of an encoding says of its length, digits and bounds, when that is no more than there
/// is and costs little memory: a damaged one may announce gigabytes.
fn has_fair_head(bytes: &[u8]) -> bool {
    const HIGHEST_US_MAX: u64 = 1 << 42;
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let highest_us = |at: usize| Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    word(4).is_some_and(|length| length as usize <= bytes.len().saturating_sub(HEAD_BYTES))
        && word(12).is_some_and(|digits| digits <= u32::from(DIGITS))
        && highest_us(24).is_some_and(|highest_us| highest_us <= HIGHEST_US_MAX)
}

/// The values count, not which pages were ever taken.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.numbered().eq(other.numbered())
    }
}

/// Adds counts to those of the same buckets; nothing, and false, where a sum does not fit.
fn add_counts(mine: &mut [u32], theirs: &[u32]) -> bool {
    let both = mine.iter().zip(theirs);
    // Without a way out in its middle: so several are looked at and added at a time.
    let fits = both.fold(true, |fits, (mine, theirs)| {
        fits & (*mine <= u32::MAX - *theirs)
    });
    if fits {
        let both = mine.iter_mut().zip(theirs);
        both.for_each(|(mine, theirs)| *mine += theirs);
    }
    fits
}

/// The number of the bucket that a latency belongs to.
#[inline]
fn bucket(latency_us: u64) -> usize {
    let latency_us = latency_us.min(LATENCY_US_MAX);
    let exact = (1u64 << EXACT_BITS) - 1;
    let doublings = (latency_us | exact).ilog2() - PART_BITS;
    ((doublings as usize) << PART_BITS) + (latency_us >> doublings) as usize
}

fn lowest_us(bucket: usize) -> u64 {
    let doublings = (bucket >> PART_BITS).saturating_sub(1);
    ((bucket - (doublings << PART_BITS)) as u64) << doublings
}

fn highest_us(bucket: usize) -> u64 {
    lowest_us(bucket + 1) - 1
}

/// The numbers of a payload; `None` where one is cut, or is the least of all, which cannot be negated.
fn numbers(mut payload: &[u8]) -> Option<Vec<i64>> {
    let mut all = Vec::new();
    while !payload.is_empty() {
        let (mut number, mut length) = (0_u64, 0);
        loop {
            let byte = u64::from(*payload.get(length)?);
            let is_last = length == 8 || byte < 0x80;
            number |= if is_last { byte } else { byte & 0x7f } << (7 * length);
            length += 1;
            if is_last {
                break;
            }
        }
        payload = &payload[length..];
        let number = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        all.push((number != i64::MIN).then_some(number)?);
    }
    Some(all)
}

/// Zig-zag, seven bits a byte, the lowest first; the ninth byte has eight.
fn write_number(out: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if left < 0x80 {
            break;
        }
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn both(values: impl Iterator<Item = (u64, u64)>) -> (Histogram, Dense<u64>) {
        let mut dense = Dense::<u64>::new_with_bounds(1, HOUR_US, DIGITS).unwrap();
        let mut sparse = Histogram::default();
        for (value_us, count) in values {
            sparse.record_n(value_us, count);
            dense.saturating_record_n(value_us, count);
        }
        (sparse, dense)
    }

    /// Around every power of two and ten that is distinguished, with counts of all lengths.
    fn edges() -> impl Iterator<Item = (u64, u64)> {
        let twos = (0..32).map(|bit| 1u64 << bit);
        let tens = (0..10).map(|power| 10u64.pow(power));
        let around = twos
            .chain(tens)
            .flat_map(|at| [at.saturating_sub(1), at, at + 1, at + 7]);
        around.zip((0..40).cycle().map(|bit| 1u64 << bit))
    }

    fn spread() -> impl Iterator<Item = (u64, u64)> {
        (1..5000u64).map(|i| (i * i * 7919 % 20_000_003, i % 5 + 1))
    }

    #[test]
    fn values_quantiles_and_bytes_are_hdrhistograms() {
        for (sparse, dense) in [both(edges()), both(spread()), both([(0, 3)].into_iter())] {
            let steps = dense.iter_recorded();
            let theirs: Vec<_> = steps
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect();
            let mine: Vec<_> = sparse.buckets().map(|b| (b.highest_us, b.count)).collect();
            assert_eq!(mine, theirs);
            assert_eq!(sparse.count(), dense.len());
            assert_eq!(sparse.min_us(), Some(dense.min()));
            for permille in 0..=1000 {
                let share = f64::from(permille) / 1000.0;
                let theirs = dense.value_at_quantile(share);
                assert_eq!(sparse.quantile_us(share), Some(theirs), "{share}");
            }
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&dense, &mut bytes).unwrap();
            assert_eq!(sparse.encode(), bytes);
            assert!(Histogram::decode(&bytes).unwrap() == sparse);
            assert_eq!(sparse.dense(), dense);
        }
        let nothing = Histogram::default();
        assert!(nothing.is_empty());
        assert_eq!((nothing.min_us(), nothing.quantile_us(0.5)), (None, None));
    }

    #[test]
    fn more_than_32_bits_of_one_length_are_counted() {
        let mut histogram = Histogram::default();
        for _ in 0..3 {
            histogram.record_n(250, u64::from(u32::MAX));
            assert!(histogram.counts(250) && !histogram.counts(251));
        }
        histogram.record_n(251, 1 << 40);
        // What is added up where the sum does not fit, and what is counted when all bits are taken.
        histogram.record_n(252, u64::from(u32::MAX));
        for latency_us in [5000, 6000] {
            assert!(!histogram.counts_beyond(latency_us));
            histogram.record_n(latency_us.into(), u64::from(u32::MAX));
        }
        assert!(histogram.counts_beyond(6000));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        let counts: Vec<_> = twice.buckets().map(|b| (b.lowest_us, b.count)).collect();
        let twice_most = 2 * u64::from(u32::MAX);
        let expected = [(250, 6 << 32), (251, 2 << 40), (252, twice_most)];
        assert_eq!(counts[..3], expected);
        assert_eq!(counts[3..], [(5000, twice_most), (6000, 2 << 32)]);
        let exact = expected.map(|(us, count)| u128::from(us) * u128::from(count));
        assert_eq!(twice.exact_sums().0, exact.iter().sum());
        twice.clear();
        assert!(twice == Histogram::default());
        assert_eq!(twice.buckets().next(), None);
    }

    #[test]
    fn seconds_with_other_latencies_each_take_the_memory_of_one() {
        let mut histogram = Histogram::default();
        for second in 0..200 {
            // Each a page of its own; none that another second has.
            for i in 0..4 {
                let bucket = EXACT_BUCKETS + (second + 200 * i) * PAGE_BUCKETS;
                histogram.record_n(lowest_us(bucket), 1);
            }
            assert_eq!(histogram.count(), 4);
            assert_eq!(histogram.buckets().count(), 4);
            histogram.clear();
        }
        assert!(
            histogram.pages.capacity() <= 4,
            "{}",
            histogram.pages.capacity()
        );
    }

    #[test]
    fn memory_is_for_what_was_recorded() {
        let bytes =
            |of: &Histogram| of.exact.len() * 4 + of.pages.len() * 64 + of.directory.len() * 2;
        let mut histogram = Histogram::default();
        assert_eq!(bytes(&histogram), 0);
        // A hundred executions of a statement on a fast server.
        (0..100).for_each(|i| histogram.record_n(150 + i * 3, 1));
        assert!(bytes(&histogram) < 2048, "{}", bytes(&histogram));
        (0..HOUR_US)
            .step_by(100_003)
            .for_each(|us| histogram.record_n(us, 1));
        assert!(bytes(&histogram) < 100 << 10, "{}", bytes(&histogram));
        let kept = |of: &Histogram| {
            [
                of.exact.capacity(),
                of.pages.capacity(),
                of.directory.capacity(),
            ]
        };
        let taken = kept(&histogram);
        histogram.clear();
        (0..100).for_each(|i| histogram.record_n(150 + i * 3, 1));
        assert_eq!(kept(&histogram), taken);
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        assert!(Histogram::decode(b"no histogram").is_none());
        assert!(Histogram::decode(&[]).is_none());
        let mut longer = Dense::<u64>::new_with_bounds(1, HOUR_US * 100, DIGITS).unwrap();
        longer.record(HOUR_US * 50).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&longer, &mut bytes).unwrap();
        assert!(Histogram::decode(&bytes).is_none());
    }

    #[test]
    fn sums_of_impossible_counts_do_not_wrap_round_and_can_be_kept() {
        let mut most = Histogram::default();
        most.record_n(7, u64::MAX / 3);
        for _ in 0..5 {
            most.merge(&most.clone());
        }
        let counts: Vec<u64> = most.buckets().map(|bucket| bucket.count).collect();
        assert_eq!((most.count(), &counts[..]), (u64::MAX, &[u64::MAX][..]));
        let kept = Histogram::decode(&most.encode()).unwrap();
        assert_eq!(kept.count(), i64::MAX as u64);
    }

    #[test]
    fn a_head_that_announces_more_than_there_is_is_refused_at_once() {
        let mut one = Histogram::default();
        one.record_n(7, 1);
        let good = one.encode();
        assert!(Histogram::decode(&good).is_some());
        for (at, byte) in [(4, 0xff), (7, 9), (15, 5), (24, 0x10)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert!(Histogram::decode(&bad).is_none(), "byte {at} is {byte}");
        }
    }

    #[test]
    fn short_latencies_take_eight_kilobytes_at_most() {
        for first in 0..EXACT_BELOW_US {
            let mut histogram = Histogram::default();
            (first..EXACT_BELOW_US).for_each(|us| histogram.record_n(us, 1));
            assert!(histogram.exact.capacity() <= EXACT_BUCKETS, "{first}");
        }
    }
}
