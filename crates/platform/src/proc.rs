//! What the kernel tells of itself and of processes in text files: /proc, /sys and control groups,
//! as pure functions from such a text to figures, and the few words that read the files.
//!
//! A line or a field that is not understood is left out, so that a newer or an older kernel, a
//! container that hides things or a broken file costs that figure and nothing else. Nothing here
//! knows what figures are for.

pub mod cgroup;
pub mod counters;
pub mod cpu;
pub mod disk;
pub mod memory;
pub mod mounts;
pub mod network;
pub mod pressure;
pub mod sockets;
pub mod task;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most such files are shorter.
const LENGTH_USUAL: usize = 4096;

/// The text of such a file. Bytes that are no UTF-8 (a process may call itself anything) are
/// replaced.
///
/// # Errors
/// It is not there or not to be read; the error names the file.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    let mut bytes = Vec::with_capacity(LENGTH_USUAL);
    // With a limit the file's length is not read, which the kernel gives as 0 here.
    let read = File::open(path).and_then(|file| file.take(u64::MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())),
        Err(e) => {
            let text = format!("{}: {e}", path.display());
            Err(io::Error::new(e.kind(), text))
        }
    }
}

/// How many of the kernel's clock ticks (USER_HZ) are a second: the unit of CPU times in /proc.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The numbers of a line, up to the first word that is none.
fn numbers(line: &str) -> impl Iterator<Item = u64> {
    line.split_ascii_whitespace()
        .map_while(|word| word.parse().ok())
}

/// What follows `name` and white space at the beginning of a line.
fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(|c: char| c.is_ascii_whitespace())
            .then(|| rest.trim())
    })
}

fn number_behind(text: &str, name: &str) -> Option<u64> {
    behind(text, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What files of the kernel never say, and what a parser must survive all the same.
    pub(crate) const HOSTILE: &[&str] = &[
        "",
        "\n\n\n",
        "\0\0\0",
        "cpu",
        "cpu \n",
        "cpu -1 -1 -1 -1",
        "cpu 99999999999999999999999999 1 2 3 4 5 6 7",
        "cpu 18446744073709551615 18446744073709551615 18446744073709551615 18446744073709551615 1 1 1 1",
        "some avg10=NaN avg60=inf total=-5",
        "  8       0 sda",
        "  8       0 sda 1 2 3",
        "x y z a b c d e f g h i j k l m n",
        "1 (a) b) (c) R",
        "1 (",
        ") 1 (",
        "eth0:",
        "eth0: a b c d e f g h i j k l m n o p",
        "sl local_address\n 0: ZZZZ:PPPP 0:0 0A",
        "1 2 3:4 / /a\\",
        "1 2 3:4 / /\\777\\04",
        "ÄÖÜ ß 🦀 8:0 rbytes=🦀",
        "8:0 rbytes=",
        "8:0 =1 rbytes",
        "0::",
        "::",
    ];

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = text("/proc/no such file").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().starts_with("/proc/no such file: "));
    }

    #[test]
    fn a_second_has_ticks() {
        assert!(ticks_per_second() >= 1);
    }

    #[test]
    fn a_name_is_the_whole_word_before_its_value() {
        let text = "pgpgin 7\npgpgout 8\nctxt\nnr 1 2\n";
        assert_eq!(number_behind(text, "pgpgin"), Some(7));
        assert_eq!(number_behind(text, "pgpg"), None);
        assert_eq!(number_behind(text, "ctxt"), None);
        assert_eq!(number_behind(text, "nr"), None);
    }

    #[test]
    fn no_content_of_such_a_file_is_an_error() {
        for text in HOSTILE {
            let _ = cpu::parse(text);
            let _ = cpu::load(text);
            let _ = memory::parse(text);
            let _ = memory::paging(text);
            let _ = disk::parse(text);
            let _ = network::interfaces(text);
            let _ = network::tcp(text);
            let _ = pressure::parse(text);
            let _ = task::stat(text);
            let _ = task::scheduled(text);
            let _ = task::namespace_pids(text);
            let _ = cgroup::of_process(text);
            let _ = cgroup::io(text);
            let _ = cgroup::cpu(text);
            let _ = mounts::parse(text);
            let _ = sockets::tcp(text);
        }
    }
}
