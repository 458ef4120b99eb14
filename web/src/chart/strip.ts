/**
 * A plot over time. Its rail is legend and readout: the values of the range that is seen, or at the
 * cursor. All strips follow one bus.
 */

import type { Bus } from '../pure/bus';
import { clock } from '../pure/format';
import { h, svg } from '../page/dom';
import { onTheme } from '../page/theme';
import { LEFT, RIGHT, timeAxis } from './axes';
import { actions, type Data } from './figure';
import { Plot, type Context } from './plot';
import type { Option } from './echarts';

export type Mark = 'line' | 'thick' | 'dashed' | 'dots' | 'diamond' | 'block';

export interface Entry {
  key: string;
  name: () => string;
  mark: Mark;
  /** A name of the palette, and how opaque. */
  color: string;
  opacity?: number;
  /** At the cursor, or of the range that is seen. */
  value: (at: number | null) => string;
}

export interface StripSpec {
  id: string;
  title: string;
  subtitle: () => string;
  height: number;
  entries: Entry[];
  /** Everything but the time axes. `hidden` are keys of entries that were switched off. */
  build: (context: Context, hidden: ReadonlySet<string>) => { grid: object | object[]; yAxis: object | object[]; series: object[] };
  data: () => Data;
  summary: () => string;
  rail?: HTMLElement[];
  /** Narrow, in columns: heading with the value above the plot, labels of its own. */
  small?: boolean;
  /** What it tells, for who points at its name. */
  hint?: string;
  below?: HTMLElement[];
}

/** Below this width a strip has a ruler of its own, in pixels. */
export const NARROW = 560;

/** Those of each page, by what they show: one that is made again is the one that was there, with what is new. */
const known = new WeakMap<Bus, Map<string, Strip>>();

export class Strip {
  /** The strip of this name on the page of this bus: made, or updated with what it shows now. */
  static of(spec: StripSpec, bus: Bus): Strip {
    const strips = known.get(bus) ?? new Map<string, Strip>();
    known.set(bus, strips);
    const before = strips.get(spec.id);
    if (before !== undefined) {
      before.renew(spec);
      return before;
    }
    const strip = new Strip(spec, bus);
    strips.set(spec.id, strip);
    return strip;
  }

  static has(id: string, bus: Bus): boolean {
    return known.get(bus)?.has(id) === true;
  }

  readonly element: HTMLElement;
  readonly plot: Plot;
  private readonly box: HTMLElement;
  private readonly line = h('div', { class: 'cursor-line', hidden: true });
  private readonly selection = h('div', { class: 'selection', hidden: true });
  private values: HTMLElement[] = [];
  private readonly list: HTMLElement;
  private rest: HTMLElement[];
  private readonly hidden = new Set<string>();
  private frame = 0;
  private drag: { x: number; id: number } | null = null;

  constructor(
    private spec: StripSpec,
    private readonly bus: Bus,
  ) {
    this.plot = new Plot({ height: spec.height, build: (context) => this.option(context) });
    this.box = h('div', { class: 'plot time', role: 'group', tabindex: 0, id: spec.small === true ? undefined : `${spec.id}-plot` }, this.plot.element, this.line, this.selection);
    this.describe();
    const { buttons, table } = actions({ title: spec.title, data: () => this.spec.data(), png: (name) => this.plot.png(name, this.spec.title, this.caption()) });
    const legend = h('ul', { class: 'legend' }, ...spec.entries.map((entry) => this.legend(entry)));
    this.list = legend;
    this.rest = [...(spec.rail ?? []), ...(spec.below ?? [])];
    const heading = h('div', { class: 'strip-head' }, h('h3', { title: spec.hint }, spec.title), h('span', { class: 'sub' }, spec.subtitle()));
    const rail = h('div', { class: 'rail' }, heading, legend, ...(spec.rail ?? []), buttons);
    this.element = h('div', { class: spec.small === true ? (spec.entries.length === 1 ? 'strip small single' : 'strip small') : 'strip', id: spec.id }, rail, h('div', { class: 'strip-plot' }, this.box, ...(spec.below ?? [])), table);
    this.listen();
    bus.subscribe((what) => {
      if (what === 'range') this.plot.redraw();
      this.refresh();
    });
    onTheme(() => this.refresh());
    this.readout();
  }

