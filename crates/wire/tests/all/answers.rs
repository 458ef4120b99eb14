//! What is an answer and what is not, and rows that are checked without being kept.

use pgdyno_wire::answer::{Answer, Due, LongRow};
use pgdyno_wire::backend::{ProtocolError, TransactionStatus, split};
use pgdyno_wire::limits::{ASIDES_BYTES_MAX, TEXT_BYTES_MAX};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn columns(count: u8) -> Vec<u8> {
    let column = [b"a\0".to_vec(), vec![0; 18]].concat();
    message(
        b'T',
        &[vec![0, count], column.repeat(usize::from(count))].concat(),
    )
}

fn row(count: u8) -> Vec<u8> {
    let values = b"\0\0\0\x01x".repeat(usize::from(count));
    message(b'D', &[vec![0, count], values].concat())
}

/// Takes messages, and ReadyForQuery behind them.
fn taken(messages: &[Vec<u8>], due: Due) -> Result<(), ProtocolError> {
    let mut answer = Answer::default();
    let bytes = messages.concat();
    let mut at = 0;
    while let Some(frame) = split(&bytes[at..])? {
        answer.take(&frame)?;
        at += frame.len;
    }
    answer.ready(due)
}

#[test]
fn an_answer_has_what_was_due_or_an_error() {
    let (parsed, done) = (message(b'1', b""), message(b'C', b"SELECT 1\0"));
    let error = message(b'E', b"SERROR\0\0");
    let empty = message(b'I', b"");
    for (messages, due, is_one) in [
        (vec![], Due::Nothing, true),
        (vec![], Due::Parsed, false),
        (vec![], Due::Executed, false),
        (vec![done.clone()], Due::Failed, false),
        (vec![parsed.clone()], Due::Parsed, true),
        (vec![parsed], Due::Executed, false),
        (vec![done.clone()], Due::Executed, true),
        (vec![done.clone()], Due::Parsed, false),
        (vec![empty], Due::Executed, true),
        (vec![error.clone()], Due::Executed, true),
        (vec![error.clone()], Due::Parsed, true),
        (vec![error], Due::Failed, true),
        (
            vec![
                columns(2),
                row(2),
                row(2),
                done.clone(),
                columns(1),
                row(1),
                done,
            ],
            Due::Executed,
            true,
        ),
        (vec![columns(2), row(2)], Due::Executed, false),
    ] {
        let taken = taken(&messages, due);
        assert_eq!(taken.is_ok(), is_one, "{messages:?} {due:?}: {taken:?}");
        assert!(is_one || taken == Err(ProtocolError::Incomplete));
    }
}

#[test]
fn columns_are_checked_again_when_they_are_others() {
    let mut answer = Answer::default();
    let mut take = |bytes: &[u8]| {
        let frame = split(bytes).unwrap().unwrap();
        answer.take(&frame)
    };
    let (two, one) = (columns(2), columns(1));
    let mut damaged = two.clone();
    // No end of the second name, nor anything behind it.
    let second = 7 + 20;
    damaged[second..].fill(b'a');
    let bad = Err(ProtocolError::Body { tag: b'T' });
    let other = Err(ProtocolError::Columns {
        wanted: 1,
        columns: 2,
    });
    for _ in 0..2 {
        assert_eq!(take(&damaged), bad);
        assert_eq!((take(&two), take(&row(2))), (Ok(()), Ok(())));
        assert_eq!((take(&two), take(&row(2))), (Ok(()), Ok(())));
        assert_eq!(take(&damaged), bad);
        assert_eq!((take(&one), take(&row(2))), (Ok(()), other.clone()));
        assert_eq!(take(&message(b'T', b"")), bad);
        assert_eq!(take(&message(b'T', b"\0")), bad);
    }
    // Beyond what is remembered.
    let many = columns(255);
    for _ in 0..2 {
        assert_eq!((take(&many), take(&row(255))), (Ok(()), Ok(())));
    }
}

#[test]
fn a_portal_is_not_suspended_where_no_limit_was_set() {
    assert_eq!(
        taken(&[message(b's', b"")], Due::Executed),
        Err(ProtocolError::Unexpected { tag: b's' })
    );
}

