//! The same bytes in pieces, as a network may deliver them.

/// Cuts `bytes` at places that a small number decides: 0 leaves them whole, 1 gives single bytes.
pub fn pieces(bytes: &[u8], how: u8) -> Vec<&[u8]> {
    match how {
        0 => vec![bytes],
        1 => bytes.chunks(1).collect(),
        _ => {
            let mut pieces = Vec::new();
            let (mut rest, mut state) = (bytes, u32::from(how));
            while !rest.is_empty() {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (piece, after) =
                    rest.split_at((1 + (state >> 24) as usize % 23).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces
        }
    }
}
