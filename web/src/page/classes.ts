/** Colours by meaning: classes of wait events, limits, reasons, scales. */

/** A wait class of PostgreSQL (and what other products call alike) by its colour. */
const WAITS: Record<string, string> = {
  CPU: 'cpu',
  Lock: 'lock',
  LWLock: 'lwlock',
  IO: 'io',
  IPC: 'ipc',
  Client: 'client',
  BufferPin: 'lwlock',
  Buffer: 'lwlock',
  Timeout: 'other',
  Activity: 'other',
  Extension: 'other',
  Other: 'other',
  // YugabyteDB
  Network: 'client',
  WaitOnCondition: 'lwlock',
  DiskIO: 'io',
};

export const waitColor = (of: string): string => WAITS[of] ?? 'other';

/** Order in which classes are stacked, from below. */
export const WAIT_ORDER = ['CPU', 'IO', 'DiskIO', 'LWLock', 'BufferPin', 'Buffer', 'Lock', 'IPC', 'Client', 'Network'];

/** Within a class the most frequent event is opaque. */
export const OPACITY = [1, 0.6, 0.4];

const LIMITS: Record<string, string> = {
  client: 'client',
  network: 'client',
  'server-cpu': 'cpu',
  'durable-commit': 'io',
  contention: 'lock',
  'buffer-misses': 'ipc',
  'device-reads': 'ipc',
  buffers: 'ipc',
  connections: 'lwlock',
  stalls: 'ipc',
  'hot-range': 'lock',
  leaders: 'lwlock',
  'clock-uncertainty': 'lwlock',
  hops: 'client',
  'rate-met': 'ok',
  none: 'ok',
  better: 'ok',
  worse: 'bad',
  mixed: 'warn',
  'no-difference': 'other',
  'cannot-tell': 'warn',
  'not-known': 'other',
};

export const limitColor = (code: string): string => LIMITS[code] ?? 'other';

/** Parts that have no colour by meaning: told apart by order. */
export const PARTS = ['lock', 'lwlock', 'io', 'client', 'ipc', 'cpu', 'other'];

/** Lines of an experiment: colour and shape together. */
export const LINES: { color: string; symbol: string }[] = [
  { color: 'client', symbol: 'circle' },
  { color: 'io', symbol: 'rect' },
  { color: 'lwlock', symbol: 'triangle' },
  { color: 'lock', symbol: 'diamond' },
  { color: 'cpu', symbol: 'arrow' },
  { color: 'ipc', symbol: 'pin' },
  { color: 'other', symbol: 'roundRect' },
];

export const lineOf = (index: number): { color: string; symbol: string } => LINES[index % LINES.length]!;
