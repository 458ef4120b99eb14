//! Output without its figures, so that two runs can be compared line by line.

/// The text with each number as `N`.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !c.is_ascii_digit() {
            shape.push(c);
            continue;
        }
        while let Some(next) = chars.peek() {
            match next {
                '0'..='9' | '.' => drop(chars.next()),
                _ => break,
            }
        }
        shape.push('N');
    }
    shape
}

/// YCSB's results without what there is of a Java program alone. Its URL is replaced.
pub fn only_of_java_left_out(text: &str) -> String {
    let is_ours = |line: &&str| !line.contains("_G1_");
    let lines = text.lines().filter(is_ours);
    let lines = lines.map(|line| match line.split_once("jdbc:postgresql:") {
        Some((before, _)) => format!("{before}URL\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// go-ycsb's output without its properties, which it prints in any order, and the unit of time that
/// depends on how long the run took.
pub fn go_properties_left_out(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('"'));
    let lines = lines.map(|line| {
        if line.starts_with("Run finished") {
            line.trim_end_matches(['m', 's']).to_owned() + "\n"
        } else {
            format!("{}\n", line.replace("READ  ", "READ"))
        }
    });
    lines.collect()
}
