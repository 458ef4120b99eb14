/** Several generators, one result: a row each, what each committed over time, and how they began. */

import type { Generator, Generators, TrialData } from '../data';
import { clock, columnUnit, count, DASH, fixed, inUnit, many, percent, rate, significant, timeText } from '../pure/format';
import { rowsBehind } from '../chart/figure';
import { bar } from '../page/bars';
import { h, svg } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, td, type Row } from '../page/table';

/** From this share of the time on a thread is a limit itself (client_bound.rs). */
const BOUND_SHARE = 0.8;

const ENDS: Record<Generator['end'], string> = {
  running: 'measures',
  complete: 'whole',
  early: 'ended early',
  waits: 'seconds not sent',
  died: 'died',
  'never-arrived': 'never arrived',
};

/** What became of it, and what weakened the result. */
export function state(one: Generator): { words: string; kind: 'good' | 'warn' | 'bad' } {
  if (one.end === 'never-arrived') return { words: ENDS[one.end], kind: 'bad' };
  if (one.end === 'running') return { words: ENDS[one.end], kind: 'good' };
  if (one.end !== 'complete') return { words: `${ENDS[one.end]} at ${clock(one.until_us / 1e6)}`, kind: 'bad' };
  if (one.busiest_share !== null && one.busiest_share >= BOUND_SHARE) return { words: 'client-bound', kind: 'warn' };
  return { words: ENDS.complete, kind: 'good' };
}

const host = (one: Generator): string => one.host ?? DASH;
const name = (one: Generator): string => (one.host === null ? String(one.generator) : `${one.generator} ${one.host}`);

/** Where there is little room: a name is never cut, and the table has it. */
const short = (one: Generator): string => (name(one).length <= 20 ? name(one) : `generator ${one.generator}`);

export function generatorsSection(data: TrialData): Section | null {
  const all = data.run.generators;
  if (all === undefined) return null;
  const { list } = all;
  const committed = list.reduce((sum, one) => sum + one.committed, 0);
  const most = Math.max(1, ...list.map((one) => one.committed));
  const unit = columnUnit(list.map((one) => one.added_mean_us));
  const elapsed_s = data.run.measured.elapsed_us / 1e6;
  const cores = (one: Generator): string => (one.cpu_us === null || elapsed_s === 0 ? DASH : significant(one.cpu_us / 1e6 / elapsed_s, 2));
  const began = (one: Generator): string => (one.began_late_us === null ? DASH : `+${fixed(one.began_late_us / 1000, 1)} ± ${fixed((one.clock?.uncertainty_us ?? 0) / 1000, 1)}`);
  const whole = list.filter((one) => one.end === 'complete').length;
  const isLive = data.served?.live != null;
  const died = list.filter((one) => one.end === 'died').length;
  // What is known at the end only has no column before.
  const atEnd = (cell: string | HTMLElement): string | HTMLElement | null => (isLive ? null : cell);
  const hosts = new Set(list.map((one) => one.host).filter((of) => of !== null)).size;
  const { buttons, table } = rowsBehind(
    'Generators',
    ['generator', 'host', 'clients', 'committed', 'goodput_per_s', 'cpu_us', 'busiest_share', 'added_mean_us', 'began_late_us', 'clock_offset_us', 'clock_uncertainty_us', 'until_us', 'end', 'trial'],
    () => list.map((one) => [one.generator, one.host, one.clients, one.committed, one.goodput_per_s, one.cpu_us, one.busiest_share, one.added_mean_us, one.began_late_us, one.clock?.offset_us ?? null, one.clock?.uncertainty_us ?? null, one.until_us, one.end, one.trial]),
  );
  const row = (one: Generator): Row => {
    const { words, kind } = state(one);
    return [
      data.served !== undefined && one.trial !== null ? h('a', { href: `/trial/${one.trial}`, 'aria-label': `Generator ${one.generator}: trial ${one.trial}` }, String(one.generator)) : String(one.generator),
      host(one),
      count(one.clients),
      count(one.committed),
      h('span', { class: 'bar-cell' }, bar(one.committed / most, 'p50', 100), h('span', { class: 'n' }, percent(committed > 0 ? one.committed / committed : 0))),
      rate(one.goodput_per_s),
      cores(one),
      one.busiest_share === null ? DASH : percent(one.busiest_share),
      inUnit(one.added_mean_us, unit),
      began(one),
      clock(one.until_us / 1e6),
      h('strong', { class: `state-${kind}` }, words),
    ];
  };
  const clients = list.reduce((sum, one) => sum + one.clients, 0);
  return section(
    'generators',
    'Generators',
    'Generators',
    'One row a generator. Histograms are added by second and script, never averaged. Who weakened the result is named in the last column.',
    buttons,
    figureTable(
      'Generators: rows',
      ['#', atEnd('Host'), num('Clients'), num('Committed'), 'Share', num('Goodput', 'tps'), ...[num('CPUs'), num('Busiest thread'), num('Adds, mean', unit.unit), num('Began', 'ms')].map(atEnd), num('Until'), 'State'],
      list.map(row),
      { class: 'generators', foot: ['All', hosts === 0 ? '' : many(hosts, 'host'), count(clients), count(committed), '', rate(data.run.measured.goodput_per_s), td(''), td(''), td(''), all.start_spread_us === null ? td('') : `spread ${timeText(all.start_spread_us)}`, td(''), isLive ? `${count(list.length - died)} of ${count(all.asked)}` : `${count(whole)} of ${count(all.asked)} whole`] },
    ),
    table,
    byGenerator(list),
    commonStart(all),
  );
}

