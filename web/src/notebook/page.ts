/** A notebook: what runs, experiments as they grow, and the list of trials, to search, tag, exclude and compare. */

import type { GeneratorNow, GrowingExperiment, GrowingRepeat, NotebookData, RunningTrial, TrialItem } from '../data';
import { clock, count, DASH, fixed, many, rate, timeText } from '../pure/format';
import { h, more, svg, type Child } from '../page/dom';
import { assemble, section, type Section } from '../page/shell';
import { figureTable, nums, th, type Row } from '../page/table';
import { ask, question, stop, teller, type Answer, type Named } from '../live/actions';
import { passed, silence } from '../live/bar';
import { died, diedOfAll, which } from '../live/part';
import { refreshed } from '../live/refresh';
import type { Shown } from '../trial/page';

/** The side of a comparison that a trial was chosen for. */
type Side = 'a' | 'b';

const dateTime = (stamp: string): string => stamp.replace('T', ' ').replace(/(\.\d+)?Z$/, '');
const what = (of: { workload: string; clients: number | null }): string => `${of.workload}${of.clients === null ? '' : `, ${many(of.clients, 'client')}`}`;
/** Short: host, port and database; the whole is its title. */
export function place(target: string): string {
  const found = /^database (.+) on (.+), port (\d+), user .+$/.exec(target);
  if (found === null) return target.replace(/^postgres(ql)?:\/\/([^@/]*@)?/, '');
  const [, name, host, port] = found;
  return `${host!.startsWith('/') ? 'socket' : host}:${port}/${name}`;
}

export function notebookPage(data: NotebookData): Shown {
  const mayChange = data.served?.may_change === true;
  const chosen = new Map<number, Side>();
  const { shown, tell } = teller('p');
  const bar = choice(data, chosen, mayChange, tell, () => update());
  const trials = h('div', { id: 'trials-list' });
  const parts: Record<'running' | 'growing' | 'experiments', HTMLElement> = {
    running: h('div', { id: 'running-list' }),
    growing: h('div', { id: 'growing-list' }),
    experiments: h('div', { id: 'experiments-list' }),
  };
  const heads = { running: h('span', { class: 'sub' }), found: h('span', { class: 'sub' }) };
  const heading = h('h1', {}, data.title);
  const update = (): void => {
    const { running, growing } = data;
    if (heading.textContent !== data.title) heading.textContent = data.title;
    document.title = `${data.title} – pgdyno`;
    heads.running.textContent = running.length === 0 ? '' : `${many(running.length, 'trial')}, once a second`;
    heads.found.textContent = data.found === data.trials_total ? many(data.found, 'trial') : `${count(data.found)} of ${many(data.trials_total, 'trial')}`;
    parts.running = refreshed(parts.running, h('div', { id: 'running-list' }, runningTable(running, mayChange, tell)));
    parts.growing = refreshed(parts.growing, h('div', { id: 'growing-list' }, ...(growing.length === 0 ? [h('p', { class: 'quiet' }, 'No experiment is running.')] : growing.map(grid))));
    parts.experiments = refreshed(parts.experiments, h('div', { id: 'experiments-list' }, experimentsTable(data)));
    list(trials, data, chosen, bar.update);
    bar.update();
  };
  const sections: Section[] = [
    section('running', 'Running', 'Running', 'Trials of this host, and of others that write into this notebook.', heads.running, parts.running),
    section('growing', 'Experiments', 'Experiments as they grow', 'A box is a repeat of a point. Answers come when every point has its repeats.', null, parts.growing, h('h3', {}, 'Newest experiments'), parts.experiments),
    section('trials', 'Trials', 'Trials', 'Choose trials for A and for B to compare them. A trial that was excluded stays in the list, with its reason.', heads.found, search(data), bar.element, shown, trials, pages(data)),
  ];
  const lead = h(
    'div',
    { class: 'title' },
    h('p', { class: 'eyebrow' }, data.eyebrow ?? ''),
    heading,
    h('ul', { class: 'facts' }, h('li', {}, mayChange ? 'you may stop, tag, note and exclude' : 'read-only')),
  );
  assemble(data, [lead], sections, null, '');
  update();
  return { update };
}

