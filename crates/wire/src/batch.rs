//! Messages gathered to be sent together, in memory that is used over and over, and messages put together in
//! advance but for their values.
//!
//! A statement is sent millions of times, and only its values differ. They are short mostly, and so is the statement: then
//! it is put together in a window of a length that the compiler knows, from parts that are copied in steps of such a
//! length. That is a few instructions each, where copying a number of bytes that only this moment knows is a call, and
//! each call asks for room again. All others are put together in the plain way.

use crate::frontend::{self, TooManyParameters};

/// Room for a short value: an integer, or a text of no more bytes.
pub const SHORT: usize = 24;

/// Parts are copied so many bytes at a time.
const STEP: usize = 32;

/// What is put together in steps takes no more room.
const WINDOW: usize = 512;

/// Messages gathered and not yet sent.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The messages, and room that earlier ones have used or that is kept for the next.
    bytes: Vec<u8>,
    end: usize,
}

impl Batch {
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// Forgets them; the memory stays.
    #[inline]
    pub fn clear(&mut self) {
        self.end = 0;
    }

    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.truncate(self.end);
        write(&mut self.bytes);
        self.end = self.bytes.len();
    }

    /// The room for what is put together in steps: what is appended in the plain way leaves none.
    #[inline]
    fn window(&mut self) -> Option<&mut [u8; WINDOW]> {
        if self.bytes.len() < self.end + WINDOW {
            self.make_room();
        }
        self.bytes.get_mut(self.end..)?.first_chunk_mut()
    }

    /// For some messages at once, so that of many in one batch few come here.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.bytes.resize(self.end + 4 * WINDOW, 0);
    }
}

/// A part of a message that is sent again and again, with zeros behind it up to a whole number of steps.
#[derive(Clone, Debug)]
struct Part {
    first: [u8; STEP],
    rest: Box<[[u8; STEP]]>,
    bytes: usize,
}

impl Part {
    fn of(part: &[u8]) -> Self {
        let mut steps = part.chunks(STEP).map(|chunk| {
            let mut step = [0; STEP];
            step[..chunk.len()].copy_from_slice(chunk);
            step
        });
        Self {
            first: steps.next().unwrap_or([0; STEP]),
            rest: steps.collect(),
            bytes: part.len(),
        }
    }

    /// Writes it at `at`; gives where it ends.
    #[inline]
    fn put(&self, window: &mut [u8; WINDOW], at: usize) -> usize {
        *array(window, at) = self.first;
        let mut place = at + STEP;
        for step in &self.rest {
            *array(window, place) = *step;
            place += STEP;
        }
        at + self.bytes
    }
}

/// The room that it takes to write a part of so many bytes.
fn room(bytes: usize) -> usize {
    STEP * bytes.div_ceil(STEP).max(1)
}

/// So many bytes at `at`, which are there: what does not fit into a window is put together in the plain way.
#[inline]
fn array<const BYTES: usize>(room: &mut [u8], at: usize) -> &mut [u8; BYTES] {
    let bytes = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    bytes.expect("a statement within its room")
}

/// The Bind messages of one prepared statement, which differ in their values only, with what is sent before and behind
/// each of them; at last a Sync.
#[derive(Clone, Debug)]
pub struct Binds {
    parameters: usize,
    /// What is put together in steps, where a window has room for it with short values.
    short: Option<ShortBind>,
    /// The same in the plain way: what is sent before, the statement's name, what is sent behind.
    plain: (Vec<u8>, String, Vec<u8>),
}

#[derive(Clone, Debug)]
struct ShortBind {
    /// What is sent before, and the message up to its first value.
    head: Part,
    /// Where in `head` the message's length is.
    length_at: usize,
    /// The message's end, what is sent behind it, and a Sync.
    tail: Part,
}

/// What a Bind message ends with: one format for all results.
const BIND_END: usize = 4;
/// The length of a Sync message.
const SYNC: usize = 5;

impl Binds {
    /// Those of `statement` with so many parameters; `before` and `after` are messages that are sent with
    /// each of them.
    ///
    /// # Errors
    /// More parameters than a message holds.
    pub fn new(
        before: &[u8],
        statement: &str,
        parameters: usize,
        after: &[u8],
    ) -> Result<Self, TooManyParameters> {
        let mut head = before.to_vec();
        frontend::bind(&mut head, "", statement, |values| {
            (0..parameters).for_each(|_| values.null());
        })?;
        let mut tail = head.split_off(head.len() - BIND_END);
        head.truncate(head.len() - 4 * parameters);
        tail.extend_from_slice(after);
        frontend::sync(&mut tail);
        let room = room(head.len()) + (4 + SHORT) * parameters + room(tail.len());
        let short = (room <= WINDOW).then(|| ShortBind {
            head: Part::of(&head),
            length_at: before.len() + 1,
            tail: Part::of(&tail),
        });
        Ok(Self {
            parameters,
            short,
            plain: (before.to_vec(), statement.to_owned(), after.to_vec()),
        })
    }

