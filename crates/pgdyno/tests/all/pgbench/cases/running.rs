//! What a run says when something goes wrong in it, or nearly: errors of SQL and of meta-commands,
//! in the three query modes.

use super::needs_stock;
use crate::pgbench::compare::{Case, Setting, case};

const MODES: [&str; 3] = ["simple", "extended", "prepared"];

const SQL: [&str; 35] = [
    "SELEKT 1;\n",
    "SELECT 1/0;\n",
    "SELECT 1;\nSELECT nosuch FROM pg_class;\nSELECT 2;\n",
    "SELECT * FROM nosuch;\n",
    "SELECT :nosuch;\n",
    "SELECT 1,\n  2,\n  x;\n",
    "BEGIN;\nSELECT 1/0;\nEND;\n",
    "BEGIN;\n",
    "BEGIN;\nSELECT 1;\n",
    "BEGIN;\nBEGIN;\nEND;\nEND;\n",
    "SELECT 1\\; SELECT 2;\n",
    "SELECT 1\\; SELECT 1/0\\; SELECT 3;\n",
    "SELECT 1\\; BEGIN\\; SELECT 1/0;\n",
    "COPY (SELECT 1) TO STDOUT;\n",
    "CREATE TEMP TABLE IF NOT EXISTS c (a int);\nCOPY c FROM STDIN;\n",
    "SELECT pg_terminate_backend(pg_backend_pid());\n",
    "BEGIN;\nSELECT pg_terminate_backend(pg_backend_pid());\nEND;\n",
    "SELECT 1 \\gset\nSELECT pg_terminate_backend(pg_backend_pid()) \\gset\n",
    "DO $$ BEGIN RAISE NOTICE 'hello'; RAISE WARNING 'careful' USING HINT = 'h', DETAIL = 'd'; END $$;\n",
    "DO $$ BEGIN RAISE EXCEPTION 'no' USING HINT = 'h', DETAIL = E'd\\ne', ERRCODE = 'P0042'; END $$;\n",
    "SET statement_timeout = 10;\nSELECT pg_sleep(5);\n",
    "SET LOCAL statement_timeout = 10;\n",
    "SELECT 1 AS a \\gset\nSELECT :a;\n",
    "SELECT 1 AS a, NULL AS b \\gset p_\nSELECT :p_a, ':p_b';\n",
    "SELECT 1 WHERE false \\gset\n",
    "SELECT 1 UNION SELECT 2 \\gset\n",
    "SELECT 1 AS \"a b\" \\gset\n",
    "SELECT 1 AS a\\; SELECT 2 AS b \\gset\nSELECT :b;\n",
    "SELECT 1 AS a\\; SELECT 2 AS b WHERE false \\gset\n",
    "SELECT 1 AS a\\; SELECT 2 AS b WHERE false \\aset\nSELECT :a;\n",
    "SELECT 1 AS \"a b\" \\aset\n",
    "SELECT 1 AS \"a b\"\\; SELECT 2 AS \"c d\" \\aset\n",
    "SET work_mem = '1MB' \\gset\n",
    "SELECT 1/0 \\gset\n",
    ";\n;;\nSELECT 1;\n;\n",
];

const PIPELINES: [&str; 17] = [
    "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\syncpipeline\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1;\n",
    "\\startpipeline\n\\startpipeline\n",
    "\\endpipeline\n",
    "\\syncpipeline\n",
    "\\startpipeline\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1;\nSELECT 1/0;\nSELECT 2;\n\\endpipeline\nSELECT 3;\n",
    "\\startpipeline\nSELECT 1/0;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1 \\gset\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1 \\aset\n\\endpipeline\n",
    "\\startpipeline\nBEGIN;\nSELECT 1;\n\\endpipeline\n",
    "\\startpipeline\nBEGIN;\nSELECT 1;\nEND;\n\\endpipeline\n",
    "\\startpipeline\nSELECT pg_terminate_backend(pg_backend_pid());\nSELECT 2;\n\\endpipeline\n",
    "\\startpipeline\nCOPY (SELECT 1) TO STDOUT;\n\\endpipeline\n",
    "\\startpipeline\n\\set x 1/0\n\\endpipeline\n",
    "\\startpipeline\nSELECT 1;\n\\sleep 1 ms\n\\set x 4\nSELECT :x;\n\\endpipeline\n",
];

