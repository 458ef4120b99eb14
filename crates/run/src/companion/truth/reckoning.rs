//! Receipts that were found against what clients were answered: a bit for each transaction, so that rows may
//! come in any order and their number is no matter.

use pgdyno_drive::receipts::Receipt;
use pgdyno_measurement::{ClientReceipts, Fate};
use pgdyno_model::document::{InDoubt, LostWrite, Truth};

/// So many unknown ones are looked at for the first.
const UNKNOWN_MAX: usize = 100_000;

/// Adds up receipts as they are read.
pub struct Reckoning<'a> {
    mark: i64,
    clients: &'a [ClientReceipts],
    /// By client, a bit for each number that was given.
    found: Vec<Vec<u64>>,
    twice: u64,
}

impl<'a> Reckoning<'a> {
    /// Nothing has been read yet. Clients are in the order of their numbers.
    pub fn new(mark: i64, clients: &'a [ClientReceipts]) -> Self {
        let bits = |client: &ClientReceipts| vec![0; (client.given / 64 + 1) as usize];
        Self {
            mark,
            clients,
            found: clients.iter().map(bits).collect(),
            twice: 0,
        }
    }

    /// A receipt is there. Those of other trials are passed over.
    pub fn add(&mut self, receipt: Receipt) {
        let client = self
            .clients
            .binary_search_by_key(&receipt.client, |client| client.client);
        let (true, Ok(client)) = (receipt.mark == self.mark, client) else {
            return;
        };
        let Some(bits) = self.found[client].get_mut((receipt.number / 64) as usize) else {
            return;
        };
        let bit = 1 << (receipt.number % 64);
        self.twice += u64::from(*bits & bit != 0);
        *bits |= bit;
    }

    pub fn finish(self) -> Truth {
        let mut truth = Truth {
            twice: self.twice,
            ..Truth::default()
        };
        for (client, bits) in self.clients.iter().zip(&self.found) {
            truth.not_followed += client.given - client.followed;
            let mut listed = 0;
            let mut runs = client.runs.iter().peekable();
            for number in 1..=client.followed {
                while runs.next_if(|run| run.last < number).is_some() {}
                let run = runs.peek().filter(|run| run.first <= number);
                let is_there = bits[(number / 64) as usize] & (1 << (number % 64)) != 0;
                let landed = u64::from(is_there);
                let unknown = run.filter(|run| run.fate == Fate::Unknown);
                if let Some(run) = unknown.filter(|_| truth.in_doubt_first.len() < UNKNOWN_MAX) {
                    truth.in_doubt_first.push(InDoubt {
                        client: client.client,
                        number,
                        at_us: run.at_us,
                        landed: is_there,
                    });
                }
                match run.map(|run| run.fate) {
                    None => {
                        truth.acknowledged += 1;
                        if !is_there {
                            truth.lost += 1;
                            if listed < Truth::LISTED_MAX {
                                listed += 1;
                                truth.lost_first.push(lost(client, number));
                            }
                        }
                    }
                    Some(Fate::Unknown) => {
                        truth.in_doubt += 1;
                        truth.in_doubt_landed += landed;
                    }
                    Some(Fate::Failed) => {
                        truth.failed += 1;
                        truth.failed_landed += landed;
                    }
                    Some(Fate::WithoutReceipt) => truth.without_receipt += 1,
                }
            }
        }
        let order = |lost: &LostWrite| (lost.by_us, lost.client, lost.number);
        truth.lost_first.sort_by_key(order);
        let order = |unknown: &InDoubt| (unknown.at_us, unknown.client, unknown.number);
        truth.in_doubt_first.sort_by_key(order);
        truth.in_doubt_first.truncate(Truth::LISTED_MAX);
        truth.lost_first.truncate(Truth::LISTED_MAX);
        truth
    }
}

fn lost(client: &ClientReceipts, number: u64) -> LostWrite {
    let (by_us, within_us) = client.ended_us(number).unwrap_or_default();
    LostWrite {
        client: client.client,
        number,
        by_us,
        within_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::ReceiptRun;

    fn client(client: usize, given: u64, runs: &[(u64, u64, Fate)]) -> ClientReceipts {
        let run = |&(first, last, fate): &(u64, u64, Fate)| ReceiptRun {
            first,
            last,
            fate,
            at_us: 0,
        };
        let mut of = ClientReceipts::default();
        (of.client, of.given, of.followed) = (client, given, given);
        of.runs = runs.iter().map(run).collect();
        of
    }

    #[test]
    fn what_was_acknowledged_and_is_missing_is_lost_and_the_rest_is_resolved() {
        let mut second = client(7, 70, &[]);
        second.followed = 66;
        let clients = [
            client(
                3,
                6,
                &[
                    (2, 2, Fate::Failed),
                    (4, 5, Fate::Unknown),
                    (6, 6, Fate::WithoutReceipt),
                ],
            ),
            second,
        ];
        let mut reckoning = Reckoning::new(100, &clients);
        let found = [
            (100, 3, 1),
            (100, 3, 2),
            (100, 3, 4),
            (101, 3, 3),
            (100, 4, 1),
            (100, 3, 1),
        ];
        for (mark, client, number) in found {
            reckoning.add(Receipt {
                mark,
                client,
                number,
            });
        }
        for number in (1..=70).filter(|number| ![5, 64, 67].contains(number)) {
            reckoning.add(Receipt {
                mark: 100,
                client: 7,
                number,
            });
        }
        let truth = reckoning.finish();
        assert_eq!(
            (truth.acknowledged, truth.lost, truth.twice),
            (2 + 66, 3, 1)
        );
        let lost: Vec<_> = truth
            .lost_first
            .iter()
            .map(|l| (l.client, l.number))
            .collect();
        assert_eq!(lost, [(3, 3), (7, 5), (7, 64)]);
        assert_eq!((truth.in_doubt, truth.in_doubt_landed), (2, 1));
        assert_eq!((truth.failed, truth.failed_landed), (1, 1));
        assert_eq!((truth.without_receipt, truth.not_followed), (1, 4));
        assert!(!truth.is_whole());
    }

    #[test]
    fn of_many_lost_writes_the_first_are_listed_and_all_are_counted() {
        let clients = [client(0, 500, &[])];
        let truth = Reckoning::new(100, &clients).finish();
        assert_eq!(truth.lost, 500);
        assert_eq!(truth.lost_first.len(), Truth::LISTED_MAX);
    }
}
