/** Calibration: what the infrastructure gives beside what good infrastructure would, and why. */

import type { Calibration, Range, Yardstick } from '../data';
import { columnUnit, count, DASH, inUnit, many, timeText, type TimeUnit } from '../pure/format';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { figure } from '../chart/figure';
import { linesChart } from '../chart/lines';
import { Plot } from '../chart/plot';
import { drawn, rect, segment, unclipped, words } from '../chart/shapes';
import { lineOf } from '../page/classes';
import { h, type Child } from '../page/dom';
import { definitions, section, trialLink, type Section } from '../page/shell';
import { figureTable, nums } from '../page/table';
import { token } from '../page/theme';

type Row = Calibration['lines'][number];

const VERDICTS: Record<string, [string, string]> = { met: ['met', 'better'], better: ['better', 'better'], missed: ['missed', 'worse'] };

const range = (expected: Range): string => (expected.low_us === 0 ? `up to ${timeText(expected.high_us)}` : `${timeText(expected.low_us)} to ${timeText(expected.high_us)}`);

/** In a column's unit. */
const rangeIn = (expected: Range, unit: TimeUnit): string => (expected.low_us === 0 ? `up to ${inUnit(expected.high_us, unit)}` : `${inUnit(expected.low_us, unit)} to ${inUnit(expected.high_us, unit)}`);

/** Where the expectations of a system are from. */
function yardsticks(system: Calibration): [string, Child][] {
  const of = (yardstick: Yardstick): string => system.lines.flatMap((row) => (row.yardstick === yardstick ? [row.line] : [])).join(', ');
  const host = system.host;
  const entries: [string, Child][] = [];
  if (of('host') !== '' && 'round_trip_us' in host) {
    const sync = typeof host.sync_us === 'number' ? `, ${timeText(host.sync_us)} a sync of its disk` : '';
    entries.push(['Expected', `${of('host')}: by what this host can do: ${timeText(host.round_trip_us)} there and back over ${host.way}${sync}, ${timeText(host.work_us)} of work`]);
  }
  if (of('article') !== '') {
    const why = 'unknown' in host ? host.unknown : typeof host.sync_us === 'number' ? '' : host.sync_us.unknown;
    entries.push(['Expected', `${of('article')}: an article’s figures, not this host’s: ${why}`]);
  }
  if (of('asked') !== '') entries.push(['Expected', `${of('asked')}: --expect`]);
  return entries;
}