/** The last seconds as a small line that begins at 0. */
function course(values: number[]): Child {
  if (values.length < 2) return h('span', { class: 'quiet' }, DASH);
  const [width, height] = [120, 26];
  const high = Math.max(...values, 1e-9);
  // Forty seconds wide, now at the right.
  const x = (i: number): number => 3 + ((40 - values.length + i) / 39) * (width - 8);
  const y = (v: number): number => height - 4 - (v / high) * (height - 8);
  const d = values.map((v, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join('');
  const last = values.length - 1;
  return svg(
    'svg',
    { class: 'spark', width, height, role: 'img', 'aria-label': `between ${rate(Math.min(...values))} and ${rate(Math.max(...values))} a second in the last ${values.length} seconds` },
    svg('line', { x1: 3, x2: width - 5, y1: height - 3.5, y2: height - 3.5, stroke: 'var(--line1)' }),
    svg('path', { d, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.4 }),
    svg('circle', { cx: x(last), cy: y(values[last]!), r: 2.6, fill: 'var(--accent)' }),
  );
}

/** What most sessions wait for; what rounds to none is left out. */
const waits = (trial: RunningTrial): [string, number][] => trial.waits.filter(([, sessions]) => sessions >= 0.05).slice(0, 2);

function runningTable(running: RunningTrial[], mayChange: boolean, tell: (answer: Answer) => void): HTMLElement {
  if (running.length === 0) return h('p', { class: 'quiet' }, 'Nothing is running. What begins appears here by itself.');
  return figureTable(
    'Running trials',
    ['Trial', 'What', 'Target', 'Progress', 'Goodput, 40 s', ...nums('tps', 'p50', 'p99', 'Failed'), 'Sessions wait for', th(h('span', { class: 'visually-hidden' }, 'Actions'))],
    running.map((trial): Row => {
      const { number, uuid, now_us, planned_us } = trial;
      const goodput = trial.goodput_per_s[trial.goodput_per_s.length - 1];
      const isTogether = trial.generators.length > 0;
      const stalled = silence(trial);
      const lost = trial.part === null ? '' : isTogether ? diedOfAll(trial.part) : died(trial.part);
      const share = planned_us === null || now_us === null ? null : Math.min(1, now_us / planned_us);
      const stopping = h('button', { type: 'button', class: 'button', id: `stop-${uuid}`, 'aria-label': `Stop trial ${number}` }, 'Stop…');
      stopping.addEventListener('click', () => void stop({ number, uuid, part: trial.part }, what(trial), tell));
      return [
        h('a', { href: isTogether ? `/trial/${number}/together` : `/trial/${number}`, id: `watch-${uuid}`, 'aria-label': `Watch trial ${number}` }, String(number)),
        [h('strong', {}, what(trial)), trial.experiment !== null && h('span', { class: 'sub' }, ` in ${trial.experiment}`), trial.part !== null && !isTogether && h('div', { class: 'sub' }, which(trial.part)), lost !== '' && h('div', { class: 'bad' }, lost), isTogether && generators(trial)],
        h('td', { class: 'target', title: trial.target }, place(trial.target)),
        h('td', { class: 'progress-cell' }, share !== null && h('div', { class: 'progress', 'aria-hidden': 'true' }, h('div', { class: 'progress-fill', style: { width: `${(share * 100).toFixed(1)}%` } })), h('span', {}, `${now_us === null ? 'starting' : passed(now_us, planned_us)}${trial.warmup ? ', warm-up' : ''}`), stalled !== '' && h('div', { class: 'bad', title: stalled }, trial.is_gone ? 'its process has ended' : `nothing new for ${clock(trial.silent_s!)}`)),
        course(trial.goodput_per_s),
        h('strong', {}, rate(goodput)),
        timeText(trial.p50_us),
        timeText(trial.p99_us),
        h('td', { class: `n${trial.failed > 0 ? ' bad' : ''}` }, count(trial.failed)),
        h('td', { class: 'waits' }, waits(trial).length === 0 ? DASH : waits(trial).map(([event, sessions]) => `${event === 'Running' ? 'CPU' : event} ${fixed(sessions, 1)}`).join(', ')),
        h('td', { class: 'row-buttons' }, mayChange && trial.cannot_stop === null ? stopping : trial.cannot_stop !== null && mayChange ? h('span', { class: 'sub', title: trial.cannot_stop }, 'not from here') : null),
      ];
    }),
    { class: 'list' },
  );
}

/** So many generators have a line; of more the trial's page has them all. */
const GENERATORS = 8;

/** Each of several generators: its own figures, and the way to its own page. */
function generators(trial: RunningTrial): HTMLElement {
  const line = (one: GeneratorNow): HTMLElement =>
    h(
      'li',
      {},
      h('a', { href: `/trial/${one.trial}`, 'aria-label': `Watch generator ${one.generator}: trial ${one.trial}` }, `generator ${one.generator}`),
      one.has_died ? h('span', { class: 'bad' }, ` has died${one.now_us === null ? '' : ` at ${clock(one.now_us / 1e6)}`}`) : one.now_us === null ? ' starting' : ` ${one.goodput_per_s === null ? DASH : rate(one.goodput_per_s)} tps, p99 ${timeText(one.p99_us)}`,
    );
  const more = trial.generators.length - GENERATORS;
  return h('div', { class: 'sub' }, `${many(trial.part?.generators ?? trial.generators.length, 'generator')}, figures of all together`, h('ul', { class: 'generators-now' }, ...trial.generators.slice(0, GENERATORS).map(line), more > 0 && h('li', {}, `and ${more} more`)));
}

/** What a box is: a word, and how it looks. */
function box(repeat: GrowingRepeat, index: number): Child {
  const state = repeat.excluded !== null ? 'excluded' : repeat.state === null ? 'waiting' : repeat.state === 'complete' ? 'done' : repeat.state;
  const words = `repeat ${index + 1}: ${state === 'waiting' ? 'to come' : state}${repeat.trial === null ? '' : `, trial ${repeat.trial}`}`;
  const sign = { done: '', running: '●', waiting: '', failed: '×', aborted: '×', partial: '½', excluded: '–' }[state] ?? '';
  const inner = h('span', { class: `growing-box ${state}`, title: words }, h('span', { 'aria-hidden': 'true' }, sign), h('span', { class: 'visually-hidden' }, words));
  return h('li', {}, repeat.trial === null ? inner : h('a', { href: `/trial/${repeat.trial}` }, inner));
}

function grid(experiment: GrowingExperiment): HTMLElement {
  const { planned, done, failed, running } = experiment;
  const begun = done + failed + running.length;
  return h(
    'div',
    { class: 'growing' },
    h('h3', {}, h('a', { href: `/experiment/${experiment.uuid}` }, experiment.name)),
    h('p', { class: 'sub' }, `${planned === null ? many(begun, 'trial') : `${count(begun)} of ${many(planned, 'trial')}`} begun, ${count(done)} done${failed > 0 ? `, ${count(failed)} failed or stopped` : ''}; begun ${dateTime(experiment.created)} UTC`),
    h('ul', { class: 'growing-points' }, ...experiment.points.map((point) => h('li', {}, h('span', { class: 'growing-name' }, point.what), h('ul', { class: 'growing-boxes' }, ...point.repeats.map(box))))),
    h('ul', { class: 'key' }, ...[['done', 'done'], ['running', 'running now'], ['waiting', 'to come'], ['failed', 'failed or stopped']].map(([kind, name]) => h('li', {}, h('span', { class: `growing-box ${kind}`, 'aria-hidden': 'true' }, kind === 'running' ? '●' : kind === 'failed' ? '×' : ''), name!))),
  );
}

function experimentsTable(data: NotebookData): HTMLElement {
  if (data.experiments.length === 0) return h('p', { class: 'quiet' }, 'The notebook has no experiment.');
  const table = (list: NotebookData['experiments']): HTMLElement =>
    figureTable('List of experiments', ['Experiment', ...nums('Trials', 'Counted'), 'Begun, UTC'], list.map((of) => [h('a', { href: `/experiment/${of.uuid}` }, of.name), count(of.trials), count(of.counted), dateTime(of.created)]), { class: 'list' });
  const first = data.experiments.slice(0, 8);
  const rest = data.experiments.slice(8);
  return h('div', {}, table(first), rest.length > 0 && more(`More experiments (${count(rest.length)})`, table(rest)));
}

/** A form that asks for the list anew: it works without a script, and its address can be shared. */
function search(data: NotebookData): HTMLElement {
  const { query } = data;
  const states = ['', 'running', 'complete', 'partial', 'failed', 'aborted'];
  const select = h('select', { name: 'state', 'aria-label': 'State' }, ...states.map((state) => h('option', { value: state, selected: (query.state ?? '') === state }, state === '' ? 'State: all' : state)));
  const tag = h('input', { type: 'search', name: 'tag', value: query.tag ?? '', placeholder: 'Tag', 'aria-label': 'Tag', size: 14 });
  const form = h(
    'form',
    { method: 'get', action: '/', role: 'search', class: 'search' },
    h('input', { type: 'search', name: 'q', value: query.q ?? '', placeholder: 'Search: workload, target, tag, note, number…', 'aria-label': 'Search trials', class: 'search-words' }),
    tag,
    select,
    query.experiment !== null && h('input', { type: 'hidden', name: 'experiment', value: query.experiment }),
    h('button', { type: 'submit', class: 'button' }, 'Search'),
    filtered(data) && h('a', { href: '/#trials' }, 'All trials'),
  );
  // Empty fields make an address that says nothing.
  form.addEventListener('submit', () => form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select').forEach((field) => (field.disabled = field.value === '')));
  window.addEventListener('pageshow', () => form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select').forEach((field) => (field.disabled = false)));
  select.addEventListener('change', () => form.requestSubmit());
  return form;
}

const filtered = ({ query }: NotebookData): boolean => [query.q, query.tag, query.state, query.experiment, query.workload].some((of) => of !== null && of !== '');

/** Where the list goes on. */
function pages(data: NotebookData): HTMLElement | null {
  if (data.pages <= 1) return null;
  const to = (page: number): string => {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(data.query)) if (name !== 'page' && value !== null && value !== '') params.set(name, String(value));
    if (page > 1) params.set('page', String(page));
    return `/?${params.toString()}#trials`;
  };
  const { page } = data.query;
  return h(
    'nav',
    { class: 'pages', 'aria-label': 'Pages of the list' },
    page > 1 && h('a', { href: to(page - 1), rel: 'prev' }, 'Newer'),
    h('span', {}, `Page ${count(page)} of ${count(data.pages)}`),
    page < data.pages && h('a', { href: to(page + 1), rel: 'next' }, 'Older'),
  );
}

/** What is done with the trials that were chosen. */
function choice(data: NotebookData, chosen: Map<number, Side>, mayChange: boolean, tell: (answer: Answer) => void, changed: () => void): { element: HTMLElement; update: () => void } {
  const words = h('span', { class: 'quiet' });
  const compare = h('a', { class: 'button primary', href: '/' }, 'Compare');
  const of = (side: Side): number[] => [...chosen].filter(([, of]) => of === side).map(([number]) => number).sort((x, y) => x - y);
  const named = (): Named[] => data.trials.filter((trial) => chosen.has(trial.number));
  const button = (text: string, act: () => Promise<void>): HTMLButtonElement => h('button', { type: 'button', class: 'button', on: { click: () => void act() } }, text);
  /** One after the other; the first that fails is shown. */
  const all = async (action: string, body: object): Promise<void> => {
    let last: Answer = { ok: true, words: '' };
    for (const trial of named()) {
      last = await ask(trial, action, body);
      if (!last.ok) break;
    }
    tell(last);
  };
  const list = (): string => named().map((trial) => trial.number).join(', ');
  const tag = button('Tag…', async () => {
    const said = await question({ title: `Tag ${chosen.size === 1 ? 'trial' : 'trials'} ${list()}`, words: [], yes: 'Tag', no: 'Cancel', line: { label: 'Tag', value: '', required: true } });
    if (said !== null && said !== '') await all('tag', { add: said.split(/\s+/), remove: [] });
  });
  const exclude = button('Exclude…', async () => {
    const said = await question({ title: `Exclude ${chosen.size === 1 ? 'trial' : 'trials'} ${list()}?`, words: ['They stay in the list, with the reason; comparisons leave them out.'], yes: 'Exclude', no: 'Cancel', line: { label: 'Why', value: '', required: true } });
    if (said !== null && said !== '') await all('exclude', { reason: said });
  });
  const include = button('Include again', () => all('exclude', { reason: null }));
  const none = button('Choose none', () => {
    chosen.clear();
    changed();
    return Promise.resolve();
  });
  const element = h('div', { class: 'choice', role: 'group', 'aria-label': 'Chosen trials' }, words, compare, mayChange && tag, mayChange && exclude, mayChange && include, none);
  const update = (): void => {
    const [a, b] = [of('a'), of('b')];
    const ready = a.length > 0 && b.length > 0;
    const name = (side: number[], letter: string): string => (side.length === 1 ? String(side[0]) : `${side.length} trials (${letter})`);
    words.textContent = chosen.size === 0 ? 'None chosen' : `${chosen.size} chosen`;
    compare.textContent = ready ? `Compare ${name(a, 'A')} with ${name(b, 'B')}` : 'Compare';
    compare.setAttribute('aria-disabled', String(!ready));
    if (ready) compare.href = `/compare?a=${a.join(',')}&b=${b.join(',')}`;
    else compare.removeAttribute('href');
    for (const one of [tag, exclude, none]) one.disabled = chosen.size === 0;
    include.disabled = !data.trials.some((trial) => chosen.has(trial.number) && trial.excluded !== null);
  };
  return { element, update };
}

const STATES: Record<TrialItem['state'], [word: string, color: string]> = { complete: ['finished', 'ok'], partial: ['partial', 'warn'], failed: ['failed', 'bad'], aborted: ['stopped', 'warn'], running: ['running', 'accent'] };

function list(parent: HTMLElement, data: NotebookData, chosen: Map<number, Side>, changed: () => void): void {
  const old = parent.firstElementChild as HTMLElement | null;
  const fresh = table(data, chosen, changed);
  if (old === null) parent.append(fresh);
  else {
    // The focus is in a box that is there again.
    const focused = document.activeElement?.id ?? '';
    const before = old.querySelector('.scroll')?.scrollLeft ?? 0;
    if (old.outerHTML === fresh.outerHTML && [...old.querySelectorAll('input')].every((input, i) => input.checked === fresh.querySelectorAll('input')[i]?.checked)) return;
    old.replaceWith(fresh);
    fresh.scrollLeft = before;
    if (focused !== '' && fresh.querySelector(`#${CSS.escape(focused)}`) !== null) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function table(data: NotebookData, chosen: Map<number, Side>, changed: () => void): HTMLElement {
  if (data.trials.length === 0) return h('p', { class: 'quiet' }, filtered(data) ? 'No trial is found.' : 'The notebook has no trial yet: pgdyno run measures one.');
  const pick = (trial: TrialItem, side: Side): HTMLElement => {
    const input = h('input', { type: 'checkbox', id: `${side}-${trial.number}`, 'aria-label': `${side.toUpperCase()}: trial ${trial.number}` });
    input.checked = chosen.get(trial.number) === side;
    input.addEventListener('change', () => {
      if (input.checked) chosen.set(trial.number, side);
      else chosen.delete(trial.number);
      const other = document.getElementById(`${side === 'a' ? 'b' : 'a'}-${trial.number}`) as HTMLInputElement | null;
      if (other !== null && input.checked) other.checked = false;
      changed();
    });
    return h('td', { class: 'pick' }, input);
  };
  return figureTable(
    'List of trials',
    ['A', 'B', 'Trial', 'State', 'What', 'Target', ...nums('Goodput, tps', 'p50', 'p99', 'Failed'), 'Begun, UTC', 'Notes', 'Tags'],
    data.trials.map((trial) => {
      const [word, color] = trial.excluded === null ? STATES[trial.state] : ['excluded', 'ink3'];
      const notes = [trial.excluded, trial.reason, trial.note].filter((text) => (text ?? '') !== '');
      return h(
        'tr',
        { class: trial.excluded === null ? undefined : 'is-excluded' },
        pick(trial, 'a'),
        pick(trial, 'b'),
        h('th', { scope: 'row' }, h('a', { href: `/trial/${trial.number}`, 'aria-label': `Trial ${trial.number}` }, String(trial.number))),
        h('td', {}, h('strong', { style: { color: `var(--${color})` } }, word)),
        h('td', {}, h('strong', {}, what(trial)), trial.experiment !== null && h('span', { class: 'sub' }, ' in ', h('a', { href: `/?experiment=${encodeURIComponent(trial.experiment)}#trials` }, trial.experiment))),
        h('td', { class: 'target', title: trial.target }, place(trial.target)),
        h('td', { class: 'n' }, trial.goodput_per_s === null ? DASH : rate(trial.goodput_per_s)),
        h('td', { class: 'n' }, timeText(trial.p50_us)),
        h('td', { class: 'n' }, timeText(trial.p99_us)),
        h('td', { class: 'n' }, trial.failed === null ? DASH : count(trial.failed)),
        h('td', {}, dateTime(trial.started).slice(0, 16)),
        h('td', { class: 'notes-cell' }, notes.length === 0 ? DASH : notes.join('; ')),
        h('td', {}, ...trial.tags.flatMap((tag, i) => [i > 0 && ' ', h('a', { class: 'tag', title: tag, href: `/?tag=${encodeURIComponent(tag)}#trials` }, tag)])),
      );
    }),
    { class: 'list' },
  );
}
