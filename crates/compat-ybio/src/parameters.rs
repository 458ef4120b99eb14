//! ybio's parameters: their names, order, types and defaults.

use std::collections::BTreeMap;

use super::call::Given;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YbioVerb {
    Setup,
    Runit,
    Remove,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// A whole number from here on; `1e6` is one.
    Whole(i64),
    Flag,
}

/// A parameter with its default; `None` is NULL, and only such a one may be NULL.
struct YbioParameter(&'static str, Kind, Option<&'static str>);

const TABLE: [YbioParameter; 2] = [
    YbioParameter("tab_prefix", Kind::Text, Some("bench")),
    YbioParameter("tab_num", Kind::Whole(0), Some("1")),
];

const SETUP: [YbioParameter; 8] = [
    YbioParameter("tab_rows", Kind::Whole(1), Some("1000000")),
    YbioParameter("batch_size", Kind::Whole(1), Some("1000")),
    YbioParameter("tab_tablets", Kind::Whole(0), Some("0")),
    YbioParameter("ind_tablets", Kind::Whole(0), Some("0")),
    YbioParameter("index_as_pk", Kind::Flag, Some("false")),
    YbioParameter("filler", Kind::Whole(1), Some("1")),
    YbioParameter("recreate", Kind::Flag, Some("true")),
    // Its default is 'scratch'; NULL is the order in which rows are generated.
    YbioParameter("orderby", Kind::Text, None),
];

const RUNIT: [YbioParameter; 8] = [
    YbioParameter("tab_rows", Kind::Whole(1), Some("1000000")),
    YbioParameter("batch_size", Kind::Whole(1), Some("10000")),
    YbioParameter("run_duration", Kind::Text, Some("1 minute")),
    YbioParameter("pct_update", Kind::Whole(0), Some("0")),
    YbioParameter("prepared", Kind::Flag, Some("true")),
    YbioParameter("index_only", Kind::Flag, Some("false")),
    YbioParameter("initial_count", Kind::Flag, Some("false")),
    YbioParameter("comments", Kind::Text, None),
];

impl YbioVerb {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "setup" => Some(Self::Setup),
            "runit" => Some(Self::Runit),
            "remove" => Some(Self::Remove),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Runit => "runit",
            Self::Remove => "remove",
        }
    }

    fn parameters(self) -> Vec<&'static YbioParameter> {
        let own: &'static [YbioParameter] = match self {
            Self::Setup => &SETUP,
            Self::Runit => &RUNIT,
            Self::Remove => &[],
        };
        TABLE.iter().chain(own).collect()
    }
}

/// All parameters of a procedure with their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters(BTreeMap<&'static str, Option<String>>);

impl Parameters {
    /// What was given, and the defaults of the others.
    ///
    /// # Errors
    /// A name that the procedure does not have, or a value that the parameter does not take.
    pub fn read(verb: YbioVerb, given: &[Given]) -> Result<Self, String> {
        let known = verb.parameters();
        let mut values = BTreeMap::new();
        for (place, given) in given.iter().enumerate() {
            let found = match &given.name {
                Some(name) => known.iter().find(|parameter| parameter.0 == name),
                None => known.get(place),
            };
            let Some(parameter) = found else {
                let names: Vec<&str> = known.iter().map(|parameter| parameter.0).collect();
                let what = match &given.name {
                    Some(name) => format!("no parameter \"{name}\""),
                    None => format!("only {} parameters", known.len()),
                };
                let names = names.join(", ");
                return Err(format!("{} has {what} (there are: {names})", verb.name()));
            };
            // `setup tab_rows` would make a million rows in tables of this name.
            let is_a_name = |text: &str| known.iter().any(|parameter| parameter.0 == text);
            if let (None, Some(text)) = (&given.name, &given.value)
                && is_a_name(text)
            {
                return Err(format!("{text} is a parameter without a value: {text}=…"));
            }
            let value = parameter.accept(given.value.as_deref())?;
            if values.insert(parameter.0, value).is_some() {
                return Err(format!("{} is given twice", parameter.0));
            }
        }
        for YbioParameter(name, _, default) in known {
            let default = match *name {
                "orderby" => Some("scratch"),
                _ => *default,
            };
            values.entry(name).or_insert(default.map(str::to_owned));
        }
        Ok(Self(values))
    }

    /// A text; `None` is NULL.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }

