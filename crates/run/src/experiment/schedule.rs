//! The order of the trials: points times repeats, and the measurements of the maximum that shares
//! of it need.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use pgdyno_script::Prng;

use pgdyno_model::event::Role;
use pgdyno_spec::experiment::{Order, point::Point, point::PointRate};

/// One trial of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Which point of the plan it belongs to.
    pub index: usize,
    /// What is measured: that point, or the same one in a closed loop.
    pub point: Point,
    pub role: Role,
    /// From 1; 0 for a maximum.
    pub repeat: u32,
}

/// What tells one trial from all others of its experiment.
pub type Key = (Role, String, u32);

impl Slot {
    pub fn key(&self) -> Key {
        (self.role, self.point.key(), self.repeat)
    }
}

/// All trials in their order. `groups` has a number for each point; only a random order mixes points with different
/// numbers.
pub fn schedule(
    points: &[Point],
    groups: &[usize],
    repeats: u32,
    order: Order,
    seed: i64,
) -> Vec<Slot> {
    let all: Vec<usize> = (0..points.len()).collect();
    let mut in_order: Vec<usize> = Vec::new();
    for group in groups {
        if order != Order::Random && !in_order.contains(group) {
            in_order.push(*group);
        }
    }
    let mut places: Vec<Place> = Vec::new();
    match order {
        Order::Sequential => {
            let of_point = |index: &usize| (1..=repeats).map(|it| (*index, it)).collect::<Vec<_>>();
            places.extend(all.iter().flat_map(of_point));
        }
        Order::Random => places = block(&all, 1..=repeats, order, seed),
        _ => {
            for group in in_order {
                let members = all.iter().copied();
                let members: Vec<usize> = members.filter(|it| groups[*it] == group).collect();
                places.extend(of_group(&members, repeats, order, seed));
            }
        }
    }
    let slots = places.into_iter().map(|(index, repeat)| Slot {
        index,
        point: points[index].clone(),
        role: Role::Point,
        repeat,
    });
    with_maxima(slots.collect())
}

/// The place of a point among all, and its repeat.
pub type Place = (usize, u32);

/// Points that take turns.
fn of_group(members: &[usize], repeats: u32, order: Order, seed: i64) -> Vec<Place> {
    let Some(blocks) = order.blocks(repeats) else {
        let round = |repeat: u32| {
            let there = members.iter().map(move |index| (*index, repeat));
            if order == Order::Interleaved && repeat.is_multiple_of(2) {
                there.rev().collect::<Vec<Place>>()
            } else {
                there.collect()
            }
        };
        return (1..=repeats).flat_map(round).collect();
    };
    let mut places = Vec::new();
    let mut first = 1;
    for repeats in blocks {
        places.extend(block(members, first..=first + repeats - 1, order, seed));
        first += repeats;
    }
    places
}

/// The trials of a block in the order that this seed draws for it, whichever blocks there are beside it.
pub fn block(
    members: &[usize],
    repeats: RangeInclusive<u32>,
    order: Order,
    seed: i64,
) -> Vec<Place> {
    let (first, last) = (*repeats.start(), *repeats.end());
    let of_point = members.first().copied().unwrap_or_default() as u64;
    let mut prng = Prng::seed((seed as u64) ^ (u64::from(first) << 32) ^ of_point);
    let mut shuffle = |places: &mut [Place]| {
        // Fisher and Yates.
        for last in (1..places.len()).rev() {
            places.swap(last, prng.range_u64(0, last as u64) as usize);
        }
    };
    if order != Order::Mirrored {
        let places = repeats.flat_map(|repeat| members.iter().map(move |it| (*it, repeat)));
        let mut places: Vec<Place> = places.collect();
        shuffle(&mut places);
        return places;
    }
    let mut there: Vec<Place> = members.iter().map(|index| (*index, first)).collect();
    shuffle(&mut there);
    let back: Vec<Place> = if last > first {
        there
            .iter()
            .rev()
            .map(|(index, _)| (*index, last))
            .collect()
    } else {
        Vec::new()
    };
    [there, back].concat()
}

