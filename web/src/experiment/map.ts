/** The map: what every point gave, how slow it was, what limited it. Tables with coloured cells. */

import type { ExperimentData, Point } from '../data';
import { asked, bytesText, columnUnit, inUnit, marked, rate, significant } from '../pure/format';
import { inkOn, mix } from '../pure/color';
import { limitColor } from '../page/classes';
import { h, scroll, segmented, type Child } from '../page/dom';
import { onTheme, token } from '../page/theme';
import { goodput, latencyOf, lines, pointAt, whyMissing, type Part, type Plane } from './model';
import { lineMark } from './points';

type Figure = 'goodput' | 'p50' | 'retries';

interface MapSpec {
  title: string;
  low: string;
  high: string;
  value: (point: Point) => number | null;
  text: (value: number, point: Point) => string;
  /** log: where a step is a factor. */
  log: boolean;
  within?: (point: Point) => boolean;
}

/** The three maps; the first one's figure is chosen by the switch. */
export function maps(data: ExperimentData, plane: Plane, part: Part, goAll: (point: number) => void): { element: HTMLElement; choice: HTMLElement } {
  const slo = data.slo_us ?? null;
  const go = (at: number): void => goAll(part.index[at]!);
  const unitOf = (figure: string) => columnUnit(data.points.map((p) => latencyOf(p, figure)));
  const [p50Unit, p99Unit] = [unitOf('p50'), unitOf('p99')];
  const specs: Record<Figure, MapSpec> = {
    goodput: { title: 'Goodput, tps', low: 'less', high: 'more', value: goodput, text: rate, log: false },
    p50: { title: `p50 latency, ${p50Unit.unit}`, low: 'faster', high: 'slower', value: (p) => latencyOf(p, 'p50'), text: (us, p) => marked(inUnit(us, p50Unit), p.figures.p50?.interval), log: true },
    retries: { title: 'Retries per commit', low: 'fewer', high: 'more', value: (p) => p.retries_per_commit ?? null, text: (v) => (v === 0 ? '0' : significant(v, 2)), log: false },
  };
  const p99: MapSpec = {
    title: `p99 latency, ${p99Unit.unit}`,
    low: 'faster',
    high: slo === null ? 'slower' : `slower, underlined: within ${asked(slo)}`,
    value: (p) => latencyOf(p, 'p99'),
    text: (us, p) => marked(inUnit(us, p99Unit), p.figures.p99?.interval),
    log: true,
    within: (p) => slo !== null && (latencyOf(p, 'p99') ?? Infinity) <= slo,
  };
  const first = h('div', {});
  const second = h('div', {});
  let chosen: Figure = 'goodput';
  const redraw = (): void => {
    first.replaceChildren(map(data, plane, specs[chosen], go));
    second.replaceChildren(map(data, plane, p99, go));
  };
  redraw();
  onTheme(redraw);
  // Where no verdict names a limit there is nothing to be seen.
  const limits = data.points.some((point) => point.limit !== undefined && point.limit !== null && point.limit.code !== 'not-known');
  return {
    element: h('div', { class: 'three-columns' }, first, second, limits ? limitMap(data, plane, go) : null),
    choice: segmented('Figure of the first map', ['Goodput', 'p50', 'Retries'] as const, 'Goodput', (name) => {
      chosen = name.toLowerCase() as Figure;
      redraw();
    }),
  };
}

/** So many characters a column of labels has at least and at most; what is longer takes another line. */
const HEAD_CHARS = { least: 8, most: 22 };

/** A table of lines by places, with a cell for each point. */
function grid(plane: Plane, caption: string, cell: (line: number, x: number) => Child): HTMLElement {
  const { x, line } = plane;
  const sizes = line?.sizes_bytes ?? [];
  const names = lines(plane).map((of) => of.name);
  const longest = Math.max(HEAD_CHARS.least, ...names.map((name) => name.length + (plane.line?.kind === 'number' ? 0 : 3)));
  const head = Math.min(HEAD_CHARS.most, longest);
  const columns = Math.max(...x!.values.map((value) => value.length), 6);
  return scroll(
    `${caption}: map`,
    h(
      'table',
      { style: { 'min-width': `calc(${head}ch + ${x!.values.length} * max(56px, ${Math.min(columns, 16)}ch))` } },
      h('caption', { class: 'visually-hidden' }, `${caption} by ${line === null ? '' : `${line.title} and `}${x!.title}`),
      h('colgroup', {}, h('col', { class: 'head', style: { width: `${head}ch` } })),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, x!.title), ...x!.values.map((value) => h('th', { scope: 'col' }, value)))),
      h(
        'tbody',
        {},
        ...lines(plane).map(({ index, name }) =>
          h(
            'tr',
            {},
            line === null ? h('td', {}) : h('th', { scope: 'row' }, lineMark(plane, index), ' ', name, sizes[index] !== undefined && sizes[index] !== null && h('span', { class: 'sub' }, h('br'), bytesText(sizes[index]))),
            ...x!.values.map((_, i) => h('td', {}, cell(index, i))),
          ),
        ),
      ),
    ),
  );
}

