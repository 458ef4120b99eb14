/** Settings unlike the default, the environment, scripts, endpoints and threads. */

import type { TrialData } from '../data';
import { columnUnit, count, inUnit, percent, significant, timeText } from '../pure/format';
import { absent } from '../chart/figure';
import { captioned, h, type Child } from '../page/dom';
import { commandBlock, definitions, section, type Section } from '../page/shell';
import { figureTable, num, nums } from '../page/table';

export function settings(data: TrialData): Section {
  const list = data.settings ?? [];
  const named = list.filter((s) => s.named_by_verdict === true && s.value === s.default).length;
  const unlike = list.length - named;
  const hasDefault = list.some((s) => s.default !== null && s.default !== undefined);
  const hasSource = list.some((s) => s.named_by_verdict === true || (s.from !== null && s.from !== undefined));
  const source = (s: (typeof list)[number]): string => [s.from, s.named_by_verdict === true ? 'named by the verdict' : null].filter((w) => w !== null && w !== undefined && w !== '').join('; ');
  const heading = `Server settings that differ from the default (${count(unlike)}${data.settings_total === undefined ? '' : ` of ${count(data.settings_total)}`})`;
  const left: Child =
    data.settings_unknown !== undefined
      ? absent('Settings were not seen', data.settings_unknown)
      : list.length === 0
        ? h('p', { class: 'sub' }, 'No known setting differs from its default.')
        : captioned(
            heading,
            figureTable(
              'Settings: rows',
              ['Setting', num('Value'), hasDefault && num('Default'), hasSource && 'From'],
              list.map((s) => [h('code', {}, s.name), h('td', { class: 'n strong value-cell' }, s.value), h('td', { class: 'n quiet' }, s.default ?? ''), source(s)]),
            ),
          );
  return section('settings', 'Settings', 'Settings and environment', null, null, h('div', { class: 'two-columns wide-left' }, left, definitions(data.environment)), parts(data));
}

/** Scripts, endpoints and threads, where there is more than one. */
function parts(data: TrialData): HTMLElement | null {
  const { measured, endpoints, client_cpu, connections, outages, key_skew } = data.run;
  const unit = columnUnit([measured.service.p50_us, measured.service.p99_us]);
  const times = [`p50 ${unit.unit}`, `p99 ${unit.unit}`];
  const scripts =
    measured.scripts.length > 1 &&
    table(
      'Scripts',
      ['Script', 'Weight', 'Committed', 'Failed', 'Retries', ...times, `Worst ${unit.unit}`],
      measured.scripts.map((s) => {
        const of = s.response ?? s.service;
        return [s.name, count(s.weight), count(s.committed), count(s.failed), count(s.retries), inUnit(of.p50_us, unit), inUnit(of.p99_us, unit), inUnit(of.max_us, unit)];
      }),
    );
  const servers =
    endpoints.length > 1 &&
    table(
      'Endpoints',
      ['Endpoint', 'Clients', 'Committed', 'Failed', 'Unknown', 'Lost', 'Arrived', 'Returned', ...times],
      endpoints.map((e) => [e.locality === null || e.locality === undefined ? e.name : `${e.name} (${e.locality})`, count(e.clients), count(e.committed), count(e.failed), count(e.unknown), count(e.lost), count(e.arrived), count(e.returned), inUnit((e.response ?? e.service).p50_us, unit), inUnit((e.response ?? e.service).p99_us, unit)]),
    );
  const rows: [string, Child][] = [];
  if (connections !== undefined && connections !== null && connections.latency.count > 0) rows.push(['Connecting', `${timeText(connections.latency.mean_us)} each (${count(connections.latency.count)}), all connected after ${timeText(connections.initial_us)}`]);
  const truth = data.run.truth;
  if (truth !== undefined) rows.push(['Receipts', 'unknown' in truth ? `not known whether writes were lost: ${truth.unknown}` : `${count(truth.acknowledged)} acknowledged, ${truth.lost === 0 ? 'all in the database' : `${count(truth.lost)} LOST`}; ${count(truth.in_doubt)} in doubt, of these ${count(truth.in_doubt_landed)} committed`]);
  if (outages !== undefined && outages !== null && outages.count > 0) rows.push(['Outages', `${count(outages.count)} lost connections, the longest ${timeText(outages.length.max_us)}, ${count(outages.unended)} not reconnected at the end`]);
  // What its threads took is known at the end.
  if (client_cpu !== undefined && client_cpu !== null && client_cpu.us_per_transaction !== null && client_cpu.threads.length > 0) rows.push(['pgdyno itself', `${significant(client_cpu.us_per_transaction)}\u00a0µs of CPU per transaction; threads busy ${client_cpu.threads.map((t) => percent(t.busy_share)).join(', ')}`]);
  const share = data.run.generator_share;
  if (share !== undefined && share !== null) rows.push(['Share of the generator', `${count(Math.floor(share.round_trips_per_s))} round trips/s, ${percent(share.share)} of ${share.calibration === null ? 'about ' : ''}${count(Math.floor(share.ceiling_per_s))} (${share.calibration === null ? 'estimated from its busiest thread' : `calibrate --self, ${share.calibration.calibrated.slice(0, 10)}`})`]);
  if (key_skew !== undefined && key_skew !== null) rows.push(['Rows drawn', `${count(key_skew.distinct)} distinct rows in ${count(key_skew.draws)} draws${key_skew.is_sample ? ' (a sample)' : ''}; the hottest took ${percent(key_skew.hottest_share)}, the hottest hundred ${percent(key_skew.hottest_100_share)}`]);
  for (const check of data.run.checks) rows.push(['Check', `${check.name}: ${check.held === true ? 'held' : check.held === false ? `FAILED, expected ${check.expected}, found ${check.found ?? 'nothing'}` : `not known: ${check.unknown ?? 'never asked'}`} (${check.help})`]);
  for (const figure of data.run.figures ?? []) rows.push([figure.name, `${figure.value === null ? `not known: ${figure.unknown ?? 'no value'}` : `${significant(figure.value)}\u00a0${figure.unit}${figure.within === null ? '' : figure.within ? ', within its limits' : ', OUTSIDE its limits'}`} (${figure.help})`]);
  for (const finding of data.run.findings ?? []) rows.push([finding.name.replaceAll('_', ' '), finding.text]);
  const stalls = data.run.stalls;
  if (stalls !== undefined && stalls.count > 0) rows.push(['Stalls', `${count(stalls.count)}, ${percent(stalls.share)} of the time, the longest ${timeText(stalls.longest_us)}${stalls.random_arrival === null ? '' : `; a request at a random time: mean ${timeText(stalls.random_arrival.mean_us)}, p99 ${timeText(stalls.random_arrival.p99_us)}`}`]);
  const isLive = (data.served?.live ?? null) !== null;
  for (const of of isLive ? [] : (data.run.steadiness ?? [])) rows.push(['Steadiness', of.sentence]);
  if (scripts === false && servers === false && rows.length === 0) return null;
  return h('div', { class: 'parts' }, scripts, servers, rows.length > 0 && definitions(rows));
}

const table = (title: string, [first, ...numbers]: [string, ...string[]], rows: string[][]): HTMLElement => figureTable(title, [first, ...nums(...numbers)], rows, { caption: title });

export function repeatIt(command: string): Section {
  const { box, button } = commandBlock(command);
  return section('repeat', 'Repeat it', 'Repeat it', null, button, box);
}
