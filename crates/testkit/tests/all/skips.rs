//! Skips are recorded where `make test` counts them.

/// Set when the test below is run by itself as a test that is skipped.
const SKIPPED: &str = "PGDYNO_TEST_SKIPPED";

#[test]
fn a_skip_is_recorded_by_name_with_its_reason() {
    if std::env::var_os(SKIPPED).is_some() {
        pgdyno_testkit::skip!("the_name", "because\nit must");
    }
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("skips");
    for _ in 0..2 {
        let status = std::process::Command::new(std::env::current_exe().expect("known"))
            .args([
                "--exact",
                "skips::a_skip_is_recorded_by_name_with_its_reason",
            ])
            .env(SKIPPED, "1")
            .env("PGDYNO_SKIPS", &file)
            .stdout(std::process::Stdio::null())
            .status()
            .expect("it starts");
        assert!(status.success());
    }
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(text, "the_name: because it must\n".repeat(2));
}