/// Each maximum once, before the first trial that needs it.
fn with_maxima(slots: Vec<Slot>) -> Vec<Slot> {
    let mut measured = BTreeSet::new();
    let mut all = Vec::new();
    for slot in slots {
        if matches!(slot.point.rate(), PointRate::Share(_)) {
            let point = slot.point.at_maximum();
            if measured.insert(point.key()) {
                all.push(Slot {
                    index: slot.index,
                    point,
                    role: Role::Maximum,
                    repeat: 0,
                });
            }
        }
        all.push(slot);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn points(values: &[(i64, &str)]) -> Vec<Point> {
        let point = |(clients, rate): &(i64, &str)| {
            Point::new(BTreeMap::from([
                ("clients".to_owned(), json!(clients)),
                ("rate".to_owned(), json!(rate)),
            ]))
        };
        values.iter().map(point).collect()
    }

    fn run(groups: &[usize], order: Order, seed: i64) -> Vec<(usize, u32)> {
        let points = points(&[(1, "max"), (2, "max"), (3, "max")]);
        let slots = schedule(&points, groups, 2, order, seed);
        slots.iter().map(|s| (s.index, s.repeat)).collect()
    }

    #[test]
    fn each_order_has_every_trial_once() {
        assert_eq!(
            run(&[0, 0, 0], Order::Interleaved, 0),
            [(0, 1), (1, 1), (2, 1), (2, 2), (1, 2), (0, 2)]
        );
        assert_eq!(
            run(&[0, 1, 0], Order::Interleaved, 0),
            [(0, 1), (2, 1), (2, 2), (0, 2), (1, 1), (1, 2)],
            "tables are loaded once"
        );
        assert_eq!(
            run(&[0, 1, 0], Order::Sequential, 0),
            [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]
        );
        for order in [Order::Drawn, Order::Mirrored, Order::Random] {
            let mut drawn = run(&[0, 0, 0], order, 5);
            assert_eq!(drawn, run(&[0, 0, 0], order, 5), "the seed decides");
            let others = (0..20).map(|seed| run(&[0, 0, 0], order, seed));
            assert!(others.into_iter().any(|other| other != drawn));
            drawn.sort_unstable();
            assert_eq!(drawn, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
        }
        let mixed = run(&[0, 1, 0], Order::Drawn, 5);
        assert!(mixed[4..].iter().all(|(index, _)| *index == 1), "{mixed:?}");
    }

    fn drawn(repeats: u32, order: Order, seed: i64) -> Vec<Place> {
        let points = points(&[(1, "max"), (2, "max")]);
        let slots = schedule(&points, &[0, 0], repeats, order, seed);
        slots.iter().map(|s| (s.index, s.repeat)).collect()
    }

    /// How often each order of the sides comes.
    fn orders(order: Order, repeats: u32) -> BTreeMap<Vec<usize>, usize> {
        let mut counts = BTreeMap::new();
        for seed in 0..2_000 {
            let sides = drawn(repeats, order, seed)
                .into_iter()
                .map(|(index, _)| index);
            *counts.entry(sides.collect()).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn every_order_that_a_comparison_counts_with_comes_as_often() {
        let mirrored = orders(Order::Mirrored, 2);
        let both: Vec<&[usize]> = mirrored.keys().map(Vec::as_slice).collect();
        assert_eq!(both, [[0, 1, 1, 0], [1, 0, 0, 1]]);
        assert!(mirrored.values().all(|count| (900..1_100).contains(count)));
        let rounds = orders(Order::Drawn, 2);
        assert_eq!(rounds.len(), 4, "each round is drawn by itself");
        assert!(rounds.values().all(|count| (400..600).contains(count)));
        let block = orders(Order::Drawn, 5);
        // Of 252 one or two may never come in 2,000.
        assert!((250..=252).contains(&block.len()), "{}", block.len());
        assert!(block.values().all(|count| *count < 30), "{block:?}");
        assert_eq!(
            drawn(1, Order::Drawn, 7),
            [(0, 1), (1, 1)],
            "as it is written"
        );
    }

    #[test]
    fn a_block_is_the_same_whatever_comes_after_it() {
        let (ten, fifteen) = (drawn(10, Order::Drawn, 3), drawn(15, Order::Drawn, 3));
        assert_eq!(ten, fifteen[..20]);
        assert_eq!(ten[..10], drawn(5, Order::Drawn, 3));
        let of_block = |places: &[Place]| places.iter().map(|(_, repeat)| *repeat).max();
        assert_eq!(
            of_block(&ten[..10]),
            Some(5),
            "a block ends before the next begins"
        );
        let sides = |places: &[Place]| places.iter().map(|(index, _)| *index).collect::<Vec<_>>();
        assert_ne!(
            sides(&ten[..10]),
            sides(&ten[10..]),
            "each has its own order"
        );
    }

    #[test]
    fn a_maximum_is_measured_once_before_the_first_share_of_it() {
        let points = points(&[(1, "50%"), (1, "70%"), (2, "50%"), (2, "max")]);
        let slots = schedule(&points, &[0; 4], 2, Order::Interleaved, 0);
        let roles: Vec<_> = slots.iter().map(|s| (s.role, s.index, s.repeat)).collect();
        let (m, p) = (Role::Maximum, Role::Point);
        assert_eq!(
            roles,
            [
                (m, 0, 0),
                (p, 0, 1),
                (p, 1, 1),
                (m, 2, 0),
                (p, 2, 1),
                (p, 3, 1),
                (p, 3, 2),
                (p, 2, 2),
                (p, 1, 2),
                (p, 0, 2)
            ]
        );
        let keys: BTreeSet<Key> = slots.iter().map(Slot::key).collect();
        assert_eq!(keys.len(), slots.len());
    }
}
