/** The time bar: what is seen of the run, where events lie, and the way to another stretch. */

import { keys } from '../chart/strip';
import { h, svg } from '../page/dom';
import { redrawAll } from '../chart/plot';
import { onTheme } from '../page/theme';
import type { Bus } from '../pure/bus';
import { thin } from '../pure/bins';
import { clock, span } from '../pure/format';
import { timeTicks } from '../pure/ticks';
import { AGAIN, LOST, TICKS, type Model, type NumberedEvent } from './model';
import { LEFT, RIGHT } from '../chart/axes';

interface Lane {
  name: string;
  events: NumberedEvent[];
}

/** What becomes of nodes and of the leaders of tables' parts. */
const NODES = new Set(['node-down', 'node-up', 'node-joined', 'node-draining', 'endpoint-joined', 'leader-moved']);

function lanes(model: Model): Lane[] {
  const of = (test: (event: NumberedEvent) => boolean): NumberedEvent[] => model.events.filter(test);
  const isCheckpoint = (event: NumberedEvent): boolean => event.kind === 'checkpoint';
  const isTick = (event: NumberedEvent): boolean => TICKS.has(event.kind);
  const others = of((event) => !isCheckpoint(event) && !isTick(event));
  const vacuums = others.some((event) => /vacuum|analyze/.test(event.kind));
  const connections = others.some((event) => (LOST.has(event.kind) && !NODES.has(event.kind)) || AGAIN.has(event.kind));
  const nodes = others.some((event) => NODES.has(event.kind));
  const names = [vacuums ? 'autovacuum' : '', connections ? 'connections' : '', nodes ? 'cluster' : ''].filter((name) => name !== '');
  return [
    { name: 'checkpoint', events: of(isCheckpoint) },
    { name: names.length > 0 ? names.join(', ') : 'events', events: others },
    { name: 'WAL segment switch', events: of(isTick) },
  ].filter((lane) => lane.events.length > 0);
}

const LANE = 17;

