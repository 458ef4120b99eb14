//! Random scripts in pgbench's language that run without an error: each is made from a seed alone,
//! so that one that tells two programs apart can be made again.
//!
//! To be valid, values are kept within bounds (nothing overflows, nothing is divided by zero),
//! variables are used only where they are set on every path, and what the server answers depends
//! on nothing but the script.

use pgdyno_testkit::SplitMix64;

/// The generator of the generator.
pub struct Dice(SplitMix64);

impl Dice {
    /// The same for the same seed.
    pub fn new(seed: u64) -> Dice {
        Dice(SplitMix64(seed))
    }

    pub fn roll(&mut self) -> u64 {
        self.0.next()
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.roll() % (high - low + 1) as u64) as i64
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// An expression, and what its value does not exceed on either side of zero.
struct Number {
    text: String,
    bound: f64,
}

/// Integers stay far from where they overflow, and are exact as doubles.
const INT_BOUND: f64 = 4e15;

#[derive(Clone, Default)]
struct Known {
    ints: Vec<(String, f64)>,
    doubles: Vec<(String, f64)>,
    bools: Vec<String>,
    nulls: Vec<String>,
}

struct Writer {
    dice: Dice,
    /// Values are written into the text of statements: only the simple protocol does that.
    simple: bool,
    text: String,
    known: Known,
    names: usize,
    /// Statements of a pipeline wait for none of the others.
    in_pipeline: bool,
}

/// A script of its own for every seed; `simple` for the simple query mode, else for the two
/// others, which have pipelines and cannot have several statements in one.
pub fn script(seed: u64, simple: bool) -> String {
    let mut writer = Writer {
        dice: Dice(SplitMix64(
            seed.wrapping_mul(2).wrapping_add(u64::from(simple)),
        )),
        simple,
        text: format!("-- a script made from seed {seed}\n"),
        known: Known::default(),
        names: 0,
        in_pipeline: false,
    };
    for _ in 0..writer.dice.between(1, 3) {
        writer.set();
    }
    if writer.dice.once_in(3) {
        // Sessions keep it from one transaction to the next.
        writer.line("CREATE TEMP TABLE IF NOT EXISTS t (a numeric, b text);");
        writer.block(2, true);
    } else {
        writer.block(2, false);
    }
    // At least one statement on every path.
    writer.select();
    writer.text
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.names += 1;
        let stem = self.dice.pick(&["v", "Total", "_x", "a_b", "größe", "N0"]);
        format!("{stem}{}", self.names)
    }

    fn block(&mut self, depth: usize, table: bool) {
        for _ in 0..self.dice.between(2, 6) {
            self.step(depth, table);
        }
    }

    fn step(&mut self, depth: usize, table: bool) {
        match self.dice.below(16) {
            0..=3 => self.set(),
            4..=6 => self.select(),
            7 | 8 if depth > 0 => self.conditional(depth - 1, table),
            9 => self.store(),
            10 if self.simple && !self.in_pipeline => self.several(),
            10 | 11 if depth > 0 && !self.simple && !self.in_pipeline => {
                self.pipeline(depth - 1, table);
            }
            12 if depth > 0 && !self.in_pipeline => self.transaction(depth - 1, table),
            13 if table => self.insert(),
            14 => self.remark(),
            15 => self.nap(),
            _ => self.select(),
        }
    }

    // Meta-commands

    fn set(&mut self) {
        let name = self.name();
        let set = self.dice.pick(&["\\set", "\\set", "\\set", "  \\set"]);
        let space = self.dice.pick(&[" ", " ", " ", "\t", "   "]);
        let end = self.dice.pick(&["", "", "", " ", "\t"]);
        let text = match self.dice.below(10) {
            0..=4 => {
                let value = self.int(3);
                self.known.ints.push((name.clone(), value.bound));
                value.text
            }
            5..=7 => {
                let value = self.double(3);
                self.known.doubles.push((name.clone(), value.bound));
                value.text
            }
            8 => {
                let value = self.truth(2);
                self.known.bools.push(name.clone());
                value
            }
            _ => {
                let value = match self.dice.below(3) {
                    0 => "null".to_owned(),
                    1 => format!("{} + NULL", self.int(1).text),
                    _ => format!("case when {} then null end", self.truth(1)),
                };
                self.known.nulls.push(name.clone());
                value
            }
        };
        // A long line may go on in the next.
        let text = match text.find(" + ") {
            Some(at) if self.dice.once_in(4) => {
                format!("{} \\\n  {}", &text[..at], &text[at + 1..])
            }
            _ => text,
        };
        self.line(&format!("{set}{space}{name}{space}{text}{end}"));
    }

