/** Experiments of a special kind: their own sections and figures in place of those of a sweep. */

import type { ExperimentData } from '../data';
import type { Headline, Section } from '../page/shell';
import { calibrations } from './calibration';
import { disturbLab } from './disturb';
import { disturbFigures } from './disturbSure';
import { formsFigures, formsSections } from './forms';
import { isolationLab } from './isolation';
import { searchFigures } from './search';
import { capacitySection, slobSweep } from './special';

export interface Kind {
  sections: Section[];
  figures: Headline[];
  /** Whether its points say more than its sections do. */
  points?: boolean;
  /** Whether its trials in the order in which they ran do: there are repeats. */
  steady?: boolean;
}

/** What it is; null: a sweep, which has points on a plane. */
export function kindOf(data: ExperimentData): Kind | null {
  if (data.isolation_lab) return { sections: isolationLab(data.isolation_lab), figures: [], points: true, steady: true };
  if (data.disturb_lab) return { sections: [disturbLab(data.disturb_lab)], figures: disturbFigures(data.disturb_lab) };
  if (data.retries_lab) return { sections: formsSections(data.retries_lab, outliers(data)), figures: formsFigures(data.retries_lab, data.trials), steady: true };
  if (data.calibrations !== undefined && data.calibrations.length > 0) return { sections: [calibrations(data.calibrations)], figures: [] };
  if (data.slob) return { sections: [slobSweep(data.slob)], figures: [] };
  const capacity = data.capacity ?? null;
  if (capacity === null || !capacity.ladders.some((ladder) => ladder.search.steps > 0)) return null;
  // One search is what the page is about; of several each has its own figure.
  const [ladder, other] = capacity.ladders;
  return { sections: [capacitySection(capacity, data.trials)], figures: other === undefined ? searchFigures(capacity, ladder!) : [] };
}

/** Trials whose goodput is an outlier among their repeats. */
function outliers(data: ExperimentData): Set<number> {
  return new Set(data.points.flatMap((point) => point.outliers.filter((of) => of.figure === 'goodput').map((of) => of.trial)));
}
