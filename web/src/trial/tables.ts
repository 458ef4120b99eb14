/** Statements, retries and failures, the worst moments: tables with drawings in them. */

import type { StatementRow, TrialData } from '../data';
import type { Bus } from '../pure/bus';
import { columnUnit, count, DASH, inUnit, many, percent, timeText } from '../pure/format';
import { decades, timeTick } from '../pure/ticks';
import { rowsBehind } from '../chart/figure';
import { bar, logRange, sparkline } from '../page/bars';
import { PARTS, waitColor } from '../page/classes';
import { captioned, h, more, svg } from '../page/dom';
import { link, section, type Section } from '../page/shell';
import { figureTable, num, table as tableOf, td, type Row } from '../page/table';
import type { Model } from './model';
import { clock } from '../pure/format';

/** SQL on one line that opens to all of it. */
export function sql(text: string): HTMLElement {
  const line = text.replace(/\s+/g, ' ').replace(/;\s*$/, '').trim();
  const button = h('button', { type: 'button', class: 'sql', 'aria-expanded': 'false', title: 'Open the whole statement' }, line);
  button.addEventListener('click', () => {
    const open = button.getAttribute('aria-expanded') !== 'true';
    button.setAttribute('aria-expanded', String(open));
    button.textContent = open ? text.trim() : line;
  });
  return button;
}

export function statements(data: TrialData): Section | null {
  const { statements: rows } = data;
  if (rows.length === 0) return null;
  const sum = rows.reduce((all, row) => all + row.sum_us, 0);
  const widest = Math.max(...rows.map((row) => row.sum_us), 1);
  const unit = columnUnit(rows.map((row) => row.mean_us));
  const known = rows.flatMap((row) => [row.p50_us, row.p99_us, row.max_us]).filter((v): v is number => v !== null && v > 0);
  const { min, max } = decades(Math.min(...known, 1e9), Math.max(...known, 1));
  const waits = rows.some((row) => row.wait !== undefined);
  const many_ = new Set(rows.map((row) => row.script)).size > 1;
  const slowest = rows.reduce((a, b) => (b.sum_us > a.sum_us ? b : a));
  const color = (row: StatementRow): string => (row.wait === undefined ? 'p50' : waitColor(row.wait.class));
  const measured = data.run.measured;
  const { buttons, table } = rowsBehind(
    'Statements',
    ['script', 'statement', 'calls', 'retries', 'failures', 'sum_us', 'share', 'mean_us', 'p50_us', 'p99_us', 'worst_us', 'mostly_waited_for'],
    () => rows.map((row) => [row.script, row.text, row.executions, row.retries, row.failures, row.sum_us, sum > 0 ? row.sum_us / sum : null, row.mean_us, row.p50_us, row.p99_us, row.max_us, row.wait === undefined ? null : waitName(row)]),
  );
  let script = '';
  const barCell = (row: StatementRow): HTMLElement => h('span', { class: 'bar-cell' }, bar(row.sum_us / widest, color(row)), h('span', { class: 'n' }, percent(sum > 0 ? row.sum_us / sum : 0)));
  const body = rows.flatMap((row, i): Row[] => {
    const head = many_ && row.script !== script ? [h('tr', { class: 'group' }, h('th', { colspan: waits ? 10 : 9, scope: 'rowgroup' }, row.script))] : [];
    script = row.script;
    const cells = [
      td(String(i + 1), true),
      td(sql(row.text)),
      td(count(row.executions), true),
      td(barCell(row)),
      td(inUnit(row.mean_us, unit), true),
      td(inUnit(row.p99_us, unit), true),
      td(inUnit(row.max_us, unit), true),
      td(logRange(row.p50_us, row.p99_us, row.max_us, min, max)),
      waits && td(row.wait === undefined ? DASH : h('span', { class: 'chip', style: { '--chip': `var(--${waitColor(row.wait.class)})` } }, waitName(row))),
    ];
    return [...head, h('tr', { class: row === slowest ? 'most' : undefined }, ...cells)];
  });
  const total = measured.service;
  return section(
    'statements',
    'Statements',
    'Statements',
    'Time per transaction by statement, including retried tries. For the whole run, independent of the zoom.',
    buttons,
    figureTable(
      'Statements: rows',
      [num('#'), 'Statement', num('Calls'), 'Share of statement time', num('Mean', unit.unit), num('p99', unit.unit), num('Worst', unit.unit), 'p50 to p99, and worst', waits && 'Mostly waited for'],
      body,
      { class: 'statements', foot: [td(''), h('th', { scope: 'row' }, 'Transactions committed'), count(measured.committed), '', ...[total.mean_us, total.p99_us, total.max_us].map((us) => inUnit(us, unit)), h('td', { class: 'log-axis' }, logLabels(min, max)), ''] },
    ),
    table,
    serverStatements(data),
  );
}

