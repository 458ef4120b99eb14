//! In which order repeats were drawn to run. Where it was drawn, a test asks what the other orders would have given,
//! and holds whatever the machine did meanwhile: also noise with a period of a few trials, which a fixed order
//! (A B B A …) takes for a difference.

/// So many repeats of two sides are a block at least: of their 10! / (5! 5!) = 252 orders two in 100 can show three
/// figures to differ.
const BLOCK: usize = 5;

/// The sizes of blocks, in repeats, of so many of each side.
pub fn blocks(repeats: usize) -> Vec<usize> {
    let mut blocks = vec![BLOCK; repeats / BLOCK];
    match blocks.last_mut() {
        Some(last) => *last += repeats % BLOCK,
        None => blocks.push(repeats),
    }
    blocks
}

/// How the order of the repeats was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The block of each of A's repeats.
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// Whether a block had one of two orders, A B B A or B A A B; else any.
    pub is_mirrored: bool,
}

impl Drawn {
    /// So many repeats of both sides, in [`blocks`].
    pub fn of(repeats: usize) -> Self {
        let numbered = (0_u32..).zip(blocks(repeats));
        let side: Vec<u32> = numbered
            .flat_map(|(block, repeats)| vec![block; repeats])
            .collect();
        Self {
            a: side.clone(),
            b: side,
            is_mirrored: false,
        }
    }

    /// Places of both sides' repeats, by block.
    pub(crate) fn places(&self) -> Vec<[Vec<usize>; 2]> {
        let mut numbers: Vec<u32> = self.a.iter().chain(&self.b).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let of = |side: &[u32], block: u32| -> Vec<usize> {
            let numbered = side.iter().enumerate();
            let of_it = numbered.filter(|(_, other)| **other == block);
            of_it.map(|(place, _)| place).collect()
        };
        let blocks = numbers.into_iter();
        blocks
            .map(|block| [of(&self.a, block), of(&self.b, block)])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_five_repeats_or_more() {
        assert_eq!(blocks(3), [3]);
        assert_eq!(blocks(9), [9]);
        assert_eq!(blocks(10), [5, 5]);
        assert_eq!(blocks(23), [5, 5, 5, 8]);
        let seven = Drawn::of(13).places();
        assert_eq!(seven[1][0], (5..13).collect::<Vec<_>>());
        let uneven = Drawn {
            a: vec![1, 0],
            b: vec![0, 0, 2],
            is_mirrored: true,
        };
        let places = [[vec![1], vec![0, 1]], [vec![0], vec![]], [vec![], vec![2]]];
        assert_eq!(uneven.places(), places);
    }
}
