//! CSV as PostgreSQL's COPY reads it (documentation of COPY, "CSV Format"): a record ends with a line end outside
//! quotes; a quote may begin anywhere in a field; a field without quotes that is the text for NULL is NULL.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{By, Fields, Reading, Wanted, hex};

/// Records between two places that are remembered.
const STRIDE: u64 = 1000;

/// A longer record is a quote without an end.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Bytes between two looks at whether to stop.
const LOOK_BYTES: u64 = 1 << 20;

/// Characters of a bad record that are shown.
const SHOWN_CHARS: usize = 60;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How records are written; the options have COPY's names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Format {
    pub delimiter: u8,
    /// What surrounds a field in which anything may be.
    pub quote: u8,
    /// What precedes a quote in such a field.
    pub escape: u8,
    /// A field without quotes that is this text is NULL.
    pub null: String,
    /// Whether the first line has the fields' names.
    pub header: bool,
}

/// Where the records of a file are.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) rows: u64,
    format: Format,
    width: usize,
    /// Which field each wanted one is.
    taken: Vec<usize>,
    /// Where each record whose number is a multiple of [`STRIDE`] begins.
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    line: u64,
}

/// A file's records in their order.
#[derive(Debug)]
pub(super) struct Records {
    reader: BufReader<File>,
    /// The record that was read, without its line end.
    record: Vec<u8>,
    /// Its bytes in the file.
    taken: usize,
    line: u64,
    next_line: u64,
    /// All fields of the record.
    fields: Fields,
}

impl Records {
    fn at(path: &Path, place: Place) -> Result<Records, String> {
        let mut file = File::open(path).map_err(|e| e.to_string())?;
        file.seek(SeekFrom::Start(place.offset))
            .map_err(|e| e.to_string())?;
        Ok(Records {
            reader: BufReader::with_capacity(1 << 18, file),
            record: Vec::new(),
            taken: 0,
            line: place.line,
            next_line: place.line,
            fields: Fields::default(),
        })
    }

    /// Reads the next record; false at the file's end. Every byte read goes to `seen`.
    fn read(&mut self, format: &Format, mut seen: impl FnMut(&[u8])) -> Result<bool, String> {
        self.record.clear();
        self.line = self.next_line;
        let mut is_inside = false;
        loop {
            let begin = self.record.len();
            let room = (RECORD_BYTES_MAX - begin) as u64 + 1;
            let mut reader = (&mut self.reader).take(room);
            let read = reader.read_until(b'\n', &mut self.record);
            let read = read.map_err(|e| e.to_string())?;
            let segment = &self.record[begin..];
            seen(segment);
            self.next_line += u64::from(segment.ends_with(b"\n"));
            is_inside = format.is_inside_after(segment, is_inside);
            let is_end = read == 0 || !segment.ends_with(b"\n");
            if self.record.len() > RECORD_BYTES_MAX || (is_end && is_inside) {
                return Err(format!(
                    "line {}: a quote that begins in this record has no end: close it, or write a \
                     quote that is part of a value twice, within quotes",
                    self.line
                ));
            }
            if is_end || !is_inside {
                self.taken = self.record.len();
                if self.record.ends_with(b"\n") {
                    self.record.pop();
                    if self.record.ends_with(b"\r") {
                        self.record.pop();
                    }
                }
                return Ok(self.taken > 0);
            }
        }
    }
}

impl Format {
    /// Whether a field's quotes are open behind these bytes.
    fn is_inside_after(&self, bytes: &[u8], mut is_inside: bool) -> bool {
        if !bytes.contains(&self.quote) {
            return is_inside;
        }
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            if is_inside && byte == self.escape && self.escape != self.quote {
                // What it precedes is no quote of the field's.
                let next = bytes.get(at);
                at += usize::from(next.is_some_and(|b| *b == self.quote || *b == self.escape));
            } else if byte == self.quote {
                is_inside = !is_inside;
            }
        }
        is_inside
    }

    fn split(&self, record: &[u8], fields: &mut Fields) {
        fields.clear();
        let null = self.null.as_bytes();
        let mut is_quoted = false;
        let mut is_inside = false;
        let mut begin = 0;
        let mut at = 0;
        while let Some(&byte) = record.get(at) {
            at += 1;
            if is_inside {
                let next = record.get(at).copied();
                let is_pair = next.is_some_and(|b| b == self.quote || b == self.escape);
                if byte == self.escape && is_pair {
                    fields.bytes.extend(next);
                    at += 1;
                } else if byte == self.quote {
                    is_inside = false;
                } else {
                    fields.bytes.push(byte);
                }
            } else if byte == self.quote {
                (is_inside, is_quoted) = (true, true);
            } else if byte == self.delimiter {
                fields.end(!is_quoted && fields.bytes[begin..] == *null);
                (is_quoted, begin) = (false, fields.bytes.len());
            } else {
                fields.bytes.push(byte);
            }
        }
        fields.end(!is_quoted && fields.bytes[begin..] == *null);
    }
}