/** In place of a figure: hatched, with the reason, which is whole below the maps. */
function gap(data: ExperimentData, plane: Plane, line: number, x: number): HTMLElement {
  const why = whyMissing(data, plane, line, x);
  if (why === null) return h('span', { class: 'cell gap-cell' }, 'left out');
  const short = why === 'not measured yet' ? 'not yet' : why.split(':')[0]!;
  return h('span', { class: 'cell gap-cell', title: why }, short.length > 12 ? 'none' : short);
}

function map(data: ExperimentData, plane: Plane, spec: MapSpec, go: (point: number) => void): HTMLElement {
  const values = data.points.map(spec.value).filter((v): v is number => v !== null && (!spec.log || v > 0));
  const scale = spec.log ? Math.log : (v: number): number => v;
  const [low, high] = [scale(Math.min(...values)), scale(Math.max(...values))];
  const color = (value: number): string => {
    const at = high > low ? ((scale(Math.max(value, 1e-9)) - low) / (high - low)) * 7 : 0;
    const from = Math.max(0, Math.min(6, Math.floor(at)));
    return mix(token(`heat${from + 1}`), token(`heat${from}`), Math.min(1, Math.max(0, at - from)));
  };
  const ramp = h('span', { class: 'ramp', 'aria-hidden': 'true' }, spec.low, ...Array.from({ length: 8 }, (_, i) => h('span', { style: { background: `var(--heat${i})`, width: '8px', height: '8px', margin: '0 -3px' } })), h('span', { style: { 'margin-left': '4px' } }, spec.high));
  return h(
    'div',
    { class: 'map' },
    h('div', { class: 'map-head' }, h('h3', {}, spec.title), ramp),
    grid(plane, spec.title, (line, x) => {
      const found = pointAt(data, plane, line, x);
      const value = found === null ? null : spec.value(found.point);
      if (found === null || found.point.repeats === 0) return gap(data, plane, line, x);
      if (value === null) return h('a', { class: 'cell none', href: `#point-${found.index}`, 'aria-label': `too few transactions, ${found.point.title}`, on: opens(found.index, go) }, 'too few');
      const background = color(value);
      const best = data.best === found.index;
      return h(
        'a',
        { class: `cell${spec.within?.(found.point) === true ? ' within' : ''}${best ? ' best' : ''}`, href: `#point-${found.index}`, 'aria-label': `${spec.text(value, found.point)}, ${found.point.title}${best ? ', the best point' : ''}${spec.within?.(found.point) === true ? ', within the limit' : ''}`, style: { background, color: inkOn(background) }, on: opens(found.index, go) },
        spec.text(value, found.point),
      );
    }),
  );
}

const opens = (index: number, go: (point: number) => void): Record<string, (event: Event) => void> => ({
  click: (event) => {
    event.preventDefault();
    go(index);
  },
});

function limitMap(data: ExperimentData, plane: Plane, go: (point: number) => void): HTMLElement {
  return h(
    'div',
    { class: 'map' },
    h('div', { class: 'map-head' }, h('h3', {}, 'What limited it'), h('span', { class: 'sub' }, 'verdict of the repeats')),
    grid(plane, 'What limited it', (line, x) => {
      const found = pointAt(data, plane, line, x);
      const limit = found?.point.limit;
      if (found === null || found.point.repeats === 0) return gap(data, plane, line, x);
      if (limit === undefined || limit === null) return h('a', { class: 'cell none', href: `#point-${found.index}`, 'aria-label': `not known, ${found.point.title}`, on: opens(found.index, go) }, 'not known');
      const color = limitColor(limit.code);
      const split = limit.agree < limit.of;
      return h(
        'a',
        {
          class: 'cell limit',
          href: `#point-${found.index}`,
          'aria-label': `${limit.name}${split ? ` ${limit.agree} of ${limit.of}` : ''}, ${found.point.title}`,
          style: { '--limit': `var(--${color})`, background: `color-mix(in srgb, var(--${color}) 22%, var(--bg))` },
          on: opens(found.index, go),
        },
        limit.name,
        split && ' ',
        split && h('strong', {}, `${limit.agree} of ${limit.of}`),
      );
    }),
  );
}
