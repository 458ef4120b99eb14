//! What is wrong with a script is said in pgbench's words, with line and caret.

use pgdyno_script::{Language, Names, ScriptErrorKind, parse};

/// Scripts and what is wrong with them: measured with pgbench 18.6, as it prints it on stderr
/// after `pgbench: error: `, for a script file "bad.sql".
#[rustfmt::skip]
const ERRORS: &[(&str, &str)] = &[
    ("",
     "empty command list for script \"bad.sql\""),
    ("\n\n",
     "empty command list for script \"bad.sql\""),
    ("-- only a comment\n",
     "empty command list for script \"bad.sql\""),
    ("\\\n",
     "empty command list for script \"bad.sql\""),
    ("  \\  \n",
     "empty command list for script \"bad.sql\""),
    ("\\set\n",
     "bad.sql:1: missing argument in command \"set\""),
    ("\\set x\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x\n      ^ error found here"),
    ("\\set x",
     "bad.sql:1: syntax error in command \"set\"\n\\set x\n     ^ error found here"),
    ("\\set x 1 +\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 +\n          ^ error found here"),
    ("\\set x 1 +",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 +\n         ^ error found here"),
    ("\\set x 1 2\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 2\n         ^ error found here"),
    ("\\set x (1\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x (1\n         ^ error found here"),
    ("\\set x 1)\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1)\n        ^ error found here"),
    ("\\set x + * 2\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x + * 2\n         ^ error found here"),
    ("\\set x 1 <> \n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 <> \n            ^ error found here"),
    ("\\set x 1 < 2 < 3\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 < 2 < 3\n             ^ error found here"),
    ("\\set x 1 = 2 <> 3\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 = 2 <> 3\n              ^ error found here"),
    ("\\set x not 1 < 2 < 3\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x not 1 < 2 < 3\n                 ^ error found here"),
    ("\\set x foo(1)\n",
     "bad.sql:1: unexpected function name (foo) in command \"set\"\n\\set x foo(1)\n         ^ error found here"),
    ("\\SET x FOO\n",
     "bad.sql:1: unexpected function name (FOO) in command \"SET\"\n\\SET x FOO\n         ^ error found here"),
    ("\\set x 1 + foo + 2\n",
     "bad.sql:1: unexpected function name (foo) in command \"set\"\n\\set x 1 + foo + 2\n             ^ error found here"),
    ("\\set x random\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x random\n             ^ error found here"),
    ("\\set x random(1)\n",
     "bad.sql:1: unexpected number of arguments (random) in command \"set\"\n\\set x random(1)\n               ^ error found here"),
    ("\\set x random(1,2,3)\n",
     "bad.sql:1: unexpected number of arguments (random) in command \"set\"\n\\set x random(1,2,3)\n                   ^ error found here"),
    ("\\set x RANDOM(1)\n",
     "bad.sql:1: unexpected number of arguments (random) in command \"set\"\n\\set x RANDOM(1)\n               ^ error found here"),
    ("\\set x least()\n",
     "bad.sql:1: at least one argument expected (least) in command \"set\"\n\\set x least()\n             ^ error found here"),
    ("\\set x greatest( )\n",
     "bad.sql:1: at least one argument expected (greatest) in command \"set\"\n\\set x greatest( )\n                 ^ error found here"),
    ("\\set x pi(1)\n",
     "bad.sql:1: unexpected number of arguments (pi) in command \"set\"\n\\set x pi(1)\n           ^ error found here"),
    ("\\set x hash()\n",
     "bad.sql:1: unexpected number of arguments (hash) in command \"set\"\n\\set x hash()\n            ^ error found here"),
    ("\\set x hash(1,2,3)\n",
     "bad.sql:1: unexpected number of arguments (hash) in command \"set\"\n\\set x hash(1,2,3)\n                 ^ error found here"),
    ("\\set x permute(1)\n",
     "bad.sql:1: unexpected number of arguments (permute) in command \"set\"\n\\set x permute(1)\n                ^ error found here"),
    ("\\set x permute(1,2,3,4)\n",
     "bad.sql:1: unexpected number of arguments (permute) in command \"set\"\n\\set x permute(1,2,3,4)\n                      ^ error found here"),
    ("\\set x abs(1,)\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x abs(1,)\n             ^ error found here"),
    ("\\set x abs(,)\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x abs(,)\n            ^ error found here"),
    ("\\set x abs(,1,2)\n",
     "bad.sql:1: unexpected number of arguments (abs) in command \"set\"\n\\set x abs(,1,2)\n               ^ error found here"),
    ("\\set x debug()\n",
     "bad.sql:1: unexpected number of arguments (debug) in command \"set\"\n\\set x debug()\n             ^ error found here"),
    ("\\set x pow(1)\n",
     "bad.sql:1: unexpected number of arguments (pow) in command \"set\"\n\\set x pow(1)\n            ^ error found here"),
    ("\\set x 'a'\n",
     "bad.sql:1: unexpected character (') in command \"set\"\n\\set x 'a'\n         ^ error found here"),
    ("\\set x 1 @ 2\n",
     "bad.sql:1: unexpected character (@) in command \"set\"\n\\set x 1 @ 2\n         ^ error found here"),
    ("\\set x 1 @ 2 $ 3\n",
     "bad.sql:1: unexpected character ($) in command \"set\"\n\\set x 1 @ 2 $ 3\n             ^ error found here"),
    ("\\set x foo( @\n",
     "bad.sql:1: unexpected character (@) in command \"set\"\n\\set x foo( @\n            ^ error found here"),
    ("\\set x 1 2 @ 3\n",
     "bad.sql:1: unexpected character (@) in command \"set\"\n\\set x 1 2 @ 3\n           ^ error found here"),
    ("\\set x :\n",
     "bad.sql:1: unexpected character (:) in command \"set\"\n\\set x :\n       ^ error found here"),
    ("\\set x ::y\n",
     "bad.sql:1: unexpected character (:) in command \"set\"\n\\set x ::y\n       ^ error found here"),
    ("\\set x 1;\n",
     "bad.sql:1: unexpected character (;) in command \"set\"\n\\set x 1;\n        ^ error found here"),
    ("\\set x \\a\n",
     "bad.sql:1: unexpected character (\\) in command \"set\"\n\\set x \\a\n       ^ error found here"),
    ("\\set x !1\n",
     "bad.sql:1: unexpected character (!) in command \"set\"\n\\set x !1\n       ^ error found here"),
    ("\\set x a.b\n",
     "bad.sql:1: unexpected character (.) in command \"set\"\n\\set x a.b\n        ^ error found here"),
    ("\\set x \"y\"\n",
     "bad.sql:1: unexpected character (\") in command \"set\"\n\\set x \"y\"\n         ^ error found here"),
    ("\\set x 9223372036854775808\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 9223372036854775808\n                         ^ error found here"),
    ("\\set x 1 - 9223372036854775808\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 - 9223372036854775808\n                             ^ error found here"),
    ("\\set x 9223372036854775809\n",
     "bad.sql:1: bigint constant overflow (9223372036854775809) in command \"set\"\n\\set x 9223372036854775809\n                         ^ error found here"),
    ("\\set x 99999999999999999999 + 88888888888888888888\n",
     "bad.sql:1: bigint constant overflow (88888888888888888888) in command \"set\"\n\\set x 99999999999999999999 + 88888888888888888888\n                                                 ^ error found here"),
    ("\\set x 1e400\n",
     "bad.sql:1: double constant overflow (1e400) in command \"set\"\n\\set x 1e400\n           ^ error found here"),
    ("\\set x 1e-400\n",
     "bad.sql:1: double constant overflow (1e-400) in command \"set\"\n\\set x 1e-400\n            ^ error found here"),
    ("\\set x .5e999 + 1\n",
     "bad.sql:1: double constant overflow (.5e999) in command \"set\"\n\\set x .5e999 + 1\n            ^ error found here"),
    ("\\set x 1 99999999999999999999\n",
     "bad.sql:1: bigint constant overflow (99999999999999999999) in command \"set\"\n\\set x 1 99999999999999999999\n                            ^ error found here"),
    ("\\set x 0x10\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 0x10\n          ^ error found here"),
    ("\\set x 1e\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1e\n        ^ error found here"),
    ("\\set x 1.2.3\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1.2.3\n           ^ error found here"),
    ("\\set x case 1 then 2 end\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x case 1 then 2 end\n            ^ error found here"),
    ("\\set x case when 1 then 2\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x case when 1 then 2\n                         ^ error found here"),
    ("\\set x case when 1 2 end\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x case when 1 2 end\n                   ^ error found here"),
    ("\\set x case end\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x case end\n              ^ error found here"),
    ("\\set x case when 1 then 2 else 3 else 4 end\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x case when 1 then 2 else 3 else 4 end\n                                    ^ error found here"),
    ("\\set x 1 is 2\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 is 2\n            ^ error found here"),
    ("\\set x 1 is not\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 is not\n               ^ error found here"),
    ("\\set x is null\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x is null\n        ^ error found here"),
    ("\\set x and\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x and\n         ^ error found here"),
    ("\\set x 1 and\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 and\n            ^ error found here"),
    ("\\set x not\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x not\n          ^ error found here"),
    ("\\set x ~\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x ~\n        ^ error found here"),
    ("SELECT 1;\n\n  \\set x 1 +\nSELECT 2;\n",
     "bad.sql:3: syntax error in command \"set\"\n\\set x 1 +\n          ^ error found here"),
    ("SELECT 1;\n\\set x \\\n  1 + \\\n  * 2\nSELECT 1;\n",
     "bad.sql:2: syntax error in command \"set\"\n\\set x \\\n  1 + \\\n  * 2\n                   ^ error found here"),
    ("\\set x 1 + \\\n  foo\\\n\n",
     "bad.sql:1: unexpected function name (foo) in command \"set\"\n\\set x 1 + \\\n  foo\\\n                 ^ error found here"),
    ("\\set x\\\n 1 +\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x\\\n 1 +\n            ^ error found here"),
    ("\\set x 1 +\r\nSELECT 1;\r\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 +\n           ^ error found here"),
    ("SELECT 1; \\set x 1 +\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x 1 +\n          ^ error found here"),
    ("\\set x\t1\t+\t*\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set x\t1\t+\t*\n           ^ error found here"),
    ("\\set é 1 é\n",
     "bad.sql:1: syntax error in command \"set\"\n\\set é 1 é\n           ^ error found here"),
    ("\\if\n\\endif\n",
     "bad.sql:1: syntax error in command \"if\"\n\\if\n   ^ error found here"),
    ("\\if 1 +\n\\endif\n",
     "bad.sql:1: syntax error in command \"if\"\n\\if 1 +\n       ^ error found here"),
    ("\\elif\n",
     "bad.sql:1: syntax error in command \"elif\"\n\\elif\n     ^ error found here"),
    ("\\If (\n",
     "bad.sql:1: syntax error in command \"If\"\n\\If (\n     ^ error found here"),
    ("\\if 1\n",
     "condition error in script \"bad.sql\" command 2: \\if without matching \\endif"),
    ("\\if 1\nSELECT 1;\n\\else\n\\else\n\\endif\n",
     "condition error in script \"bad.sql\" command 4: \\else after \\else"),
    ("\\if 1\n\\else\n\\elif 1\n\\endif\n",
     "condition error in script \"bad.sql\" command 3: \\elif after \\else"),
    ("\\else\n",
     "condition error in script \"bad.sql\" command 1: \\else without matching \\if"),
    ("\\elif 1\n",
     "condition error in script \"bad.sql\" command 1: \\elif without matching \\if"),
    ("\\endif\n",
     "condition error in script \"bad.sql\" command 1: \\endif without matching \\if"),
    ("SELECT 1;\n\\if 1\n\\endif\n\\endif\n",
     "condition error in script \"bad.sql\" command 4: \\endif without matching \\if"),
    ("\\if 1\n\\if 1\n\\endif\n",
     "condition error in script \"bad.sql\" command 4: \\if without matching \\endif"),
    ("\\if true\n\\elif true\n\\else\n\\else\n",
     "condition error in script \"bad.sql\" command 4: \\else after \\else"),
    ("\\else 1\n",
     "bad.sql:1: unexpected argument in command \"else\"\n\\else 1"),
    ("\\endif x y\n",
     "bad.sql:1: unexpected argument in command \"endif\"\n\\endif x y"),
    ("\\startpipeline 1\n",
     "bad.sql:1: unexpected argument in command \"startpipeline\"\n\\startpipeline 1"),
    ("\\syncpipeline 1\n",
     "bad.sql:1: unexpected argument in command \"syncpipeline\"\n\\syncpipeline 1"),
    ("\\endpipeline now\n",
     "bad.sql:1: unexpected argument in command \"endpipeline\"\n\\endpipeline now"),
    ("\\sleep\n",
     "bad.sql:1: missing argument in command \"sleep\"\n\\sleep"),
    ("\\sleep 1 ms 3\n",
     "bad.sql:1: too many arguments in command \"sleep\"\n\\sleep 1 ms 3\n            ^ error found here"),
    ("\\sleep 1 2 3 4\n",
     "bad.sql:1: too many arguments in command \"sleep\"\n\\sleep 1 2 3 4\n           ^ error found here"),
    ("\\sleep abc\n",
     "bad.sql:1: invalid sleep time, must be an integer (abc) in command \"sleep\"\n\\sleep abc\n       ^ error found here"),
    ("\\sleep 1d\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (d) in command \"sleep\"\n\\sleep 1d\n        ^ error found here"),
    ("\\sleep 1ms ms\n",
     "bad.sql:1: invalid sleep time, must be an integer (1ms) in command \"sleep\"\n\\sleep 1ms ms\n       ^ error found here"),
    ("\\sleep 1 min\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (min) in command \"sleep\"\n\\sleep 1 min\n         ^ error found here"),
    ("\\Sleep -x\n",
     "bad.sql:1: invalid sleep time, must be an integer (-x) in command \"Sleep\"\n\\Sleep -x\n       ^ error found here"),
    ("\\sleep +5x\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (x) in command \"sleep\"\n\\sleep +5x\n         ^ error found here"),
    ("\\sleep :x min\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (min) in command \"sleep\"\n\\sleep :x min\n          ^ error found here"),
    ("\\sleep 1.5\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (.5) in command \"sleep\"\n\\sleep 1.5\n        ^ error found here"),
    ("\\sleep 1.5 s\n",
     "bad.sql:1: invalid sleep time, must be an integer (1.5) in command \"sleep\"\n\\sleep 1.5 s\n       ^ error found here"),
    ("\\sleep ms\n",
     "bad.sql:1: invalid sleep time, must be an integer (ms) in command \"sleep\"\n\\sleep ms\n       ^ error found here"),
    ("\\sleep 10 \\\n abc\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (abc) in command \"sleep\"\n\\sleep 10 \\\n abc\n             ^ error found here"),
    ("\\sleep 1\\\n abc\n",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (abc) in command \"sleep\"\n\\sleep 1\\\n abc\n           ^ error found here"),
    ("\\sleep abc\\\n\n",
     "bad.sql:1: invalid sleep time, must be an integer (abc) in command \"sleep\"\n\\sleep abc\\\n         ^ error found here"),
    ("\\sleep",
     "bad.sql:1: missing argument in command \"sleep\"\n\\sleep"),
    ("\\sleep 1h",
     "bad.sql:1: unrecognized time unit, must be us, ms or s (h) in command \"sleep\"\n\\sleep 1h\n        ^ error found here"),
    ("\\shell\n",
     "bad.sql:1: missing command in command \"shell\"\n\\shell"),
    ("\\setshell\n",
     "bad.sql:1: missing argument in command \"setshell\"\n\\setshell"),
    ("\\setshell x\n",
     "bad.sql:1: missing argument in command \"setshell\"\n\\setshell x"),
    ("\\SHELL",
     "bad.sql:1: missing command in command \"SHELL\"\n\\SHELL"),
    ("\\gset\n",
     "bad.sql:1: \\gset must follow an SQL command"),
    ("\\aset\n",
     "bad.sql:1: \\gset must follow an SQL command"),
    ("\\set x 1\n\\gset\n",
     "bad.sql:2: \\gset must follow an SQL command (\\set x 1)"),
    ("\\set x 1\n\\aset p_\n",
     "bad.sql:2: \\gset must follow an SQL command (\\set x 1)"),
    ("SELECT 1 \\gset\n\\gset\n",
     "bad.sql:2: \\gset must follow an SQL command"),
    ("SELECT 1;\n\\gset a b\n",
     "bad.sql:2: too many arguments in command \"gset\"\n\\gset a b"),
    ("SELECT 1 \\gset a\\\n b\n",
     "bad.sql:1: too many arguments in command \"gset\"\n\\gset a\\\n b"),
    ("\\if 1\n\\gset\n\\endif\n",
     "bad.sql:2: \\gset must follow an SQL command (\\if 1)"),
    ("SELECT 1;\n\\sleep 0\n\\gset p_\n",
     "bad.sql:3: \\gset must follow an SQL command (\\sleep 0)"),
    ("\\foo\n",
     "bad.sql:1: invalid command in command \"foo\"\n\\foo"),
    ("\\foo bar baz\n",
     "bad.sql:1: invalid command in command \"foo\"\n\\foo bar baz"),
    ("\\;\n\\foo bar\\\n baz\n",
     "bad.sql:2: invalid command in command \"foo\"\n\\foo bar\\\n baz"),
    ("SELECT 1\n\\bar",
     "bad.sql:2: invalid command in command \"bar\"\n\\bar"),
    ("\\'x'\n",
     "bad.sql:1: invalid command in command \"'x'\"\n\\'x'"),
    ("\\?\n",
     "bad.sql:1: invalid command in command \"?\"\n\\?"),
    ("\\set: x 1\n",
     "bad.sql:1: invalid command in command \"set:\"\n\\set: x 1"),
    ("\\setx 1\n",
     "bad.sql:1: invalid command in command \"setx\"\n\\setx 1"),
    ("\\é à\n",
     "bad.sql:1: invalid command in command \"é\"\n\\é à"),
    ("\\foo \r\n",
     "bad.sql:1: invalid command in command \"foo\"\n\\foo "),
];

fn message(script: &str) -> String {
    match parse("bad.sql", script, &mut Names::new()) {
        Ok(parsed) => format!("no error: {:?}", parsed.commands),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_read_as_pgbenchs() {
    let wrong: Vec<_> = ERRORS
        .iter()
        .filter(|(script, expected)| message(script) != *expected)
        .map(|(script, expected)| {
            format!(
                "{script:?}\n  is: {:?}\n  not {expected:?}",
                message(script)
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_meta_command_has_at_most_256_words() {
    // Also measured: 255 arguments are one thing, the 256th another.
    let words = |count| format!("\\foo {}\n", "a ".repeat(count));
    assert!(message(&words(255)).starts_with("bad.sql:1: invalid command in command \"foo\"\n"));
    assert_eq!(
        message(&words(256)),
        "bad.sql:1: too many arguments in command \"foo\""
    );
}

#[test]
fn expressions_that_nest_too_deep_are_refused() {
    for nested in [
        "(",
        "-",
        "~",
        "not ",
        "abs(",
        "case when ",
        "1 + (1 * ",
        "1 or (1 and ",
    ] {
        let script = format!("\\set x {}1\n", nested.repeat(100_000));
        let text = message(&script);
        assert!(
            text.starts_with("bad.sql:1: memory exhausted in command \"set\"\n"),
            "{nested}: {}",
            &text[..100]
        );
    }
    let script = format!("\\set x {}1{}\n", "(".repeat(390), ")".repeat(390));
    assert!(parse("deep.sql", &script, &mut Names::new()).is_ok());
}

#[test]
fn an_error_says_where_it_is_in_fields_too() {
    let script = "SELECT 1;\n\n\\set x 1 + foo(2)\n";
    let error = parse("dir/a.sql", script, &mut Names::new()).unwrap_err();
    assert_eq!(&*error.script, "dir/a.sql");
    assert_eq!((error.line, error.column), (3, Some(14)));
    assert_eq!(&*error.message, "unexpected function name");
    assert_eq!(error.more.as_deref(), Some("foo"));
    assert_eq!(error.command.as_deref(), Some("set"));
    assert_eq!(error.source_line.as_deref(), Some("\\set x 1 + foo(2)"));
    assert_eq!(error.kind, ScriptErrorKind::Syntax);

    let error = parse("a.sql", "SELECT 1;\n\\else\n", &mut Names::new()).unwrap_err();
    assert_eq!(error.line, 2);
    let kind = ScriptErrorKind::Condition { command_number: 2 };
    assert_eq!(error.kind, kind);
    let error = parse("a.sql", "\0SELECT 1;", &mut Names::new()).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Empty);
}

/// pgdyno's own words go further than pgbench's: what may have been meant, and lines instead of numbers of
/// commands.
#[test]
fn pgdynos_language_says_what_was_meant_and_in_which_line() {
    for (script, says) in [
        (
            "\\sett a 1\n",
            "a.sql:1: invalid command (did you mean \\set?) in command \"sett\"\n\\sett a 1",
        ),
        (
            "\\copy t from stdin\n",
            "a.sql:1: invalid command (\\copy is a command of psql, not of scripts) in command \"copy\"\n\
             \\copy t from stdin",
        ),
        (
            "\\zzzzzz\n",
            "a.sql:1: invalid command in command \"zzzzzz\"\n\\zzzzzz",
        ),
        (
            "SELECT 1;\n\\set a rand(1, 10)\n",
            "a.sql:2: unexpected function name (rand: did you mean random?) in command \"set\"\n\
             \\set a rand(1, 10)\n          ^ error found here",
        ),
        (
            "SELECT 1;\n\\if true\nSELECT 2;\n\\else\nSELECT 3;\n",
            "a.sql:2: \\if without matching \\endif in command \"if\"\n\\if true",
        ),
        (
            "SELECT 1;\n\\endif\n",
            "a.sql:2: \\endif without matching \\if in command \"endif\"\n\\endif",
        ),
    ] {
        let error = Language::Pgdyno.parse("a.sql", script, &mut Names::new());
        assert_eq!(error.unwrap_err().to_string(), says);
    }
}