/** One line (read, update …): a bar for each system and its expectation as a band. */
function bars(line: string, systems: Calibration[], of: (row: Row) => number | null, name: string): HTMLElement | null {
  const rows = systems.flatMap((system, i) => system.lines.filter((row) => row.line === line).map((row) => ({ system, row, i })));
  const values = rows.map(({ row }) => of(row));
  if (values.every((v) => v === null)) return null;
  const bands = rows.map(({ row }) => row.expected);
  const axis = linear((Math.max(...bands.map((band) => band?.high_us ?? 0), ...values.map((v) => v ?? 0)) / 1000) * 1.25, 5);
  const height = rows.length * 40 + 54;
  const plot = new Plot({
    height,
    build: ({ width }) => ({
      grid: { left: Math.min(190, width * 0.3), right: 70, top: 22, bottom: 30 },
      xAxis: { ...linearAxis(0, axis.max, axis.step), axisLabel: { color: token('ink3'), fontSize: 11.5, formatter: (v: number) => `${v}\u00a0ms`, hideOverlap: true } },
      yAxis: { ...linearAxis(-0.5, rows.length - 0.5, 1), inverse: true, splitLine: { show: false }, axisLabel: { color: token('ink1'), fontSize: 12, width: Math.min(180, width * 0.28), overflow: 'break', lineHeight: 14, customValues: rows.map((_, i) => i), formatter: (v: number) => rows[Math.round(v)]?.system.calibration ?? '' } },
      series: [
        unclipped((api, box) => {
          // Each system may be judged by its own host.
          return bands.flatMap((band, place) => {
            if (band === null) return [];
            const [x0, x1] = [api.coord([band.low_us / 1000, 0])[0], Math.min(api.coord([band.high_us / 1000, 0])[0], box.x + box.width)];
            const [y0, y1] = [api.coord([0, place - 0.5])[1], api.coord([0, place + 0.5])[1]];
            const label = place === 0 ? [words((x0 + x1) / 2, box.y - 16, `expected: ${range(band)}`, token('ok'), { align: 'center' })] : [];
            return [rect(x0, y0, x1, y1, token('ok'), 0.16), segment(x1, y0, x1, y1, token('ok'), 1.2, [4, 3]), ...label];
          });
        }, 1),
        drawn((api, _, shapes) => {
          rows.forEach(({ row, i }, place) => {
            const value = of(row);
            const y = api.coord([0, place])[1];
            if (value === null) {
              shapes.push(words(api.coord([0, 0])[0] + 6, y - 6, 'not known', token('ink3')));
              return;
            }
            const x = api.coord([value / 1000, 0])[0];
            shapes.push(rect(api.coord([0, 0])[0], y - 10, Math.max(x, api.coord([0, 0])[0] + 1), y + 10, token(lineOf(i + 1).color)));
            shapes.push(words(x + 6, y - 6, timeText(value), token('ink1'), { fontWeight: 600 }));
          });
        }, 2),
      ],
    }),
  });
  return figure(
    {
      title: `${line[0]!.toUpperCase()}${line.slice(1)}, ${name}`,
      subtitle: 'bars from 0; green: what is expected',
      summary: () => rows.map(({ system, row }) => `${system.calibration} ${timeText(of(row))}${row.verdict === null ? '' : `, ${row.verdict}`}`).join('; '),
      data: () => ({ head: ['system', 'line', 'mean_us', 'p50_us', 'p99_us', 'expected_low_us', 'expected_high_us', 'verdict'], rows: rows.map(({ system, row }) => [system.calibration, row.line, row.mean_us, row.p50_us, row.p99_us, row.expected?.low_us ?? null, row.expected?.high_us ?? null, row.verdict]) }),
    },
    plot,
  );
}

const PARTS: Record<string, string> = { client_us: 'client', network_us: 'network', sync_us: 'sync', commit_us: 'commit', server_us: 'server', tail_us: 'tail' };

