//! The seconds of a run under way. A second is some kilobytes, which a run of hours would have
//! thousands of times: they are written to a [`Spool`] and read when the run is over.

use std::io::{self, Read};

use pgdyno_measurement::{
    ClientTime, Counts, Failure, Packed, PackedUnits, ScriptSecond, Second, Work,
};
use pgdyno_platform::spool::Spool;

#[derive(Debug, Default)]
pub(crate) struct Seconds {
    spool: Spool,
    count: usize,
    /// One second as bytes: its memory is used again.
    bytes: Vec<u8>,
}

impl Seconds {
    pub(crate) fn push(&mut self, second: &Second) {
        self.bytes.clear();
        write(&mut self.bytes, second);
        self.spool.push(&self.bytes);
        self.count += 1;
    }

    /// All of them.
    ///
    /// # Errors
    /// The spool's file cannot be read, or not to its end.
    pub(crate) fn finish(self) -> io::Result<Vec<Second>> {
        let mut bytes = self.spool.into_reader()?;
        (0..self.count).map(|_| read(&mut bytes)).collect()
    }
}

fn write(out: &mut Vec<u8>, second: &Second) {
    let Second {
        start_us,
        length_us,
        warmup,
        drain,
        time,
        scripts,
    } = second;
    let flags = [warmup, drain].map(|flag| u64::from(*flag));
    numbers(out, [*start_us, *length_us]);
    numbers(out, flags);
    numbers(out, time.numbers());
    list(out, scripts, script);
}

fn read(from: &mut impl Read) -> io::Result<Second> {
    let [start_us, length_us, warmup, drain] = read_numbers(from)?;
    Ok(Second {
        start_us,
        length_us,
        warmup: warmup != 0,
        time: ClientTime::from_numbers(read_numbers(from)?),
        drain: drain != 0,
        scripts: read_list(from, read_script)?,
    })
}

fn script(out: &mut Vec<u8>, script: &ScriptSecond) {
    let ScriptSecond {
        counts,
        service,
        attempt,
        response,
        lag,
        work,
        units,
    } = script;
    write_counts(out, counts);
    packed(out, service);
    for packed_or_none in [attempt, response, lag] {
        list(out, packed_or_none.as_slice(), packed);
    }
    write_work(out, work);
    list(out, units, |out, units| {
        numbers(out, [units.rows]);
        packed(out, &units.latencies);
    });
}

fn read_script<R: Read>(from: &mut R) -> io::Result<ScriptSecond> {
    let maybe_packed = |from: &mut R| Ok::<_, io::Error>(read_list(from, read_packed)?.pop());
    Ok(ScriptSecond {
        counts: read_counts(from)?,
        service: read_packed(from)?,
        attempt: maybe_packed(from)?,
        response: maybe_packed(from)?,
        lag: maybe_packed(from)?,
        work: read_work(from)?,
        units: read_list(from, |from| {
            let [rows] = read_numbers(from)?;
            let latencies = read_packed(from)?;
            Ok(PackedUnits { rows, latencies })
        })?,
    })
}

fn write_counts(out: &mut Vec<u8>, counts: &Counts) {
    let Counts {
        committed,
        failed,
        skipped,
        unknown,
        retries,
        retried,
        late,
    } = counts;
    numbers(
        out,
        [*committed, *skipped, *unknown, *retries, *retried, *late],
    );
    let failed: Vec<_> = failed.iter().collect();
    list(out, &failed, |out, (failure, times)| {
        bytes(out, failure.code().as_bytes());
        numbers(out, [**times]);
    });
}

fn read_counts<R: Read>(from: &mut R) -> io::Result<Counts> {
    let [committed, skipped, unknown, retries, retried, late] = read_numbers(from)?;
    let failed = read_list(from, |from| {
        let code = read_bytes(from)?;
        let code = str::from_utf8(&code).map_err(|_| no_second())?;
        let [times] = read_numbers(from)?;
        Ok((Failure::from_code(code), times))
    })?;
    Ok(Counts {
        committed,
        failed: failed.into_iter().collect(),
        skipped,
        unknown,
        retries,
        retried,
        late,
    })
}

fn write_work(out: &mut Vec<u8>, work: &Work) {
    let Work {
        kept_us,
        kept_statements,
        lost_tries,
        lost_us,
        lost_statements,
        backoff_us,
        given_up,
        cut_off,
        server_retries,
    } = work;
    let kept_and_lost = [kept_us, kept_statements, lost_tries, lost_us];
    let rest = [
        lost_statements,
        backoff_us,
        given_up,
        cut_off,
        server_retries,
    ];
    numbers(out, kept_and_lost.map(|n| *n));
    numbers(out, rest.map(|n| *n));
}