    fn nap(&mut self) {
        let text = match self.dice.below(6) {
            0 => "\\sleep 1 us".to_owned(),
            1 => "\\sleep 1us".to_owned(),
            2 => "\\sleep 0 ms".to_owned(),
            3 => "\\sleep 0".to_owned(),
            4 => {
                let name = self.name();
                self.line(&format!("\\set {name} 1"));
                format!("\\sleep :{name} us")
            }
            _ if self.dice.once_in(4) => {
                let name = self.name();
                self.known.ints.push((name.clone(), 40.0));
                format!("\\setshell {name} expr 4 '*' 10")
            }
            _ => "\\sleep 2 us".to_owned(),
        };
        self.line(&text);
    }

    fn conditional(&mut self, depth: usize, table: bool) {
        let condition = self.condition();
        self.line(&format!("\\if {condition}"));
        self.branch(depth, table);
        for _ in 0..self.dice.below(3) {
            let condition = self.condition();
            self.line(&format!("\\elif {condition}"));
            self.branch(depth, table);
        }
        if self.dice.once_in(2) {
            self.line("\\else");
            self.branch(depth, table);
        }
        self.line("\\endif");
    }

    /// What is set in a branch is known nowhere else.
    fn branch(&mut self, depth: usize, table: bool) {
        let known = self.known.clone();
        for _ in 0..self.dice.below(4) {
            self.step(depth, table);
        }
        self.known = known;
    }

    fn condition(&mut self) -> String {
        match self.dice.below(5) {
            0 => self.int(2).text,
            1 => {
                let truth = ["true", "FALSE", "1", "0", "0.0", "2.5", "null"];
                self.dice.pick(&truth).to_owned()
            }
            _ => self.truth(2),
        }
    }

    fn pipeline(&mut self, depth: usize, table: bool) {
        self.line("\\startpipeline");
        self.in_pipeline = true;
        let known = self.known.clone();
        let transaction = self.dice.once_in(3);
        if transaction {
            self.line("BEGIN;");
        }
        for _ in 0..self.dice.between(1, 5) {
            self.step(depth, table);
            if self.dice.once_in(4) {
                self.line("\\syncpipeline");
            }
        }
        if transaction {
            self.line("COMMIT;");
        }
        self.line("\\endpipeline");
        self.in_pipeline = false;
        self.known = known;
    }

    fn transaction(&mut self, depth: usize, table: bool) {
        let begin = [
            "BEGIN;",
            "begin;",
            "START TRANSACTION;",
            "BEGIN ISOLATION LEVEL REPEATABLE READ;",
        ];
        let begin = self.dice.pick(&begin);
        self.line(begin);
        // No other steps: a transaction within a transaction is a warning.
        for _ in 0..self.dice.between(1, 4) {
            match self.dice.below(4) {
                0 if table => self.insert(),
                1 => self.store(),
                2 if depth > 0 => self.set(),
                _ => self.select(),
            }
        }
        let end = self.dice.pick(&["END;", "COMMIT;", "end;", "ROLLBACK;"]);
        self.line(end);
    }

    // Statements

    /// A variable as a number in SQL.
    fn sql_number(&mut self) -> String {
        let (ints, doubles) = (self.known.ints.len(), self.known.doubles.len());
        let all = ints + doubles;
        if all == 0 || self.dice.once_in(8) {
            return match self.dice.below(3) {
                0 => ":client_id::int".to_owned(),
                1 => "(:scale::bigint)".to_owned(),
                _ => self.dice.between(-50, 50).to_string(),
            };
        }
        let at = self.dice.below(all);
        if at < ints {
            let name = &self.known.ints[at].0;
            // Spaces around: two minus signs would begin a comment.
            format!("( :{name}::bigint )")
        } else {
            let name = &self.known.doubles[at - ints].0;
            format!("(:{name}::float8)")
        }
    }

