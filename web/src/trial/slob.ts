/** What a work unit of slob cost, by the counters of database and device. */

import type { TrialData } from '../data';
import { count, DASH, join, inUnitOf, percentileName, significant, timeText } from '../pure/format';
import { known, percentile, total } from '../pure/histogram';
import { captioned, h } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, table as tableOf } from '../page/table';

export function slobSection(data: TrialData): Section | null {
  const { slob } = data;
  if (slob === undefined) return null;
  const each = slob.accounting.some((row) => row.per_unit !== undefined && row.per_unit !== null);
  const table = figureTable(
    'Accounting',
    ['What', num('Measured'), each && num('Per work unit'), 'Where from'],
    slob.accounting.map((row) => [
      row.name,
      h('td', { class: 'n strong' }, row.value === null ? DASH : row.unit === '%' ? `${significant(row.value)}\u00a0%` : join(inUnitOf(row.value, row.unit))),
      row.per_unit === undefined || row.per_unit === null ? DASH : significant(row.per_unit),
      h('td', { class: 'quiet' }, row.unknown ?? row.what ?? ''),
    ]),
  );
  const units = slob.units;
  const all = units === null ? 0 : total(units);
  const beside =
    units === null || all === 0
      ? null
      : captioned(
          `${slob.units_label ?? 'Work units'}: ${count(all)}`,
          tableOf(['Percentile', num('Time')], [...[0.5, 0.9, 0.99, 0.999, 0.9999].filter((p) => known(all, p)).map((p) => [percentileName(p), timeText(percentile(units, p))]), ['Worst', timeText(units.max_us)]]),
        );
  return section('slob', 'I/O accounting', 'Logical and physical I/O', slob.sentence ?? null, null, h('div', { class: 'two-columns wide-left' }, table, beside));
}