/** The bar, and a function that says the range to those who cannot see it. */
export function timeBar(shown: Model, bus: Bus): { element: HTMLElement; renew: (model: Model) => void } {
  let model = shown;
  const label = h('strong', {});
  const width = h('span', { class: 'sub' });
  const button = (text: string, name: string, action: () => void): HTMLButtonElement => h('button', { type: 'button', 'aria-label': name, on: { click: action } }, text);
  const whole = button('Whole run', 'Whole run', () => bus.reset());
  const earlier = button('◀', 'Earlier', () => bus.shift(-0.5));
  const later = button('▶', 'Later', () => bus.shift(0.5));
  const closer = button('+', 'Zoom in', () => bus.scale(0.5));
  const wider = button('−', 'Zoom out', () => bus.scale(2));
  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  let list = lanes(model);
  const overview = h('div', { class: 'overview' });
  const picture = svg('svg', { 'aria-hidden': 'true', height: 30, class: 'overview-line' });
  const window_ = h('div', { class: 'window' });
  const handle = (name: string): HTMLElement => h('div', { class: 'handle', role: 'slider', tabindex: 0, 'aria-label': name, 'aria-orientation': 'horizontal' });
  const from = handle('Begin of what is seen');
  const to = handle('End of what is seen');
  overview.append(picture, window_, from, to);
  const laneBox = svg('svg', { class: 'lanes', 'aria-hidden': 'true', height: list.length * LANE + 18 });
  const laneNames = h('div', { class: 'lane-names', 'aria-hidden': 'true' }, ...list.map((lane) => h('div', {}, lane.name)));
  const bar = h(
    'div',
    { class: 'timebar', role: 'group', 'aria-label': 'Range of time' },
    h('div', { class: 'timebar-rail' }, h('div', { class: 'timebar-range' }, label, width), h('div', { class: 'buttons' }, earlier, later, closer, wider, whole), laneNames),
    h('div', { class: 'timebar-plot' }, overview, laneBox),
    live,
  );

  let full = bus.whole;
  const inner = (): number => Math.max(10, overview.clientWidth - LEFT - RIGHT);
  const x = (at: number): number => LEFT + ((at - full.from) / (full.to - full.from)) * inner();
  const time = (px: number): number => full.from + ((px - LEFT) / inner()) * (full.to - full.from);

  const drawOverview = (): void => {
    // Another page is in its place.
    if (!overview.isConnected) return;
    const { timeline } = model.data;
    const values = Array.from(timeline.committed, (n, row) => (model.seconds.length_s[row]! < 0.2 ? null : n / model.seconds.length_s[row]!));
    const high = Math.max(1, ...values.map((v) => v ?? 0));
    const points = thin(model.seconds.start_s, values, full.from, full.to, inner()).filter(([, v]) => v !== null);
    const y = (v: number): number => 28 - (v / high) * 24;
    const path = points.map(([at, v], i) => `${i === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(v!).toFixed(1)}`).join('');
    picture.setAttribute('width', String(overview.clientWidth));
    const shapes = [
      svg('rect', { x: LEFT, y: 0, width: inner(), height: 30, fill: 'var(--tint)' }),
      model.now_s !== null && svg('line', { x1: x(model.now_s), x2: x(model.now_s), y1: 0, y2: 30, stroke: 'var(--accent)', 'stroke-width': 1.6 }),
      svg('path', { d: path, fill: 'none', stroke: 'var(--ink3)', 'stroke-width': 1 }),
    ];
    picture.replaceChildren(...shapes.filter((shape) => shape !== false));
  };

  const drawLanes = (): void => {
    const { range } = bus;
    const right = LEFT + inner();
    const at = (moment: number): number => LEFT + ((moment - range.from) / (range.to - range.from)) * inner();
    const within = (px: number): number => Math.max(LEFT, Math.min(px, right));
    const shapes: SVGElement[] = [];
    list.forEach((lane, i) => {
      const top = i * LANE;
      let free = -Infinity;
      shapes.push(svg('line', { x1: LEFT, x2: right, y1: top + LANE - 0.5, y2: top + LANE - 0.5, stroke: 'var(--line1)' }));
      for (const [nth, event] of lane.events.entries()) {
        if (event.to_s < range.from || event.from_s > range.to) continue;
        const [x0, x1] = [within(at(event.from_s)), within(at(event.to_s))];
        const text = (px: number, words: string, fill = 'var(--ink1)'): SVGElement => svg('text', { x: px, y: top + 12.5, class: 'event', fill }, words);
        if (TICKS.has(event.kind)) shapes.push(svg('line', { x1: x0, x2: x0, y1: top + 3, y2: top + LANE - 4, stroke: 'var(--ink3)' }));
        else if (event.kind === 'checkpoint') {
          const sync = event.sync_after_us === undefined || event.sync_after_us === null ? null : within(at(event.from_s + event.sync_after_us / 1e6));
          const end = Math.max(x1, x0 + 3);
          shapes.push(svg('rect', { x: x0, y: top + 2, width: end - x0, height: LANE - 5, fill: 'var(--ipc)' }));
          if (sync !== null && sync < end) shapes.push(svg('rect', { x: sync, y: top + 2, width: end - sync, height: LANE - 5, fill: 'var(--ink1)' }));
          const words = `${event.name} checkpoint${event.length_us ? ` ${span(event.length_us / 1e6)}` : ''}`;
          const room = words.length * 6.4;
          if (x0 >= free) {
            const inside = room < (sync ?? end) - x0 - 6;
            shapes.push(inside ? text(x0 + 4, words, 'var(--on-ipc)') : text(end + 4, right - end > room ? words : event.name));
            free = inside ? end + 4 : end + 4 + room;
          }
        } else {
          const lost = LOST.has(event.kind);
          if (lost) shapes.push(svg('path', { d: `M${x0} ${top + 2}l5 5.5l-5 5.5l-5 -5.5z`, fill: 'var(--bad)' }));
          else shapes.push(svg('rect', { x: x0, y: top + 3, width: Math.max(3, x1 - x0), height: LANE - 7, fill: AGAIN.has(event.kind) ? 'var(--ok)' : 'var(--other)' }));
          let end = Math.max(x1, x0 + 5) + 3;
          if (end >= free) {
            // Where others follow closely, one name behind them is for all: E1–E12.
            let last = event;
            const words = (): string => (last === event ? event.name : `${event.name}–${last.name}`);
            for (const next of lane.events.slice(nth + 1)) {
              const from = within(at(next.from_s));
              if (next.from_s > range.to || from > end + words().length * 8) break;
              last = next;
              end = Math.max(end, within(at(next.to_s)) + 3, from + 8);
            }
            shapes.push(text(end, words()));
            free = end + words().length * 8 + 4;
          }
        }
      }
    });
    const base = list.length * LANE;
    shapes.push(svg('line', { x1: LEFT, x2: right, y1: base + 0.5, y2: base + 0.5, stroke: 'var(--line2)' }));
    for (const tick of timeTicks(range.from, range.to, Math.max(2, Math.floor(inner() / 90)))) {
      const px = at(tick.at);
      shapes.push(svg('line', { x1: px, x2: px, y1: base, y2: base + 4, stroke: 'var(--line2)' }));
      shapes.push(svg('text', { x: px, y: base + 15, class: 'tick', 'text-anchor': px > right - 16 ? 'end' : 'middle' }, tick.label));
    }
    laneBox.setAttribute('width', String(overview.clientWidth));
    laneBox.replaceChildren(...shapes);
  };

  const place = (): void => {
    const { range } = bus;
    const [x0, x1] = [x(range.from), x(range.to)];
    window_.style.left = `${x0}px`;
    window_.style.width = `${x1 - x0}px`;
    from.style.left = `${x0 - 12}px`;
    to.style.left = `${x1 - 12}px`;
    const value = (element: HTMLElement, at: number): void => {
      element.setAttribute('aria-valuemin', full.from.toFixed(1));
      element.setAttribute('aria-valuemax', full.to.toFixed(1));
      element.setAttribute('aria-valuenow', at.toFixed(1));
      element.setAttribute('aria-valuetext', clock(at, 1));
    };
    value(from, range.from);
    value(to, range.to);
    const decimals = range.to - range.from < 60 && !bus.isWhole ? 1 : 0;
    label.textContent = `${clock(range.from, decimals)} – ${clock(range.to, decimals)}`;
    width.textContent = bus.isWhole ? 'whole run' : `${span(range.to - range.from)} of ${span(full.to - full.from)}`;
    whole.disabled = bus.isWhole;
    wider.disabled = bus.isWhole;
    earlier.disabled = range.from <= full.from;
    later.disabled = range.to >= full.to;
  };

  let frame = 0;
  const draw = (): void => {
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      place();
      drawLanes();
    });
  };
  let say = 0;
  bus.subscribe((what) => {
    if (what !== 'range') return;
    draw();
    clearTimeout(say);
    say = window.setTimeout(() => (live.textContent = `Shown: ${label.textContent ?? ''}, ${width.textContent ?? ''}`), 500);
  });
  new ResizeObserver(() => {
    drawOverview();
    draw();
  }).observe(overview);
  onTheme(() => redrawAll());

  // Handles, the window between them, and the overview itself can be dragged.
  const dragged = (element: HTMLElement, move: (at: number, begin: { from: number; to: number; at: number }) => void): void => {
    let begin: { from: number; to: number; at: number } | null = null;
    const moment = (event: PointerEvent): number => time(event.clientX - overview.getBoundingClientRect().left);
    element.addEventListener('pointerdown', (event) => {
      begin = { ...bus.range, at: moment(event) };
      element.setPointerCapture(event.pointerId);
      event.stopPropagation();
    });
    element.addEventListener('pointermove', (event) => {
      if (begin !== null) move(moment(event), begin);
    });
    const end = (): void => {
      begin = null;
    };
    element.addEventListener('pointerup', end);
    element.addEventListener('pointercancel', end);
  };
  dragged(from, (at) => bus.zoom(Math.min(at, bus.range.to - 4), bus.range.to));
  dragged(to, (at) => bus.zoom(bus.range.from, Math.max(at, bus.range.from + 4)));
  dragged(window_, (at, begin) => {
    const by = Math.max(full.from - begin.from, Math.min(at - begin.at, full.to - begin.to));
    bus.zoom(begin.from + by, begin.to + by);
  });
  window_.addEventListener('dblclick', () => bus.reset());
  const step = (element: HTMLElement, move: (by: number) => void): void =>
    element.addEventListener('keydown', (event) => {
      const by = (event.shiftKey ? 10 : 1) * (event.key === 'ArrowLeft' ? -1 : 1);
      if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
        move(by);
        event.preventDefault();
      } else keys(event, bus);
    });
  step(from, (by) => bus.zoom(Math.min(bus.range.from + by, bus.range.to - 4), bus.range.to));
  step(to, (by) => bus.zoom(bus.range.from, Math.max(bus.range.to + by, bus.range.from + 4)));
  const renew = (next: Model): void => {
    model = next;
    full = bus.whole;
    list = lanes(model);
    laneNames.replaceChildren(...list.map((lane) => h('div', {}, lane.name)));
    laneBox.setAttribute('height', String(list.length * LANE + 18));
    drawOverview();
    draw();
  };
  return { element: bar, renew };
}

