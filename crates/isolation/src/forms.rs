//! Reads forms of EDN and of JSON: maps, lists, numbers, words. One reader for both, because for what
//! histories use JSON is EDN whose map keys are strings that a colon follows. Not a complete reader of either.
//!
//! Sources: github.com/edn-format/edn; RFC 8259.

/// Lists in lists: a history has an event, its operations, one operation and its elements.
const DEPTH_MAX: u32 = 12;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    Nil,
    Number(i64),
    /// A keyword, symbol, string, truth value or number that is not an integer.
    Word(String),
    List(Vec<Form>),
    Map(Vec<(Form, Form)>),
}

impl Form {
    /// What a map has under this keyword or string.
    pub fn get(&self, key: &str) -> Option<&Form> {
        let Self::Map(entries) = self else {
            return None;
        };
        let found = entries
            .iter()
            .find(|(name, _)| matches!(name, Form::Word(word) if word == key));
        found.map(|(_, value)| value)
    }
}

/// Why there is no form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// The text ends inside one.
    CutOff,
    /// What is wrong at the reader's place.
    Bad(String),
}

/// A text and a place in it.
pub(crate) struct Forms<'a> {
    text: &'a [u8],
    at: usize,
    pub line: u64,
    line_start: usize,
}

impl<'a> Forms<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            line: 1,
            line_start: 0,
        }
    }

    /// How many bytes are behind its place.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Counted from 1, in bytes.
    pub fn column(&self) -> usize {
        self.at - self.line_start + 1
    }

    /// Skips what separates forms; whether there is more.
    pub fn more(&mut self) -> bool {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                b' ' | b'\t' | b'\r' | b',' => self.at += 1,
                b';' => {
                    while self.text.get(self.at).is_some_and(|&byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return true,
            }
        }
        false
    }

    /// Whether this byte comes next; it is then behind the place.
    pub fn take(&mut self, byte: u8) -> bool {
        let next = self.more() && self.text[self.at] == byte;
        self.at += usize::from(next);
        next
    }

    pub fn form(&mut self) -> Result<Form, Failure> {
        self.nested(0)
    }

    fn nested(&mut self, depth: u32) -> Result<Form, Failure> {
        if depth > DEPTH_MAX {
            return Err(Failure::Bad(format!(
                "more than {DEPTH_MAX} lists or maps in one another"
            )));
        }
        if !self.more() {
            return Err(Failure::CutOff);
        }
        match self.text[self.at] {
            b'[' => self.list(b']', depth),
            b'(' => self.list(b')', depth),
            b'{' => self.map(depth),
            b'"' => self.string().map(Form::Word),
            b'#' => {
                self.at += 1;
                if self.text.get(self.at) == Some(&b'{') {
                    return self.list(b'}', depth);
                }
                // A tag, such as #jepsen.history.Op: what it tags is a map like any other.
                self.word();
                self.nested(depth + 1)
            }
            b':' => {
                self.at += 1;
                let word = self.word();
                if word.is_empty() {
                    return Err(self.unexpected());
                }
                Ok(Form::Word(word))
            }
            _ => {
                let word = self.word();
                match &word[..] {
                    "" => Err(self.unexpected()),
                    "nil" | "null" => Ok(Form::Nil),
                    _ => Ok(word
                        .trim_end_matches('N')
                        .parse()
                        .map_or(Form::Word(word), Form::Number)),
                }
            }
        }
    }

    fn unexpected(&self) -> Failure {
        match self.text.get(self.at) {
            Some(&byte) => Failure::Bad(format!("unexpected \"{}\"", byte.escape_ascii())),
            None => Failure::CutOff,
        }
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            if byte.is_ascii_whitespace() || b",[](){}\";\\#:".contains(&byte) {
                break;
            }
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }

    fn list(&mut self, end: u8, depth: u32) -> Result<Form, Failure> {
        self.at += 1;
        let mut forms = Vec::new();
        while !self.take(end) {
            forms.push(self.nested(depth + 1)?);
        }
        Ok(Form::List(forms))
    }

    fn map(&mut self, depth: u32) -> Result<Form, Failure> {
        self.at += 1;
        let mut entries = Vec::new();
        while !self.take(b'}') {
            let quoted = self.text.get(self.at) == Some(&b'"');
            let key = self.nested(depth + 1)?;
            if quoted {
                self.take(b':');
            }
            entries.push((key, self.nested(depth + 1)?));
        }
        Ok(Form::Map(entries))
    }

    fn string(&mut self) -> Result<String, Failure> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return Err(Failure::CutOff);
            };
            self.at += 1;
            match byte {
                b'"' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => {
                    let character = self.escaped()?;
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                b'\n' => {
                    return Err(Failure::Bad(
                        "a string that its line does not end".to_owned(),
                    ));
                }
                _ => bytes.push(byte),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, Failure> {
        let Some(&byte) = self.text.get(self.at) else {
            return Err(Failure::CutOff);
        };
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let Some(digits) = self.text.get(self.at..self.at + 4) else {
                    return Err(Failure::CutOff);
                };
                let digits = std::str::from_utf8(digits).unwrap_or("");
                let code = u32::from_str_radix(digits, 16)
                    .map_err(|_| Failure::Bad("\\u without four hexadecimal digits".to_owned()))?;
                self.at += 4;
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            b'"' | b'\\' | b'/' => byte.into(),
            _ => {
                return Err(Failure::Bad(format!(
                    "unknown escape \"\\{}\" in a string",
                    byte.escape_ascii()
                )));
            }
        })
    }
}
