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

/** A part of the time budget by its colour and how much of it shows: parts of one colour differ by it. */
const TIME_PARTS: Record<string, [color: string, opacity: number]> = {
  rest: ['other', 0.2],
  schedule: ['other', 0.4],
  think: ['other', 1],
  between: ['ipc', 0.6],
  'generator-cpu': ['client', 1],
  'generator-wait': ['client', 0.6],
  'generator-stopped': ['client', 0.3],
  wire: ['client', 0.4],
  queued: ['ipc', 0.4],
  'server-cpu': ['cpu', 1],
  'server-wait': ['cpu', 0.6],
  sql: ['cpu', 0.8],
  'passed-on': ['client', 0.5],
  admission: ['ipc', 0.3],
  'key-value': ['cpu', 0.4],
  'row-locks': ['lock', 1],
  'lightweight-locks': ['lwlock', 1],
  wal: ['io', 1],
  replication: ['io', 0.8],
  'data-reads': ['ipc', 1],
  'data-writes': ['io', 0.6],
  'temporary-files': ['io', 0.4],
  slru: ['lwlock', 0.6],
  extension: ['lock', 0.6],
  'client-io': ['client', 0.4],
  ipc: ['ipc', 0.6],
  others: ['other', 0.6],
  other: ['other', 0.6],
};

export const partColor = (of: string): string => TIME_PARTS[of]?.[0] ?? 'other';
export const partOpacity = (of: string): number => TIME_PARTS[of]?.[1] ?? 1;

/** Order in which classes are stacked, from below. */
export const WAIT_ORDER = ['CPU', 'IO', 'DiskIO', 'LWLock', 'BufferPin', 'Buffer', 'Lock', 'IPC', 'Client', 'Network'];

/** Within a class the most frequent event is opaque. */
export const OPACITY = [1, 0.6, 0.4];

const LIMITS: Record<string, string> = {
  'lost-writes': 'bad',
  'isolation-broken': 'bad',
  'isolation-kept': 'ok',
  client: 'client',
  network: 'client',
  'server-cpu': 'cpu',
  'cpu-quota': 'cpu',
  'other-processes': 'cpu',
  'think-time': 'other',
  bandwidth: 'client',
  pooler: 'ipc',
  'server-stopped': 'ipc',
  'lightweight-locks': 'lwlock',
  'data-writes': 'io',
  'temporary-files': 'io',
  slru: 'lwlock',
  'relation-extension': 'lock',
  ipc: 'ipc',
  'other-waits': 'other',
  stragglers: 'ipc',
  'durable-commit': 'io',
  contention: 'lock',
  'buffer-misses': 'ipc',
  'device-reads': 'ipc',
  buffers: 'ipc',
  connections: 'lwlock',
  stalls: 'ipc',
  leaders: 'lwlock',
  'clock-uncertainty': 'lwlock',
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

/** Parts that have no colour by meaning: by order. */
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
