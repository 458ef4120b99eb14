//! `fieldlengthhistogram`: a file that says how often fields have which length, as an expression for
//! the pack's `fieldlengthexpression`. (Facts: HistogramGenerator of YCSB, histogram.go of go-ycsb.)

use std::fs;

use super::YcsbRefusal;

/// The file where no property names one.
const FILE: &str = "hist.txt";
/// More lengths would make scripts of megabytes.
const MAX_LENGTHS: usize = 1000;
/// The longest field of the pack.
const MAX_LENGTH: u64 = 1_000_000;
/// Both tools draw a number below the sum of the counts; YCSB's has 31 bits.
const MAX_AREA: u64 = i32::MAX as u64;

/// The expression that draws lengths as the file at `path` says.
///
/// # Errors
/// The file cannot be read, or is no histogram; what is wrong and the form it should have.
pub fn expression(path: Option<&str>) -> Result<String, YcsbRefusal> {
    let path = path.map(str::trim).filter(|path| !path.is_empty());
    let path = path.unwrap_or(FILE);
    let wrong = |what: String| {
        let text = format!("Couldn't read field length histogram file: {path}: {what}");
        YcsbRefusal::usage(text).hint(
            "its first line is BlockSize, a tab, and a number of characters; then follow lines of \
             bucket (from 0), tab, count",
        )
    };
    let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let (block, counts) = read(&text).map_err(wrong)?;
    let lengths = lengths(block, &counts).map_err(wrong)?;
    Ok(draw(&lengths))
}

/// For fuzz/targets: the shares of any file's lengths are those of all draws, or it is refused.
pub fn fuzz(text: &str) {
    let read = read(text).and_then(|(block, counts)| lengths(block, &counts));
    match read {
        Ok(lengths) => assert!(!draw(&lengths).is_empty()),
        Err(why) => assert!(!why.is_empty()),
    }
}

/// Characters of a block, and how often each bucket comes.
fn read(text: &str) -> Result<(u64, Vec<u64>), String> {
    let mut lines = text.lines().map(str::trim).zip(1..);
    let pair = |line: &str, at: usize| {
        let (left, right) = line
            .split_once('\t')
            .ok_or_else(|| format!("line {at} has no tab: {line}"))?;
        let count = right.trim().parse::<u64>();
        let count = count.map_err(|_| format!("line {at}: {right} is no whole number"))?;
        Ok::<_, String>((left.trim().to_owned(), count))
    };
    let (first, _) = lines.next().ok_or("it is empty")?;
    let (word, block) = pair(first, 1)?;
    if word != "BlockSize" {
        return Err(format!("line 1 begins with {word}, not with BlockSize"));
    }
    let mut counts = Vec::new();
    for (line, at) in lines.filter(|(line, _)| !line.is_empty()) {
        let (bucket, count) = pair(line, at)?;
        let bucket = bucket.parse::<usize>();
        let bucket = bucket.map_err(|_| format!("line {at} does not begin with a bucket"))?;
        if bucket > MAX_LENGTHS {
            return Err(format!(
                "line {at}: buckets after {MAX_LENGTHS} cannot be had"
            ));
        }
        if counts.len() <= bucket {
            counts.resize(bucket + 1, 0);
        }
        counts[bucket] = count;
    }
    Ok((block, counts))
}

/// Lengths and how many of all draws have them. Both tools draw a number n from 0 to the sum less 1;
/// bucket i, with i + 1 blocks, is the first whose counts up to it reach n. So the first bucket has
/// one draw more than its count. The last one has no length of its own: it has that of the one before.
fn lengths(block: u64, counts: &[u64]) -> Result<Vec<(u64, u64)>, String> {
    let area = counts.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
    let area = area.filter(|area| *area <= MAX_AREA);
    let area = area.ok_or_else(|| format!("its counts exceed {MAX_AREA}"))?;
    if area == 0 {
        return Err("all its counts are 0".to_owned());
    }
    let mut lengths = Vec::new();
    let (mut reached, mut drawn) = (0, 0);
    let buckets = counts.len() - 1;
    for (blocks, count) in (1..).zip(&counts[..buckets]) {
        reached += count;
        let up_to_it = (reached + 1).min(area);
        if up_to_it > drawn {
            lengths.push((blocks * block, up_to_it - drawn));
        }
        drawn = up_to_it.max(drawn);
    }
    if drawn < area {
        lengths.push((buckets as u64 * block, area - drawn));
    }
    match lengths.iter().find(|(length, _)| *length > MAX_LENGTH) {
        Some((length, _)) => Err(format!(
            "a field of {length} characters is longer than {MAX_LENGTH}"
        )),
        None => Ok(lengths),
    }
}

