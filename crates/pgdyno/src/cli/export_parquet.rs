//! `pgdyno export … --parquet`: which trials, and the files of the tables. The tables: `crates/report/src/parquet`.

use pgdyno_model::{Exit, Failure};

#[cfg(feature = "parquet")]
pub(super) use built_in::export;

/// Refuses what this build cannot do.
pub(super) fn check_built_in() -> Result<(), Failure> {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    Err(
        Failure::with(Exit::Usage, "this pgdyno is built without Parquet")
            .hint("packages of pgdyno have it; or build it with cargo build --release --features parquet")
            .hint("pandas and DuckDB also read what pgdyno export -o FILE.sqlite writes"),
    )
}

/// Is not reached: [`check_built_in`] comes before it.
#[cfg(not(feature = "parquet"))]
pub(super) fn export(
    _: &pgdyno_store::Store,
    _: Vec<i64>,
    _: &std::path::Path,
    _: pgdyno_output::Verbosity,
) -> Result<(), Failure> {
    check_built_in()
}

#[cfg(feature = "parquet")]
mod built_in {
    use std::fs::{self, File, OpenOptions};
    use std::io::ErrorKind;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;

    use pgdyno_model::notebook::PGBENCH_TOOLS;
    use pgdyno_model::{Exit, Failure, State, text};
    use pgdyno_output::Verbosity;
    use pgdyno_report::parquet::Files;
    use pgdyno_report::parquet::schema::TableName;
    use pgdyno_store::{Copied, Store};

    use super::super::exchange::tell;

    /// Writes these trials into a directory that is new or empty; running ones are left out. After an error the
    /// directory is as it was.
    pub(in super::super) fn export(
        store: &Store,
        mut numbers: Vec<i64>,
        directory: &Path,
        verbosity: Verbosity,
    ) -> Result<(), Failure> {
        numbers.sort_unstable();
        numbers.dedup();
        let is_new = take(directory)?;
        let written = write(store, &numbers, directory);
        if written.is_err() {
            for table in TableName::ALL {
                let _ = fs::remove_file(directory.join(table.file()));
            }
            if is_new {
                let _ = fs::remove_dir(directory);
            }
        }
        let (copied, rows) = written?;
        let tables = rows.iter().map(|(table, rows)| {
            let rows = text::count(*rows);
            format!("{} {rows}", table.name())
        });
        let tables: Vec<String> = tables.collect();
        let what = format!(
            "written to {} (rows: {})",
            directory.display(),
            tables.join(", ")
        );
        tell(copied, &what, verbosity);
        Ok(())
    }

    /// Makes the directory, or finds it empty; whether it was made.
    fn take(directory: &Path) -> Result<bool, Failure> {
        let shown = directory.display();
        match fs::create_dir(directory) {
            Ok(()) => return Ok(true),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => {
                let failure = Failure::new(format!("cannot create {shown}: {e}"));
                return Err(failure.with_missing_folder(directory));
            }
        }
        let entries = fs::read_dir(directory);
        let mut entries =
            entries.map_err(|e| Failure::with(Exit::Usage, format!("cannot use {shown}: {e}")))?;
        match entries.next() {
            None => Ok(false),
            Some(_) => Err(Failure::with(
                Exit::Usage,
                format!("{shown} is not empty"),
            )
            .hint("tables go into a new or empty directory: name another with --parquet, or empty that one")),
        }
    }

    fn write(
        store: &Store,
        numbers: &[i64],
        directory: &Path,
    ) -> Result<(Copied, Vec<(TableName, u64)>), Failure> {
        let mut files = Files::new(|table| create(&directory.join(table.file())))?;
        let mut copied = Copied::default();
        for number in numbers {
            let trial = store.trial(&number.to_string())?;
            if trial.state == State::Running {
                copied.running += 1;
                continue;
            }
            // Of another program's there are totals only.
            let outcome = match trial.pgdyno == PGBENCH_TOOLS {
                true => None,
                false => Some(store.outcome(*number)?),
            };
            files.add(&trial, outcome.as_ref())?;
            copied.trials += 1;
        }
        Ok((copied, files.finish()?))
    }

    /// As a notebook's file: for its owner only.
    fn create(path: &Path) -> Result<File, Failure> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        file.map_err(|e| Failure::new(format!("cannot create {}: {e}", path.display())))
    }
}
