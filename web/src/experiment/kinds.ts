/** Experiments whose own sections and figures are in place of those of a sweep. */

import type { DocumentSection, ExperimentData } from '../data';
import { significant } from '../pure/format';
import type { Headline, Section } from '../page/shell';
import { sectionsOf } from '../document/sections';
import { searchFigures } from './search';
import { capacitySection } from './special';

export interface Kind {
  sections: Section[];
  figures: Headline[];
}

/** What a laboratory or a search shows; null: it is a sweep, which has points on a plane. */
export function kindOf(data: ExperimentData): Kind | null {
  if (data.sections === null) return null;
  if (data.sections.length > 0) return { sections: sectionsOf(data.sections), figures: atAGlance(data.sections) };
  const capacity = data.capacity!;
  // One search is what the page is about; of several each has its own figure.
  const [ladder, other] = capacity.ladders;
  return { sections: [capacitySection(capacity, data.trials)], figures: other === undefined ? searchFigures(capacity, ladder!) : [] };
}

/** The figures of the rows that a table shows at a glance. Notes know them by the first word of their title. */
export function atAGlance(all: DocumentSection[]): Headline[] {
  const tables = all.flatMap((of) => of.parts).flatMap((part) => (part.sort === 'table' ? [part] : []));
  return tables.flatMap(({ columns, rows }) =>
    rows.filter((row) => row.is_headline).flatMap((row) =>
      columns.flatMap(({ title, form, place }, i) => {
        const { text, bar } = row.cells[i]!;
        if (form === 'words' || place !== 'shown' || text === '') return [];
        const range = bar?.low == null || bar.high === null ? undefined : `${significant(bar.low)} to ${significant(bar.high)}`;
        return [{ key: title.split(/[ /]/)[0]!, label: title, value: text, context: range }];
      }),
    ),
  );
}