/// Reads a file through: where its records are, and its SHA-256.
///
/// # Errors
/// The first record that is none, with its line; a field that is wanted and not there.
pub(super) fn index(
    path: &Path,
    shown: &str,
    wanted: &Wanted,
    reading: &mut Reading<'_>,
) -> Result<(Index, String), String> {
    let format = &wanted.format;
    let fail = |why: String| match why.strip_prefix("line ") {
        Some(why) => format!("{shown}:{why}"),
        None => format!("{shown}: {why}"),
    };
    let start = Place { offset: 0, line: 1 };
    let mut records = Records::at(path, start).map_err(fail)?;
    let mut hash = Sha256::new();
    let mut offset = skip_byte_order_mark(&mut records, &mut hash).map_err(fail)?;
    let (mut reported, mut rows) = (0, 0);
    let mut places = Vec::new();
    let mut width = None;
    if format.header {
        if !records
            .read(format, |bytes| hash.update(bytes))
            .map_err(fail)?
        {
            let why = "it is empty: a first line with the fields' names was expected, or \
                       header = false in pack.toml";
            return Err(fail(why.to_owned()));
        }
        offset += records.taken as u64;
        format.split(&records.record, &mut records.fields);
    }
    let mut taken = Vec::new();
    if format.header {
        taken = by_names(&records.fields, wanted).map_err(|why| format!("{shown}:1: {why}"))?;
        width = Some((records.fields.ends.len(), 1));
    }
    while records
        .read(format, |bytes| hash.update(bytes))
        .map_err(fail)?
    {
        let line = records.line;
        if rows % STRIDE == 0 {
            places.push(Place { offset, line });
        }
        rows += 1;
        offset += records.taken as u64;
        format.split(&records.record, &mut records.fields);
        let found = records.fields.ends.len();
        if width.is_none() {
            taken = by_numbers(found, wanted).map_err(|why| format!("{shown}:{line}: {why}"))?;
        }
        let (fields, as_in) = *width.get_or_insert((found, line));
        if found != fields {
            return Err(format!(
                "{shown}:{line}: {}: {} expected as in line {as_in}{}",
                pgdyno_spec::text::plural(found as u64, "field"),
                fields,
                excerpt(&records.record)
            ));
        }
        let why = match std::str::from_utf8(&records.record) {
            Ok(text) if text.contains('\0') => {
                Some("a zero byte, which no text of a server can have")
            }
            Ok(_) => None,
            Err(_) => Some("it is not UTF-8: convert the file (`iconv -t UTF-8`)"),
        };
        if let Some(why) = why {
            return Err(format!("{shown}:{line}: {why}{}", excerpt(&records.record)));
        }
        if offset - reported >= LOOK_BYTES {
            reported = offset;
            reading.progress.bytes(offset);
            if reading.stop.asked() {
                return Err("interrupted".to_owned());
            }
        }
    }
    let index = Index {
        rows,
        format: format.clone(),
        width: width.map_or(0, |(width, _)| width),
        taken,
        places,
    };
    Ok((index, hex(hash.finalize())))
}

/// How many bytes the mark has; Windows' programs begin a file with it.
fn skip_byte_order_mark(records: &mut Records, hash: &mut Sha256) -> Result<u64, String> {
    let begin = records.reader.fill_buf().map_err(|e| e.to_string())?;
    if !begin.starts_with(BYTE_ORDER_MARK) {
        return Ok(0);
    }
    hash.update(BYTE_ORDER_MARK);
    records.reader.consume(BYTE_ORDER_MARK.len());
    Ok(BYTE_ORDER_MARK.len() as u64)
}

