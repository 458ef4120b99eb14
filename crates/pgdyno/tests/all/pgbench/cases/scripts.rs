//! Scripts that pgbench does not take, and what it says of them.

use super::needs_stock;
use crate::pgbench::compare::{Case, Setting, case};

/// What is wrong with a script when it is read.
const WRONG: [&str; 72] = [
    "",
    "\n",
    "-- only a comment\n",
    "\\set\n",
    "\\set x\n",
    "\\set x 1 +\n",
    "\\set x 1 + + 2 )\n",
    "\\set x (1\n",
    "\\set x 1 2\n",
    "\\set x 9223372036854775808\n",
    "\\set x 1e999\n",
    "\\set x 99999999999999999999\n",
    "\\set x random(1)\n",
    "\\set x random(1, 2, 3)\n",
    "\\set x pi(1)\n",
    "\\set x abs()\n",
    "\\set x least()\n",
    "\\set x hash()\n",
    "\\set x hash(1, 2, 3)\n",
    "\\set x permute(1)\n",
    "\\set x random_zipfian(1, 2)\n",
    "\\set x nosuch(1)\n",
    "\\set x nosuch\n",
    "\\set x case when 1 then 2\n",
    "\\set x case end\n",
    "\\set x 1 is 2\n",
    "\\set x $1\n",
    "\\set x 'text'\n",
    "\\set x :\n",
    "\\set x 1 <> \n",
    "\\set x é + 1\n",
    "\\set é 1 +\n",
    "\\set x-y 1\n",
    "\\set x 1 \\\n + \\\n )\n",
    "\\set x \\\n\\\n 5 5\n",
    "SELECT 1;\n\\set x 1\n\\set y +\n",
    "\\set x a very long line that goes on and on and on and on and on and on and on and on 1\n",
    "\t\\set\tx\t1\t+\t)\n",
    "\\nosuch\n",
    "\\nosuch a b c\n",
    "\\\n",
    "\\ set x 1\n",
    "\\SETT x 1\n",
    "\\sleep\n",
    "\\sleep 1 2 3\n",
    "\\sleep 1 m\n",
    "\\sleep x us\n",
    "\\sleep 1x\n",
    "\\sleep 1xs\n",
    "\\sleep -1x\n",
    "\\setshell\n",
    "\\setshell x\n",
    "\\shell\n",
    "\\gset\n",
    "\\gset x\n",
    "SELECT 1 \\gset a b\n",
    "SELECT 1 AS a; \\gset\n\\gset\n",
    "SELECT 1 \\aset a b\n",
    "\\set x 1\n\\gset\n",
    "\\if\n",
    "\\if 1 2\n",
    "\\if 1\n",
    "\\if 1\nSELECT 1;\n\\else 2\n\\endif\n",
    "\\elif 1\n",
    "\\else\n",
    "\\endif\n",
    "\\endif 2\n",
    "\\if 1\n\\else\n\\else\n\\endif\n",
    "\\if 1\n\\else\n\\elif 1\n\\endif\n",
    "\\startpipeline x\n",
    "\\endpipeline x\n",
    "\\syncpipeline x\n",
];

#[test]
fn errors_of_scripts() {
    needs_stock!("errors_of_scripts");
    // One transaction each, should one be taken after all: what it does is compared too.
    let read = |text| case("-n -t 1 -f -").stdin(text);
    let mut cases: Vec<Case> = WRONG.into_iter().map(read).collect();
    cases.extend([
        case("-n -t 1 -f one.sql -f wrong.sql"),
        case("-n -t 1 -f wrong.sql@3 -c x"),
        case("-n -t 1 -f wrong.sql").env("PG_COLOR", "always"),
        case("-n -t 1 -f -@2").stdin("SELECT 1;\n"),
        case("-n -t 1 -f - -f -").stdin("SELECT 1;\n"),
        case("-n -t 1 -f crlf.sql"),
        case("-n -t 1 -f noend.sql"),
        case("-n -t 1 -f args.sql"),
        case("-n -t 1 -M extended -f args.sql"),
        case("-n -t 1 -M prepared -f args.sql"),
    ]);
    let sets: String = (1..=300).map(|n| format!("\\set a{n} {n}\n")).collect();
    let variables: Vec<String> = (1..=300).map(|n| format!(":a{n}")).collect();
    let arguments = format!("{sets}SELECT {};\n", variables.join(", "));
    let files = [
        ("one.sql", "SELECT 1;\n"),
        ("wrong.sql", "SELECT 1;\n\\set n random(1, 2))\n"),
        ("crlf.sql", "\\set x 1\r\nSELECT :x;\r\n"),
        ("noend.sql", "SELECT 1;\nSELECT 2"),
        ("args.sql", arguments.as_str()),
    ];
    Setting::new(pgdyno_testkit::postgres(), "errors_of_scripts", &files).compare(&cases);
}
