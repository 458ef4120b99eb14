//! Tables of a pack that are loaded from a user's own files.

use std::path::Path;
use std::process::Stdio;

use crate::support::{self, Database, Ran};

/// A pack whose table orders is loaded from these files.
fn pack(from: &str, more: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        "name = \"mine\"\nsummary = \"s\"\nschema = \"schema.sql\"\n\
         [[script]]\nname = \"read\"\nfile = \"read.sql\"\n\
         [[table]]\nname = \"orders\"\nfrom = \"{from}\"\n{more}\n\
         columns = [{{ name = \"id\" }}, {{ name = \"item\", field = \"what\" }}, \
         {{ name = \"qty\" }}, {{ name = \"row\", value = \":row\" }}]\n"
    );
    let schema = "CREATE TABLE orders (id int PRIMARY KEY, item text, qty int, row int);\n";
    let own = [
        ("pack.toml", manifest.as_str()),
        ("schema.sql", schema),
        ("read.sql", "SELECT item FROM orders WHERE id = 1;\n"),
    ];
    for (name, text) in own.iter().chain(files) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn with(database: &Database, folder: &Path, verb: &str, more: &str) -> Ran {
    let args = [verb, folder.to_str().unwrap()].into_iter();
    let args = args.chain(more.split_whitespace());
    database.pgdyno(&args.collect::<Vec<_>>())
}

/// Rows `from` to `to` with a header; every tenth item is NULL, every seventh goes over two lines.
fn rows(from: u64, to: u64) -> String {
    let row = |id: u64| match id {
        id if id % 10 == 0 => format!("{},,{id}\n", id % 50),
        id if id % 7 == 0 => format!("{},\"item, \"\"{id}\"\"\nof two lines\",{id}\n", id % 50),
        id => format!("{},item\\t{id},{id}\n", id % 50),
    };
    let rows = (from..=to).map(row).collect::<String>();
    format!("qty,what,id\n{rows}")
}

#[test]
fn files_are_loaded_by_ranges_and_run_as_any_table() {
    let database = Database::new("own_data");
    let (one, two) = (rows(1, 30_000), rows(30_001, 65_000));
    let folder = pack(
        "orders*.csv",
        "",
        &[("orders1.csv", &one), ("orders2.csv", &two)],
    );
    with(&database, folder.path(), "load", "--jobs 4").expect(0, &["65,000 rows"]);
    let all = "SELECT count(*), count(item), sum(id), sum(qty), sum(id - row) FROM orders";
    assert_eq!(database.value(all), "65000|58500|2112532500|1592500|0");
    let texts = "SELECT item FROM orders WHERE id IN (1, 7, 64995) ORDER BY id";
    let want = [
        r"item\t1",
        "item, \"7\"\nof two lines",
        "item, \"64995\"\nof two lines",
    ];
    assert_eq!(database.rows(texts)[..2], want[..2]);
    with(&database, folder.path(), "run", "--no-store -t 5").expect(0, &[]);
    // By INSERT the same.
    let again = "--replace --method insert --quiet";
    with(&database, folder.path(), "load", again).expect(0, &[]);
    assert_eq!(database.value(all), "65000|58500|2112532500|1592500|0");
    // Other rows are reported, also in files of the same size, and loaded when asked for.
    let reported = "orders2.csv is not the file any more from which the tables were loaded";
    let mut other = std::fs::read(folder.path().join("orders2.csv")).unwrap();
    let digit = other.iter().rposition(u8::is_ascii_digit).unwrap();
    other[digit] = if other[digit] == b'1' { b'2' } else { b'1' };
    std::fs::write(folder.path().join("orders2.csv"), other).unwrap();
    with(&database, folder.path(), "run", "--no-store -t 5").expect(0, &[reported]);
    std::fs::write(folder.path().join("orders2.csv"), rows(30_001, 30_002)).unwrap();
    with(&database, folder.path(), "run", "--no-store -t 5").expect(0, &[reported]);
    with(&database, folder.path(), "load", "--replace --quiet").expect(0, &[]);
    assert_eq!(database.value("SELECT count(*) FROM orders"), "30002");
}

