//! The parts of a document below its answer. A laboratory fills them; the terminal, Markdown and the page have one
//! renderer for each sort and know no laboratory.

use serde::Serialize;

use super::disturb_lab::DisturbRepeat;
use super::isolation_lab::IsolationSeen;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "DocumentSection"))]
pub struct Section {
    /// Its place on the page, to which evidence links.
    pub id: String,
    /// In the navigation of the page.
    pub link: String,
    pub title: String,
    /// How to read it, on the page.
    pub lead: String,
    pub parts: Vec<SectionPart>,
}

/// One of few sorts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sort", rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SectionPart {
    Text(Paragraphs),
    Table(FigureTable),
    Curve(FigureCurve),
    /// A disturbed trial on its clock; a terminal has its figures in a table.
    Lanes(Box<DisturbLanes>),
    /// Transactions in time, and why no order explains them.
    History(Box<HistoryExample>),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HistoryExample {
    /// What happened where, and whether that is allowed.
    pub title: String,
    pub seen: IsolationSeen,
    /// Whether a terminal leaves it out.
    pub is_deep: bool,
}

/// What was due and served, response times, errors, endpoints and clients without service, over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbLanes {
    /// Of so many repeats this is the worst one.
    pub of: usize,
    pub repeat: DisturbRepeat,
}

/// Sentences, one below the other. `` `code` `` is between backquotes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Paragraphs {
    /// Empty: none of their own. So of a table.
    pub title: String,
    pub lines: Vec<String>,
    /// Whether a terminal leaves it out; so of a table.
    pub is_deep: bool,
}

/// Figures in rows, as numbers or as bars.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FigureTable {
    pub title: String,
    /// The first has the names of the rows.
    pub columns: Vec<TableColumn>,
    pub rows: Vec<TableRow>,
    /// Sentences below it.
    pub notes: Vec<String>,
    /// What the page shows of it, and of columns that are not `shown`, before it is opened; empty: it is open.
    pub fold: String,
    pub is_deep: bool,
}

