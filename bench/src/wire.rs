//! As much of the protocol as a bare loop needs beside `pgdyno_server::instant::pieces`.

/// The first message of a client: user and database postgres.
pub fn startup() -> Vec<u8> {
    let words = b"user\0postgres\0database\0postgres\0\0";
    let mut message = (8 + words.len() as u32).to_be_bytes().to_vec();
    message.extend_from_slice(&196_608_u32.to_be_bytes());
    message.extend_from_slice(words);
    message
}