    pub fn whole(&self, name: &str) -> u64 {
        self.text(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    pub fn table(&self) -> String {
        format!(
            "{}{:04}",
            self.text("tab_prefix").unwrap_or_default(),
            self.whole("tab_num")
        )
    }

    /// The pack's parameters that name the table.
    pub fn of_table(&self) -> Vec<String> {
        vec![
            format!("tab_prefix={}", self.text("tab_prefix").unwrap_or_default()),
            format!("tab_num={}", self.whole("tab_num")),
        ]
    }
}

impl YbioParameter {
    /// The value in one form: numbers in digits, booleans `true` or `false`.
    fn accept(&self, value: Option<&str>) -> Result<Option<String>, String> {
        let Self(name, kind, default) = self;
        let Some(value) = value else {
            return match default {
                None => Ok(None),
                Some(_) => Err(format!("{name} may not be NULL")),
            };
        };
        let wrong = |what: &str| format!("{name}={value}: {what}");
        match kind {
            Kind::Text if *name == "tab_prefix" && !is_prefix(value) => Err(wrong(
                "use lower-case letters, digits and _, no digit first",
            )),
            Kind::Text => Ok(Some(value.to_owned())),
            Kind::Whole(min) => match whole(value) {
                Some(number) if number < *min => Err(wrong(&format!("it must be at least {min}"))),
                Some(number) if *name == "pct_update" && number > 100 => {
                    Err(wrong("it must be at most 100"))
                }
                Some(number) => Ok(Some(number.to_string())),
                None => Err(wrong("expected a whole number, such as 1000000 or 1e6")),
            },
            Kind::Flag => match value.to_ascii_lowercase().as_str() {
                "true" | "t" | "on" | "yes" | "1" => Ok(Some("true".to_owned())),
                "false" | "f" | "off" | "no" | "0" => Ok(Some("false".to_owned())),
                _ => Err(wrong("expected true or false")),
            },
        }
    }
}

/// Whether a table's name may begin so without quotes.
fn is_prefix(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(is_word) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// A whole number, also as `1e6`.
fn whole(text: &str) -> Option<i64> {
    /// Up to here a double has all whole numbers.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::super::call::Call;
    use super::*;

    fn read(call: &str) -> Result<Parameters, String> {
        let call = Call::read(call, &[])?;
        Parameters::read(YbioVerb::named(&call.procedure).unwrap(), &call.given)
    }

    #[test]
    fn values_are_ybios_and_so_are_the_defaults() {
        let setup = read("setup()").unwrap();
        assert_eq!(setup.table(), "bench0001");
        assert_eq!(
            (setup.whole("tab_rows"), setup.whole("batch_size")),
            (1_000_000, 1000)
        );
        assert_eq!((setup.flag("recreate"), setup.whole("filler")), (true, 1));
        assert_eq!(setup.text("orderby"), Some("scratch"));
        assert_eq!(read("setup(orderby=>null)").unwrap().text("orderby"), None);
        let runit = read("runit('b', 12, 1e5, pct_update=>42, prepared=>F)").unwrap();
        assert_eq!(runit.table(), "b0012");
        assert_eq!(
            (runit.whole("tab_rows"), runit.whole("batch_size")),
            (100_000, 10_000)
        );
        assert_eq!(
            (runit.whole("pct_update"), runit.flag("prepared")),
            (42, false)
        );
        assert_eq!(
            (runit.text("run_duration"), runit.text("comments")),
            (Some("1 minute"), None)
        );
        let remove = read("remove(tab_num=>2)").unwrap();
        assert_eq!(remove.of_table(), ["tab_prefix=bench", "tab_num=2"]);
    }

    #[test]
    fn what_a_parameter_does_not_take_is_named() {
        for (call, want) in [
            (
                "runit(tab_nums=>1)",
                "runit has no parameter \"tab_nums\" (there are: tab_prefix, ",
            ),
            ("remove('a', 1, 2)", "remove has only 2 parameters"),
            (
                "setup(tab_rows, 10)",
                "tab_rows is a parameter without a value: tab_rows=…",
            ),
            (
                "runit(tab_rows=>1.5)",
                "tab_rows=1.5: expected a whole number",
            ),
            ("runit(tab_rows=>1e99)", "expected a whole number"),
            ("runit(tab_rows=>0)", "it must be at least 1"),
            ("runit(pct_update=>101)", "it must be at most 100"),
            ("runit(prepared=>maybe)", "expected true or false"),
            ("runit(tab_num=>null)", "tab_num may not be NULL"),
            ("remove('A')", "tab_prefix=A: use lower-case letters"),
            ("remove('1')", "no digit first"),
            ("runit('a', tab_prefix=>'b')", "tab_prefix is given twice"),
        ] {
            let error = read(call).unwrap_err();
            assert!(error.contains(want), "{call}: {error}");
        }
    }
}
