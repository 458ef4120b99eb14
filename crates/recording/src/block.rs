//! A block of the file: a head, and packed bytes that are read without any other block. Each has its own
//! texts and sessions, so that what is lost with a block is that block alone.

use std::io::{self, Write};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use flate2::{Compression, write::DeflateEncoder};

use crate::bytes::Cut;

/// The first bytes of a file, and of each block.
pub const FILE_MARK: &[u8; 8] = b"pgdyno\xf1R";
pub const BLOCK_MARK: &[u8; 4] = b"\xf1Rb\n";
pub const HEAD_BYTES: usize = 53;
/// A block is written when it has so many bytes; its last event may be longer than that.
pub const BLOCK_BYTES: usize = 256 << 10;
/// More than any block that is written: [`BLOCK_BYTES`] and the longest statement with its parameters.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    About = 0,
    Events = 1,
    Ending = 2,
}

/// What is known of a block without unpacking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// Blocks before it in the file.
    pub sequence: u32,
    /// Events in all blocks before it, and in it.
    pub events_before: u64,
    pub events: u32,
    /// When its first and its last event begin.
    pub min_us: i64,
    pub max_us: i64,
    pub bytes: u32,
    pub packed_bytes: u32,
    pub packed_crc: u32,
}

impl Head {
    pub fn write(&self) -> [u8; HEAD_BYTES] {
        let mut out = Vec::with_capacity(HEAD_BYTES);
        out.extend_from_slice(BLOCK_MARK);
        out.push(self.kind as u8);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.events_before.to_le_bytes());
        out.extend_from_slice(&self.events.to_le_bytes());
        out.extend_from_slice(&self.min_us.to_le_bytes());
        out.extend_from_slice(&self.max_us.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&self.packed_bytes.to_le_bytes());
        out.extend_from_slice(&self.packed_crc.to_le_bytes());
        out.extend_from_slice(&crc(&out).to_le_bytes());
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(&out);
        head
    }

    /// `None` where these bytes are no head, or a damaged one.
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (rest, sum) = bytes.split_last_chunk::<4>()?;
        if u32::from_le_bytes(*sum) != crc(rest) {
            return None;
        }
        let mut cut = Cut(rest.strip_prefix(BLOCK_MARK)?);
        let head = Self {
            kind: match cut.byte()? {
                0 => Kind::About,
                1 => Kind::Events,
                2 => Kind::Ending,
                _ => return None,
            },
            sequence: u32::from_le_bytes(cut.array()?),
            events_before: u64::from_le_bytes(cut.array()?),
            events: u32::from_le_bytes(cut.array()?),
            min_us: i64::from_le_bytes(cut.array()?),
            max_us: i64::from_le_bytes(cut.array()?),
            bytes: u32::from_le_bytes(cut.array()?),
            packed_bytes: u32::from_le_bytes(cut.array()?),
            packed_crc: u32::from_le_bytes(cut.array()?),
        };
        let fits = |bytes: u32| bytes as usize <= BLOCK_BYTES_MAX;
        (fits(head.bytes) && fits(head.packed_bytes)).then_some(head)
    }
}

pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes)?;
    packer.finish()
}

/// The bytes of a block; `None` where they are not those that were packed.
pub fn unpack(head: &Head, packed: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read;
    if crc(packed) != head.packed_crc {
        return None;
    }
    let mut bytes = Vec::with_capacity(head.bytes as usize);
    let most = u64::from(head.bytes) + 1;
    DeflateDecoder::new(packed)
        .take(most)
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() == head.bytes as usize).then_some(bytes)
}
