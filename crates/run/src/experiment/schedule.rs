//! The order of the trials: points times repeats, and the measurements of the maximum that shares
//! of it need.

use std::collections::BTreeSet;

use pgdyno_script::Prng;

use pgdyno_model::event::Role;
use pgdyno_model::experiment::Order;
use pgdyno_model::experiment::point::{Point, Rate};

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

/// All trials in their order. `groups` has a number for each point; interleaving keeps points with
/// different numbers apart.
pub fn schedule(
    points: &[Point],
    groups: &[usize],
    repeats: u32,
    order: Order,
    seed: i64,
) -> Vec<Slot> {
    let slot = |index: usize, repeat| Slot {
        index,
        point: points[index].clone(),
        role: Role::Point,
        repeat,
    };
    let all = 0..points.len();
    let slots: Vec<Slot> = match order {
        Order::Interleaved => {
            let mut in_order: Vec<usize> = Vec::new();
            for group in groups {
                if !in_order.contains(group) {
                    in_order.push(*group);
                }
            }
            let mut slots = Vec::new();
            for group in in_order {
                let members = all.clone().filter(|index| groups[*index] == group);
                let members: Vec<usize> = members.collect();
                for repeat in 1..=repeats {
                    let there = members.iter().map(|index| slot(*index, repeat));
                    // A B B A: what drifts evenly is the same for all.
                    match repeat % 2 {
                        1 => slots.extend(there),
                        _ => slots.extend(there.rev()),
                    }
                }
            }
            slots
        }
        Order::Sequential => all
            .flat_map(|index| (1..=repeats).map(move |repeat| slot(index, repeat)))
            .collect(),
        Order::Random => {
            let mut slots: Vec<Slot> = (1..=repeats)
                .flat_map(|repeat| all.clone().map(move |index| slot(index, repeat)))
                .collect();
            let mut prng = Prng::seed(seed as u64);
            // Fisher and Yates.
            for last in (1..slots.len()).rev() {
                slots.swap(last, prng.range_u64(0, last as u64) as usize);
            }
            slots
        }
    };
    with_maxima(slots)
}

/// Each maximum once, before the first trial that needs it.
fn with_maxima(slots: Vec<Slot>) -> Vec<Slot> {
    let mut measured = BTreeSet::new();
    let mut all = Vec::new();
    for slot in slots {
        if matches!(slot.point.rate(), Rate::Share(_)) {
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
        let mut drawn = run(&[0, 0, 0], Order::Random, 5);
        assert_eq!(drawn, run(&[0, 0, 0], Order::Random, 5), "the seed decides");
        let others = (0..20).map(|seed| run(&[0, 0, 0], Order::Random, seed));
        assert!(others.into_iter().any(|other| other != drawn));
        drawn.sort_unstable();
        assert_eq!(drawn, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
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
