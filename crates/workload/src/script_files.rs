//! Script files on the command line: `FILE[@WEIGHT]`, `-` for standard input, with pgbench's rules
//! and texts. They become the same thing as a pack's scripts.

use std::fs;
use std::io::{self, Read};

use super::mix::WeightedScript;
use pgdyno_spec::{Exit, Failure, text};

/// Scripts of the native commands may be so long: some 100,000 statements.
pub const SCRIPT_MIB_MAX: u64 = 16;
/// A run of the native commands may have so many. Each has figures of its own, on every thread and in every
/// second of the notebook: 10,000 of them take some 10 MB a thread and, where all are drawn, 4 MB a second.
pub const SCRIPTS_MAX: usize = 10_000;

/// Reads `FILE[@WEIGHT]` arguments in their order.
///
/// # Errors
/// Too many files, one that cannot be read, or an invalid weight ([`Exit::Usage`]); a file that is too long or no
/// text.
pub fn read(args: &[String]) -> Result<Vec<WeightedScript>, Failure> {
    let usage = |text| Failure::with(Exit::Usage, text);
    if args.len() > SCRIPTS_MAX {
        let text = format!(
            "{} scripts are too many for one run: at most {}, because each has figures of its own in every second",
            text::count(args.len() as u64),
            text::count(SCRIPTS_MAX as u64)
        );
        return Err(usage(text).hint("draw among statements within a script: \\set, \\if"));
    }
    let scripts = args
        .iter()
        .map(|arg| {
            let (file, weight) = split_weight(arg).map_err(|why| {
                usage(why).hint("a weight is a whole number after the file: a.sql@9")
            })?;
            let octets = octets(file, SCRIPT_MIB_MAX)?;
            Ok(WeightedScript::plain(
                file,
                utf8(file, &octets).map_err(Failure::new)?,
                weight,
            ))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    if scripts.iter().all(|s| s.weight == 0) {
        return Err(usage("total script weight must not be zero".to_owned()));
    }
    Ok(scripts)
}

/// The file and its weight: what follows the last `@`, read as C's `strtol` does.
pub fn split_weight(arg: &str) -> Result<(&str, u32), String> {
    let Some(at) = arg.rfind('@') else {
        return Ok((arg, 1));
    };
    let (file, typed) = arg.split_at(at);
    let number = typed[1..].trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    match number.parse::<i64>() {
        Ok(weight) if (0..=i64::from(i32::MAX)).contains(&weight) => Ok((file, weight as u32)),
        Ok(weight) => Err(format!(
            "weight specification out of range (0 .. {}): {weight}",
            i32::MAX
        )),
        Err(_) => Err(format!("invalid weight specification: {typed}")),
    }
}

/// The text of a script file of at most so many MiB, or of standard input for `-`.
///
/// # Errors
/// It cannot be read, is longer (a device or a pipe may have no end), or is not UTF-8.
pub fn text(file: &str, mib_max: u64) -> Result<String, String> {
    let octets = octets(file, mib_max).map_err(|failure| failure.message)?;
    utf8(file, &octets)
}

/// What is in a script file of at most so many MiB, or in standard input for `-`.
///
/// # Errors
/// It cannot be read ([`Exit::Usage`]), or is longer.
pub fn octets(file: &str, mib_max: u64) -> Result<Vec<u8>, Failure> {
    let usage = |text| Failure::with(Exit::Usage, text);
    let bytes_max = mib_max << 20;
    let unreadable = |e| usage(format!("could not read file \"{file}\": {}", reason(&e)));
    let mut bytes = Vec::new();
    if file == "-" {
        let mut stdin = io::stdin().take(bytes_max + 1);
        stdin.read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let closed = |e| usage(format!("could not open file \"{file}\": {}", reason(&e)));
        let opened = fs::File::open(file).map_err(closed)?;
        let mut limited = opened.take(bytes_max + 1);
        limited.read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::new(format!(
            "could not read file \"{file}\": it is longer than {mib_max} MiB, the most that a script \
             may have; split it into several scripts"
        )));
    }
    Ok(bytes)
}

fn utf8(file: &str, octets: &[u8]) -> Result<String, String> {
    if let Err(e) = std::str::from_utf8(octets) {
        let at = e.valid_up_to() + 1;
        return Err(format!(
            "could not read file \"{file}\": byte {at} is not UTF-8"
        ));
    }
    Ok(pgdyno_script::escape(octets))
}

/// The system's own words, without Rust's number behind them.
pub fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    match text.rfind(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        assert_eq!(split_weight("a.sql"), Ok(("a.sql", 1)));
        assert_eq!(split_weight("a.sql@3"), Ok(("a.sql", 3)));
        assert_eq!(split_weight("a@b/c.sql@0"), Ok(("a@b/c.sql", 0)));
    }

    #[test]
    fn a_bad_weight_is_refused_in_pgbenchs_words() {
        for (arg, want) in [
            ("a.sql@x", "invalid weight specification: @x"),
            ("a.sql@", "invalid weight specification: @"),
            (
                "a.sql@-1",
                "weight specification out of range (0 .. 2147483647): -1",
            ),
            (
                "a.sql@4294967296",
                "weight specification out of range (0 .. 2147483647): 4294967296",
            ),
        ] {
            assert_eq!(split_weight(arg).unwrap_err(), want);
        }
    }

    #[test]
    fn files_are_read_in_order_with_their_weights() {
        let dir = tempfile::tempdir().unwrap();
        let a = dir.path().join("a.sql");
        fs::write(&a, "SELECT 1;").unwrap();
        let a = a.to_str().unwrap();
        let got = read(&[format!("{a}@2"), a.to_owned()]).unwrap();
        assert_eq!((got[0].weight, got[1].weight), (2, 1));
        assert_eq!(got[0].text, "SELECT 1;");
        assert_eq!(
            read(&[format!("{a}@0")]).unwrap_err().message,
            "total script weight must not be zero"
        );
        fs::write(a, b"SELECT \xff").unwrap();
        let e = read(&[a.to_owned()]).unwrap_err();
        assert!(e.message.ends_with("byte 8 is not UTF-8"), "{e}");
        assert_eq!(e.exit, Exit::Failed);
    }

    #[test]
    fn ten_thousand_scripts_are_taken_and_one_more_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sql");
        fs::write(&file, "SELECT 1;").unwrap();
        let mut files = vec![file.to_str().unwrap().to_owned(); SCRIPTS_MAX];
        assert_eq!(read(&files).unwrap().len(), 10_000);
        files.push(files[0].clone());
        let e = read(&files).unwrap_err();
        assert_eq!(e.exit, Exit::Usage);
        assert_eq!(
            e.message,
            "10,001 scripts are too many for one run: at most 10,000, because each has figures of its own in \
             every second"
        );
        assert!(e.to_string().contains("\\set, \\if"), "{e}");
    }

    #[test]
    fn a_script_without_end_is_refused() {
        let e = read(&["/dev/zero".to_owned()]).unwrap_err();
        assert_eq!(e.exit, Exit::Failed);
        assert_eq!(
            e.message,
            "could not read file \"/dev/zero\": it is longer than 16 MiB, the most that a script may \
             have; split it into several scripts"
        );
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sql");
        fs::write(&file, vec![b' '; 1 << 20]).unwrap();
        let file = file.to_str().unwrap();
        assert_eq!(text(file, 1).unwrap().len(), 1 << 20);
        fs::write(file, vec![b' '; (1 << 20) + 1]).unwrap();
        assert!(text(file, 1).unwrap_err().contains("longer than 1 MiB"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let e = read(&["/nowhere.sql@2".to_owned()]).unwrap_err();
        assert_eq!(e.exit, Exit::Usage);
        assert_eq!(
            e.message,
            "could not open file \"/nowhere.sql\": No such file or directory"
        );
    }
}