#[test]
fn copied_rows_come_between_their_begin_and_the_end() {
    let (begin, data) = (message(b'H', &[0, 0, 0]), message(b'd', b"1\n"));
    let (over, done) = (message(b'c', b""), message(b'C', b"COPY 1\0"));
    let copied = [begin, data.clone(), over, done];
    assert_eq!(taken(&copied, Due::Executed), Ok(()));
    let late = [&copied[..], &[data]].concat();
    assert_eq!(
        taken(&late, Due::Executed),
        Err(ProtocolError::Unexpected { tag: b'd' })
    );
}

#[test]
fn small_messages_have_a_limit_together_and_long_ones_each() {
    let mut answer = Answer::default();
    let notice = message(
        b'N',
        &[vec![b'M'], vec![b'x'; 1 << 19], vec![0, 0]].concat(),
    );
    let frame = split(&notice).unwrap().unwrap();
    let most = ASIDES_BYTES_MAX / notice.len() as u64;
    for _ in 0..most {
        answer.take(&frame).unwrap();
    }
    assert_eq!(answer.take(&frame), Err(ProtocolError::Flood { tag: b'N' }));
    // Each answer begins anew, and so does one to what is sent bit by bit.
    answer.goes_on();
    answer.take(&frame).unwrap();
    answer.ready(Due::Nothing).unwrap();
    answer.take(&frame).unwrap();
    for tag in *b"ENATt" {
        let bytes = TEXT_BYTES_MAX + 1;
        let head = [&[tag], &(bytes as u32).to_be_bytes()[..]].concat();
        let limit = TEXT_BYTES_MAX;
        assert_eq!(
            split(&head),
            Err(ProtocolError::TooLong { tag, bytes, limit })
        );
    }
}

/// A row of these values, each by its length or NULL.
fn long(values: &[Option<usize>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend([255; 4]),
            Some(length) => {
                body.extend((*length as u32).to_be_bytes());
                body.extend(vec![b'x'; *length]);
            }
        }
    }
    message(b'D', &body)
}

/// Takes a long row in pieces of this size; how much of the bytes it was.
fn passed(bytes: &[u8], count: u8, piece: usize) -> Result<usize, ProtocolError> {
    let mut answer = Answer::default();
    answer
        .take(&split(&columns(count)).unwrap().unwrap())
        .unwrap();
    let (mut row, mut at) = LongRow::begin(bytes, &answer)?.unwrap();
    while !row.is_over() {
        let end = (at + piece).min(bytes.len());
        assert!(at < end, "it wants more than there is");
        at += row.take(&bytes[at..end])?;
    }
    Ok(at)
}

#[test]
fn a_long_row_is_checked_in_any_pieces() {
    const LONG: usize = LongRow::BYTES_MIN;
    let bad = Err(ProtocolError::Body { tag: b'D' });
    let rows = [
        vec![Some(LONG)],
        vec![None, Some(LONG), None],
        vec![Some(0), Some(1), Some(LONG), Some(0)],
        vec![Some(LONG / 2); 3],
    ];
    for values in rows {
        let row = long(&values);
        let count = values.len() as u8;
        for piece in [1, 2, 3, 5, 1000, usize::MAX / 2] {
            let behind = [row.clone(), message(b'C', b"SELECT 1\0")].concat();
            assert_eq!(passed(&behind, count, piece), Ok(row.len()));
            // A column too few or too many by its own count.
            for wrong in [count - 1, count + 1] {
                let mut row = row.clone();
                row[6] = wrong;
                let wanted = u16::from(count);
                let columns = u16::from(wrong);
                let error = ProtocolError::Columns { wanted, columns };
                assert_eq!(passed(&row, count, piece), Err(error));
                assert_eq!(passed(&row, wrong, piece), bad);
            }
            // A message that is longer or shorter than its values.
            for by in [-1_i64, 1, 4] {
                let mut row = [row.clone(), vec![0; 4]].concat();
                let length =
                    (i64::from(u32::from_be_bytes(row[1..5].try_into().unwrap())) + by) as u32;
                row[1..5].copy_from_slice(&length.to_be_bytes());
                assert_eq!(passed(&row, count, piece), bad, "{values:?} {by}");
            }
        }
    }
    let answer = Answer::default();
    assert!(LongRow::begin(&row(1), &answer).unwrap().is_none());
    let row = long(&[Some(LONG)]);
    assert!(LongRow::begin(&row[..6], &answer).unwrap().is_none());
    assert_eq!(
        LongRow::begin(&row, &answer).unwrap_err(),
        ProtocolError::NoDescription
    );
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    OneByOne,
    /// As many as can be passed over at once.
    PassingOver,
    /// An answer that is nothing else, whole; else as many as can be passed over.
    Whole,
}