const waitName = (row: StatementRow): string => (row.wait!.class === 'CPU' ? 'CPU' : `${row.wait!.class}:${row.wait!.event}`);

function logLabels(min: number, max: number): SVGElement {
  const all = Math.round(Math.log10(max / min));
  // Labels are up to 45 px wide.
  const every = all > 6 ? 3 : all > 2 ? 2 : 1;
  const width = 170;
  const labels = [];
  for (let i = 0; i <= all; i += every) {
    const anchor = i === 0 ? 'start' : i === all ? 'end' : 'middle';
    labels.push(svg('text', { x: (i / all) * width, y: 11, class: 'tick', 'text-anchor': anchor }, timeTick(min * 10 ** i)));
  }
  return svg('svg', { width: width + 2, height: 14, 'aria-hidden': 'true' }, ...labels);
}

function serverStatements(data: TrialData): HTMLElement | null {
  const rows = (data.server_statements ?? []).slice(0, 20);
  if (rows.length === 0) return null;
  const details = [...new Set(rows.flatMap((row) => Object.keys(row.details ?? {})))].slice(0, 5);
  const unit = columnUnit(rows.map((row) => row.time_us / Math.max(1, row.calls)));
  const widest = Math.max(...rows.map((row) => row.time_us), 1);
  return more(
    `As counted by the server (${rows.length})`,
    figureTable(
      'Statements as counted by the server',
      ['Statement', num('Calls'), 'Time in it', num('Mean', unit.unit), num('Rows'), ...details.map((name) => num(name))],
      rows.map((row) => [td(sql(row.text)), count(row.calls), h('span', { class: 'bar-cell' }, bar(row.time_us / widest, 'p50'), h('span', { class: 'n' }, timeText(row.time_us))), inUnit(row.time_us / Math.max(1, row.calls), unit), row.rows === null ? DASH : count(row.rows), ...details.map((name) => (row.details?.[name] === undefined ? DASH : count(row.details[name]!)))]),
      { class: 'statements' },
    ),
  );
}

export function retriesSection(data: TrialData): Section | null {
  const { run } = data;
  const { measured, reasons } = run;
  const work = measured.work;
  const classes = Object.entries(measured.failed_by_class ?? {}).sort((a, b) => b[1] - a[1]);
  if (reasons.length === 0 && classes.length === 0 && measured.retries === 0 && measured.unknown === 0) return null;
  const most = Math.max(...reasons.map((reason) => reason.tries), 1);
  const lost = work !== undefined && work !== null && work.lost_tries > 0;
  const lead = lost
    ? `A retry uses the same random values. ${work.lost_tries === 1 ? '1 try was' : `${count(work.lost_tries)} tries were`} thrown away: ${percent(work.lost_time_share)} of the time in tries, ${percent(work.lost_statement_share)} of the statements.`
    : 'No try was thrown away.';
  const reasonTable =
    reasons.length > 0 &&
    captioned(
      'By reason, most frequent first',
      figureTable(
        'Reasons: rows',
        ['State', 'Server’s message and reason', 'Tries lost', num('Given up')],
        reasons.map((reason, i) => [
          td(h('code', {}, reason.sqlstate ?? DASH)),
          h('td', { class: 'message' }, message(reason.message), h('span', { class: 'sub' }, [reason.class, reason.reason, reason.statement].filter((w) => w !== undefined && w !== '').join(' · '))),
          h('span', { class: 'bar-cell' }, bar(reason.tries / most, PARTS[Math.min(i, PARTS.length - 1)]!), h('span', { class: 'n' }, count(reason.tries))),
          count(reason.tries_ended),
        ]),
      ),
    );
  const tries = data.commits_by_try ?? [];
  const committed = tries.reduce((a, b) => a + b, 0);
  const until =
    tries.length > 0 &&
    captioned(
      'Tries until commit',
      tableOf(['Try', 'Share', num('Transactions')], tries.map((n, i) => [i === 0 ? 'first' : String(i + 1), bar(n / Math.max(...tries, 1), 'ink3', 200), [count(n), h('span', { class: 'sub' }, ` ${percent(n / committed)}`)]]), { hidden: true }),
    );
  const fact = run.server_counters;
  const counters = 'unknown' in fact ? undefined : fact;
  const unknown = 'unknown' in fact ? fact.unknown : undefined;
  const counted = Object.entries(counters?.counted ?? {});
  const beside = h(
    'div',
    {},
    until,
    classes.length > 0 &&
      captioned('Failed transactions by class', tableOf(['Class', num('Transactions')], classes.map(([name, n]) => [h('code', {}, name), count(n)]), { hidden: true })),
    data.counters_sentence !== undefined
      ? h('p', {}, data.counters_sentence)
      : counted.length > 0 && h('p', {}, h('strong', {}, 'The server counted '), counted.map(([name, n]) => `${name} ${count(n)}`).join(', '), counters?.source === undefined ? '.' : ` (${counters.source}), warm-up included.`),
    unknown !== undefined && h('p', {}, h('strong', {}, 'The server’s own counters: '), unknown),
  );
  return section('retries', 'Retries', 'Retries and failures', lead, null, h('div', { class: 'two-columns' }, reasonTable || h('p', {}, 'No try failed.'), beside));
}

