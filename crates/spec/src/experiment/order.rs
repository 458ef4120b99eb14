//! In which order trials run, and in which blocks that order was drawn: a comparison is judged by the orders that
//! could have been drawn as well.

use serde::{Deserialize, Serialize};

/// So few repeats are never compared: they run in rounds, so that points fill evenly.
const ROUNDS_MAX: u32 = 3;

/// In which order trials run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Blocks of four repeats and more of all points, each block in an order drawn from the seed; two or three repeats
    /// in rounds of one; a single one as it is written. Points that need different tables on one server are kept apart, so that each table
    /// is loaded once.
    #[default]
    Drawn,
    /// All points in an order that is drawn, then the same backwards (A B B A or B A A B): `pgdyno ci`.
    Mirrored,
    /// All trials in one order that is drawn.
    Random,
    /// All points once, then all again backwards (A B B A): not drawn, so that a machine with a period of four trials
    /// favours a point.
    Interleaved,
    /// All repeats of a point, then the next point.
    Sequential,
}

impl Order {
    pub fn word(self) -> &'static str {
        match self {
            Order::Drawn => "drawn",
            Order::Mirrored => "mirrored",
            Order::Random => "random",
            Order::Interleaved => "interleaved",
            Order::Sequential => "sequential",
        }
    }

    /// The one that is called so.
    pub fn of(word: &str) -> Option<Order> {
        serde_json::from_value(word.into()).ok()
    }

    /// Repeats of each block whose order is drawn, of so many planned; `None` where nothing is drawn.
    pub fn blocks(self, repeats: u32) -> Option<Vec<u32>> {
        match self {
            Order::Drawn if repeats < 2 => None,
            Order::Drawn if repeats <= ROUNDS_MAX => Some(vec![1; repeats as usize]),
            Order::Drawn => {
                let blocks = pgdyno_stats::blocks(repeats as usize).into_iter();
                Some(blocks.map(|repeats| repeats as u32).collect())
            }
            Order::Mirrored => {
                let rest = (repeats % 2 == 1).then_some(1);
                let pairs = std::iter::repeat_n(2, (repeats / 2) as usize);
                Some(pairs.chain(rest).collect())
            }
            Order::Random => Some(vec![repeats]),
            Order::Interleaved | Order::Sequential => None,
        }
    }

    /// The block of a repeat, from 1, of so many that were planned at first. Repeats that were added later are a block
    /// of their own, of mirrored ones each two.
    pub fn block_of(self, repeat: u32, planned: u32) -> Option<u32> {
        if self == Order::Mirrored {
            return Some(repeat.saturating_sub(1) / 2);
        }
        let mut last = 0;
        let ends = self.blocks(planned)?.into_iter().map(|repeats| {
            last += repeats;
            last
        });
        Some(ends.filter(|end| *end < repeat).count() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_all_repeats_once() {
        for order in [Order::Drawn, Order::Mirrored, Order::Random] {
            for repeats in 2..=40 {
                let blocks = order.blocks(repeats).unwrap();
                assert_eq!(blocks.iter().sum::<u32>(), repeats, "{order:?}");
                let of_each = blocks.iter().enumerate();
                let of_each =
                    of_each.flat_map(|(block, repeats)| vec![block as u32; *repeats as usize]);
                let found = (1..=repeats).map(|repeat| order.block_of(repeat, repeats).unwrap());
                assert!(found.eq(of_each), "{order:?} {repeats}");
            }
        }
        assert_eq!(Order::Drawn.blocks(3), Some(vec![1, 1, 1]));
        assert_eq!(Order::Drawn.blocks(4), Some(vec![4]));
        assert_eq!(Order::Drawn.blocks(9), Some(vec![9]));
        assert_eq!(Order::Drawn.blocks(13), Some(vec![5, 8]));
        assert_eq!(Order::Drawn.blocks(1), None, "as it is written");
        assert_eq!(Order::Interleaved.blocks(9), None);
    }

    #[test]
    fn repeats_that_are_added_are_a_block_of_their_own() {
        let drawn = |repeat| Order::Drawn.block_of(repeat, 5);
        assert_eq!(
            [1, 5, 6, 12].map(drawn),
            [Some(0), Some(0), Some(1), Some(1)]
        );
        // `pgdyno ci` plans one and goes on.
        let mirrored = |repeat| Order::Mirrored.block_of(repeat, 1);
        assert_eq!(
            [1, 2, 3, 8].map(mirrored),
            [Some(0), Some(0), Some(1), Some(3)]
        );
        assert_eq!(Order::Sequential.block_of(1, 5), None);
    }

    #[test]
    fn an_order_is_known_by_its_word() {
        for order in [
            Order::Drawn,
            Order::Mirrored,
            Order::Random,
            Order::Interleaved,
            Order::Sequential,
        ] {
            assert_eq!(Order::of(order.word()), Some(order));
        }
        assert_eq!(Order::of("sorted"), None);
    }
}