/// How far it came, what was wrong there, the columns of the present result, and how the last answer ended.
type Outcome = (
    usize,
    Option<ProtocolError>,
    Option<u16>,
    Option<(Vec<u8>, TransactionStatus)>,
);

fn outcome(bytes: &[u8], take: Take) -> Outcome {
    let (mut answer, mut at) = (Answer::default(), 0);
    let (mut done, mut end) = (Vec::new(), None);
    // What an answer before it has left behind: columns that are known.
    let known = columns(2);
    answer.take(&split(&known).unwrap().unwrap()).unwrap();
    answer.ready(Due::Nothing).unwrap();
    if take == Take::Whole {
        let (used, ending) = answer.take_whole(bytes);
        at = used;
        end = ending.map(|ending| (ending.done.to_vec(), ending.status));
    }
    let error = loop {
        if take != Take::OneByOne {
            at += answer.pass_over(&bytes[at..]);
        }
        let frame = match split(&bytes[at..]) {
            Ok(Some(frame)) => frame,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        let mut taken = answer.take(&frame);
        if frame.tag == b'C' {
            done = frame.body[..frame.body.len().saturating_sub(1)].to_vec();
        }
        if frame.tag == b'Z' && taken.is_ok() {
            end = frame.status().ok().map(|status| (done.clone(), status));
            taken = answer.ready(Due::Executed);
        }
        if let Err(error) = taken {
            break Some(error);
        }
        at += frame.len;
    };
    (at, error, answer.columns(), end)
}

#[test]
fn what_is_passed_over_is_what_would_have_been_taken_one_by_one() {
    let null = message(b'D', b"\0\x01\xff\xff\xff\xff");
    let ready = message(b'Z', b"I");
    let done = message(b'C', b"SELECT 1\0");
    let ends = [
        message(b'C', b"UPDATE 0\0"),
        message(b'C', b"\0"),
        message(b'C', &[b'x'; 300]),
        message(b'Z', b"T"),
        message(b'Z', b"E"),
        message(b'Z', b"II"),
    ];
    let messages = [
        message(b'2', b""),
        message(b'n', b""),
        columns(1),
        columns(2),
        columns(250),
        row(1),
        row(1),
        row(2),
        null,
        done.clone(),
        [done.clone(), ready.clone()].concat(),
        ready.clone(),
        message(b'1', b""),
        message(b'2', b"x"),
        message(b'E', b"SERROR\0\0"),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % limit
    };
    let (mut good, mut whole) = (0, 0);
    for _ in 0..12_000 {
        let count = below(12);
        // What a server says, or anything at all.
        let of = [6, messages.len()][below(2)];
        let mut bytes: Vec<u8> = (0..count)
            .flat_map(|_| messages[below(of)].clone())
            .collect();
        if below(2) == 0 {
            let usual = [done.clone(), ready.clone()];
            let all = [&usual[..], &ends[..]].concat();
            for usual in &usual {
                bytes.extend_from_slice(match below(4) {
                    0 => &all[below(all.len())],
                    _ => usual,
                });
            }
        }
        if below(3) == 0 && !bytes.is_empty() {
            let at = below(bytes.len());
            bytes[at] = below(256) as u8;
        }
        if below(3) == 0 {
            bytes.truncate(below(bytes.len() + 1));
        }
        let one_by_one = outcome(&bytes, Take::OneByOne);
        let passing_over = outcome(&bytes, Take::PassingOver);
        assert_eq!(passing_over, one_by_one, "{bytes:?}");
        assert_eq!(outcome(&bytes, Take::Whole), one_by_one, "{bytes:?}");
        good += usize::from(one_by_one.1.is_none());
        whole += usize::from(Answer::default().take_whole(&bytes).1.is_some());
    }
    // All kinds were among them.
    assert!((1_200..10_800).contains(&good), "{good}");
    assert!((120..6_000).contains(&whole), "{whole}");
}

#[test]
fn small_messages_that_are_passed_over_are_no_endless_stream() {
    let count = ASIDES_BYTES_MAX as usize / 5;
    let flood = message(b'2', b"").repeat(count + 1);
    let error = Some(ProtocolError::Flood { tag: b'2' });
    for take in [Take::PassingOver, Take::Whole] {
        let flooded = (5 * count, error.clone(), None, None);
        assert_eq!(outcome(&flood, take), flooded);
    }
}
