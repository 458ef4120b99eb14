//! Values, errors and random draws equal pgbench's.

use pgdyno_script::{DebugOutput, Draws, Language, Names, Op, Seeds, Slot, Value, Vars, parse};

/// Expressions and what `\set x debug(…)` prints for them: measured with pgbench 18.6, seed 7,
/// one client, with the variables of [`DEFINED`] from `-D`. Several lines of output are joined by
/// " | "; an error is what it prints after `pgbench: error: `.
#[rustfmt::skip]
const EXPRESSIONS: &[(&str, &str)] = &[
    ("1", "int 1"),
    ("-1", "int -1"),
    ("+5", "int 5"),
    ("- - 5", "int 5"),
    ("-(-5)", "int 5"),
    ("9223372036854775807", "int 9223372036854775807"),
    ("-9223372036854775808", "int -9223372036854775808"),
    ("- 9223372036854775808", "int -9223372036854775808"),
    ("1 + 2 * 3", "int 7"),
    ("(1 + 2) * 3", "int 9"),
    ("10 - 4 - 3", "int 3"),
    ("100 / 7 / 2", "int 7"),
    ("7 / 2", "int 3"),
    ("-7 / 2", "int -3"),
    ("7 % -3", "int 1"),
    ("-7 % 3", "int -1"),
    ("7.9 % 4", "int 0"),
    ("-7 % -1", "int 0"),
    ("-9223372036854775808 % -1", "int 0"),
    ("-9223372036854775808 / -1", "error: bigint div out of range"),
    ("-9223372036854775808 / 1", "int -9223372036854775808"),
    ("5 / -1", "int -5"),
    ("1 / 0", "error: division by zero"),
    ("1 % 0", "error: division by zero"),
    ("1.0 / 0", "double Infinity"),
    ("-1.0 / 0", "double -Infinity"),
    ("0.0 / 0", "double NaN"),
    ("7 / 2.0", "double 3.5"),
    ("1.5 + 1", "double 2.5"),
    ("1.5 - 1", "double 0.5"),
    ("1.5 * 2", "double 3"),
    ("9223372036854775807 + 1", "error: bigint add out of range"),
    ("-9223372036854775808 - 1", "error: bigint sub out of range"),
    ("9223372036854775807 * 2", "error: bigint mul out of range"),
    ("- -9223372036854775808", "error: bigint sub out of range"),
    ("9223372036854775807 + 1.0", "double 9.22337203685478e+18"),
    ("0.1 + 0.2", "double 0.3"),
    ("1e15", "double 1e+15"),
    ("1e16", "double 1e+16"),
    ("123456789012345678.0", "double 1.23456789012346e+17"),
    ("1e-5", "double 1e-05"),
    ("0.0001", "double 0.0001"),
    ("1.e3", "double 1000"),
    (".5e1", "double 5"),
    ("1 << 3", "int 8"),
    ("1 << 63", "int -9223372036854775808"),
    ("1 << 64", "int 1"),
    ("1 << 65", "int 2"),
    ("1 << -1", "int -9223372036854775808"),
    ("-8 >> 1", "int -4"),
    ("-1 >> 70", "int -1"),
    ("6 & 3", "int 2"),
    ("6 | 3", "int 7"),
    ("6 # 3", "int 5"),
    ("~5", "int -6"),
    ("~-1", "int 0"),
    ("~1 + 2", "int -4"),
    ("~1 | 2", "int -2"),
    ("1 * ~2 + 3", "int -6"),
    ("- ~1 + 2", "int 4"),
    ("1 | 2 & 3", "int 3"),
    ("7 & 2 | 8", "int 10"),
    ("1 + 2 << 3", "int 24"),
    ("1 << 2 + 3", "int 32"),
    ("2 * 3 << 1", "int 12"),
    ("5.6 & 4", "int 4"),
    ("2.5 | 0", "int 2"),
    ("1e30 & 1", "error: double to int overflow for 1000000000000000019884624838656.000000"),
    ("true & 1", "error: cannot coerce boolean to int"),
    ("1 < 2", "boolean true"),
    ("2 < 1", "boolean false"),
    ("1 <= 1", "boolean true"),
    ("1 > 2", "boolean false"),
    ("2 >= 2", "boolean true"),
    ("1 = 1.0", "boolean true"),
    ("1 <> 2", "boolean true"),
    ("1 != 1", "boolean false"),
    ("1.5 < 2", "boolean true"),
    ("true = true", "error: cannot coerce boolean to int"),
    ("true < 1", "error: cannot coerce boolean to int"),
    ("1.5 = true", "error: cannot coerce boolean to double"),
    ("null = null", "null"),
    ("null + 1", "null"),
    ("1 + null", "null"),
    ("null < true", "null"),
    ("not true", "boolean false"),
    ("not false", "boolean true"),
    ("not null", "null"),
    ("not 1", "error: cannot coerce int to boolean"),
    ("not 1 = 2", "boolean true"),
    ("not not true", "boolean true"),
    ("true and false", "boolean false"),
    ("true and null", "null"),
    ("null and true", "null"),
    ("false and null", "boolean false"),
    ("false and 1", "boolean false"),
    ("true and 1", "error: cannot coerce int to boolean"),
    ("1 and true", "error: cannot coerce int to boolean"),
    ("null and 1", "null"),
    ("true and 2.5", "error: cannot coerce double to boolean"),
    ("true or 1", "boolean true"),
    ("false or 1", "error: cannot coerce int to boolean"),
    ("false or null", "null"),
    ("null or true", "null"),
    ("1 or true", "error: cannot coerce int to boolean"),
    ("true or false and false", "boolean true"),
    ("false and (1 / 0 = 1)", "boolean false"),
    ("true or (1 / 0 = 1)", "boolean true"),
    ("null and (1 / 0 = 1)", "null"),
    ("null or (1 / 0 = 1)", "null"),
    ("not true or true", "boolean true"),
    ("1 = 1 and 2 = 2", "boolean true"),
    ("1 < 2 and not 3 < 2", "boolean true"),
    ("1 is null", "boolean false"),
    ("null is null", "boolean true"),
    ("null is not null", "boolean false"),
    ("null isnull", "boolean true"),
    ("1 isnull", "boolean false"),
    ("1 notnull", "boolean true"),
    ("null notnull", "boolean false"),
    ("true is true", "boolean true"),
    ("true is not true", "boolean false"),
    ("false is true", "boolean false"),
    ("1 is true", "boolean false"),
    ("null is true", "boolean false"),
    ("null is not true", "boolean true"),
    ("1 is not false", "boolean true"),
    ("1.0 is null", "boolean false"),
    ("1 is null is null", "boolean false"),
    ("1 is null = true", "error: cannot coerce boolean to int"),
    ("1 = 2 is null", "boolean false"),
    ("not 1 is null", "boolean true"),
    ("1 is null is true", "boolean false"),
    ("1 + 1 is not null", "boolean true"),
    ("case when true then 1 end", "int 1"),
    ("case when false then 1 end", "null"),
    ("case when null then 1 else 2 end", "int 2"),
    ("case when 0 then 1 when 2.5 then 3 else 4 end", "int 3"),
    ("case when 0.0 then 1 when false then 3 else 4 end", "int 4"),
    ("case when true then 1 else 1/0 end", "int 1"),
    ("case when 1/0 = 1 then 1 end", "error: division by zero"),
    ("case when false then 1/0 end", "null"),
    ("1 + case when 1 then 2 else 3 end * 4", "int 9"),
    ("case when case when true then false end then 1 else 2 end", "int 2"),
    ("CASE WHEN TRUE THEN NULL ELSE 1 END", "null"),
    ("abs(-5)", "int 5"),
    ("abs(5)", "int 5"),
    ("abs(true)", "double 4.94065645841247e-324"),
    ("abs(1 = 2)", "double 0"),
    ("abs(-5.5)", "double 5.5"),
    ("abs(null)", "null"),
    ("abs(-9223372036854775808)", "int -9223372036854775808"),
    ("ABS(- 0.0)", "double 0"),
    ("least(3)", "int 3"),
    ("least(3, 1, 2)", "int 1"),
    ("least(3, 1.5, 2)", "double 1.5"),
    ("least(null, 1)", "null"),
    ("least(true, 1)", "error: cannot coerce boolean to int"),
    ("least(1.5, true)", "error: cannot coerce boolean to double"),
    ("greatest(3, 1, 2)", "int 3"),
    ("greatest(3, 1.5, 2)", "double 3"),
    ("greatest(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)", "int 16"),
    ("greatest(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)", "error: too many function arguments, maximum is 16"),
    ("least(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1/0)", "error: too many function arguments, maximum is 16"),
    ("least(1/0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)", "error: division by zero"),
    ("least(0.0/0, 1)", "double 1"),
    ("least(1, 0.0/0)", "double NaN"),
    ("greatest(,1)", "int 1"),
    ("pi()", "double 3.14159265358979"),
    ("sqrt(2)", "double 1.4142135623731"),
    ("sqrt(16)", "double 4"),
    ("sqrt(-1)", "double NaN"),
    ("sqrt(true)", "error: cannot coerce boolean to double"),
    ("ln(10)", "double 2.30258509299405"),
    ("ln(0)", "double -Infinity"),
    ("ln(-1)", "double NaN"),
    ("exp(1)", "double 2.71828182845905"),
    ("exp(1000)", "double Infinity"),
    ("exp(null)", "null"),
    ("int(2.5)", "int 2"),
    ("int(3.5)", "int 4"),
    ("int(-2.5)", "int -2"),
    ("int(1e19)", "error: double to int overflow for 10000000000000000000.000000"),
    ("int(-9.3e18)", "error: double to int overflow for -9300000000000000000.000000"),
    ("int(0.0/0)", "error: double to int overflow for NaN"),
    ("int(1.0/0)", "error: double to int overflow for Infinity"),
    ("int(true)", "error: cannot coerce boolean to int"),
    ("int(null)", "null"),
    ("double(5)", "double 5"),
    ("double(true)", "error: cannot coerce boolean to double"),
    ("double(9007199254740993)", "double 9.00719925474099e+15"),
    ("mod(7, 3)", "int 1"),
    ("mod(-7, 3)", "int -1"),
    ("mod(7.5, 2)", "int 0"),
    ("mod(1, 0)", "error: division by zero"),
    ("pow(2, 10)", "double 1024"),
    ("power(2, 0.5)", "double 1.4142135623731"),
    ("pow(2, -1)", "double 0.5"),
    ("pow(0, 0)", "double 1"),
    ("pow(-8, 1.0/3)", "double NaN"),
    ("pow(true, 1)", "error: cannot coerce boolean to double"),
    ("pow(2, true)", "error: cannot coerce boolean to double"),
    ("POWER(10, 300) * 1e300", "double Infinity"),
    ("hash(5, 3)", "int -7538585394287426622"),
    ("hash(5)", "int 448783848948553407"),
    ("hash(-1)", "int -4831786678021569606"),
    ("hash(0, 0)", "int 8217090173679840641"),
    ("hash_murmur2(10, 5432)", "int -5817877081768721676"),
    ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
    ("hash_fnv1a(-10)", "int -8936533983536485487"),
    ("hash_fnv1a(0, -1)", "int 4052466453699787802"),
    ("hash(2.4)", "int -9112254580183547696"),
    ("hash(true)", "error: cannot coerce boolean to int"),
    ("hash(null)", "null"),
    ("hash(1, null)", "null"),
    ("permute(0, 1)", "int 0"),
    ("permute(3, 10)", "int 0"),
    ("permute(3, 10, 42)", "int 4"),
    ("permute(-3, 10, 42)", "int 4"),
    ("permute(13, 10, 42)", "int 4"),
    ("permute(0, 2, 1)", "int 1"),
    ("permute(1, 2, 1)", "int 0"),
    ("permute(2, 3, 9)", "int 2"),
    ("permute(123456789, 1000000007, 5432)", "int 465021936"),
    ("permute(9223372036854775806, 9223372036854775807, -5432)", "int 239706240115053926"),
    ("permute(1, 9223372036854775807)", "int 1060596146470791861"),
    ("permute(1, 4611686018427387904, 7)", "int 2670182276101634695"),
    ("permute(1, 0)", "error: permute size parameter must be greater than zero"),
    ("permute(1, -5, 2)", "error: permute size parameter must be greater than zero"),
    ("permute(1, null)", "null"),
    ("permute(1, true)", "error: cannot coerce boolean to int"),
    ("random(1, 10)", "int 6"),
    ("random(1, 1)", "int 1"),
    ("random(-10, -5)", "int -8"),
    ("random(10, 1)", "error: empty range given to random"),
    ("random(0, 9223372036854775807)", "error: random range is too large"),
    ("random(0, 9223372036854775806)", "int 7647665241545195606"),
    ("random(-9223372036854775808, -2)", "int -1575706795309580202"),
    ("random(-9223372036854775808, 9223372036854775807)", "error: random range is too large"),
    ("random(1, 2.6)", "int 2"),
    ("random(1, true)", "error: cannot coerce boolean to int"),
    ("random(null, 1)", "null"),
    ("random(1, 1000000) * 1000000 + random(1, 1000000)", "int 869439372040"),
    ("random(1, 1000000) > random(1, 1000000)", "boolean false"),
    ("least(random(1, 1000000), random(1, 1000000)) - random(1, 1000000)", "int 348489"),
    ("random(1, 1000) * 1000 >= random(1, 1000000)", "boolean false"),
    ("case when random(1,1000) > random(1,1000) then random(1,1000) * 10 + 1 else random(1,1000) * 10 end", "int 230"),
    ("random_gaussian(1, 1000000, 2.0)", "int 128291"),
    ("random_gaussian(1, 1000000, 5)", "int 351317"),
    ("random_gaussian(1, 10, 1.9)", "error: gaussian parameter must be at least 2.000000 (not 1.900000)"),
    ("random_gaussian(1, 10, -1)", "error: gaussian parameter must be at least 2.000000 (not -1.000000)"),
    ("random_gaussian(1, 10, null)", "null"),
    ("random_gaussian(10, 1, 3)", "error: empty range given to random"),
    ("random_gaussian(1, 10, true)", "error: cannot coerce boolean to double"),
    ("random_exponential(1, 1000000, 2.5)", "int 572684"),
    ("random_exponential(1, 1000000, 0.01)", "int 828452"),
    ("random_exponential(1, 10, 0)", "error: exponential parameter must be greater than zero (not 0.000000)"),
    ("random_exponential(1, 10, -2.5)", "error: exponential parameter must be greater than zero (not -2.500000)"),
    ("random_zipfian(1, 1000000, 1.001)", "int 1"),
    ("random_zipfian(1, 1000000, 1.5)", "int 1"),
    ("random_zipfian(1, 1000000, 2)", "int 1"),
    ("random_zipfian(1, 1000000, 1000)", "int 1"),
    ("random_zipfian(5, 5, 1.5)", "int 5"),
    ("random_zipfian(1, 10, 1)", "error: zipfian parameter must be in range [1.001, 1000] (not 1.000000)"),
    ("random_zipfian(1, 10, 1000.1)", "error: zipfian parameter must be in range [1.001, 1000] (not 1000.100000)"),
    ("random_zipfian(1, 10, -1)", "error: zipfian parameter must be in range [1.001, 1000] (not -1.000000)"),
    ("debug(1) + debug(2)", "int 1 | int 2 | int 3"),
    ("debug(null)", "null | null"),
    ("debug(true) and debug(false)", "boolean true | boolean false | boolean false"),
    ("debug(1.5) > debug(2)", "int 2 | double 1.5 | boolean false"),
    ("debug(debug(3))", "int 3 | int 3 | int 3"),
    (":i + 1", "int 42"),
    (":d * 2", "double 2.5"),
    (":t and :f", "boolean false"),
    (":n is null", "boolean true"),
    (":nosuch + 1", "error: undefined variable \"nosuch\""),
    (":bad + 1", "error: malformed variable \"bad\" value: \"abc\""),
    (":empty_never", "error: undefined variable \"empty_never\""),
    (":big + 1", "error: value \"99999999999999999999\" is out of range for type bigint"),
    (":sp + 1", "int 8"),
    (":hex + 0", "double 31"),
    (":inf + 0", "double Infinity"),
    (":nan + 0", "double NaN"),
    (":o and true", "error: malformed variable \"o\" value: \"o\""),
    (":on and true", "boolean true"),
    (":of or false", "boolean false"),
    (":y", "boolean true"),
    (":1x", "error: undefined variable \"1x\""),
    (":neg", "int -3"),
    (":Null", "null"),
    (":trailing", "error: malformed variable \"trailing\" value: \"7 \""),
    (":client_id", "int 0"),
    (":scale", "int 1"),
    (":random_seed", "int 7"),
    (":default_seed", "int -2715325821952477995"),
    (":é + 1", "int 9"),
];

