/** Comma-separated values, RFC 4180: what a chart shows, for other programs. */

export type Cell = string | number | null | undefined;
export type Rows = Cell[][];

export function csv(head: string[], rows: Rows): string {
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  // A spreadsheet takes a text that begins so for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** A file's name from words: letters, digits and hyphens. */
export function fileName(...words: string[]): string {
  const name = words.join(' ').normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return name.replace(/^-+|-+$/g, '').slice(0, 80) || 'pgdyno';
}