/// A tree of draws that halve what is left, so that many lengths take few draws.
fn draw(lengths: &[(u64, u64)]) -> String {
    if let [(length, _)] = lengths {
        return length.to_string();
    }
    let (left, right) = lengths.split_at(lengths.len() / 2);
    let sum = |part: &[(u64, u64)]| part.iter().map(|(_, count)| count).sum::<u64>();
    let (of_left, all) = (sum(left), sum(lengths));
    format!(
        "case when uniform(1, {all}) <= {of_left} then {} else {} end",
        draw(left),
        draw(right)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted over all numbers that YCSB's generator can draw from these buckets.
    fn theirs(block: u64, counts: &[i64]) -> Vec<(u64, u64)> {
        let mut all = std::collections::BTreeMap::new();
        for number in 0..counts.iter().sum::<i64>() {
            let mut left = number;
            let bucket = counts[..counts.len() - 1].iter().position(|count| {
                left -= count;
                left <= 0
            });
            let blocks = bucket.map_or(counts.len() - 1, |bucket| bucket + 1);
            *all.entry(blocks as u64 * block).or_insert(0) += 1;
        }
        all.into_iter().collect()
    }

    #[test]
    fn lengths_come_as_often_as_in_ycsb() {
        for counts in [
            &[5, 3, 2][..],
            &[0, 7, 0, 2, 9],
            &[1, 0, 0, 4],
            &[9],
            &[9, 1],
            &[0, 0, 3],
            &[4, 0],
        ] {
            let own: Vec<u64> = counts.iter().map(|count| *count as u64).collect();
            let mut made = std::collections::BTreeMap::new();
            for (length, count) in lengths(10, &own).unwrap() {
                *made.entry(length).or_insert(0) += count;
            }
            let made: Vec<(u64, u64)> = made.into_iter().collect();
            assert_eq!(made, theirs(10, counts), "{counts:?}");
        }
    }

    #[test]
    fn many_lengths_take_few_draws() {
        let few = draw(&[(10, 5), (20, 3), (30, 2)]);
        assert_eq!(
            few,
            "case when uniform(1, 10) <= 5 then 10 else case when uniform(1, 5) <= 3 then 20 else 30 end end"
        );
        let many: Vec<(u64, u64)> = (1..=1000).map(|length| (length, 1)).collect();
        let text = draw(&many);
        let mut depth = 0;
        let deepest = text.split(' ').fold(0, |deepest, word| {
            match word {
                "case" => depth += 1,
                "end" => depth -= 1,
                _ => {}
            }
            deepest.max(depth)
        });
        assert_eq!(deepest, 10);
    }

    #[test]
    fn what_is_no_histogram_is_named_with_its_line() {
        for (text, said) in [
            ("", "it is empty"),
            ("BlockSize 10", "line 1 has no tab: BlockSize 10"),
            ("Size\t10", "line 1 begins with Size, not with BlockSize"),
            ("BlockSize\tx", "line 1: x is no whole number"),
            (
                "BlockSize\t1\n0\t1\nx\t1",
                "line 3 does not begin with a bucket",
            ),
            (
                "BlockSize\t1\n1001\t1",
                "line 2: buckets after 1000 cannot be had",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), said);
        }
        let (block, counts) = read("BlockSize\t10\n0\t3\n2\t4\n\n").unwrap();
        assert_eq!((block, &counts[..]), (10, &[3, 0, 4][..]));
        assert_eq!(lengths(1, &[0, 0]).unwrap_err(), "all its counts are 0");
        assert!(lengths(1, &[u64::MAX, 1]).unwrap_err().contains("exceed"));
        assert!(
            lengths(1_000_000, &[1, 1, 1])
                .unwrap_err()
                .contains("longer than")
        );
        let failure = expression(Some("/none/hist")).unwrap_err().failure;
        assert!(
            failure.to_string().contains("file: /none/hist: "),
            "{failure}"
        );
    }
}
