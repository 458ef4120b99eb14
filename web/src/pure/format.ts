/**
 * Numbers as people read them: comma thousands, a no-break space before units and %, a true minus.
 * Three significant digits for measured figures, all digits for counts. Never up to 100 % or down
 * to 0 by rounding. The same as the terminal's, in `crates/spec/src/text.rs`: the tests of both
 * read `crates/spec/src/text/cases.json`.
 */

const NBSP = '\u00a0';
export const MINUS = '−';
export const DASH = '–';
/** Behind a percentile that is of its run only. */
export const UNCERTAIN = '~';

/** What is known of a fact; null: why it is not is in it. */
export const known = <T>(of: T | { unknown: string }): T | null => (typeof of === 'object' && of !== null && 'unknown' in of ? null : (of as T));

/** Those that there are. */
export const present = <T>(values: (T | null)[]): T[] => values.filter((value): value is T => value !== null);

/** A figure as it is shown, with the mark of doubt where its interval has it. */
export const marked = (shown: string, interval: { uncertain: boolean } | null | undefined): string => (interval?.uncertain === true ? shown + UNCERTAIN : shown);

/** What to say of a percentile's interval where one points at it; undefined: it has none. */
export function intervalText(interval: { low_us: number | null; high_us: number | null; uncertain: boolean } | null | undefined): string | undefined {
  if (interval === null || interval === undefined) return undefined;
  if (interval.low_us === null) return 'of these transactions only: under ten seconds';
  const words = `95 % interval ${timeText(interval.low_us)} ${interval.high_us === null ? 'or more' : `to ${timeText(interval.high_us)}`}`;
  return interval.uncertain ? `${words}: of these transactions only` : words;
}

/** A whole number, all digits. */
export function count(value: number): string {
  const text = Math.abs(Math.round(value)).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return value <= -0.5 ? MINUS + text : text;
}

/** With so many decimals, thousands marked. */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  const [whole = '0', rest] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const shown = rest === undefined ? grouped : `${grouped}.${rest}`;
  return value < 0 && Number(text) !== 0 ? MINUS + shown : shown;
}

/** So many significant digits; digits before the point are never cut. */
export function significant(value: number, digits = 3): string {
  if (value === 0) return '0';
  if (!Number.isFinite(value)) return DASH;
  // Rounding first, so that 9.996 has the decimals of 10.0.
  const rounded = Number(Math.abs(value).toPrecision(digits));
  const magnitude = Math.floor(Math.log10(rounded));
  const decimals = Math.min(12, Math.max(0, digits - 1 - magnitude));
  return fixed(value, decimals);
}

/** Measured figures of everyday size: three digits, small ones without a tail of noughts. */
export function figure(value: number): string {
  return Number.isInteger(value) ? count(value) : significant(value);
}

/** A rate, large ones with all digits: `12.3`, `1,235`. */
export const rate = (value: number | null | undefined): string => (value === null || value === undefined ? DASH : significant(value));

/** A count in little room: `1.26 M`, below a million all digits. */
export const shortCount = (value: number): string => (value >= 1e6 ? `${significant(value / 1e6)}${NBSP}M` : count(value));

export interface Quantity {
  value: string;
  unit: string;
}

export function join({ value, unit }: Quantity): string {
  return unit === '' ? value : value + NBSP + unit;
}

const TIMES: [from_us: number, unit: string, us: number][] = [
  [1e6, 's', 1e6],
  [1e3, 'ms', 1e3],
  [0, 'µs', 1],
];

/** A duration, its unit by its size. */
export function time(us: number, digits = 3): Quantity {
  if (us === 0) return { value: '0', unit: 'ms' };
  // What rounds to the next unit belongs to it: 999.9 µs is 1.00 ms.
  const rounded = Number(Math.abs(us).toPrecision(digits));
  const [, unit, size] = TIMES.find(([from]) => rounded >= from) ?? TIMES[2]!;
  return { value: significant(us / size, digits), unit };
}

export const timeText = (us: number | null | undefined, digits = 3): string =>
  us === null || us === undefined ? DASH : join(time(us, digits));

/** A requested duration, without noughts that were not typed: `20 ms`, `12.5 ms`. */
export function asked(us: number): string {
  const { value, unit } = time(us, 6);
  return join({ value: trim(value), unit });
}

export interface TimeUnit {
  unit: string;
  us: number;
}

/** One unit for a column: that of its middle value. */
export function columnUnit(values: (number | null | undefined)[]): TimeUnit {
  const known = values.filter((v): v is number => typeof v === 'number' && v > 0).sort((a, b) => a - b);
  const middle = known[known.length >> 1] ?? 1e3;
  // Milliseconds are the field's habit: microseconds only where most are below a hundredth of one.
  if (middle >= 2e6) return { unit: 's', us: 1e6 };
  if (middle >= 10) return { unit: 'ms', us: 1e3 };
  return { unit: 'µs', us: 1 };
}

/** In a column's unit, three digits, at most three decimals. */
export function inUnit(us: number | null | undefined, unit: TimeUnit): string {
  if (us === null || us === undefined) return DASH;
  const value = us / unit.us;
  if (value === 0) return '0';
  const text = Math.abs(value) < 1 ? fixed(value, 3) : significant(value);
  return Number(text) === 0 ? '< 0.001' : text;
}