/** What each committed a second, on one scale. */
function byGenerator(list: Generator[]): HTMLElement | null {
  const drawn = list.filter((one) => one.committed_by_second.length > 1);
  if (drawn.length === 0) return null;
  const seconds = Math.max(...drawn.map((one) => one.committed_by_second.length));
  const most = Math.max(1, ...drawn.flatMap((one) => one.committed_by_second));
  const [width, height, left] = [640, 34, 4];
  const x = (second: number): number => left + (second / Math.max(1, seconds)) * (width - left);
  const line = (one: Generator): SVGElement => {
    const values = one.committed_by_second;
    const steps = values.map((v, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${(height - 3 - (v / most) * (height - 8)).toFixed(1)}H${x(i + 1).toFixed(1)}`).join('');
    return svg(
      'svg',
      { class: 'generator-line', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `Generator ${one.generator}: at most ${count(Math.max(...values))} transactions in a second` },
      svg('line', { x1: left, x2: width, y1: height - 3, y2: height - 3, stroke: 'var(--line1)' }),
      values.length < seconds && svg('rect', { x: x(values.length), y: 2, width: width - x(values.length), height: height - 5, fill: 'var(--tint2)' }),
      svg('path', { d: steps, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.4, 'vector-effect': 'non-scaling-stroke' }),
    );
  };
  return h(
    'div',
    { class: 'by-generator' },
    h('h3', {}, 'Committed by second'),
    h('p', { class: 'sub' }, `Each generator on one scale, 0 to ${count(most)}; warm-up included, ${clock(seconds)} from left to right.`),
    ...list.map((one) =>
      h('div', { class: 'generator-row' }, h('span', {}, name(one)), one.committed_by_second.length > 1 ? line(one) : h('span', { class: 'sub' }, ENDS[one.end])),
    ),
  );
}

/** When the clients of each began after the instant that was agreed on, with what is not known of its clock. */
function commonStart({ list, start_spread_us: spread, start_uncertainty_us: uncertainty }: Generators): HTMLElement | null {
  const began = list.filter((one) => one.began_late_us !== null);
  if (began.length < 2 || began.length > 64) return null;
  const of = (one: Generator): [low: number, at: number, high: number] => {
    const around = one.clock?.uncertainty_us ?? 0;
    return [one.began_late_us! - around, one.began_late_us!, one.began_late_us! + around];
  };
  const low = Math.min(0, ...began.map((one) => of(one)[0]));
  const high = Math.max(100, ...began.map((one) => of(one)[2]));
  const [width, row, label] = [560, 20, 140];
  const x = (us: number): number => label + ((us - low) / (high - low)) * (width - label - 60);
  const height = began.length * row + 24;
  const marks = began.flatMap((one, i) => {
    const [from, at, to] = of(one);
    const y = i * row + row / 2;
    return [
      svg('text', { x: label - 10, y: y + 4, class: 'tick', 'text-anchor': 'end' }, short(one)),
      svg('line', { x1: x(from), x2: Math.max(x(to), x(from) + 1), y1: y, y2: y, stroke: 'var(--line2)', 'stroke-width': 5 }),
      svg('circle', { cx: x(at), cy: y, r: 3.5, fill: 'var(--accent)' }),
    ];
  });
  const ticks = [0, high].map((us) => svg('text', { x: x(us), y: height - 6, class: 'tick', 'text-anchor': 'middle' }, us === 0 ? 'agreed start' : `+${timeText(us)}`));
  const grid = svg('line', { x1: x(0), x2: x(0), y1: 0, y2: height - 22, stroke: 'var(--line1)' });
  const apart = spread === null ? '' : ` From the first to the last: ${timeText(spread)}${uncertainty === null ? '' : `, ± ${timeText(uncertainty)}`}.`;
  return h(
    'div',
    { class: 'common-start' },
    h('h3', {}, 'Common start'),
    h('p', { class: 'sub' }, `Mark: its clients began, by its own clock; bar: how far that clock may be off from the notebook's.${apart}`),
    svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, class: 'start-chart', role: 'img', 'aria-label': `When ${many(began.length, 'generator')} began` }, grid, ...marks, ...ticks),
  );
}