  /** It shows this now; its range, what was switched off and the focus stay. */
  private renew(spec: StripSpec): void {
    const before = this.spec;
    this.spec = spec;
    const looks = (of: StripSpec): string => of.entries.map((entry) => `${entry.key} ${entry.mark} ${entry.color} ${entry.opacity ?? 1}`).join('\n');
    if (looks(before) !== looks(spec)) {
      this.values = [];
      this.list.replaceChildren(...spec.entries.map((entry) => this.legend(entry)));
    }
    const rest = [...(spec.rail ?? []), ...(spec.below ?? [])];
    if (rest.length === this.rest.length) {
      rest.forEach((element, i) => {
        if (element.isEqualNode(this.rest[i]!)) return;
        this.rest[i]!.replaceWith(element);
        this.rest[i] = element;
      });
    }
    if (spec.height !== before.height) this.plot.tall(spec.height);
    this.element.querySelector('h3')!.textContent = spec.title;
    this.plot.redraw();
    this.refresh();
  }

  private caption(): string {
    const { from, to } = this.bus.range;
    return `${this.spec.subtitle()} — ${clock(from, 1)} to ${clock(to, 1)}`;
  }

  private describe(): void {
    this.box.setAttribute('aria-label', `${this.spec.title}. ${this.spec.hint === undefined ? '' : `${this.spec.hint}. `}${this.spec.summary()} Arrows move the cursor, plus and minus zoom, 0 shows the whole run.`);
  }

  private legend(entry: Entry): HTMLElement {
    const value = h('span', { class: 'v' });
    this.values.push(value);
    const button = h('button', { type: 'button', 'aria-pressed': String(!this.hidden.has(entry.key)) }, swatch(entry.mark, entry.color, entry.opacity), h('span', { class: 'k' }, entry.name()), value);
    button.addEventListener('click', () => {
      const on = this.hidden.has(entry.key);
      if (on) this.hidden.delete(entry.key);
      else this.hidden.add(entry.key);
      button.setAttribute('aria-pressed', String(on));
      this.plot.redraw();
    });
    return h('li', {}, button);
  }

  private option(context: Context): Option {
    const { from, to } = this.bus.range;
    const { grid, yAxis, series } = this.spec.build(context, this.hidden);
    // Where the lanes above have no room for a ruler, each plot has its own.
    const labels = context.exported || this.spec.small === true || context.width < NARROW;
    const grids = Array.isArray(grid) ? grid : [grid];
    const axis = timeAxis(from, to, context.width - LEFT - RIGHT, false);
    const last = grids.length - 1;
    const own = timeAxis(from, to, context.width - LEFT - RIGHT, labels);
    return {
      grid: grids.map((of, i) => ({ left: LEFT, right: RIGHT, top: 6, bottom: labels && i === last ? 22 : 6, ...of, ...(labels && i === last ? { bottom: 22 } : {}) })),
      xAxis: grids.map((_, gridIndex) => ({ ...(gridIndex === last ? own : axis), gridIndex })),
      yAxis,
      series,
    };
  }

