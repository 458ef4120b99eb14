//! Lines of CSV (RFC 4180, with the line ends of Unix).

/// One line; what needs quotes gets them.
pub fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let mut line = cells.map(cell).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_with_separators_are_quoted() {
        let cells = ["1", "a,b", "say \"x\"", "", "two\nlines"];
        assert_eq!(
            super::line(cells.into_iter()),
            "1,\"a,b\",\"say \"\"x\"\"\",,\"two\nlines\"\n"
        );
    }
}
