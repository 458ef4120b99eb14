/** The rate and the clients that a trial asked for. */

import type { TrialSpec } from '../data';

/** The spec's two fields of it (crates/spec/src/rate.rs), which the generated type leaves out. */
interface WithRate {
  rate_per_s?: number | null;
  rate_profile?: string;
}

/** Transactions a second, where they do not move; else how they move, as typed; `null` without a rate. */
export function askedRate(trial: TrialSpec): number | string | null {
  const { rate_per_s, rate_profile } = trial as TrialSpec & WithRate;
  return rate_profile ?? rate_per_s ?? null;
}

/** The spec's field of them (crates/spec/src/clients.rs), which the generated type leaves out. */
interface WithClients {
  clients?: number | null;
}

/** Clients that there are: the most that work at the same time. */
export function mostClients(trial: TrialSpec): number {
  return (trial as TrialSpec & WithClients).clients ?? 1;
}