/// Which fields of a file with this header are wanted.
fn by_names(header: &Fields, wanted: &Wanted) -> Result<Vec<usize>, String> {
    let count = header.ends.len();
    let name = |at: usize| String::from_utf8_lossy(header.get(at).unwrap_or_default()).into_owned();
    let names: Vec<String> = (0..count).map(name).collect();
    let there = || names.join(", ");
    let mut taken = Vec::new();
    for by in &wanted.fields {
        taken.push(match by {
            By::Number(number) if *number < count => *number,
            By::Number(number) => {
                let number = number + 1;
                return Err(format!(
                    "there is no field {number} (there are {count}: {})",
                    there()
                ));
            }
            By::Name(wanted) => {
                let mut all = names.iter().enumerate().filter(|(_, name)| *name == wanted);
                match (all.next(), all.next()) {
                    (Some((at, _)), None) => at,
                    (Some(_), Some(_)) => {
                        return Err(format!(
                            "two fields are called \"{wanted}\": choose one by its number, such as field = 1"
                        ));
                    }
                    (None, _) => {
                        return Err(format!(
                            "there is no field \"{wanted}\" (there are: {}): give the column \
                             field = \"…\" with its name in the file; if this line is a row and \
                             no names, header = false",
                            there()
                        ));
                    }
                }
            }
        });
    }
    Ok(taken)
}

/// Which fields of a file with so many fields and no names are wanted.
fn by_numbers(count: usize, wanted: &Wanted) -> Result<Vec<usize>, String> {
    if wanted.in_order && count != wanted.fields.len() {
        return Err(format!(
            "{}, and {} of the table take one: give those columns field = N, from 1",
            pgdyno_spec::text::plural(count as u64, "field"),
            pgdyno_spec::text::plural(wanted.fields.len() as u64, "column"),
        ));
    }
    let number = |by: &By| match by {
        By::Number(number) if *number < count => Ok(*number),
        By::Number(number) => Err(format!(
            "there is no field {} (there are {count})",
            number + 1
        )),
        By::Name(name) => Err(format!(
            "field = \"{name}\": the file has no names (header = false)"
        )),
    };
    wanted.fields.iter().map(number).collect()
}

/// The beginning of a bad record, for a message.
fn excerpt(record: &[u8]) -> String {
    let text = String::from_utf8_lossy(record);
    let shown: String = text.chars().take(SHOWN_CHARS).collect();
    let shown = pgdyno_spec::text::shown(&shown);
    let more = if text.chars().count() > SHOWN_CHARS {
        "…"
    } else {
        ""
    };
    if record.is_empty() {
        ": the line is empty".to_owned()
    } else {
        format!(": {shown}{more}")
    }
}

impl Index {
    /// The records from this one on, from 0.
    pub(super) fn from(&self, path: &Path, row: u64) -> Result<Records, String> {
        let at = usize::try_from(row / STRIDE).unwrap_or(usize::MAX);
        let place = *self.places.get(at).ok_or("there is no such row")?;
        let mut records = Records::at(path, place)?;
        for _ in 0..row % STRIDE {
            records.read(&self.format, |_| {})?;
        }
        Ok(records)
    }

    /// The line in which a record begins.
    pub(super) fn line(&self, path: &Path, row: u64) -> Result<u64, String> {
        let mut records = self.from(path, row)?;
        records.read(&self.format, |_| {})?;
        Ok(records.line)
    }

