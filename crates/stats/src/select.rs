//! Single places in the order of all differences (or Walsh averages) of two samples, of which there
//! are as many as both sizes multiplied: few are written out and sorted, of many the one wanted is
//! found by counting those below a value, in memory and time that grow as the samples do.

use crate::order;

/// So many are sorted. Two samples of 64 have as many.
const SORTED_MAX: usize = 4_096;

/// All of them, to be asked by rank.
pub(crate) enum Ordered {
    Sorted(Vec<f64>),
    /// b - a for each of both, of each two samples (A, B) that belong together.
    Differences(Vec<(Vec<f64>, Vec<f64>)>),
    /// The mean of each two, and of each with itself.
    Averages(Vec<f64>),
}

/// One of B less one of A, for each of both, of each two samples (A, B) that belong together.
pub(crate) fn differences(sides: &[(&[f64], &[f64])]) -> Ordered {
    let count: usize = sides.iter().map(|(a, b)| a.len() * b.len()).sum();
    if count <= SORTED_MAX {
        let of = |(a, b): &(&[f64], &[f64])| -> Vec<f64> {
            let all = b.iter().flat_map(|b| a.iter().map(move |a| b - a));
            all.collect()
        };
        let all: Vec<f64> = sides.iter().flat_map(of).collect();
        return Ordered::Sorted(order::sorted(&all));
    }
    let sides = sides.iter();
    let sides = sides.map(|(a, b)| (order::sorted(a), order::sorted(b)));
    Ordered::Differences(sides.collect())
}

/// The mean of each two, and of each with itself.
pub(crate) fn walsh_averages(values: &[f64]) -> Ordered {
    if values.len() * (values.len() + 1) / 2 <= SORTED_MAX {
        let all = values.iter().enumerate();
        let all = all.flat_map(|(i, one)| values[i..].iter().map(move |two| 0.5 * (one + two)));
        return Ordered::Sorted(order::sorted(&all.collect::<Vec<_>>()));
    }
    Ordered::Averages(order::sorted(values))
}

impl Ordered {
    pub fn len(&self) -> usize {
        match self {
            Self::Sorted(all) => all.len(),
            Self::Differences(sides) => sides.iter().map(|(a, b)| a.len() * b.len()).sum(),
            Self::Averages(values) => values.len() * (values.len() + 1) / 2,
        }
    }

    /// The one at this rank, from 0; less than [`Ordered::len`].
    pub fn at(&self, rank: usize) -> f64 {
        if let Self::Sorted(all) = self {
            return all[rank];
        }
        // The least number that more than `rank` of them do not exceed is one of them. Halving goes
        // over the numbers as they lie in the machine, 64 bits, and so ends at the exact one.
        let (mut low, mut high) = (place(f64::NEG_INFINITY), place(f64::INFINITY));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.up_to(number(middle)) > rank {
                high = middle
            } else {
                low = middle + 1
            }
        }
        number(low)
    }

    /// How many are not above this value.
    fn up_to(&self, value: f64) -> usize {
        match self {
            Self::Sorted(all) => all.partition_point(|one| *one <= value),
            Self::Differences(sides) => {
                let of_sides = sides.iter().map(|(a, b)| {
                    // The larger that of B, the fewer of A are large enough.
                    let mut from = 0;
                    let of = b.iter().map(|b| {
                        while from < a.len() && b - a[from] > value {
                            from += 1;
                        }
                        a.len() - from
                    });
                    of.sum::<usize>()
                });
                of_sides.sum()
            }
            Self::Averages(values) => {
                let mut below = values.len();
                let of = values.iter().enumerate().map(|(i, one)| {
                    while below > 0 && 0.5 * (one + values[below - 1]) > value {
                        below -= 1;
                    }
                    below.saturating_sub(i)
                });
                of.sum()
            }
        }
    }
}

/// A number's place among all numbers, in their order.
fn place(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The number at this place.
fn number(place: u64) -> f64 {
    const SIGN: u64 = 1 << 63;
    f64::from_bits(if place & SIGN == 0 {
        !place
    } else {
        place & !SIGN
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn each_rank_of_many_is_the_number_that_sorting_finds() {
        let mut rng = Rng::new(3);
        // Rounded: with ties. Both signs, and unequal sizes.
        let mut draw = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|_| (10.0 * rng.normal()).round() / 7.0)
                .collect()
        };
        let sides = [(draw(70), draw(90)), (draw(3), draw(4))];
        let both = sides.each_ref().map(|(a, b)| (a.as_slice(), b.as_slice()));
        for sides in [&both[..1], &both] {
            let counted = differences(sides);
            assert!(matches!(counted, Ordered::Differences { .. }));
            let of = |(a, b): &(&[f64], &[f64])| -> Vec<f64> {
                b.iter()
                    .flat_map(|b| a.iter().map(move |a| b - a))
                    .collect()
            };
            let all: Vec<f64> = sides.iter().flat_map(of).collect();
            assert_eq!(counted.len(), all.len());
            for (rank, value) in order::sorted(&all).into_iter().enumerate() {
                assert_eq!(counted.at(rank), value, "{rank}");
            }
        }
        let values = draw(100);
        let counted = walsh_averages(&values);
        assert!(matches!(counted, Ordered::Averages(_)));
        let pairs = (0..100).flat_map(|i| (i..100).map(move |j| (i, j)));
        let all: Vec<f64> = pairs.map(|(i, j)| 0.5 * (values[i] + values[j])).collect();
        assert_eq!(counted.len(), all.len());
        for (rank, value) in order::sorted(&all).into_iter().enumerate() {
            assert_eq!(counted.at(rank), value, "{rank}");
        }
    }

    #[test]
    fn places_keep_the_order_of_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            -2.5,
            -1e-300,
            0.0,
            1e-300,
            7.0,
            f64::INFINITY,
        ];
        for pair in numbers.windows(2) {
            assert!(place(pair[0]) < place(pair[1]), "{pair:?}");
            assert_eq!(number(place(pair[0])), pair[0]);
        }
    }
}