function trim(text: string): string {
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
}

/** A share of 1 as percent. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return DASH;
  const value = share * 100;
  if (value === 0) return `0${NBSP}%`;
  if (Math.abs(value) < 0.001) return `${value < 0 ? `>${NBSP}${MINUS}` : `<${NBSP}`}0.001${NBSP}%`;
  if (value < 100 && value >= 99.95) {
    if (value > 99.999) return `>${NBSP}99.999${NBSP}%`;
    // Rounded down: never up to 100 %.
    return `${fixed(Math.floor(value * 1000) / 1000, 3)}${NBSP}%`;
  }
  if (value === 100) return `100${NBSP}%`;
  const decimals = Math.abs(value) >= 1 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
  return `${fixed(value, decimals)}${NBSP}%`;
}

/** A difference as a share: always signed. */
export function change(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return DASH;
  const value = share * 100;
  const text = fixed(Math.abs(value), Math.abs(value) >= 1000 ? 0 : 1);
  if (Number(text.replace(/,/g, '')) === 0) return `±0${NBSP}%`;
  return `${value < 0 ? MINUS : '+'}${text}${NBSP}%`;
}

/** A signed figure with three digits. */
export function signed(value: number, digits = 3): string {
  const text = significant(Math.abs(value), digits);
  if (value === 0) return '0';
  return (value < 0 ? MINUS : '+') + text;
}

/** "all but 2 of 1,259,504": never rounded to all or nothing. */
export function partOf(part: number, whole: number): string {
  if (part === whole) return `all ${count(whole)}`;
  const missing = whole - part;
  if (missing > 0 && missing / whole < 0.001) return `all but ${count(missing)} of ${count(whole)}`;
  return `${count(part)} of ${count(whole)}`;
}

const BYTES = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** The unit of bytes for an axis that goes up to `high`, and how many bytes it has. */
export function bytesUnit(high: number): { by: number; name: string } {
  const rank = Math.max(0, Math.min(BYTES.length - 1, Math.floor(Math.log2(Math.max(1, high)) / 10)));
  return { by: 1024 ** rank, name: BYTES[rank]! };
}

/**
 * Bytes as PostgreSQL counts and names them: 1 kB is 1,024 bytes. Three digits, without noughts at
 * the end; what would be rounded to 1,024 is 1 of the next unit.
 */
export function bytes(value: number): Quantity {
  if (!Number.isFinite(value)) return { value: DASH, unit: '' };
  let rank = 0;
  let rest = value;
  while (Math.abs(rest) >= 1023.5 && rank < BYTES.length - 1) {
    rest /= 1024;
    rank += 1;
  }
  return { value: trim(significant(rest)), unit: BYTES[rank]! };
}

export const bytesText = (value: number | null | undefined): string =>
  value === null || value === undefined ? DASH : join(bytes(value));

/** Units of time that series name, in microseconds. */
export const UNIT_US: Record<string, number> = { µs: 1, ms: 1e3, s: 1e6 };

/** A figure in the unit that a series names. */
export function inUnitOf(value: number | null | undefined, unit: string): Quantity {
  if (value === null || value === undefined || !Number.isFinite(value)) return { value: DASH, unit: '' };
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') {
    const of = bytes(value);
    return { value: of.value, unit: `${of.unit}/s` };
  }
  const us = UNIT_US[unit];
  if (us !== undefined) return time(value * us);
  if (unit === '1/s') return { value: figure(value), unit: '/s' };
  return { value: figure(value), unit };
}

/** A span of time: `3 h 19 min`, `5 min 00 s`, `12.5 s`. */
export function span(seconds: number): string {
  const s = Math.round(seconds);
  // 59.96 s has three digits as 60.0 s, and is a minute.
  if (seconds < 59.95) return `${significant(seconds)}${NBSP}s`;
  if (s < 3600) return `${Math.floor(s / 60)}${NBSP}min ${String(s % 60).padStart(2, '0')}${NBSP}s`;
  const minutes = Math.round(seconds / 60);
  return `${count(Math.floor(minutes / 60))}${NBSP}h ${String(minutes % 60).padStart(2, '0')}${NBSP}min`;
}

/** A moment of a run: `02:49`, `02:49.6`, `1:02:49`; below zero before it. */
export function clock(seconds: number, decimals = 0): string {
  const factor = 10 ** decimals;
  const all = Math.round(Math.abs(seconds) * factor) / factor;
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor((all % 3600) / 60);
  const rest = (all % 60).toFixed(decimals).padStart(decimals === 0 ? 2 : 3 + decimals, '0');
  const mm = String(minutes).padStart(2, '0');
  const text = hours > 0 ? `${hours}:${mm}:${rest}` : `${mm}:${rest}`;
  return seconds < 0 && all > 0 ? MINUS + text : text;
}

/** `1 in 1,000` below a percentile's tick. */
export function oneIn(p: number): string {
  return `1 in ${count(1 / (1 - p))}`;
}

/** A percentile's name: 0.999 is p99.9. */
export function percentileName(p: number): string {
  return `p${trim((p * 100).toFixed(6))}`;
}

/** A plural, regular. */
export const many = (n: number, word: string): string => `${count(n)}${NBSP}${word}${n === 1 ? '' : 's'}`;