#[test]
fn a_load_that_was_killed_goes_on_with_the_same_files_and_begins_anew_with_others() {
    let database = Database::new("own_data_killed");
    let text = rows(1, 100_000);
    let folder = pack("a.csv", "", &[("a.csv", &text)]);
    let mut load = support::pgdyno(&["load", folder.path().to_str().unwrap()]);
    load.args(["--jobs", "1", "--url", &database.url]);
    load.stdout(Stdio::null()).stderr(Stdio::null());
    let mut load = load.spawn().unwrap();
    database.wait_for("SELECT 1 FROM pg_tables WHERE tablename = 'orders'");
    database.wait_for("SELECT 1 FROM orders LIMIT 1");
    // The next range waits for this session, so that the load is killed in the middle.
    let mut session = support::connect(&database.url);
    let lock = "BEGIN; LOCK TABLE orders IN SHARE MODE";
    session.simple_query(lock).unwrap();
    load.kill().unwrap();
    load.wait().unwrap();
    session.simple_query("COMMIT").unwrap();
    let goes_on = "of 100,000 rows were there from an interrupted load";
    with(&database, folder.path(), "load", "").expect(0, &[goes_on]);
    let all = "SELECT count(*), sum(id - row) FROM orders";
    assert_eq!(database.value(all), "100000|0");

    with(&database, folder.path(), "load", "--replace --quiet").expect(0, &[]);
    let mark = "SELECT obj_description('orders'::regclass) LIKE '%\"files\":{\"a.csv\":\"%'";
    assert_eq!(database.value(mark), "t");
}

#[test]
fn a_bad_row_is_an_error_with_file_and_line_and_loads_nothing() {
    let database = Database::new("own_data_bad");
    let place = |folder: &tempfile::TempDir, line: &str| {
        format!("{}/a.csv:{line}", folder.path().display())
    };
    // Before anything is created: what is no row.
    let short = pack("a.csv", "", &[("a.csv", "id,what,qty\n1,a,1\n2,b\n")]);
    let want = place(&short, "3: 2 fields: 3 expected as in line 1: 2,b");
    with(&database, short.path(), "load", "").expect(1, &[&want]);
    assert_eq!(database.value("SELECT to_regclass('orders') IS NULL"), "t");
    let missing = pack("a.csv", "", &[("a.csv", "id,qty\n1,1\n")]);
    let want = place(
        &missing,
        "1: there is no field \"what\" (there are: id, qty)",
    );
    with(&database, missing.path(), "load", "").expect(1, &[&want]);
    let none = pack("b*.csv", "", &[("a.csv", "")]);
    let want = [
        "from = \"b*.csv\": there is no such file in ",
        "(there are: a.csv, ",
    ];
    with(&database, none.path(), "load", "").expect(1, &want);
    let packed = pack("a.csv*", "", &[("a.csv.gz", "")]);
    with(&database, packed.path(), "load", "").expect(1, &["unpack it first (`gunzip -k "]);

    // By the server: what is no value of its column, in the middle of ranges and records.
    let mut text = rows(1, 45_000);
    let at = text
        .lines()
        .position(|line| line == "3,item\\t41003,41003")
        .unwrap();
    text = text.replace("3,item\\t41003,41003", "3,item,forty-one");
    let bad = pack("a.csv", "", &[("a.csv", &text)]);
    let want = format!(
        "could not fill orders from {}",
        place(&bad, &(at + 1).to_string())
    );
    let texts = [
        &want,
        "invalid input syntax for type integer: \"forty-one\"",
        "column id",
    ];
    with(&database, bad.path(), "load", "--quiet").expect(1, &texts.map(|t| t as &str));
    // The way on: mend the file; it is another one, so the load begins anew.
    std::fs::write(bad.path().join("a.csv"), rows(1, 45_000)).unwrap();
    with(&database, bad.path(), "load", "--quiet").expect(0, &[]);
    assert_eq!(
        database.value("SELECT count(*), sum(id - row) FROM orders"),
        "45000|0"
    );
    let twice = pack(
        "a.csv",
        "",
        &[("a.csv", "id,what,qty\n1,a,1\n2,b,2\n1,c,3\n")],
    );
    let want = format!("could not fill orders from {}", place(&twice, "4: "));
    with(&database, twice.path(), "load", "--replace --quiet")
        .expect(1, &[&want, "duplicate key value"]);
}

/// Only where pgdyno is built without.
#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_with_the_way_to_have_it() {
    let database = Database::new("own_data_parquet");
    let folder = pack("a.parquet", "", &[("a.parquet", "PAR1")]);
    let want =
        "a.parquet: this pgdyno is built without Parquet: write the rows as CSV, or build it";
    with(&database, folder.path(), "load", "").expect(1, &[want]);
}