const DEFINED: &[(&str, &str)] = &[
    ("i", "41"),
    ("d", "1.25"),
    ("t", "tr"),
    ("f", "F"),
    ("n", "nUlL"),
    ("bad", "abc"),
    ("big", "99999999999999999999"),
    ("plus", "+"),
    ("sp", " 7"),
    ("hex", "0x1F"),
    ("inf", "Inf"),
    ("nan", "nan"),
    ("o", "o"),
    ("on", "oN"),
    ("of", "of"),
    ("y", "y"),
    ("neg", "-3"),
    ("Null", "null"),
    ("trailing", "7 "),
    ("é", "8"),
];

fn slot(names: &mut Names, vars: &mut Vars, name: &str) -> Slot {
    let slot = names.intern(name);
    // Makes the new slot known.
    vars.set(slot, Value::Null);
    slot
}

/// The variables that every client has.
fn start(names: &mut Names, vars: &mut Vars, seeds: &Seeds, client: i64) {
    for (name, value) in [
        ("scale", 1),
        ("client_id", client),
        ("default_seed", seeds.default_seed.unwrap()),
        ("random_seed", seeds.random_seed),
    ] {
        let slot = slot(names, vars, name);
        vars.set(slot, Value::Int(value));
    }
}

/// What pgbench prints for an expression.
fn output(language: Language, expression: &str) -> String {
    let mut names = Names::new();
    let text = format!("\\set x debug({expression})\n");
    let script = language.parse("eval.sql", &text, &mut names).unwrap();
    let seeds = Seeds::deal(7, 1, 1, false);
    let mut vars = Vars::new(&names);
    start(&mut names, &mut vars, &seeds, 0);
    for (name, text) in DEFINED {
        let slot = slot(&mut names, &mut vars, name);
        vars.set_text(slot, text);
    }
    let Op::Set { expr, .. } = &script.commands[0].op else {
        panic!("not \\set: {text}");
    };
    let mut lines = Vec::new();
    let mut prng = seeds.clients[0].clone();
    let mut debug = |output: DebugOutput| lines.push(output.to_string());
    if let Err(error) = expr.eval(&mut vars, &mut prng, &mut Draws::default(), &mut debug) {
        lines.push(format!("error: {error}"));
    }
    lines.join(" | ")
}