/// Meta-commands are the same in every mode.
const META: [&str; 57] = [
    "\\set x 1/0\n",
    "\\set x 1 % 0\n",
    "\\set x 9223372036854775807 + 1\n",
    "\\set x -9223372036854775808 - 1\n",
    "\\set x 9223372036854775807 * 2\n",
    "\\set x -9223372036854775808 / -1\n",
    "\\set x 1.0 / 0\n",
    "\\set x int(1e30)\n",
    "\\set x int(1e30 * 1e300)\n",
    "\\set x random(2, 1)\n",
    "\\set x random(-9223372036854775808, 9223372036854775807)\n",
    "\\set x random_gaussian(1, 10, 1)\n",
    "\\set x random_exponential(1, 10, 0)\n",
    "\\set x random_zipfian(1, 10, 1)\n",
    "\\set x random_zipfian(1, 10, 1001)\n",
    "\\set x permute(1, 0)\n",
    "\\set x permute(5, 10, 3)\n",
    "\\set x :nosuch\n",
    "\\set x 1 + true\n",
    "\\set x not 1\n",
    "\\set x 1.5 & 1\n",
    "\\set x null + 1\n",
    "\\set x int(null)\n",
    "\\set x case when null then 1 end\n\\set y :x + 1\n",
    "\\set x case when 2 then 1 end\n",
    "\\set x 1 and 1\n",
    "\\set x 1.5 or true\n",
    "\\set x debug(1) + debug(2.5)\n",
    "\\set x debug(true)\n\\set y debug(null)\n",
    "\\set x debug(pi())\n",
    "\\set x debug(1e300 * 1e10)\n",
    "\\set x debug(-1.0 * 0)\n",
    "\\set x debug(sqrt(-1))\n",
    "\\set x debug(ln(0))\n",
    "\\set x debug(exp(1))\n\\set y debug(pow(2, -1))\n\\set z debug(power(2, 10))\n",
    "\\set x debug(hash(5))\n\\set y debug(hash_fnv1a(5, 6))\n\\set z debug(permute(3, 100, 7))\n",
    "\\if :nosuch\n\\endif\n",
    "\\if null\nSELECT 1;\n\\endif\n",
    "\\if 1.5\nSELECT 1;\n\\endif\n",
    "\\if 0.0\nSELECT 1;\n\\elif 7\nSELECT 2;\n\\endif\n",
    "\\if true\n\\elif 1/0\n\\endif\n",
    "\\if false\n\\elif 1/0\n\\endif\n",
    "\\sleep :nosuch\n",
    "\\set x -1\n\\sleep :x ms\n",
    "\\set x 0\n\\sleep :x ms\n",
    "\\sleep 0\n",
    "\\sleep 1000 us\n",
    "\\sleep :s us\n",
    "\\shell exit 3\n",
    "\\shell true\n",
    "\\shell nosuchprogram\n",
    "\\shell echo :nosuch\n",
    "\\shell echo 1\n",
    "\\setshell x echo 5\nSELECT :x;\n",
    "\\setshell x echo five\n",
    "\\setshell x exit 1\n",
    "\\setshell x echo :nosuch\n",
];

fn compare(database: &str, cases: &[Case]) {
    Setting::new(pgdyno_testkit::postgres(), database, &FILES).compare(cases);
}

const FILES: [(&str, &str); 3] = [
    ("bad.sql", "SELECT 1;\nSELECT 1/0;\n"),
    ("good.sql", "SELECT 1;\n"),
    (
        "first.sql",
        "\\if :client_id = 0\nSELECT 1/0;\n\\else\n\\sleep 50 ms\n\\endif\n",
    ),
];

#[test]
fn errors_of_statements() {
    needs_stock!("errors_of_statements");
    let mode = |mode| {
        let line = format!("-n -t 2 -M {mode} -f -");
        SQL.map(|text| case(line.clone()).stdin(text))
    };
    let cases: Vec<Case> = MODES.into_iter().flat_map(mode).collect();
    compare("errors_of_statements", &cases);
}

