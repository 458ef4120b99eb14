//! What is built in to be read, and what makes typing easier.

use std::fs;
use std::process::Command;

use crate::support::{pgdyno, ran};

#[test]
fn documents_are_read_from_the_binary_alone() {
    let elsewhere = tempfile::tempdir().unwrap();
    let read = |words: &[&str]| ran(pgdyno(&["help"]).current_dir(elsewhere.path()).args(words));
    assert!(read(&[]).stdout.contains("Writing workloads"));
    assert!(read(&["results"]).stdout.contains("Reading results"));
    read(&["resluts"]).expect(2, &["did you mean results?"]);
}

#[test]
fn man_pages_are_written_and_a_folder_that_cannot_be_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man");
    ran(pgdyno(&["man"]).arg(&pages)).expect(0, &["man pages are in"]);
    let page = fs::read_to_string(pages.join("pgdyno-lab-disturb.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("during"), "{page}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    ran(pgdyno(&["man"]).arg(file.join("man"))).expect(1, &["man pages could not be written"]);
}

/// bash is there wherever the tests run; it must take the script and know the verb.
#[test]
fn bash_completes_a_verb_and_an_option() {
    let completions = ran(&mut pgdyno(&["completions", "bash"])).stdout;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pgdyno.bash");
    fs::write(&file, completions).unwrap();
    let completed = |words: &str, at: usize| {
        let script = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={at}; _pgdyno pgdyno \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\"; echo \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(completed("pgdyno calib", 1), "calibrate");
    assert_eq!(completed("pgdyno run --query-m", 2), "--query-mode");
}
