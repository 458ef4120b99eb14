/** The cluster: its nodes, what they led and held before and after, and how far away they are. */

import type { Cluster, Member, TrialData } from '../data';
import { bytesText, columnUnit, count, DASH, inUnit, many } from '../pure/format';
import { rowsBehind } from '../chart/figure';
import { h } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, th } from '../page/table';

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
  const { buttons, table } = rowsBehind(
    'Cluster',
    ['id', 'address', 'locality', 'version', 'role', 'is_live', 'is_live_after', 'leaders', 'leaders_after', 'replicas', 'replicas_after', 'lag_bytes', 'lag_bytes_after', 'endpoint', 'round_trip_min_us', 'round_trip_median_us'],
    () => nodes.map((n) => [n.id, n.address, n.locality, n.version, n.role, String(n.is_live), String(n.is_live_after), n.leaders, n.leaders_after, n.replicas, n.replicas_after, n.lag_bytes, n.lag_bytes_after, n.endpoint, n.round_trip?.min_us ?? null, n.round_trip?.median_us ?? null]),
  );
  const moved = cluster.moved !== null && cluster.moved > 0 ? ` At least ${many(cluster.moved, 'leader')} went to another node.` : '';
  return section(
    'cluster',
    'Cluster',
    'Cluster',
    `One row a node, before → after the trial. Round trip: median on an idle session, before it.${moved}`,
    buttons,
    figureTable(
      'Cluster: nodes',
      ['Node', ...shown.map((column) => th(column.head, column.numeric))],
      nodes.map((node) => [node.id === null ? node.address : `${node.id} (${node.address})`, ...shown.map((column) => column.cell(node))]),
    ),
    table,
    tables.length > 0 ? byTable(cluster, parts) : null,
    ...cluster.unknown.map((why) => h('p', { class: 'sub' }, `Not known: ${why}`)),
  );
}

/** Where the parts of each table were. */
function byTable({ tables }: Cluster, parts: string): HTMLElement {
  const places = (counts: { [node in string]?: number } | undefined): string => {
    const nodes = Object.entries(counts ?? {});
    return nodes.length === 0 ? DASH : nodes.map(([node, of]) => `${count(of ?? 0)} on ${node}`).join(', ');
  };
  const both = (before: string, after: string | null): string => (after === null || before === after ? before : `${before} → ${after}`);
  return figureTable(
    'Cluster: tables',
    ['Table', num(`${parts[0]!.toUpperCase()}${parts.slice(1)}`), 'Leaders', 'Replicas', 'Zone'],
    tables.map(({ table, before, after }) => [
      h('code', {}, table),
      change(before?.parts ?? null, after?.parts ?? null, count),
      both(places(before?.leaders), after === null ? null : places(after.leaders)),
      both(places(before?.replicas), after === null ? null : places(after.replicas)),
      before?.zone ?? after?.zone ?? DASH,
    ]),
  );
}
