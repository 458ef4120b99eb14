//! Messages from the client to the server, appended to a buffer that the caller owns.
//!
//! Nothing here allocates beyond growing that buffer. Text that ends in a zero byte on the wire
//! (statements, names) is sent up to its first zero byte, as a C client would: what follows it can
//! never be taken for another message. Formats are those of protocol 3.0, chapter "Message Formats".

use crate::backend::zero_at;

/// Request code of an SSLRequest.
const SSL_REQUEST: u32 = 80_877_103;
/// Request code of a CancelRequest.
const CANCEL_REQUEST: u32 = 80_877_102;

/// What a Describe or Close message names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Statement,
    /// A portal: a prepared statement with its parameters bound.
    Portal,
}

impl Target {
    fn byte(self) -> u8 {
        match self {
            Target::Statement => b'S',
            Target::Portal => b'P',
        }
    }
}

/// A Bind message was given more parameters than its 16-bit count can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a statement takes at most 65535 parameters")]
pub struct TooManyParameters;

/// Writes one message: its tag, then what `body` appends, then patches the length in.
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    length_prefixed(out, body);
}

/// Writes a length that counts itself, then what `body` appends. A body past 4 GiB, which no server
/// takes, is announced with the largest length so that the server refuses it.
fn length_prefixed(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let len = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
}

/// Text up to its first zero byte, and a zero byte.
fn c_string(out: &mut Vec<u8>, text: &[u8]) {
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    out.extend_from_slice(&text[..end]);
    out.push(0);
}

/// SSLRequest: asks whether the server speaks TLS. The answer is one byte, `S` or `N`.
pub fn ssl_request(out: &mut Vec<u8>) {
    length_prefixed(out, |out| out.extend_from_slice(&SSL_REQUEST.to_be_bytes()));
}

/// StartupMessage for protocol 3.`minor`, with parameters in order (`user` must be among them).
pub fn startup<'a>(
    out: &mut Vec<u8>,
    minor: u16,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) {
    length_prefixed(out, |out| {
        out.extend_from_slice(&3u16.to_be_bytes());
        out.extend_from_slice(&minor.to_be_bytes());
        for (name, value) in parameters {
            c_string(out, name.as_bytes());
            c_string(out, value.as_bytes());
        }
        out.push(0);
    });
}

/// CancelRequest, to be sent alone on a new connection (after TLS where the first one had it).
pub fn cancel_request(out: &mut Vec<u8>, backend_pid: i32, cancel_key: &[u8]) {
    length_prefixed(out, |out| {
        out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
        out.extend_from_slice(&backend_pid.to_be_bytes());
        out.extend_from_slice(cancel_key);
    });
}

/// PasswordMessage: a clear-text password or the answer to an MD5 challenge.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, b'p', |out| c_string(out, password));
}

/// SASLInitialResponse: the mechanism chosen and its first message.
pub fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        c_string(out, mechanism.as_bytes());
        let len = i32::try_from(data.len()).unwrap_or(i32::MAX);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// SASLResponse: a later message of the mechanism.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// Query: SQL in the simple query protocol.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    message(out, b'Q', |out| c_string(out, sql));
}

/// Query whose SQL the caller appends in place, for statements put together from pieces.
pub fn query_with(out: &mut Vec<u8>, write_sql: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'Q', |out| {
        let start = out.len();
        write_sql(out);
        if let Some(zero) = zero_at(&out[start..]) {
            out.truncate(start + zero);
        }
        out.push(0);
    });
}

/// Parse: prepares `sql` under `statement` (empty: the unnamed statement). `types` are the OIDs of
/// the first parameters' types; the server infers those left out or 0.
pub fn parse(
    out: &mut Vec<u8>,
    statement: &str,
    sql: &[u8],
    types: &[u32],
) -> Result<(), TooManyParameters> {
    let count = u16::try_from(types.len()).map_err(|_| TooManyParameters)?;
    message(out, b'P', |out| {
        c_string(out, statement.as_bytes());
        c_string(out, sql);
        out.extend_from_slice(&count.to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
    Ok(())
}

/// Takes the parameters of a Bind message, in order.
pub struct Params<'a> {
    out: &'a mut Vec<u8>,
    count: u32,
}

impl Params<'_> {
    /// One parameter in text format: what `write` appends to the buffer is its value.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        write(self.out);
        let len = i32::try_from(self.out.len() - start - 4).unwrap_or(i32::MAX);
        self.out[start..start + 4].copy_from_slice(&len.to_be_bytes());
        self.count += 1;
    }

    /// One parameter in text format as `write` appends it, or NULL when that says `false`, having appended nothing.
    pub fn text_or_null(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let start = self.out.len();
        self.null();
        if write(self.out) {
            let len = i32::try_from(self.out.len() - start - 4).unwrap_or(i32::MAX);
            self.out[start..start + 4].copy_from_slice(&len.to_be_bytes());
        }
    }

    /// One parameter in text format, copied.
    pub fn value(&mut self, text: &[u8]) {
        self.text(|out| out.extend_from_slice(text));
    }

    pub fn null(&mut self) {
        self.out.extend_from_slice(&(-1i32).to_be_bytes());
        self.count += 1;
    }
}

/// Whether values are in binary format, as Bind has it: none, one for all, or one for each.
#[derive(Clone, Copy, Debug)]
pub struct Formats<'a> {
    pub values: &'a [bool],
    pub results: &'a [bool],
}