/** What the colours and lines of events mean, those that occur. */
export function eventKey(model: Model): HTMLElement {
  const has = (test: (kind: string) => boolean): boolean => model.events.some((event) => test(event.kind));
  const items: [boolean, string, SVGElement][] = [
    [model.measured_from_s > model.whole.from, 'warm-up', svg('rect', { x: 2.5, y: 0.5, width: 11, height: 9, fill: 'var(--tint2)', stroke: 'var(--line2)' })],
    [has((kind) => kind === 'checkpoint'), 'checkpoint', svg('rect', { x: 2, y: 1, width: 12, height: 8, fill: 'var(--ipc)' })],
    [has((kind) => kind !== 'checkpoint' && !LOST.has(kind) && !AGAIN.has(kind) && !TICKS.has(kind)), 'other events', svg('rect', { x: 2, y: 1, width: 12, height: 8, fill: 'var(--other)' })],
    [has((kind) => LOST.has(kind)), 'connection or node lost', svg('line', { x1: 0, x2: 16, y1: 5, y2: 5, stroke: 'var(--bad)', 'stroke-width': 2, 'stroke-dasharray': '4 2' })],
    [has((kind) => AGAIN.has(kind)), 'connected again, moved or returned', svg('line', { x1: 0, x2: 16, y1: 5, y2: 5, stroke: 'var(--ok)', 'stroke-width': 2, 'stroke-dasharray': '1 2' })],
  ];
  const shown = items.filter(([there]) => there);
  return h('ul', { class: 'key' }, ...shown.map(([, name, shape]) => h('li', {}, svg('svg', { width: 16, height: 10, 'aria-hidden': 'true' }, shape), name)));
}