#[test]
fn errors_of_pipelines() {
    needs_stock!("errors_of_pipelines");
    let mode = |mode| {
        let line = format!("-n -t 2 -M {mode} -f -");
        PIPELINES.map(|text| case(line.clone()).stdin(text))
    };
    let cases: Vec<Case> = MODES.into_iter().flat_map(mode).collect();
    compare("errors_of_pipelines", &cases);
}

#[test]
fn errors_of_meta_commands() {
    needs_stock!("errors_of_meta_commands");
    let mut cases: Vec<Case> = META
        .into_iter()
        .map(|text| case("-n -t 2 -D s=x --random-seed 8 -f -").stdin(text))
        .collect();
    let set = |definition: &str, text| {
        case(format!("-n -t 1 -D {definition} --random-seed 8 -f -")).stdin(text)
    };
    cases.extend([
        set("a=1x", "\\set b :a + 1\n"),
        set("a=99999999999999999999", "\\set b :a + 1\n"),
        set("a=1e999", "\\set b :a + 1\n"),
        set("a=true", "\\set b debug(:a)\n"),
        set("a=oN", "\\set b debug(:a)\n"),
        set("a=null", "\\set b debug(:a)\n"),
        set("a=1.5", "\\set b debug(:a)\n"),
        set("a=-7", "\\set b debug(:a)\n"),
        set("client_id=9", "\\set b debug(:client_id)\n"),
        set("random_seed=9", "\\set b debug(:random_seed)\n"),
        set("default_seed=9", "\\set b debug(hash(1))\n"),
        set("scale=9", "\\set b debug(:scale)\n"),
        case("-n -t 1 --random-seed 5 -f -")
            .stdin("\\set b debug(:random_seed) + debug(:default_seed)\n"),
    ]);
    compare("errors_of_meta_commands", &cases);
}

#[test]
fn runs_that_are_aborted() {
    needs_stock!("runs_that_are_aborted");
    compare(
        "runs_aborted",
        &[
            case("-n -t 2 -f bad.sql -r"),
            case("-n -t 2 -f bad.sql -r --max-tries 3 --failures-detailed"),
            case("-n -t 2 -f bad.sql --verbose-errors"),
            case("-n -t 2 -f bad.sql --exit-on-abort"),
            case("-n -t 2 -f bad.sql -C"),
            case("-n -t 2 -f bad.sql -P 100"),
            case("-n -t 2 -f bad.sql -R 1000"),
            case("-n -t 2 -f bad.sql -L 1000"),
            case("-n -t 2 -f bad.sql -L 1000 -R 100 -f bad.sql --random-seed 2"),
            case("-n -t 2 -c 2 -f bad.sql").any_order(),
            // Two threads of stock pgbench that complain at once print into each other's lines: with
            // -j 2 only one client may fail.
            case("-n -t 20 -f bad.sql -f good.sql@3 --random-seed 5 -r"),
            case("-n -t 3 -c 2 -f first.sql"),
            case("-n -t 3 -c 2 -j 2 -f first.sql"),
            case("-n -t 3 -c 2 -f first.sql --exit-on-abort"),
            case("-n -t 3 -c 2 -j 2 -f first.sql --exit-on-abort"),
            case("-n -t 2 -f bad.sql").env("PG_COLOR", "always"),
            case("-n -t 2 -f bad.sql --debug").repeats(),
            case("-n -t 1 -f good.sql --debug").repeats(),
            case("-n -t 1 -M extended -f good.sql --debug").repeats(),
            case("-n -t 2 -M prepared -f good.sql --debug").repeats(),
            case("-n -t 1 -f good.sql --debug --debug").repeats(),
            case("-n -t 1 --debug -f - --random-seed 4")
                .stdin("\\set a random(1, 9)\n\\setshell b echo 3\n\\sleep 1 us\n\\shell echo :a\nSELECT :a\\; SELECT 2 AS x \\gset p\nSELECT :px;\n")
                .repeats(),
            case("-n -T 1 --debug -c x"),
        ],
    );
}