fn read_work(from: &mut impl Read) -> io::Result<Work> {
    let [kept_us, kept_statements, lost_tries, lost_us] = read_numbers(from)?;
    let [
        lost_statements,
        backoff_us,
        given_up,
        cut_off,
        server_retries,
    ] = read_numbers(from)?;
    Ok(Work {
        kept_us,
        kept_statements,
        lost_tries,
        lost_us,
        lost_statements,
        backoff_us,
        given_up,
        cut_off,
        server_retries,
    })
}

fn packed(out: &mut Vec<u8>, packed: &Packed) {
    let squares = packed.sum_squares_us2();
    let squares = [squares as u64, (squares >> 64) as u64];
    numbers(
        out,
        [packed.sum_us(), packed.max_us(), squares[0], squares[1]],
    );
    bytes(out, packed.bytes());
}

fn read_packed<R: Read>(from: &mut R) -> io::Result<Packed> {
    let [sum_us, max_us, low, high] = read_numbers(from)?;
    let squares = u128::from(high) << 64 | u128::from(low);
    let histogram = read_bytes(from)?;
    Packed::from_parts(histogram, sum_us, squares, max_us).ok_or_else(no_second)
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    numbers(out, [items.len() as u64]);
    items.iter().for_each(|item| write(out, item));
}

fn read_list<R: Read, T>(
    from: &mut R,
    mut read: impl FnMut(&mut R) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    let [count] = read_numbers(from)?;
    (0..count).map(|_| read(from)).collect()
}

fn numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn read_numbers<const N: usize>(from: &mut impl Read) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes)?;
        *number = u64::from_le_bytes(bytes);
    }
    Ok(numbers)
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    numbers(out, [bytes.len() as u64]);
    out.extend_from_slice(bytes);
}

fn read_bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let [length] = read_numbers(from)?;
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn no_second() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "other bytes than were written there",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::{Interval, Outcome, ScriptInterval};

    /// A second of 2,000 transactions at a rate, of two scripts.
    fn second(number: u64) -> Second {
        let mut interval = Interval::for_scripts(2, true, true);
        (interval.start_ns, interval.length_ns) = (number * 1_000_000_000, 1_000_000_000);
        interval.warmup = number < 5;
        interval.time = ClientTime::from_numbers(std::array::from_fn(|at| number + at as u64));
        interval.drain = number > 18;
        for (at, script) in interval.scripts.iter_mut().enumerate() {
            fill(script, number * 7 + at as u64);
        }
        Second::from(&interval)
    }

    fn fill(script: &mut ScriptInterval, seed: u64) {
        for i in 0..1000 {
            let latency_us = 200 + (i * i * 31 + seed * 17) % 3000;
            script.counts.book(Outcome::Committed, 1 + (i % 2) as u32);
            script.service.record(latency_us);
            let others = [&mut script.attempt, &mut script.response, &mut script.lag];
            for latencies in others.into_iter().flatten() {
                latencies.record(latency_us / 2);
            }
        }
        script
            .counts
            .book(Outcome::Failed(Failure::SERIALIZATION), 3);
        script.counts.book(Outcome::Failed(Failure::RowMissing), 1);
        script.counts.book(Outcome::Unknown, 1);
        script.counts.late = seed;
        script.work = Work {
            kept_us: u64::MAX,
            kept_statements: 2,
            lost_tries: 3,
            lost_us: 4,
            lost_statements: 5,
            backoff_us: 6,
            given_up: 7,
            cut_off: 11,
            server_retries: 8,
        };
        // More than 64 bits of squares.
        script.units(1).record(9, u64::MAX);
    }

    #[test]
    fn a_second_comes_back_as_it_was() {
        let mut seconds = Seconds::default();
        let mut expected: Vec<_> = (0..20).map(second).collect();
        expected.push(Second::from(&Interval::for_scripts(1, false, false)));
        expected.iter().for_each(|second| seconds.push(second));
        assert_eq!(seconds.finish().unwrap(), expected);
        assert_eq!(Seconds::default().finish().unwrap(), []);
    }

    #[test]
    fn an_hour_of_seconds_takes_no_more_memory_than_a_minute() {
        let (mut seconds, second) = (Seconds::default(), second(0));
        let memory_bytes = |s: &Seconds| s.spool.memory_bytes() + s.bytes.capacity();
        (0..60).for_each(|_| seconds.push(&second));
        let of_a_minute = memory_bytes(&seconds);
        (60..3600).for_each(|_| seconds.push(&second));
        assert_eq!(memory_bytes(&seconds), of_a_minute);
        assert!(of_a_minute < 100_000, "{of_a_minute} bytes");
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let mut seconds = Seconds::default();
        seconds.push(&second(1));
        seconds.count += 1;
        assert!(seconds.finish().is_err());
        let mut whole = Vec::new();
        write(&mut whole, &second(1));
        assert_eq!(read(&mut &whole[..]).unwrap(), second(1));
        for length in [0, 7, 100, whole.len() - 1] {
            assert!(read(&mut &whole[..length]).is_err(), "{length}");
        }
    }
}