export function calibrations(list: Calibration[]): Section {
  const lines = [...new Set(list.flatMap((system) => system.lines.map((row) => row.line)))];
  // Reads and updates are the question; round trips and commits explain it.
  const order = ['read', 'update', 'commit', 'round-trip'];
  const sorted = [...lines].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const charts = sorted.flatMap((line) => [bars(line, list, (row) => row.mean_us, 'mean')]).filter((c) => c !== null);
  const tables = list.map((system) => {
    const unit = columnUnit(system.lines.map((row) => row.p50_us));
    const cause = system.lines.flatMap((row) => (row.cause === null ? [] : [{ row, cause: row.cause }]));
    const doubts = [...new Set(system.lines.flatMap((row) => row.doubts))];
    // As in the answer: only of reads and updates a doubt withdraws it.
    const doubtful = system.lines.some((row) => (row.line === 'read' || row.line === 'update') && row.doubts.length > 0);
    const steps = system.concurrency?.steps ?? [];
    return h(
      'div',
      { class: 'parts' },
      h('h3', {}, `${system.calibration}: ${typeof system.target === 'string' ? system.target : ''} `, system.baseline !== null && h('span', { class: `tag ${system.baseline !== 'met' ? 'failed' : doubtful ? 'cannot-tell' : 'passed'}` }, `baseline ${system.baseline}${system.baseline === 'met' && doubtful ? ', in doubt' : ''}`)),
      figureTable(
        `Calibration: ${system.calibration}`,
        ['Line', ...nums('Count', ...['Least', 'p50', 'p99', 'Mean', 'Expected', 'Without the way'].map((name) => `${name} ${unit.unit}`)), 'Verdict', 'Consists of'],
        system.lines.map((row) => {
          const [text, style] = VERDICTS[row.verdict ?? ''] ?? [row.verdict ?? DASH, ''];
          const parts = Object.entries(row.parts ?? {}).filter(([, v]) => v !== null && v > 0).map(([name, v]) => `${PARTS[name] ?? name.replace(/_us$/, '')} ${timeText(v)}`);
          return [row.trial === null ? row.line : trialLink(row.trial, row.line), count(row.count), ...[row.min_us, row.p50_us, row.p99_us, row.mean_us].map((v) => inUnit(v, unit)), row.expected === null ? DASH : rangeIn(row.expected, unit), inUnit(row.without_round_trip_us, unit), h('td', { class: style }, text), h('td', { class: 'quiet' }, parts.join(', '))];
        }),
      ),
      definitions([
        ...yardsticks(system),
        ...cause.map(({ row, cause: of }): [string, Child] => [`Why ${row.line}`, `${of.part}: ${of.sentence}${of.evidence.length > 0 ? ` (${of.evidence.join('; ')})` : ''}`]),
        ...(system.sync?.sentences ?? []).map((words_): [string, Child] => ['Sync', words_]),
        ...doubts.map((words_): [string, Child] => ['Doubt', words_]),
      ]),
      steps.length > 1 &&
        h(
          'div',
          { class: 'two-columns even' },
          linesChart({
            id: `calibration-growth-${system.uuid}`,
            title: 'More clients: throughput',
            subtitle: stops(system),
            height: 260,
            lines: [{ name: system.calibration, ...lineOf(1), places: steps.flatMap((step, i) => (step.goodput_per_s === null ? [] : [{ x: i, y: step.goodput_per_s, words: `${step.clients} clients: ${count(step.goodput_per_s)}/s${step.client_bound ? ', pgdyno is the limit' : ''}`, ...(step.client_bound ? { label: 'client-bound' } : {}) }])) }],
            places: steps.map((step) => ({ name: String(step.clients) })),
            xName: 'clients',
            log: false,
            summary: () => stops(system),
            data: () => ({ head: ['clients', 'per_s', 'p50_us', 'p99_us', 'failed', 'client_bound'], rows: steps.map((step) => [step.clients, step.goodput_per_s, step.p50_us, step.p99_us, step.failed, String(step.client_bound)]) }),
          }),
          linesChart({
            id: `calibration-p99-${system.uuid}`,
            title: 'More clients: latency',
            subtitle: 'p50 and p99, log scale',
            height: 260,
            lines: [
              { name: 'p99', color: 'p99', symbol: 'circle', places: steps.flatMap((step, i) => (step.p99_us === null ? [] : [{ x: i, y: step.p99_us, words: `${step.clients} clients: p99 ${timeText(step.p99_us)}` }])) },
              { name: 'p50', color: 'p50', symbol: 'rect', places: steps.flatMap((step, i) => (step.p50_us === null ? [] : [{ x: i, y: step.p50_us, words: `${step.clients} clients: p50 ${timeText(step.p50_us)}` }])) },
            ].filter((line) => line.places.length > 0),
            places: steps.map((step) => ({ name: String(step.clients) })),
            xName: 'clients',
            log: true,
            summary: () => steps.map((step) => `${step.clients} clients: p99 ${timeText(step.p99_us)}`).join('; '),
            data: () => ({ head: ['clients', 'p50_us', 'p99_us'], rows: steps.map((step) => [step.clients, step.p50_us, step.p99_us]) }),
          }),
        ),
    );
  });
  return section('calibration', 'Calibration', 'Is the infrastructure as fast as expected?', 'The simplest workload, one client: mean times compared with those of good infrastructure.', null, ...tables, h('div', { class: 'two-columns even after-table' }, ...charts));
}

function stops(system: Calibration): string {
  const at = system.concurrency?.throughput_stops;
  if (at === undefined || at === null) return 'transactions per second';
  return at.is === 'at' ? `stops growing at ${many(at.clients, 'client')}` : `still grows at ${many(at.clients, 'client')}`;
}
