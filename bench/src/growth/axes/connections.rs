//! Connections: on PostgreSQL and on the server that answers at once, each client as fast as it can and all by
//! a rate.

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Run, Who};
use crate::growth::bed::{BedUntil, GrowthBed, Work};

/// So many transactions of each client, whatever their number: the work grows as they do.
const TRANSACTIONS: u64 = 20;
/// So much by schedule, whatever their number.
const RATE: BedUntil = BedUntil::Rate {
    per_s: 1000,
    seconds: 4,
};

const ON_SERVER: AxisSteps = AxisSteps {
    quick: &[1, 10, 50, 200],
    full: &[1, 10, 100, 300, 1000, 2000],
    large: &[],
};
const ON_STUB: AxisSteps = AxisSteps {
    quick: &[1, 10, 100, 1000],
    full: &[1, 10, 100, 1000, 3000, 10_000],
    large: &[],
};

/// On PostgreSQL, in a closed loop.
pub const CLOSED: GrowthAxis = GrowthAxis {
    name: "connections",
    title: "Connections to PostgreSQL, in a closed loop",
    unit: "connections",
    work: "Each client connects and makes 20 select-only transactions, prepared, on one thread.",
    steps: ON_SERVER,
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, clients| run(bed, who, &bed.server_url()?, clients, CLOSED_UNTIL),
};

/// On PostgreSQL, by a rate.
pub const BY_RATE: GrowthAxis = GrowthAxis {
    name: "connections-rate",
    title: "Connections to PostgreSQL, by a rate",
    unit: "connections",
    work: "1,000 select-only transactions a second for four seconds over all clients, prepared, on one thread; \
           connecting counts.",
    steps: ON_SERVER,
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, clients| run(bed, who, &bed.server_url()?, clients, RATE),
};

/// On the server that answers at once, in a closed loop.
pub const STUB_CLOSED: GrowthAxis = GrowthAxis {
    name: "stub-connections",
    title: "Connections to a server that answers at once, in a closed loop",
    unit: "connections",
    work: "Each client connects and makes 20 select-only transactions, prepared, on one thread.",
    steps: ON_STUB,
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, clients| run(bed, who, &bed.stub_url()?, clients, CLOSED_UNTIL),
};

/// On the server that answers at once, by a rate.
pub const STUB_BY_RATE: GrowthAxis = GrowthAxis {
    name: "stub-connections-rate",
    title: "Connections to a server that answers at once, by a rate",
    unit: "connections",
    work: "1,000 select-only transactions a second for four seconds over all clients, prepared, on one thread; \
           connecting counts.",
    steps: ON_STUB,
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, clients| run(bed, who, &bed.stub_url()?, clients, RATE),
};

const CLOSED_UNTIL: BedUntil = BedUntil::Transactions(TRANSACTIONS);

fn run(bed: &GrowthBed, who: Who, url: &str, clients: u64, until: BedUntil) -> Result<Run, Error> {
    bed.work(
        who,
        &Work {
            url,
            scripts: &[bed.select_only()?],
            mode: "prepared",
            clients,
            threads: 1,
            until,
        },
    )
}
