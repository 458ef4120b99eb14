/** Instruments: series put into small charts, with titles for those that are known by name. */

import type { Gap, Instrument, Series } from '../data';

export interface Panel {
  title: string;
  of: Instrument['of'];
  unit: string;
  /** Stacked areas, else lines. */
  stack: boolean;
  lines: { name: string; color: string; series: Series }[];
  instrument: number;
  /** What was not seen of it in time. */
  gaps: Gap[];
  rank: number;
}

export interface Missing {
  title: string;
  of: Instrument['of'];
  gap: Gap;
}

interface Known {
  /** The beginning of the series' names; those that share it are one chart. */
  test: RegExp;
  title: string;
  stack?: boolean;
  rank: number;
}

/** Names of series by what they begin with. What is not here is shown under its own name. */
const KNOWN: Known[] = [
  { test: /^(host|client)\.cpu(\.(user|system|nice|iowait|irq|softirq|steal|guest))?$/, title: 'CPU', stack: true, rank: 0 },
  { test: /^host\.server\.cpu$/, title: 'CPU of the server', rank: 1 },
  { test: /^(crdb|yb)\..*cpu/, title: '', rank: 1 },
  { test: /^pg\.wal\.bytes$/, title: 'WAL written', rank: 1 },
  { test: /^pg\.blocks\.read$/, title: 'Buffer misses', rank: 2 },
  { test: /^host\.disk\.(await|wait)/, title: '', rank: 2 },
  { test: /^host\.disk\.(busy|utili[sz]ation|queue)/, title: '', rank: 3 },
  { test: /^pg\.checkpoints\.buffers$/, title: 'Checkpoint writes', rank: 3 },
  { test: /^host\.disk\./, title: '', rank: 4 },
  { test: /^host\.memory\./, title: '', rank: 5 },
  { test: /^pg\.locks\./, title: 'Waiting for locks', rank: 4 },
  { test: /^pg\.transactions\.committed$/, title: 'Commits of the database', rank: 5 },
  { test: /^pg\.transactions\.rolled_back$/, title: 'Rollbacks of the database', rank: 6 },
  { test: /^pg\.wal\.(syncs|full_pages|buffers_full)$/, title: '', rank: 7 },
  { test: /^pg\.blocks\.hit$/, title: 'Buffer hits', rank: 8 },
  { test: /^pg\.backends\.buffers$/, title: 'Buffers written by sessions', rank: 9 },
  { test: /^(client)\.(lag|loop)/, title: '', rank: 1 },
  { test: /^pg\.table\.dead_rows$/, title: 'Dead rows', rank: 10 },
  { test: /^pg\.time\./, title: '', rank: 60 },
];

/** `pg.wal.bytes` → `WAL bytes`; `host.disk.write_bytes` → `Disk write bytes`. */
export function titleOf(name: string): string {
  const parts = name.split('.');
  const words = (parts.length > 1 ? parts.slice(1) : parts).join(' ').replace(/_/g, ' ').trim();
  const known: Record<string, string> = { wal: 'WAL', io: 'I/O', cpu: 'CPU', lsn: 'LSN', sql: 'SQL', rpc: 'RPC' };
  const named = words.replace(/\b(wal|io|cpu|lsn|sql|rpc)\b/gi, (word) => known[word.toLowerCase()] ?? word);
  return named === '' ? name : named[0]!.toUpperCase() + named.slice(1);
}

const COLORS = ['io', 'lock', 'cpu', 'lwlock', 'client', 'ipc', 'other'];
const MODES: Record<string, string> = { user: 'cpu', nice: 'cpu', system: 'lwlock', iowait: 'other', irq: 'client', softirq: 'client', steal: 'lock', guest: 'ipc' };
/** More lines than this cannot be distinguished: the rest become charts of their own. */
const LINES_MAX = 7;

/** The charts of all series that were read over time, and what is missing altogether. */
export function panels(instruments: Instrument[], series: Series[]): { panels: Panel[]; missing: Missing[] } {
  const groups = new Map<string, { known: Known | undefined; series: Series[] }>();
  for (const of of series) {
    if (of.kind === 'before_after' || of.clock === undefined || of.value === undefined) continue;
    const known = KNOWN.find((k) => k.test.test(of.name));
    // Stacked: the parts of one host; else: the labels of one name.
    const stacked = known?.stack === true;
    const key = stacked ? `${of.instrument} ${known.title} ${byName(of.name) ? of.label : ''} ${of.unit}` : `${of.instrument} ${of.name} ${of.unit}`;
    const group = groups.get(key) ?? { known, series: [] };
    group.series.push(of);
    groups.set(key, group);
  }
  const found: Panel[] = [];
  for (const { known, series: members } of groups.values()) {
    const first = members[0]!;
    const instrument = instruments[first.instrument];
    if (instrument === undefined) continue;
    const stack = known?.stack === true;
    const base = known === undefined || known.title === '' ? titleOf(first.name) : known.title;
    const chunks = stack ? [members] : chunk(sorted(members), LINES_MAX);
    chunks.forEach((chunked, part) => {
      const labels = [...new Set(chunked.map((s) => s.label))];
      const suffix = stack ? (byName(first.name) ? first.label : '') : labels.length === 1 ? labels[0]! : chunks.length > 1 ? `${part + 1} of ${chunks.length}` : '';
      found.push({
        title: suffix === '' ? base : `${base}, ${suffix}`,
        of: instrument.of,
        unit: first.unit,
        stack,
        lines: chunked.map((s, i) => {
          // A mode is the end of the name, or the label.
          const mode = byName(s.name) ? s.name.split('.').pop()! : s.label;
          const name = stack ? mode : s.label === '' ? titleOf(s.name) : s.label;
          return { name, color: stack ? (MODES[mode] ?? COLORS[i % COLORS.length]!) : COLORS[i % COLORS.length]!, series: s };
        }),
        instrument: first.instrument,
        gaps: instrument.gaps.filter((gap) => !never(gap) && (gap.label === undefined || gap.label === '' || labels.includes(gap.label))),
        rank: known?.rank ?? 50,
      });
    });
  }
  const missing = instruments.flatMap((instrument) =>
    instrument.gaps.filter(never).map((gap) => ({ title: gap.label === undefined || gap.label === '' ? (instrument.source || instrument.name) : `${instrument.name}, ${gap.label}`, of: instrument.of, gap })),
  );
  return { panels: found.sort((a, b) => a.rank - b.rank), missing };
}

/** `host.cpu.user`, and not `host.cpu` with its mode as label. */
const byName = (name: string): boolean => name.split('.').length > 2;

/** Nothing was ever read. */
const never = (gap: Gap): boolean => gap.from_us === null && gap.to_us === null;

const sorted = (members: Series[]): Series[] => [...members].sort((a, b) => a.label.localeCompare(b.label, 'en', { numeric: true }));

function chunk<T>(list: T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let i = 0; i < list.length; i += size) chunks.push(list.slice(i, i + size));
  return chunks;
}
