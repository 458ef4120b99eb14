//! A file's bytes, unpacked where they are packed.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

pub struct Source {
    pub input: Box<dyn Read>,
    /// Bytes of the file that were read.
    pub bytes: Rc<Cell<u64>>,
    /// Whether what was packed ends too early, or is damaged from some place on.
    pub is_torn: Rc<Cell<bool>>,
}

/// A file; `-` is standard input.
pub fn open(path: &Path) -> io::Result<Source> {
    let bytes = Rc::new(Cell::new(0));
    let is_torn = Rc::new(Cell::new(false));
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    let counted = Counted {
        input,
        bytes: bytes.clone(),
    };
    let mut input = BufReader::with_capacity(256 << 10, counted);
    let packed: Option<Box<dyn Read>> = match input.fill_buf()? {
        [0x1f, 0x8b, ..] => Some(Box::new(MultiGzDecoder::new(input))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Box::new(Zstd::new(input))),
        _ => {
            let input = Box::new(input);
            return Ok(Source {
                input,
                bytes,
                is_torn,
            });
        }
    };
    let input = Box::new(Tolerant {
        input: packed,
        is_torn: is_torn.clone(),
    });
    Ok(Source {
        input,
        bytes,
        is_torn,
    })
}

struct Counted {
    input: Box<dyn Read>,
    bytes: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Ends where the packed bytes are damaged: what was unpacked before is read all the same.
struct Tolerant {
    input: Option<Box<dyn Read>>,
    is_torn: Rc<Cell<bool>>,
}

impl Read for Tolerant {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let Some(input) = &mut self.input else {
            return Ok(0);
        };
        match input.read(buffer) {
            Err(error)
                if matches!(
                    error.kind(),
                    InvalidData | InvalidInput | Other | UnexpectedEof
                ) =>
            {
                self.is_torn.set(true);
                self.input = None;
                Ok(0)
            }
            read => read,
        }
    }
}

/// One frame after the other.
struct Zstd<R: BufRead> {
    /// Between two frames.
    input: Option<R>,
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Zstd<R> {
    fn new(input: R) -> Self {
        Self {
            input: Some(input),
            frame: None,
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut input) = self.input.take() {
                if input.fill_buf()?.is_empty() {
                    self.input = Some(input);
                    return Ok(0);
                }
                let frame = StreamingDecoder::new(input);
                self.frame =
                    Some(frame.map_err(|error| {
                        io::Error::new(ErrorKind::InvalidData, error.to_string())
                    })?);
            }
            let Some(frame) = &mut self.frame else {
                return Ok(0);
            };
            let read = frame.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.input = self.frame.take().map(StreamingDecoder::into_inner);
        }
    }
}