    /// Something to select, of any type.
    fn sql_value(&mut self) -> String {
        match self.dice.below(14) {
            0 => "'it''s; a -- text'".to_owned(),
            1 => "$$dollar; ' quoted$$".to_owned(),
            2 => "$tag$ $$ ; $tag$".to_owned(),
            3 => "E'a\\'b;\\\\'".to_owned(),
            4 => "(array[1, 2, 3])[1:2]".to_owned(),
            5 => "'a'::text || 'é'".to_owned(),
            6 if !self.known.bools.is_empty() => {
                let at = self.dice.below(self.known.bools.len());
                format!(":{}::bool", self.known.bools[at])
            }
            7 if !self.known.nulls.is_empty() => {
                let at = self.dice.below(self.known.nulls.len());
                format!(":{}", self.known.nulls[at])
            }
            // Without the type: as it was written down.
            8 | 9 if !self.known.doubles.is_empty() => {
                let at = self.dice.below(self.known.doubles.len());
                format!(":{}", self.known.doubles[at].0)
            }
            8 | 9 if !self.known.ints.is_empty() => {
                let at = self.dice.below(self.known.ints.len());
                format!(":{}", self.known.ints[at].0)
            }
            // Variables are replaced within quotes, too; only text survives that.
            10 if self.simple => {
                let known = self.known.ints.last().map_or("scale", |(name, _)| name);
                format!("':{known} :nosuch', ':{known}'::text")
            }
            11 => format!("/* a note; /* in a note */ */ {}", self.sql_number()),
            _ => self.sql_number(),
        }
    }

    fn sql_values(&mut self) -> String {
        let count = self.dice.between(1, 4);
        let values: Vec<String> = (0..count).map(|_| self.sql_value()).collect();
        let comma = self.dice.pick(&[", ", ",", ",\n  ", ", -- and\n  "]);
        values.join(comma)
    }

    fn select(&mut self) {
        let values = self.sql_values();
        let select = self
            .dice
            .pick(&["SELECT", "select", "  SELECT", "VALUES", "SELECT\n "]);
        let text = match (select, self.dice.below(6)) {
            ("VALUES", _) => format!("VALUES ({values});"),
            (_, 0) => format!("{select} {values} WHERE {} > 3;", self.sql_number()),
            (_, 1) => format!(
                "{select} count(*), {values} FROM generate_series(1, 3) AS n WHERE n <> {};",
                self.sql_number()
            ),
            (_, 2) => format!("{select} {values} ;"),
            (_, 3) => format!("{select} {values}; -- done"),
            (_, 4) => format!("WITH w AS ({select} 1)\n{select} {values}\n;"),
            _ => format!("{select} {values};"),
        };
        self.line(&text);
    }

    fn insert(&mut self) {
        let number = self.sql_number();
        let text = match self.dice.below(4) {
            0 => format!("UPDATE t SET a = a + {number}::numeric WHERE a > 5;"),
            1 => format!("DELETE FROM t WHERE a < {number}::numeric;"),
            _ => format!("INSERT INTO t (a, b) VALUES ({number}::numeric, 'x;y');"),
        };
        self.line(&text);
    }

    /// Keeps what a statement answers.
    fn store(&mut self) {
        if self.in_pipeline {
            return self.select();
        }
        let (one, two) = (self.name(), self.name());
        let number = self.dice.between(-1000, 1000);
        let half = self.dice.between(0, 99);
        let prefix = self.dice.pick(&["", "", "p_", "Q"]);
        let several = self.simple && self.dice.once_in(2);
        let first = if several {
            "SELECT 1 AS unused\\; "
        } else {
            ""
        };
        let how = self.dice.pick(&["\\gset", "\\gset", "\\aset"]);
        let value = self.sql_number();
        let break_ = self.dice.pick(&[" ", "\n"]);
        // Quotes keep the case and the letters of a name.
        self.line(&format!(
            "{first}SELECT {number} AS \"{one}\", {number}.{half:02} AS \"{two}\", ({value}) > 7 AS unused_too{break_}{how} {prefix}"
        ));
        self.known.ints.push((format!("{prefix}{one}"), 1000.0));
        self.known.doubles.push((format!("{prefix}{two}"), 1001.0));
        if how == "\\aset" && several {
            // A statement that answers nothing leaves the variables as they are.
            self.line(&format!(
                "SELECT 5 AS \"{one}\"\\; SELECT 6 AS \"{one}\" WHERE false \\aset {prefix}"
            ));
        }
    }