/// Bind: makes `portal` from `statement`. `write_params` is called once and hands over every
/// parameter; they and the results are in text format. With too many parameters nothing is sent.
pub fn bind(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    write_params: impl FnOnce(&mut Params<'_>),
) -> Result<(), TooManyParameters> {
    // One format for all results, text: what libpq says instead of nothing.
    let formats = Formats {
        values: &[],
        results: &[false],
    };
    bind_with(out, portal, statement, formats, write_params)
}

/// [`bind`] with values and results in these formats.
pub fn bind_with(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    formats: Formats<'_>,
    write_params: impl FnOnce(&mut Params<'_>),
) -> Result<(), TooManyParameters> {
    let begin = out.len();
    let mut count = Ok(0);
    message(out, b'B', |out| {
        c_string(out, portal.as_bytes());
        c_string(out, statement.as_bytes());
        put_formats(out, formats.values);
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        let mut params = Params { out, count: 0 };
        write_params(&mut params);
        count = u16::try_from(params.count).map_err(|_| TooManyParameters);
        if let Ok(count) = count {
            out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        }
        put_formats(out, formats.results);
    });
    if count.is_err() {
        out.truncate(begin);
    }
    count.map(|_| ())
}

fn put_formats(out: &mut Vec<u8>, formats: &[bool]) {
    let count = u16::try_from(formats.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    let formats = formats.iter().take(count.into());
    out.extend(formats.flat_map(|is_binary| [0, u8::from(*is_binary)]));
}

/// Describe a statement or portal; the answer is a RowDescription or NoData.
pub fn describe(out: &mut Vec<u8>, what: Target, name: &str) {
    message(out, b'D', |out| {
        out.push(what.byte());
        c_string(out, name.as_bytes());
    });
}

/// Execute a portal. `max_rows` 0 means all rows.
pub fn execute(out: &mut Vec<u8>, portal: &str, max_rows: u32) {
    message(out, b'E', |out| {
        c_string(out, portal.as_bytes());
        out.extend_from_slice(&max_rows.to_be_bytes());
    });
}

/// Close a statement or portal.
pub fn close(out: &mut Vec<u8>, what: Target, name: &str) {
    message(out, b'C', |out| {
        out.push(what.byte());
        c_string(out, name.as_bytes());
    });
}

/// Sync: ends a sequence of extended-query messages; the answer is a ReadyForQuery.
#[inline]
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// Flush: asks for the answers so far without ending the sequence.
pub fn flush(out: &mut Vec<u8>) {
    message(out, b'H', |_| {});
}

/// What CopyData begins with; the data are appended in place, and [`end_copy_data`] puts their length in.
pub const COPY_DATA_BEGINNING: [u8; 5] = [b'd', 0, 0, 0, 0];

/// Ends a CopyData message that begins with [`COPY_DATA_BEGINNING`] and is nothing else.
pub fn end_copy_data(message: &mut [u8]) {
    let length = u32::try_from(message.len().saturating_sub(1)).unwrap_or(u32::MAX);
    if let Some(place) = message.get_mut(1..COPY_DATA_BEGINNING.len()) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

/// CopyDone: all data was sent.
pub fn copy_done(out: &mut Vec<u8>) {
    message(out, b'c', |_| {});
}

/// CopyFail: the client gives up the copy; the server reports an error that contains `reason`.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    message(out, b'f', |out| c_string(out, reason.as_bytes()));
}

/// Terminate: the polite end of a session.
pub fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bind_patches_count_and_lengths_in_place() {
        let mut out = b"before".to_vec();
        bind(&mut out, "", "P0_1", |params| {
            params.text(|out| out.extend_from_slice(b"42"));
            params.null();
            params.value(b"");
        })
        .unwrap();
        let mut expected = b"beforeB".to_vec();
        expected.extend_from_slice(&[0, 0, 0, 32]);
        expected.extend_from_slice(b"\0P0_1\0\0\0\0\x03");
        expected.extend_from_slice(b"\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0\0\x01\0\0");
        assert_eq!(out, expected);
    }

    #[test]
    fn bind_with_too_many_parameters_sends_nothing() {
        let mut out = b"before".to_vec();
        let result = bind(&mut out, "", "", |params| {
            for _ in 0..65_536 {
                params.null();
            }
        });
        assert_eq!(result, Err(TooManyParameters));
        assert_eq!(out, b"before");
        assert!(bind(&mut out, "", "", |p| (0..65_535).for_each(|_| p.null())).is_ok());
    }

    #[test]
    fn the_length_of_copied_data_is_put_in_when_they_are_there() {
        let mut out = COPY_DATA_BEGINNING.to_vec();
        end_copy_data(&mut out);
        assert_eq!(out, b"d\0\0\0\x04");
        out.extend_from_slice(&[b'x'; 300]);
        end_copy_data(&mut out);
        assert_eq!(out[..6], *b"d\0\0\x01\x30x");
    }

    #[test]
    fn a_zero_byte_cannot_smuggle_a_second_message() {
        let mut out = Vec::new();
        query(&mut out, b"SELECT 1\0X\0\0\0\x04");
        assert_eq!(out, b"Q\0\0\0\x0dSELECT 1\0");
        let mut in_place = Vec::new();
        query_with(&mut in_place, |out| {
            out.extend_from_slice(b"SELECT 1\0X\0\0\0\x04")
        });
        assert_eq!(in_place, out);
    }

    #[test]
    fn startup_and_cancel_have_no_tag() {
        let mut out = Vec::new();
        startup(&mut out, 0, [("user", "u"), ("database", "d")]);
        assert_eq!(out, b"\0\0\0\x1b\0\x03\0\0user\0u\0database\0d\0\0");
        out.clear();
        cancel_request(&mut out, 7, &[1, 2, 3, 4]);
        assert_eq!(out, [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 7, 1, 2, 3, 4]);
    }
}
