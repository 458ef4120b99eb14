/**
 * What changed between two states of a page's data, as a server sends it. The other side is
 * crates/report/src/page/delta.rs; the tests of both read delta/cases.json beside it.
 */

export interface Delta {
  /** The new value. */
  v?: unknown;
  /** An object: what changes or comes, by key, and keys that go. */
  o?: Record<string, Delta>;
  x?: string[];
  /** An array: what changes, by index; how many of its elements stay; what is appended. */
  a?: Record<string, Delta>;
  n?: number;
  t?: unknown[];
  /** A string: what is appended. */
  s?: string;
}

/** The value as the delta says, changed in place where it is an object or an array. Throws when they do not fit. */
export function applied(value: unknown, delta: Delta): unknown {
  if ('v' in delta) return delta.v;
  if (typeof value === 'string' && delta.s !== undefined) return value + delta.s;
  if (Array.isArray(value)) {
    if (delta.n !== undefined) value.length = Math.min(value.length, delta.n);
    for (const [at, change] of Object.entries(delta.a ?? {})) {
      if (!(at in value)) throw new Error(`a difference of element ${at}, which is not there`);
      value[Number(at)] = applied(value[Number(at)], change);
    }
    for (const one of delta.t ?? []) value.push(one);
    return value;
  }
  if (value !== null && typeof value === 'object') {
    const of = value as Record<string, unknown>;
    for (const key of delta.x ?? []) delete of[key];
    for (const [key, change] of Object.entries(delta.o ?? {})) of[key] = applied(of[key], change);
    return of;
  }
  throw new Error('a difference of something that is not there');
}