/** The first line of a server's message; all of it where there is more. */
function message(text: string): HTMLElement {
  const [first = '', ...rest] = text.split('\n');
  const line = first.replace(/^ERROR:\s*/, '');
  if (rest.length === 0) return h('span', {}, line);
  return h('details', {}, h('summary', {}, line), h('pre', {}, rest.join('\n')));
}

/** Around a worst moment: so many seconds before and after. */
const AROUND_S = 12;

export function worstSection(model: Model, bus: Bus): Section | null {
  const worst = model.data.worst ?? [];
  if (worst.length === 0) return null;
  const response = worst.some((of) => of.response_us !== null);
  const maxima = model.max(model.primary);
  const has = (test: (of: (typeof worst)[number]) => boolean): boolean => worst.some(test);
  const [queued, service, tries, slowest] = [has((of) => of.queued_us !== null), has((of) => of.service_us !== null) || !response, has((of) => of.tries !== null), has((of) => of.slowest !== undefined && of.slowest !== null)];
  const namesOf = (of: (typeof worst)[number]): string[] => (of.events ?? []).map((index) => model.eventAt(index)?.name ?? '').filter((name) => name !== '' && !of.around.includes(name));
  const around = has((of) => of.around !== '' || namesOf(of).length > 0);
  const apart = worst.every((a, i) => worst.every((b, k) => k <= i || Math.abs(a.at_us - b.at_us) >= 5e6 - 1));
  const rows = worst.map((of): Row => {
    const at = of.at_us / 1e6;
    const zoom = { from: at - AROUND_S, to: at + AROUND_S };
    const when = link(clock(at, 1), 'latency-over-time', bus, zoom);
    when.setAttribute('aria-label', `Zoom to ${clock(at, 1)}`);
    const { from, to } = model.rowsIn(zoom);
    const spans = model.events.filter((event) => event.kind === 'checkpoint' && event.to_s >= zoom.from && event.from_s <= zoom.to).map((event): [number, number] => [event.from_s - (model.seconds.start_s[from] ?? 0), event.to_s - (model.seconds.start_s[from] ?? 0)]);
    const names = namesOf(of);
    const named = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
    return [
      when,
      h('td', { class: 'n strong' }, timeText(of.response_us)),
      of.queued_us === 0 ? '0' : timeText(of.queued_us),
      h('td', { class: response ? 'n' : 'n strong' }, timeText(of.service_us)),
      of.tries === null ? DASH : count(of.tries),
      of.slowest === undefined || of.slowest === null ? DASH : h('span', { class: 'slowest' }, h('code', {}, of.slowest.text.replace(/\s+/g, ' ').slice(0, 60)), ' ', h('span', { class: 'sub' }, timeText(of.slowest.us))),
      h('td', { class: 'around' }, [named, of.around].filter((words) => words !== '').join(': ')),
      sparkline(maxima.slice(from, to).map((v) => v ?? null), Math.max(0, model.rowAt(at) - from), spans),
    ];
  });
  return section(
    'worst',
    'Worst moments',
    'Worst moments',
    `The ${many(worst.length, model.primary === 'response' ? 'slowest response' : 'slowest transaction').replace(/^1\u00a0/, '').replace(/^\d+\u00a0/, (n) => `${['', 'one', 'two', 'three', 'four', 'five'][Number(n.trim())] ?? n.trim()} `)}${apart ? ', at most one in five seconds' : ''}${around ? ', with what was seen around each' : '. Nothing was seen to happen around them'}.`,
    null,
    figureTable(
      'Worst moments: rows',
      ['When', response && num('Response'), response && queued && num('Queued'), service && num('Service'), tries && num('Tries'), slowest && 'Slowest statement', around && 'What happened around it', `Worst per second, ±${AROUND_S} s`],
      rows,
      { class: 'worst' },
    ),
  );
}