/// Lines over the places of an axis; a terminal has its figures in a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FigureCurve {
    /// On the page.
    pub id: String,
    pub title: String,
    /// Below the title: the unit, and what else is drawn.
    pub note: String,
    /// What runs to the right.
    pub axis: String,
    /// Names of its places, at equal distances.
    pub places: Vec<String>,
    pub lines: Vec<CurveLine>,
    /// Upright lines with names.
    pub marks: Vec<CurveMark>,
    /// Of times; else from 0.
    pub is_logarithmic: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CurveLine {
    pub name: String,
    /// Which of the page's colours.
    pub color: usize,
    pub places: Vec<CurvePlace>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CurvePlace {
    /// Its place on the axis, from 0.
    pub at: usize,
    pub value: f64,
    /// The ends of its interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub repeats: Vec<f64>,
    /// What it is, in words.
    pub words: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CurveMark {
    /// On the axis; between two places where it is no whole number.
    pub at: f64,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableColumn {
    /// With its unit.
    pub title: String,
    /// How to read it, on the page: `less is better`.
    pub note: String,
    pub form: ColumnForm,
    pub place: ColumnPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ColumnForm {
    Words,
    Figure,
    /// The page draws bars on an axis from 0.
    Bars,
    /// The page draws shares by which one exceeds another, on a logarithmic axis around 0.
    Ratios,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ColumnPlace {
    Shown,
    /// On the page alone.
    Page,
    /// In a terminal, and on the page below the fold.
    Folded,
    /// Below the fold of the page alone.
    Deep,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableRow {
    pub cells: Vec<TableCell>,
    pub tone: Tone,
    /// Why it has no figures, in their place; empty: it has some.
    pub missing: String,
    /// Whether it is below the fold of the page.
    pub is_folded: bool,
    /// Whether the page shows its figures at a glance, below the answer.
    pub is_headline: bool,
}

/// A figure as it is shown, and as data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableCell {
    pub text: String,
    /// Below it, on the page and in Markdown.
    pub note: String,
    pub tone: Tone,
    pub bar: Option<FigureBar>,
    /// Numbers of trials, as links of the page.
    pub trials: Vec<i64>,
}

/// A figure over repeats, in the unit of its column.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FigureBar {
    pub value: Option<f64>,
    /// The ends of its interval, or the least and the greatest repeat.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub repeats: Vec<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Quiet,
    Good,
    Careful,
    Bad,
}

impl Section {
    pub fn new(id: &str, link: &str, title: &str, parts: Vec<SectionPart>) -> Self {
        let [id, link, title] = [id, link, title].map(str::to_owned);
        Self {
            id,
            link,
            title,
            parts,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn lead(self, lead: impl Into<String>) -> Self {
        Self {
            lead: lead.into(),
            ..self
        }
    }
}

impl SectionPart {
    pub fn text(title: &str, lines: Vec<String>) -> Self {
        Self::Text(Paragraphs {
            title: title.to_owned(),
            lines,
            is_deep: false,
        })
    }

    /// Of these repeats the one that is shown over time.
    pub fn lanes(of: &[DisturbRepeat], shown: &DisturbRepeat) -> Self {
        Self::Lanes(Box::new(DisturbLanes {
            of: of.len(),
            repeat: shown.clone(),
        }))
    }

    /// Left out in a terminal.
    #[must_use]
    pub fn deep(mut self) -> Self {
        match &mut self {
            Self::Text(of) => of.is_deep = true,
            Self::Table(of) => of.is_deep = true,
            Self::History(of) => of.is_deep = true,
            // No terminal draws them.
            Self::Curve(_) | Self::Lanes(_) => {}
        }
        self
    }
}

impl FigureTable {
    pub fn new(title: impl Into<String>, columns: Vec<TableColumn>) -> Self {
        Self {
            title: title.into(),
            columns,
            ..Self::default()
        }
    }

    /// Adds a row, whose first cell is its name.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) -> &mut TableRow {
        self.rows.push(TableRow {
            cells: cells.into_iter().collect(),
            tone: Tone::Plain,
            missing: String::new(),
            is_folded: false,
            is_headline: false,
        });
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    /// Without rows there is no table.
    pub fn part(self) -> Option<SectionPart> {
        (!self.rows.is_empty()).then_some(SectionPart::Table(self))
    }
}

impl TableColumn {
    fn new(title: impl Into<String>, form: ColumnForm) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            form,
            place: ColumnPlace::Shown,
        }
    }

    pub fn words(title: impl Into<String>) -> Self {
        Self::new(title, ColumnForm::Words)
    }

    pub fn figure(title: impl Into<String>) -> Self {
        Self::new(title, ColumnForm::Figure)
    }

    /// Figures of these titles.
    pub fn figures<const N: usize>(titles: [&str; N]) -> [Self; N] {
        titles.map(Self::figure)
    }

    /// Names of rows, and behind them figures of these titles.
    pub fn named<const N: usize>(names: impl Into<String>, titles: [&str; N]) -> Vec<Self> {
        std::iter::once(Self::words(names))
            .chain(Self::figures(titles))
            .collect()
    }

    pub fn bars(title: &str, note: &str) -> Self {
        Self {
            note: note.to_owned(),
            ..Self::new(title, ColumnForm::Bars)
        }
    }

    pub fn ratios(title: &str) -> Self {
        Self::new(title, ColumnForm::Ratios)
    }

    #[must_use]
    pub fn on_page(self) -> Self {
        Self {
            place: ColumnPlace::Page,
            ..self
        }
    }

    #[must_use]
    pub fn folded(self) -> Self {
        Self {
            place: ColumnPlace::Folded,
            ..self
        }
    }

    #[must_use]
    pub fn deep(self) -> Self {
        Self {
            place: ColumnPlace::Deep,
            ..self
        }
    }
}

impl Tone {
    pub fn bad_if(is_bad: bool) -> Self {
        if is_bad { Self::Bad } else { Self::Plain }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl TableCell {
    /// Links to trials.
    pub fn trials(trials: impl IntoIterator<Item = i64>) -> Self {
        let trials: Vec<i64> = trials.into_iter().collect();
        let text: Vec<String> = trials.iter().map(i64::to_string).collect();
        Self {
            trials,
            ..text.join(" ").into()
        }
    }

    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    #[must_use]
    pub fn bar(self, value: Option<f64>, ends: Option<(f64, f64)>, repeats: Vec<f64>) -> Self {
        let (low, high) = ends.unzip();
        Self {
            bar: Some(FigureBar {
                value,
                low,
                high,
                repeats,
            }),
            ..self
        }
    }
}

impl FigureBar {
    /// From the least to the greatest of these.
    pub fn range(repeats: &[f64]) -> Option<(f64, f64)> {
        let low = repeats.iter().copied().reduce(f64::min)?;
        Some((low, repeats.iter().copied().reduce(f64::max)?))
    }
}

impl CurvePlace {
    pub fn at(at: usize, value: f64, words: String) -> Self {
        Self {
            at,
            value,
            words,
            ..Self::default()
        }
    }
}