    fn several(&mut self) {
        let (a, b) = (self.sql_values(), self.sql_values());
        let middle = self.dice.pick(&["\\; ", "\\;", " \\;\n", "\\;\\; "]);
        let text = match self.dice.below(3) {
            0 => format!("BEGIN\\; SELECT {a}{middle}SELECT {b}\\; END;"),
            1 => format!("SELECT {a}{middle}SELECT {b};"),
            _ => format!("SELECT {a}{middle}SELECT 1{middle}SELECT {b};"),
        };
        self.line(&text);
    }

    fn remark(&mut self) {
        let text = self.dice.pick(&[
            "-- a remark; with \\set x 1 and :nothing",
            "",
            "   ",
            ";",
            "  -- indented",
            ";;",
        ]);
        self.line(text);
    }

    // Expressions

    fn truth(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.known.bools.len() {
                n if n > 0 && self.dice.once_in(2) => {
                    let at = self.dice.below(n);
                    format!(":{}", self.known.bools[at])
                }
                _ => self
                    .dice
                    .pick(&["true", "false", "TRUE", "False"])
                    .to_owned(),
            };
        }
        match self.dice.below(9) {
            0 => format!(
                "{} and {}",
                self.truth_in_brackets(depth),
                self.truth_in_brackets(depth)
            ),
            1 => format!(
                "{} OR {}",
                self.truth_in_brackets(depth),
                self.truth_in_brackets(depth)
            ),
            2 => format!("not {}", self.truth_in_brackets(depth)),
            3 => {
                let is = self.dice.pick(&[
                    "is null",
                    "is not null",
                    "isnull",
                    "NOTNULL",
                    "is true",
                    "is not false",
                ]);
                match self.known.nulls.first() {
                    Some(name) if self.dice.once_in(2) => format!("(:{name}) {is}"),
                    _ => format!("({}) {is}", self.truth(depth - 1)),
                }
            }
            4 => {
                let (a, b) = (self.double(depth - 1).text, self.int(depth - 1).text);
                format!("({a}) {} ({b})", self.comparison())
            }
            5 => format!(
                "case when {} then {} else {} end",
                self.truth(depth - 1),
                self.truth(depth - 1),
                self.truth(depth - 1)
            ),
            _ => {
                let (a, b) = (self.int(depth - 1).text, self.int(depth - 1).text);
                format!("({a}) {} ({b})", self.comparison())
            }
        }
    }

    fn truth_in_brackets(&mut self, depth: usize) -> String {
        format!("({})", self.truth(depth - 1))
    }

    fn comparison(&mut self) -> &'static str {
        self.dice.pick(&["<", "<=", ">", ">=", "=", "<>", "!="])
    }

    fn int(&mut self, depth: usize) -> Number {
        let number = self.any_int(depth);
        if number.bound <= INT_BOUND {
            number
        } else {
            let text = format!("({}) % 1000003", number.text);
            Number {
                text,
                bound: 1e6 + 3.0,
            }
        }
    }

    fn any_int(&mut self, depth: usize) -> Number {
        let number = |text: String, bound: f64| Number { text, bound };
        if depth == 0 {
            return match self.dice.below(5) {
                0 | 1 if !self.known.ints.is_empty() => {
                    let at = self.dice.below(self.known.ints.len());
                    let (name, bound) = self.known.ints[at].clone();
                    number(format!(":{name}"), bound)
                }
                2 => number(":client_id".into(), 100.0),
                3 => {
                    let n = self.dice.between(0, 1_000_000_000);
                    number(n.to_string(), n as f64)
                }
                _ => {
                    let n = self.dice.between(0, 99);
                    number(n.to_string(), n as f64)
                }
            };
        }
        let less = depth - 1;
        match self.dice.below(22) {
            0 | 1 => {
                let (a, b) = (self.int(less), self.int(less));
                number(format!("({}) + ({})", a.text, b.text), a.bound + b.bound)
            }
            2 => {
                let (a, b) = (self.int(less), self.int(less));
                number(format!("({})-({})", a.text, b.text), a.bound + b.bound)
            }
            3 => {
                let (a, b) = (self.int(less), self.int(less));
                if a.bound * b.bound > INT_BOUND {
                    return number(format!("({}) + 1", a.text), a.bound + 1.0);
                }
                number(format!("({}) * ({})", a.text, b.text), a.bound * b.bound)
            }
            4 => {
                let (a, b) = (self.int(less), self.int(less));
                number(format!("({}) / greatest(1, {})", a.text, b.text), a.bound)
            }
            5 => {
                let (a, n) = (self.int(less), self.dice.between(1, 1000));
                number(format!("({}) % {n}", a.text), n as f64)
            }
            6 => {
                let a = self.int(less);
                number(format!("- ({})", a.text), a.bound)
            }
            7 => {
                let a = self.int(less);
                let abs = self.dice.pick(&["abs", "ABS", "Abs"]);
                number(format!("{abs}({})", a.text), a.bound)
            }
            8 => {
                let function = self.dice.pick(&["least", "greatest"]);
                let all: Vec<Number> = (0..self.dice.between(1, 4))
                    .map(|_| self.int(less))
                    .collect();
                let bound = all.iter().map(|n| n.bound).fold(0.0, f64::max);
                let texts: Vec<String> = all.into_iter().map(|n| n.text).collect();
                number(format!("{function}({})", texts.join(", ")), bound)
            }
            9 => {
                let (a, b) = (self.int(0), self.int(0));
                let operator = self.dice.pick(&["&", "|", "#"]);
                let bound = 2.0 * a.bound.max(b.bound) + 1.0;
                number(format!("({}) {operator} ({})", a.text, b.text), bound)
            }
            10 => {
                let (n, by) = (self.dice.between(0, 1000), self.dice.between(0, 9));
                number(format!("{n} << {by}"), (n << by) as f64)
            }
            11 => {
                let (a, by) = (self.int(less), self.dice.between(0, 40));
                number(format!("({}) >> {by}", a.text), a.bound)
            }
            12 => {
                let a = self.int(less);
                number(format!("~({})", a.text), a.bound + 1.0)
            }
            13 => {
                let a = self.double(less);
                number(format!("int({})", a.text), a.bound + 1.0)
            }
            14 => {
                let function = self
                    .dice
                    .pick(&["hash", "hash_murmur2", "hash_fnv1a", "HASH"]);
                let a = self.int(less);
                let seed = if self.dice.once_in(2) { ", 42" } else { "" };
                let n = self.dice.between(2, 100_000);
                number(format!("{function}({}{seed}) % {n}", a.text), n as f64)
            }
            15 => {
                let (a, size) = (self.int(less), self.dice.between(1, 100_000));
                let seed = if self.dice.once_in(2) {
                    format!(", {}", self.int(0).text)
                } else {
                    String::new()
                };
                number(format!("permute({}, {size}{seed})", a.text), size as f64)
            }
            16 => {
                let (a, b, c) = (self.truth(less), self.int(less), self.int(less));
                let text = if self.dice.once_in(3) {
                    format!(
                        "CASE WHEN {a} THEN {} WHEN not ({a}) THEN 4 ELSE {} END",
                        b.text, c.text
                    )
                } else {
                    format!("case when {a} then {} else {} end", b.text, c.text)
                };
                number(text, b.bound.max(c.bound).max(4.0))
            }
            17 if self.dice.once_in(4) => {
                let a = self.int(less);
                number(format!("debug({})", a.text), a.bound)
            }
            _ => self.drawn(),
        }
    }

    fn drawn(&mut self) -> Number {
        let low = self.dice.between(-1000, 1000);
        let high = low + self.dice.between(0, 1_000_000);
        let bound = 2e6;
        let text = match self.dice.below(7) {
            0 => {
                let parameter = self.dice.between(20, 80) as f64 / 10.0;
                format!("random_gaussian({low}, {high}, {parameter:.1})")
            }
            1 => {
                let parameter = self.dice.between(1, 90) as f64 / 10.0;
                format!("random_exponential({low}, {high}, {parameter:.1})")
            }
            2 => {
                let parameter = self.dice.pick(&["1.001", "1.5", "2", "0.9 + 1.1", "7.25"]);
                format!("random_zipfian({low}, {high}, {parameter})")
            }
            3 => format!("RANDOM({low}, {high})"),
            4 => format!("random({low}, {low})"),
            5 => {
                let wide = "random(-4000000000000000, 4000000000000000)";
                return Number {
                    text: wide.into(),
                    bound: INT_BOUND,
                };
            }
            _ => format!("random({low}, {high})"),
        };
        Number { text, bound }
    }

    fn double(&mut self, depth: usize) -> Number {
        let number = |text: String, bound: f64| Number { text, bound };
        if depth == 0 {
            return match self.dice.below(6) {
                0 | 1 if !self.known.doubles.is_empty() => {
                    let at = self.dice.below(self.known.doubles.len());
                    let (name, bound) = self.known.doubles[at].clone();
                    number(format!(":{name}"), bound)
                }
                2 => number("pi()".into(), 4.0),
                3 => {
                    let text = self
                        .dice
                        .pick(&["1.5", ".25", "3.", "1e3", "2.5E-3", "1e+2", "0.1"]);
                    number(text.to_owned(), 1000.0)
                }
                _ => {
                    let (whole, parts) = (self.dice.between(0, 999), self.dice.between(0, 999_999));
                    number(format!("{whole}.{parts:06}"), 1000.0)
                }
            };
        }
        let less = depth - 1;
        match self.dice.below(14) {
            0 | 1 => {
                let (a, b) = (self.double(less), self.double(less));
                let operator = self.dice.pick(&["+", "-"]);
                let bound = a.bound + b.bound;
                number(format!("({}) {operator} ({})", a.text, b.text), bound)
            }
            2 | 3 => {
                let (a, b) = (self.double(less), self.int(less));
                if a.bound * b.bound > INT_BOUND {
                    return number(format!("double({})", b.text), b.bound);
                }
                number(format!("({}) * ({})", a.text, b.text), a.bound * b.bound)
            }
            4 => {
                let (a, b) = (self.int(less), self.double(less));
                number(format!("({}) / (1.25 + abs({}))", a.text, b.text), a.bound)
            }
            5 => {
                let a = self.double(less);
                let sqrt = self.dice.pick(&["sqrt", "SQRT"]);
                number(format!("{sqrt}(abs({}))", a.text), a.bound.sqrt() + 1.0)
            }
            6 => {
                let a = self.double(less);
                number(format!("ln(1 + abs({}))", a.text), 40.0)
            }
            7 => {
                let a = self.double(less);
                number(format!("exp(least({}, 9.5))", a.text), 14_000.0)
            }
            8 => {
                let (pow, a) = (self.dice.pick(&["pow", "power"]), self.int(less));
                number(format!("{pow}(1 + abs({}) % 50, 2.5)", a.text), 20_000.0)
            }
            9 => {
                let pow =
                    self.dice
                        .pick(&["pow(2, -3)", "pow(9, 0.5)", "power(1.5, 10)", "pow(0, 0)"]);
                number(pow.to_owned(), 60.0)
            }
            10 => {
                let (a, b) = (self.double(less), self.int(less));
                let function = self.dice.pick(&["least", "greatest"]);
                let bound = a.bound.max(b.bound);
                number(format!("{function}({}, {})", a.text, b.text), bound)
            }
            11 => {
                let a = self.int(less);
                number(format!("double({}) / 7", a.text), a.bound)
            }
            12 => {
                let (a, b, c) = (self.truth(less), self.double(less), self.double(less));
                let bound = b.bound.max(c.bound);
                number(
                    format!("case when {a} then {} else {} end", b.text, c.text),
                    bound,
                )
            }
            _ => self.double(0),
        }
    }
}

#[test]
fn a_seed_makes_one_script() {
    assert_eq!(script(7, true), script(7, true));
    assert_ne!(script(7, true), script(8, true));
    assert!((0..50).all(|seed| !script(seed, true).contains("pipeline")));
}

#[test]
fn the_language_is_covered() {
    let all: String = (0..200)
        .flat_map(|seed| [script(seed, true), script(seed, false)])
        .collect();
    for word in [
        "random(",
        "random_zipfian(",
        "random_exponential(",
        "random_gaussian(",
        "hash(",
        "hash_fnv1a(",
        "permute(",
        "least(",
        "greatest(",
        "case when",
        "\\if",
        "\\elif",
        "\\else",
        "\\endif",
        "\\gset",
        "\\aset",
        "\\startpipeline",
        "\\syncpipeline",
        "\\endpipeline",
        "\\;",
        "--",
        "/*",
        "$tag$",
        "::",
        "BEGIN",
        "ROLLBACK",
        "\\sleep",
        "\\setshell",
        "debug(",
        "<<",
        ">>",
        "is not null",
        "pow(",
        "exp(",
    ] {
        assert!(all.contains(word), "no {word} in 400 scripts");
    }
}
