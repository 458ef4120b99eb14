/** How stale reads were: where they were read, and their distribution in buckets that all share. */

import type { StaleBucket, StaleEndpoint, StaleSecond, Staleness } from '../data';
import { asked, count, DASH, percent } from './format';

/** The reads of one server, by the probe's sessions or by the clients' own. */
export interface Source {
  of: 'probe' | 'clients';
  /** Its role and its server, in few words. */
  name: string;
  /** The server in few words. */
  short: string;
  endpoint: StaleEndpoint;
}

/** The probe's, then the clients'; of each the control first. */
export function sources(staleness: Staleness): Source[] {
  const clients = staleness.clients?.endpoints ?? [];
  const short = shortNames([...staleness.endpoints, ...clients].map((one) => one.name));
  const named = (of: Source['of'], endpoint: StaleEndpoint): Source => {
    const name = short.get(endpoint.name) ?? endpoint.name;
    return { of, endpoint, short: name, name: `${endpoint.role ?? 'control'}: ${name}` };
  };
  return [...staleness.endpoints.map((one) => named('probe', one)), ...clients.map((one) => named('clients', one))];
}

/** How many parts all of these have in common at their beginning, and at their end; one of each is left. */
export function inCommon(all: readonly string[][]): { head: number; tail: number } {
  const shortest = Math.min(...all.map((parts) => parts.length));
  const same = (at: (parts: string[]) => string | undefined): boolean => new Set(all.map(at)).size === 1;
  let [head, tail] = [0, 0];
  while (head < shortest - 1 && same((parts) => parts[head])) head += 1;
  while (tail < shortest - 1 - head && same((parts) => parts.at(-1 - tail))) tail += 1;
  return { head, tail };
}

/** Paths of sockets without what all of them have in common; other names as they are. */
export function shortNames(names: readonly string[]): Map<string, string> {
  const paths = [...new Set(names)].filter((name) => name.startsWith('/'));
  const split = paths.map((path) => path.split('/').slice(1));
  const { head, tail } = paths.length > 1 ? inCommon(split) : { head: 0, tail: 0 };
  const cut = (parts: string[]): string => `${head > 0 ? '…' : ''}/${parts.slice(head, parts.length - tail).join('/')}${tail > 0 ? '/…' : ''}`;
  return new Map(paths.map((path, i) => [path, cut(split[i]!)]));
}

/** A server as it is called among these. */
export const shortOf = (all: readonly Source[], name: string): string => all.find((one) => one.endpoint.name === name)?.short ?? name;

/** Where something was read that could be stale. */
export const measured = (all: readonly Source[]): Source[] => all.filter((one) => one.endpoint.role !== null && one.endpoint.reads > 0);

/** How many of how many, with the share. */
export const violations = (found: number, of: number): string => (of === 0 ? DASH : `${count(found)} of ${count(of)} (${percent(found / of)})`);

const STEPS = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/** The end of the bucket after this one. */
function next(upto_us: number): number {
  for (let ten = 1; ; ten *= 10) {
    const end = STEPS.map((step) => step * ten).find((one) => one > upto_us);
    if (end !== undefined) return end;
  }
}

/** So many bars stand side by side. */
const BUCKETS_MAX = 60;

/** Ends of the buckets from the first that any has to the last, without gaps between stale ones. */
export function ends(histograms: readonly (readonly StaleBucket[])[]): number[] {
  const all = [...new Set(histograms.flat().map((bucket) => bucket.upto_us))].sort((a, b) => a - b);
  const stale = all.filter((end) => end > 0);
  const found = all[0] === 0 ? [0] : [];
  const last = stale[stale.length - 1];
  if (last === undefined) return found;
  for (let end = stale[0]!; end < last && found.length < BUCKETS_MAX; end = next(end)) found.push(end);
  return [...found, last];
}

/** The share of reads in each of these buckets. */
export function shares(histogram: readonly StaleBucket[], at: readonly number[]): number[] {
  const all = histogram.reduce((sum, bucket) => sum + bucket.reads, 0);
  const by = new Map(histogram.map((bucket) => [bucket.upto_us, bucket.reads]));
  return at.map((end) => (all === 0 ? 0 : (by.get(end) ?? 0) / all));
}

/** What a bucket is called below the axis. */
export const bucketName = (upto_us: number): string => (upto_us === 0 ? 'fresh' : asked(upto_us));

/** The second at this time, if any reads began in it. */
export const secondAt = (seconds: readonly StaleSecond[], at: number): StaleSecond | undefined => seconds.find((one) => one.at_s === Math.floor(at + 1e-9));