  private refresh(): void {
    if (this.frame !== 0 || !this.plot.isVisible) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.readout();
    });
  }

  /** Names and values of the rail, and where the cursor is. */
  readout(): void {
    const { range, cursor } = this.bus;
    const at = cursor !== null && cursor >= range.from && cursor <= range.to ? cursor : null;
    this.spec.entries.forEach((entry, i) => {
      const value = this.values[i]!;
      const text = entry.value(at);
      if (value.textContent !== text) value.textContent = text;
      const name = value.previousElementSibling!;
      const now = entry.name();
      if (name.textContent !== now) name.textContent = now;
    });
    const sub = this.element.querySelector('.strip-head .sub')!;
    const now = this.spec.subtitle();
    if (sub.textContent !== now) sub.textContent = now;
    this.line.hidden = at === null;
    if (at !== null) this.line.style.transform = `translateX(${this.x(at)}px)`;
  }

  private x(at: number): number {
    const { from, to } = this.bus.range;
    return LEFT + ((at - from) / (to - from)) * (this.box.clientWidth - LEFT - RIGHT);
  }

  private at(event: PointerEvent): number {
    const { from, to } = this.bus.range;
    const box = this.box.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    return from + Math.max(0, Math.min(1, share)) * (to - from);
  }

  private listen(): void {
    const { box, bus } = this;
    box.addEventListener('pointermove', (event) => {
      const at = this.at(event);
      bus.point(at);
      if (this.drag !== null) {
        const now = this.x(at);
        this.selection.hidden = Math.abs(now - this.drag.x) < 4;
        this.selection.style.left = `${Math.min(now, this.drag.x)}px`;
        this.selection.style.width = `${Math.abs(now - this.drag.x)}px`;
      }
    });
    box.addEventListener('pointerleave', () => {
      if (this.drag === null) bus.point(null);
    });
    box.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.drag = { x: this.x(this.at(event)), id: event.pointerId };
      box.setPointerCapture(event.pointerId);
    });
    const end = (event: PointerEvent, zoom: boolean): void => {
      const drag = this.drag;
      this.drag = null;
      this.selection.hidden = true;
      if (drag === null || !zoom) return;
      const to = this.x(this.at(event));
      if (Math.abs(to - drag.x) < 4) return;
      const { from, to: until } = bus.range;
      const width = box.clientWidth - LEFT - RIGHT;
      const time = (x: number): number => from + ((x - LEFT) / width) * (until - from);
      bus.zoom(time(drag.x), time(to));
    };
    box.addEventListener('pointerup', (event) => end(event, true));
    box.addEventListener('pointercancel', (event) => end(event, false));
    box.addEventListener('dblclick', () => bus.reset());
    box.addEventListener('focus', () => this.describe());
    box.addEventListener('keydown', (event) => keys(event, bus));
  }
}

/** What keys do on a plot over time and on the time bar. */
export function keys(event: KeyboardEvent, bus: Bus): void {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const { from, to } = bus.range;
  const by = event.shiftKey ? 10 : 1;
  const move = (delta: number): void => {
    const at = (bus.cursor ?? (from + to) / 2) + delta;
    // The range follows a cursor that leaves it.
    if (at < from) bus.shift((at - from) / (to - from));
    if (at > to) bus.shift((at - to) / (to - from));
    bus.point(at);
  };
  const [narrower, wider, all] = [() => bus.scale(0.5), () => bus.scale(2), () => bus.reset()];
  const acts: Record<string, () => void> = {
    ArrowLeft: () => move(-by),
    ArrowRight: () => move(by),
    Home: () => bus.point(from),
    End: () => bus.point(to),
    '+': narrower,
    '=': narrower,
    '-': wider,
    _: wider,
    0: all,
    Escape: all,
  };
  const act = acts[event.key];
  if (act === undefined) return;
  act();
  event.preventDefault();
}

/** How a line looks, for legends. */
export function swatch(mark: Mark, color: string, opacity = 1): SVGElement {
  const fill = `var(--${color})`;
  const style = { opacity: String(opacity) };
  const of = (tag: string, more: Record<string, unknown>): SVGElement => svg(tag, { ...more, style });
  const shape: Record<Mark, () => SVGElement> = {
    line: () => of('line', { x1: 0, y1: 5, x2: 16, y2: 5, stroke: fill, 'stroke-width': 2 }),
    thick: () => of('line', { x1: 0, y1: 5, x2: 16, y2: 5, stroke: fill, 'stroke-width': 3 }),
    dashed: () => of('line', { x1: 0, y1: 5, x2: 16, y2: 5, stroke: fill, 'stroke-width': 2, 'stroke-dasharray': '4 2' }),
    dots: () => of('line', { x1: 2, y1: 5, x2: 16, y2: 5, stroke: fill, 'stroke-width': 3, 'stroke-dasharray': '0 5', 'stroke-linecap': 'round' }),
    diamond: () => of('path', { d: 'M8 0 L13 5 L8 10 L3 5 Z', fill }),
    block: () => of('rect', { x: 4, y: 1, width: 8, height: 8, fill }),
  };
  return svg('svg', { class: 'swatch', width: 16, height: 10, viewBox: '0 0 16 10', 'aria-hidden': 'true' }, shape[mark]());
}