    /// Appends one, and what is sent with it; the Sync only if it `syncs`. Of each parameter, `put` writes a short
    /// value, in text format, at the beginning of the room that it is given, and says how many bytes it has; what is
    /// behind it may be overwritten as well. If it says `None` for any of them, all are appended by `write`; when that says
    /// `false`, having appended nothing, the value is NULL.
    ///
    /// # Panics
    /// There are not as many parameters as the statement has.
    #[inline]
    pub fn write<P: Copy>(
        &self,
        batch: &mut Batch,
        parameters: &[P],
        syncs: bool,
        put: impl Fn(P, &mut [u8; SHORT]) -> Option<usize>,
        write: impl Fn(P, &mut Vec<u8>) -> bool,
    ) {
        assert!(parameters.len() == self.parameters);
        let short = self.short.as_ref();
        match short.and_then(|short| short.put(batch.window()?, parameters, put)) {
            Some(bytes) => batch.end += bytes - if syncs { 0 } else { SYNC },
            None => self.write_plain(batch, parameters, syncs, write),
        }
    }

    /// Appends one in the plain way.
    #[inline(never)]
    fn write_plain<P: Copy>(
        &self,
        batch: &mut Batch,
        parameters: &[P],
        syncs: bool,
        write: impl Fn(P, &mut Vec<u8>) -> bool,
    ) {
        let (before, statement, after) = &self.plain;
        batch.append(|out| {
            out.extend_from_slice(before);
            let bound = frontend::bind(out, "", statement, |values| {
                for parameter in parameters {
                    values.text_or_null(|out| write(*parameter, out));
                }
            });
            bound.expect("as many as were counted");
            out.extend_from_slice(after);
            if syncs {
                frontend::sync(out);
            }
        });
    }
}

impl ShortBind {
    /// Puts one together with its Sync; gives its length.
    #[inline]
    fn put<P: Copy>(
        &self,
        window: &mut [u8; WINDOW],
        parameters: &[P],
        put: impl Fn(P, &mut [u8; SHORT]) -> Option<usize>,
    ) -> Option<usize> {
        let mut at = self.head.put(window, 0);
        for parameter in parameters {
            let room: &mut [u8; 4 + SHORT] = array(window, at);
            let (length, room) = room.split_first_chunk_mut()?;
            let bytes = put(*parameter, room.first_chunk_mut()?)?;
            *length = (bytes as u32).to_be_bytes();
            at += 4 + bytes;
        }
        // It fits, and so it has no more than 32 bits.
        let length = (at + BIND_END - self.length_at) as u32;
        *array(window, self.length_at) = length.to_be_bytes();
        Some(self.tail.put(window, at))
    }
}

/// The Query messages of one statement, whose text differs in the values only that are put between its parts.
#[derive(Clone, Debug)]
pub struct Queries {
    values: usize,
    /// What is put together in steps, where a window has room for it with short values.
    short: Option<ShortQuery>,
}

#[derive(Clone, Debug)]
struct ShortQuery {
    /// The message up to its first value.
    head: Part,
    parts: Box<[Part]>,
}

impl Queries {
    /// Those with these texts and a value between each two of them. A zero byte ends a text for the server, so it is not
    /// among those that are put together in steps.
    pub fn new(texts: &[&[u8]]) -> Self {
        let values = texts.len().saturating_sub(1);
        let has_zero = texts.iter().any(|text| text.contains(&0));
        let of_texts = texts.iter().enumerate().map(|(number, text)| {
            // The tag and the length before the first, a zero byte behind the last.
            let more = if number == 0 { 5 } else { 0 } + usize::from(number == values);
            room(text.len() + more)
        });
        let is_short = !has_zero && of_texts.sum::<usize>() + SHORT * values <= WINDOW;
        let short = is_short.then(|| {
            let mut texts = texts.iter();
            let mut head = b"Q\0\0\0\0".to_vec();
            head.extend_from_slice(texts.next().copied().unwrap_or_default());
            let mut parts: Vec<Vec<u8>> = texts.map(|text| text.to_vec()).collect();
            parts.last_mut().unwrap_or(&mut head).push(0);
            ShortQuery {
                head: Part::of(&head),
                parts: parts.iter().map(|part| Part::of(part)).collect(),
            }
        });
        Self { values, short }
    }

    /// Appends one. Each value is written by `put` as in [`Binds::write`], without zero bytes. If it says `None` for any of
    /// them, the whole text is appended by `write_sql`.
    ///
    /// # Panics
    /// There are not as many values as there are places for them.
    #[inline]
    pub fn write<P: Copy>(
        &self,
        batch: &mut Batch,
        values: &[P],
        put: impl Fn(P, &mut [u8; SHORT]) -> Option<usize>,
        write_sql: impl Fn(&mut Vec<u8>),
    ) {
        assert!(values.len() == self.values);
        let short = self.short.as_ref();
        match short.and_then(|short| short.put(batch.window()?, values, put)) {
            Some(bytes) => batch.end += bytes,
            None => batch.append(|out| frontend::query_with(out, write_sql)),
        }
    }
}

