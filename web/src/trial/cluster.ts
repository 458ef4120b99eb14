/** The cluster: its nodes, what they led and held before and after, and how far away they are. */

import type { Cluster, Member, TrialData } from '../data';
import { bytesText, columnUnit, count, DASH, inUnit, many } from '../pure/format';
import { actions } from '../chart/figure';
import { h, scroll, type Child } from '../page/dom';
import { section, type Section } from '../page/shell';

const th = (text: string, numeric = false): HTMLElement => h('th', { scope: 'col', class: numeric ? 'n' : undefined }, text);
const td = (child: Child, numeric = false): HTMLElement => h('td', { class: numeric ? 'n' : undefined }, child);

/** Before and after, once where both are the same. */
export function change<T>(before: T | null, after: T | null, words: (value: T) => string): string {
  if (before === null && after === null) return DASH;
  const [from, to] = [before, after].map((value) => (value === null ? '?' : words(value)));
  return from === to ? from! : `${from} → ${to}`;
}

/** Whether it was up, drained or was down. */
export function condition(node: Member): string {
  const word = (live: boolean | null, draining: boolean | null): string | null => (live === null ? null : !live ? 'down' : draining === true ? 'draining' : 'up');
  const before = word(node.is_live, node.is_draining);
  const words = change(before, word(node.is_live_after, node.is_draining_after) ?? before, (value) => value);
  return node.state === null ? words : words === 'up' ? node.state : `${node.state}; ${words}`;
}

export function clusterSection(data: TrialData): Section | null {
  const { cluster } = data.run;
  if (cluster === undefined || cluster === null) return null;
  const { nodes, tables } = cluster;
  const parts = cluster.parts ?? 'parts';
  const unit = columnUnit(nodes.map((node) => node.round_trip?.median_us ?? null));
  interface Column {
    head: string;
    numeric: boolean;
    cell: (node: Member) => string;
  }
  const all: Column[] = [
    { head: 'Where', numeric: false, cell: (node) => node.locality ?? DASH },
    { head: 'Version', numeric: false, cell: (node) => node.version ?? DASH },
    { head: 'Part', numeric: false, cell: (node) => node.role ?? DASH },
    { head: 'State', numeric: false, cell: condition },
    { head: `Leaders of ${parts}`, numeric: true, cell: (node) => change(node.leaders, node.leaders_after, count) },
    { head: 'Replicas', numeric: true, cell: (node) => change(node.replicas, node.replicas_after, count) },
    { head: 'Behind', numeric: true, cell: (node) => change(node.lag_bytes, node.lag_bytes_after, bytesText) },
    { head: 'Endpoint', numeric: false, cell: (node) => node.endpoint ?? DASH },
    { head: `Round trip, ${unit.unit}`, numeric: true, cell: (node) => inUnit(node.round_trip?.median_us ?? null, unit) },
  ];
  const shown = all.filter((column) => nodes.some((node) => column.cell(node) !== DASH));
  const { buttons, table } = actions({
    title: 'Cluster',
    summary: () => '',
    data: () => ({
      head: ['id', 'address', 'locality', 'version', 'role', 'is_live', 'is_live_after', 'leaders', 'leaders_after', 'replicas', 'replicas_after', 'lag_bytes', 'lag_bytes_after', 'endpoint', 'round_trip_min_us', 'round_trip_median_us'],
      rows: nodes.map((n) => [n.id, n.address, n.locality, n.version, n.role, String(n.is_live), String(n.is_live_after), n.leaders, n.leaders_after, n.replicas, n.replicas_after, n.lag_bytes, n.lag_bytes_after, n.endpoint, n.round_trip?.min_us ?? null, n.round_trip?.median_us ?? null]),
    }),
  });
  const moved = cluster.moved !== null && cluster.moved > 0 ? ` At least ${many(cluster.moved, 'leader')} went to another node.` : '';
  return {
    id: 'cluster',
    link: 'Cluster',
    element: section(
      'cluster',
      'Cluster',
      `One row a node, before → after the trial. Round trip: median on an idle session, before it.${moved}`,
      buttons,
      scroll(
        'Cluster: nodes',
        h(
          'table',
          { class: 'figures' },
          h('thead', {}, h('tr', {}, th('Node'), ...shown.map((column) => th(column.head, column.numeric)))),
          h('tbody', {}, ...nodes.map((node) => h('tr', {}, h('th', { scope: 'row' }, node.id === null ? node.address : `${node.id} (${node.address})`), ...shown.map((column) => td(column.cell(node), column.numeric))))),
        ),
      ),
      table,
      tables.length > 0 ? byTable(cluster, parts) : null,
      ...cluster.unknown.map((why) => h('p', { class: 'sub' }, `Not known: ${why}`)),
    ),
  };
}

/** Where the parts of each table were. */
function byTable({ tables }: Cluster, parts: string): HTMLElement {
  const places = (counts: { [node in string]?: number } | undefined): string => {
    const nodes = Object.entries(counts ?? {});
    return nodes.length === 0 ? DASH : nodes.map(([node, of]) => `${count(of ?? 0)} on ${node}`).join(', ');
  };
  const both = (before: string, after: string | null): string => (after === null || before === after ? before : `${before} → ${after}`);
  return scroll(
    'Cluster: tables',
    h(
      'table',
      { class: 'figures' },
      h('thead', {}, h('tr', {}, th('Table'), th(`${parts[0]!.toUpperCase()}${parts.slice(1)}`, true), th('Leaders'), th('Replicas'), th('Zone'))),
      h(
        'tbody',
        {},
        ...tables.map(({ table, before, after }) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, h('code', {}, table)),
            td(change(before?.parts ?? null, after?.parts ?? null, count), true),
            td(both(places(before?.leaders), after === null ? null : places(after.leaders))),
            td(both(places(before?.replicas), after === null ? null : places(after.replicas))),
            td(before?.zone ?? after?.zone ?? DASH),
          ),
        ),
      ),
    ),
  );
}