    /// The wanted fields of the next record; false: it is none as it was when the file was read.
    pub(super) fn next(&self, records: &mut Records, wanted: &mut Fields) -> Result<bool, String> {
        if !records.read(&self.format, |_| {})? {
            return Ok(false);
        }
        self.format.split(&records.record, &mut records.fields);
        if records.fields.ends.len() != self.width {
            return Ok(false);
        }
        wanted.clear();
        for taken in &self.taken {
            let text = records.fields.get(*taken);
            wanted.bytes.extend_from_slice(text.unwrap_or_default());
            wanted.end(text.is_none());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_data::{Cursor, Data, unwatched};

    fn format() -> Format {
        Format {
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            null: String::new(),
            header: false,
        }
    }

    fn split(format: &Format, record: &str) -> Vec<Option<String>> {
        let mut fields = Fields::default();
        format.split(record.as_bytes(), &mut fields);
        let text = |at| {
            fields
                .get(at)
                .map(|b| String::from_utf8(b.to_vec()).unwrap())
        };
        (0..fields.ends.len()).map(text).collect()
    }

    #[test]
    fn fields_are_what_copy_takes_them_for() {
        let some = |texts: &[&str]| -> Vec<Option<String>> {
            texts.iter().map(|text| Some((*text).to_owned())).collect()
        };
        assert_eq!(split(&format(), "a,b c,1"), some(&["a", "b c", "1"]));
        assert_eq!(
            split(&format(), r#""a,""b""",x"y,z"w"#),
            some(&[r#"a,"b""#, "xy,zw"])
        );
        assert_eq!(
            split(&format(), r#",,"""#),
            [None, None, Some(String::new())]
        );
        assert_eq!(split(&format(), ""), [None]);
        let other = Format {
            delimiter: b';',
            quote: b'\'',
            escape: b'\\',
            null: "NULL".to_owned(),
            ..format()
        };
        assert_eq!(
            split(&other, r"'it\'s; \\ \n';NULL;'NULL';;NULLs"),
            [
                Some(r"it's; \ \n"),
                None,
                Some("NULL"),
                Some(""),
                Some("NULLs")
            ]
            .map(|text| text.map(str::to_owned))
        );
    }

    fn data(text: &[u8], format: Format, fields: &[&str]) -> Result<Vec<String>, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.csv"), text).unwrap();
        let number = |(at, name): (usize, &&str)| {
            if format.header {
                By::Name((*name).to_owned())
            } else {
                By::Number(at)
            }
        };
        let wanted = Wanted {
            folder: dir.path().to_owned(),
            place: "p".to_owned(),
            from: "a.csv".to_owned(),
            fields: fields.iter().enumerate().map(number).collect(),
            in_order: !format.header,
            format,
        };
        let data = unwatched(|reading| Data::open(&wanted, reading))?;
        let mut cursor = Cursor::new(data.clone());
        // Not in their order: each is found.
        let mut rows = Vec::new();
        for row in (1..=data.rows).rev() {
            cursor.go(row).unwrap();
            let text = |at| match cursor.field(at) {
                None => "NULL".to_owned(),
                Some(text) => String::from_utf8(text.to_vec()).unwrap(),
            };
            let texts: Vec<String> = (0..fields.len()).map(text).collect();
            rows.push(format!("{} {}", data.place(row), texts.join("|")));
        }
        rows.reverse();
        Ok(rows)
    }

    #[test]
    fn records_go_over_lines_and_are_found_by_name_and_line() {
        let header = Format {
            header: true,
            ..format()
        };
        let text = b"\xef\xbb\xbfid,\"na\"\"me\",more\r\n1,\"two\nlines\",x\r\n2,,y\r\n3,\"\",z";
        assert_eq!(
            data(text, header, &["na\"me", "id"]).unwrap(),
            ["p/a.csv:2 two\nlines|1", "p/a.csv:4 NULL|2", "p/a.csv:5 |3"]
        );
        let many: String = (1..=2500).map(|n| format!("{n},\"a\n{n}\"\n")).collect();
        let rows = data(many.as_bytes(), format(), &["n", "t"]).unwrap();
        assert_eq!(rows.len(), 2500);
        assert_eq!(rows[2400], "p/a.csv:4801 2401|a\n2401");
        assert_eq!(data(b"", format(), &["a"]).unwrap(), [""; 0]);
    }

    #[test]
    fn a_malformed_row_is_an_error_with_line_and_remedy() {
        let header = Format {
            header: true,
            ..format()
        };
        for (text, format, want) in [
            (
                &b"a,b\n1,2\n3\n"[..],
                &header,
                "p/a.csv:3: 1 field: 2 expected as in line 1: 3",
            ),
            (
                b"a,b\n1,2\n\n",
                &header,
                "p/a.csv:3: 1 field: 2 expected as in line 1: the line is empty",
            ),
            (
                b"a,b\n1,2\n3,\"4\n5,6\n",
                &header,
                "p/a.csv:3: a quote that begins in this record has no end",
            ),
            (
                b"a,b\n1,\xff\n",
                &header,
                "p/a.csv:2: it is not UTF-8: convert the file",
            ),
            (b"a,b\n1,\0\n", &header, "p/a.csv:2: a zero byte"),
            (
                b"a,c\n1,2\n",
                &header,
                "p/a.csv:1: there is no field \"b\" (there are: a, c): give the column field",
            ),
            (
                b"a,b,a\n",
                &header,
                "p/a.csv:1: two fields are called \"a\": choose one",
            ),
            (
                b"",
                &header,
                "p/a.csv: it is empty: a first line with the fields' names was expected",
            ),
            (
                b"1,2,3\n",
                &super::tests::format(),
                "p/a.csv:1: 3 fields, and 2 columns of the table take one",
            ),
        ] {
            let error = data(text, format.clone(), &["a", "b"]).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
    }
}
