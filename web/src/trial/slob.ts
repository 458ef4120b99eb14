/** What a work unit of slob cost, by the counters of database and device. */

import type { TrialData } from '../data';
import { count, DASH, join, inUnitOf, percentileName, significant, timeText } from '../pure/format';
import { known, percentile, total } from '../pure/histogram';
import { h, scroll } from '../page/dom';
import { section, type Section } from '../page/shell';

export function slobSection(data: TrialData): Section | null {
  const { slob } = data;
  if (slob === undefined) return null;
  const each = slob.accounting.some((row) => row.per_unit !== undefined && row.per_unit !== null);
  const table = scroll(
    'Accounting',
    h(
      'table',
      { class: 'figures' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'What'), h('th', { scope: 'col', class: 'n' }, 'Measured'), each && h('th', { scope: 'col', class: 'n' }, 'Per work unit'), h('th', { scope: 'col' }, 'Where from'))),
      h(
        'tbody',
        {},
        ...slob.accounting.map((row) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, row.name),
            h('td', { class: 'n strong' }, row.value === null ? DASH : row.unit === '%' ? `${significant(row.value)}\u00a0%` : join(inUnitOf(row.value, row.unit))),
            each && h('td', { class: 'n' }, row.per_unit === undefined || row.per_unit === null ? DASH : significant(row.per_unit)),
            h('td', { class: 'quiet' }, row.unknown ?? row.what ?? ''),
          ),
        ),
      ),
    ),
  );
  const units = slob.units;
  const all = units === null ? 0 : total(units);
  const beside =
    units === null || all === 0
      ? null
      : h(
          'div',
          {},
          h('p', { class: 'sub' }, `${slob.units_label ?? 'Work units'}: ${count(all)}`),
          h(
            'table',
            { class: 'figures' },
            h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Percentile'), h('th', { scope: 'col', class: 'n' }, 'Time'))),
            h('tbody', {}, ...[0.5, 0.9, 0.99, 0.999, 0.9999].filter((p) => known(all, p)).map((p) => h('tr', {}, h('th', { scope: 'row' }, percentileName(p)), h('td', { class: 'n' }, timeText(percentile(units, p))))), h('tr', {}, h('th', { scope: 'row' }, 'Worst'), h('td', { class: 'n' }, timeText(units.max_us)))),
          ),
        );
  return { id: 'slob', link: 'I/O accounting', element: section('slob', 'Logical and physical I/O', slob.sentence ?? null, null, h('div', { class: 'two-columns wide-left' }, table, beside)) };
}