#[test]
fn expressions_give_what_pgbench_gives() {
    let mut wrong = Vec::new();
    for (expression, expected) in EXPRESSIONS {
        for language in [Language::Pgbench, Language::Pgdyno] {
            let output = output(language, expression);
            // To pgdyno a variable that holds no number is a text, and then it is no number.
            let is_text =
                language == Language::Pgdyno && NO_VALUES.iter().any(|no| expected.contains(no));
            if output != *expected && !is_text {
                wrong.push(format!(
                    "{language:?} {expression}: is {output}, not {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What pgbench says of variables that hold no value of its own.
const NO_VALUES: &[&str] = &["malformed variable", "is out of range for type bigint"];

/// What a script drew in three transactions of three clients: seed, client, and the values of
/// [`DRAWS`] in order. Measured with pgbench 18.6.
#[rustfmt::skip]
const DRAWN: &[(u64, i64, &[i64])] = &[
    (0, 0, &[244449816, 3, 834170347, 229298300, 1840270, -3632733458298231227, 616, -8669469133403701314, 0]),
    (0, 0, &[34986857, 0, 424018291, 143612951, 32672, -3632733458298231227, 616, -8669469133403701314, 0]),
    (0, 0, &[394440998, -3, 459100796, 472842860, 2, -3632733458298231227, 616, -8669469133403701314, 0]),
    (0, 1, &[496586798, 3, 180591088, 199739242, 886772, -3141495919422937318, 367, -8669469133403701314, 0]),
    (0, 1, &[49492151, 0, 652431583, 426743748, 28, -3141495919422937318, 367, -8669469133403701314, 0]),
    (0, 1, &[184679026, -2, 532034901, 243412104, 8, -3141495919422937318, 367, -8669469133403701314, 0]),
    (0, 2, &[172117983, -1, 303179882, 217893194, 4382, 1724433675029440665, 42, -8669469133403701314, 0]),
    (0, 2, &[506621809, -3, 562693992, 35865041, 5659, 1724433675029440665, 42, -8669469133403701314, 0]),
    (0, 2, &[114068616, -4, 316923514, 399046775, 2, 1724433675029440665, 42, -8669469133403701314, 0]),
    (1, 0, &[844374174, -5, 758002107, 225023194, 61, -6442410158338574999, 800, -3060036491186211434, 1]),
    (1, 0, &[196902165, -5, 346315796, 44426532, 30053, -6442410158338574999, 800, -3060036491186211434, 1]),
    (1, 0, &[481372385, -1, 217859699, 338324571, 143, -6442410158338574999, 800, -3060036491186211434, 1]),
    (1, 1, &[224645818, 3, 803313302, 145855862, 519806, -1256876992282004228, 510, -3060036491186211434, 1]),
    (1, 1, &[222245787, -1, 406637030, 233953635, 3, -1256876992282004228, 510, -3060036491186211434, 1]),
    (1, 1, &[735811409, -4, 630534970, 35763054, 128797, -1256876992282004228, 510, -3060036491186211434, 1]),
    (1, 2, &[589216788, -2, 445974689, 936620662, 2293, -8062655799947939289, 561, -3060036491186211434, 1]),
    (1, 2, &[427138553, -1, 337929985, 55532090, 19541, -8062655799947939289, 561, -3060036491186211434, 1]),
    (1, 2, &[650710297, -3, 75069225, 255340215, 43356, -8062655799947939289, 561, -3060036491186211434, 1]),
    (42, 0, &[684288445, -5, 640638296, 103038209, 239555, 8305006632492910235, 870, 1183949725203728575, 42]),
    (42, 0, &[761804794, -4, 748873003, 114448292, 8964046, 8305006632492910235, 870, 1183949725203728575, 42]),
    (42, 0, &[594247024, 1, 174045875, 302729396, 205, 8305006632492910235, 870, 1183949725203728575, 42]),
    (42, 1, &[864503208, 3, 510438770, 64142923, 7, -6236344168346690114, 171, 1183949725203728575, 42]),
    (42, 1, &[739673189, 2, 565361464, 321261599, 4, -6236344168346690114, 171, 1183949725203728575, 42]),
    (42, 1, &[45577166, -5, 660775347, 870088356, 3, -6236344168346690114, 171, 1183949725203728575, 42]),
    (42, 2, &[821283528, -3, 625282793, 240720227, 1, -887538584557160677, 5, 1183949725203728575, 42]),
    (42, 2, &[163286950, -3, 491694397, 17110335, 4, -887538584557160677, 5, 1183949725203728575, 42]),
    (42, 2, &[274628768, 3, 375320970, 708714225, 20, -887538584557160677, 5, 1183949725203728575, 42]),
    (20240131, 0, &[632032617, -5, 742787927, 42228494, 1, 407983338427771511, 249, 7802963954792302914, 20240131]),
    (20240131, 0, &[589698273, 2, 666600022, 230879961, 1, 407983338427771511, 249, 7802963954792302914, 20240131]),
    (20240131, 0, &[243205970, 2, 803533875, 93282258, 18944145, 407983338427771511, 249, 7802963954792302914, 20240131]),
    (20240131, 1, &[460868617, 0, 992682605, 80462134, 32, -514531265150715605, 584, 7802963954792302914, 20240131]),
    (20240131, 1, &[465784421, 0, 226054539, 75938116, 25640476, -514531265150715605, 584, 7802963954792302914, 20240131]),
    (20240131, 1, &[136735370, 3, 223548039, 30661918, 1, -514531265150715605, 584, 7802963954792302914, 20240131]),
    (20240131, 2, &[903759727, 0, 510465155, 595901067, 564, 9057017173340494406, 384, 7802963954792302914, 20240131]),
    (20240131, 2, &[717135254, -4, 718372382, 128408508, 1, 9057017173340494406, 384, 7802963954792302914, 20240131]),
    (20240131, 2, &[644769085, -4, 614421492, 51862400, 55710, 9057017173340494406, 384, 7802963954792302914, 20240131]),
    (9223372036854775808, 0, &[101600739, 1, 663012888, 929406961, 1, 282374772904348448, 800, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 0, &[85500466, 0, 246347274, 549960040, 1, 282374772904348448, 800, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 0, &[610859691, 2, 307410711, 407149389, 1, 282374772904348448, 800, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 1, &[546879050, -4, 537444870, 134925117, 659, 7412010130793549970, 689, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 1, &[222981371, -3, 382728981, 555925321, 228, 7412010130793549970, 689, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 1, &[3253772, 2, 107405400, 239227398, 106819, 7412010130793549970, 689, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 2, &[226811693, -3, 588181305, 20900023, 63642, -349519560523220568, 628, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 2, &[552824443, 1, 549592208, 286879777, 16090, -349519560523220568, 628, 4877459705843273828, -9223372036854775808]),
    (9223372036854775808, 2, &[780541033, 1, 354653585, 417263700, 1638, -349519560523220568, 628, 4877459705843273828, -9223372036854775808]),
    (18446744073709551615, 0, &[994232769, 2, 820161117, 243678228, 2282848, -8400198607008735282, 573, 7806765788545967719, -1]),
    (18446744073709551615, 0, &[348414681, 1, 239743006, 145401926, 1879, -8400198607008735282, 573, 7806765788545967719, -1]),
    (18446744073709551615, 0, &[94198894, -4, 401824595, 87266657, 3134, -8400198607008735282, 573, 7806765788545967719, -1]),
    (18446744073709551615, 1, &[481644206, -2, 372863382, 567521428, 34, -7448838444903527872, 478, 7806765788545967719, -1]),
    (18446744073709551615, 1, &[153650953, 0, 294749730, 206072338, 1, -7448838444903527872, 478, 7806765788545967719, -1]),
    (18446744073709551615, 1, &[444087080, -3, 431828389, 7423777, 1233591, -7448838444903527872, 478, 7806765788545967719, -1]),
    (18446744073709551615, 2, &[630528715, -5, 536866157, 68277110, 158, 5008848861522229165, 293, 7806765788545967719, -1]),
    (18446744073709551615, 2, &[741021812, 1, 360554605, 355413683, 1, 5008848861522229165, 293, 7806765788545967719, -1]),
    (18446744073709551615, 2, &[999832609, -2, 310264221, 948398442, 133, 5008848861522229165, 293, 7806765788545967719, -1]),
];

const DRAWS: &str = r"
\set a random(1, 1000000000)
\set a random(-5, 3)
\set a random_gaussian(1, 1000000000, 2.5)
\set a random_exponential(1, 1000000000, 3)
\set a random_zipfian(1, 1000000000, 1.1)
\set a hash(:client_id)
\set a permute(:client_id, 1000)
\set a :default_seed
\set a :random_seed
";

#[test]
fn each_client_draws_what_it_draws_in_pgbench() {
    for rows in DRAWN.chunks(3) {
        let (seed, client, _) = rows[0];
        let mut names = Names::new();
        let script = parse("draws.sql", DRAWS, &mut names).unwrap();
        let seeds = Seeds::deal(seed, 3, 2, false);
        let mut vars = Vars::new(&names);
        start(&mut names, &mut vars, &seeds, client);
        let mut prng = seeds.clients[client as usize].clone();
        for (of_seed, of_client, expected) in rows {
            assert_eq!((*of_seed, *of_client), (seed, client));
            let drawn: Vec<_> = script
                .commands
                .iter()
                .map(|command| match &command.op {
                    Op::Set { expr, .. } => expr
                        .eval(&mut vars, &mut prng, &mut Draws::default(), &mut |_| {})
                        .unwrap(),
                    other => panic!("not \\set: {other:?}"),
                })
                .collect();
            let expected: Vec<_> = expected.iter().map(|&int| Value::Int(int)).collect();
            assert_eq!(drawn, expected, "seed {seed}, client {client}");
        }
    }
}

/// What a thread drew for each of 40 transactions of its client: seed, thread, the scripts chosen
/// (weights 3 and 7), the transactions that `--sampling-rate=0.4` logged. Measured with pgbench
/// 18.6, two clients on two threads.
#[rustfmt::skip]
const CHOSEN: &[(u64, usize, &str, &[usize])] = &[
    (7, 0, "1100111000011000101011111100111000010011", &[1, 2, 3, 5, 6, 8, 10, 11, 12, 15, 16, 20, 27, 29, 30, 31, 34, 36, 39]),
    (7, 1, "1111111111111110111101111110110110101111", &[3, 4, 5, 6, 9, 12, 14, 15, 16, 18, 19, 20, 23, 24, 26, 33, 35]),
    (99, 0, "1111111101111100111011111100011011011110", &[4, 10, 11, 12, 14, 15, 17, 18, 22, 23, 26, 28, 30, 31, 33, 35, 38, 40]),
    (99, 1, "0011011101110111111111101100011111010010", &[2, 3, 4, 5, 6, 9, 12, 14, 18, 21, 23, 24, 30, 31, 34, 35, 38]),
];

#[test]
fn each_thread_chooses_and_samples_what_it_does_in_pgbench() {
    for &(seed, thread, scripts, logged) in CHOSEN {
        let mut seeds = Seeds::deal(seed, 2, 2, false).threads[thread].clone();
        let chosen: String = (0..40)
            .map(|_| {
                if seeds.choose.range(0, 9) < 3 {
                    '0'
                } else {
                    '1'
                }
            })
            .collect();
        assert_eq!(chosen, scripts, "seed {seed}, thread {thread}");
        let sampled: Vec<_> = (1..=40).filter(|_| seeds.sample.double() <= 0.4).collect();
        assert_eq!(sampled, logged, "seed {seed}, thread {thread}");
    }
}

#[test]
fn the_schedules_gaps_are_pgbenchs() {
    // Measured with pgbench 18.6, seed 7, one client, -R 200: the time between the scheduled
    // starts in its log, in microseconds. The first gap is before the first of them. The log's
    // times are taken a moment after those that the latencies are computed from, which shifts a
    // start by a microsecond now and then.
    const GAPS_US: [i64; 20] = [
        13831, 6841, 1605, 8700, 5680, 6737, 497, 232, 1946, 2406, 1384, 242, 323, 8987, 7759, 253,
        254, 4508, 9948, 1401,
    ];
    let mut throttle = Seeds::deal(7, 1, 1, false).threads[0].throttle.clone();
    throttle.poisson(5000.0);
    for gap in GAPS_US {
        let drawn = throttle.poisson(5000.0);
        assert!((drawn - gap).abs() <= 1, "{drawn}, not {gap}");
    }
}