impl ShortQuery {
    /// Puts one together; gives its length.
    #[inline]
    fn put<P: Copy>(
        &self,
        window: &mut [u8; WINDOW],
        values: &[P],
        put: impl Fn(P, &mut [u8; SHORT]) -> Option<usize>,
    ) -> Option<usize> {
        let mut at = self.head.put(window, 0);
        for (value, part) in values.iter().zip(&self.parts) {
            let bytes = put(*value, array(window, at))?;
            at = part.put(window, at + bytes);
        }
        // All but the tag.
        *array(window, 1) = (at as u32 - 1).to_be_bytes();
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short ones among these are put, the others written.
    fn put(value: Option<&[u8]>, room: &mut [u8; SHORT]) -> Option<usize> {
        room.fill(b'#');
        let value = value?;
        room.get_mut(..value.len())?.copy_from_slice(value);
        Some(value.len())
    }

    fn write(value: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(value.unwrap_or_default());
        value.is_some()
    }

    /// Values of every length about a step's and a short one's, and NULL.
    fn values(seed: usize) -> Vec<Vec<u8>> {
        let lengths = [0, 1, 7, 23, 24, 25, 31, 32, 33, 63, 64, 65, 100, 5000];
        let texts = lengths.iter().map(|length| vec![b'v'; *length]);
        let mut values: Vec<Vec<u8>> = texts.collect();
        let count = values.len();
        values.rotate_left(seed % count);
        values.truncate(seed * 7 % (count + 1));
        values
    }

    #[test]
    fn binds_are_those_that_are_put_together_one_message_after_the_other() {
        let mut batch = Batch::default();
        batch.append(|out| out.extend_from_slice(b"before"));
        let mut plain = b"before".to_vec();
        for seed in 0..600 {
            let values = values(seed);
            let values: Vec<Option<&[u8]>> = (0..)
                .zip(&values)
                .map(|(number, value)| (number % 5 != 4).then_some(&**value))
                .collect();
            let (before, after) = (vec![b'P'; seed % 70], vec![b'E'; seed % 67]);
            let name = "n".repeat(seed % 40);
            let binds = Binds::new(&before, &name, values.len(), &after).unwrap();
            let syncs = seed % 3 > 0;
            binds.write(&mut batch, &values, syncs, put, write);
            plain.extend_from_slice(&before);
            frontend::bind(&mut plain, "", &name, |params| {
                for value in &values {
                    match value {
                        Some(value) => params.value(value),
                        None => params.null(),
                    }
                }
            })
            .unwrap();
            plain.extend_from_slice(&after);
            if syncs {
                frontend::sync(&mut plain);
            }
            assert_eq!(batch.as_bytes(), plain, "{seed}");
            if seed % 50 == 0 {
                batch.clear();
                plain.clear();
            }
        }
        let too_many = Binds::new(b"", "", 65_536, b"");
        assert_eq!(too_many.err(), Some(TooManyParameters));
    }

    #[test]
    fn queries_are_those_that_are_put_together_one_text_after_the_other() {
        let mut batch = Batch::default();
        let mut plain = Vec::new();
        for seed in 0..600 {
            let mut texts = values(seed + 1);
            if let Some(text) = texts.get_mut(seed % 11)
                && seed % 20 == 3
            {
                text.extend_from_slice(b"\0more");
            }
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            // Now and then one is a byte too long.
            let values: Vec<Vec<u8>> = (1..texts.len())
                .map(|number| vec![b'1'; (number * 5 + seed) % (SHORT + 2)])
                .collect();
            let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(&**value)).collect();
            let write_sql = |out: &mut Vec<u8>| {
                for (number, text) in texts.iter().enumerate() {
                    out.extend_from_slice(text);
                    let value = values.get(number).copied().flatten();
                    out.extend_from_slice(value.unwrap_or_default());
                }
            };
            Queries::new(&texts).write(&mut batch, &values, put, write_sql);
            frontend::query_with(&mut plain, write_sql);
            assert_eq!(batch.as_bytes(), plain, "{seed}");
            if seed % 50 == 0 {
                batch.clear();
                plain.clear();
            }
        }
    }

    #[test]
    fn what_fits_is_put_together_in_steps_and_anything_else_in_the_plain_way() {
        let fits = |count: usize| {
            let binds = Binds::new(b"", "P_0", count, b"Execute").unwrap();
            let values = vec![Some(&b"1"[..]); count];
            let short = binds.short.as_ref();
            short.is_some_and(|short| short.put(&mut [0; WINDOW], &values, put).is_some())
        };
        assert!(fits(0) && fits(16) && !fits(17));
        let queries = |text: &[u8], value: &[u8]| {
            let queries = Queries::new(&[text, b";"]);
            let short = queries.short.as_ref();
            short.is_some_and(|short| short.put(&mut [0; WINDOW], &[Some(value)], put).is_some())
        };
        assert!(queries(b"SELECT ", b"1"));
        assert!(!queries(b"SELECT \0", b"1"));
        assert!(!queries(b"SELECT ", &[b'1'; SHORT + 1]));
        assert!(!queries(&[b' '; WINDOW], b"1"));
    }
}
