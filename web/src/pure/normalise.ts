/**
 * What is optional may be missing or null: both mean "not recorded". Here null becomes missing, so that
 * the rest of the page asks one question. Fields in which null has a meaning of its own are left alone.
 */

const OPTIONAL = new Set(
  `eyebrow label second try careful gate rules link section title figures siblings commits_by_try
  counters_sentence balance waits worst server_statements slob settings settings_total settings_unknown warmup late due
  response_max_us retries_by_reason failed_by_class committed_by_script statement wait details times what clock value
  how source script endpoint zones sizes_bytes uuid flag pages calibrations note over_time
  checkpoints p99_low_us p99_high_us time_per_commit statements not_compared a b units_label
  sentences named_by_verdict`.split(/\s+/),
);

/** Documents of pgdyno's own that are shown as they are. */
const VERBATIM = new Set(['run', 'capacity', 'retries_lab', 'calibrations']);
/** The slob accounting's value is null where it was not seen. */
const MEANT = new Set(['accounting']);

/** Changes the document in place. */
export function normalise(value: unknown): void {
  if (Array.isArray(value)) {
    // Columns of numbers are long, and have no fields.
    if (value.some((of) => typeof of === 'object' && of !== null)) value.forEach(normalise);
    return;
  }
  if (value === null || typeof value !== 'object') return;
  const of = value as Record<string, unknown>;
  for (const [key, child] of Object.entries(of)) {
    if (child === null && OPTIONAL.has(key)) delete of[key];
    else if (VERBATIM.has(key) || MEANT.has(key)) continue;
    else if ((key === 'timeline' || key === 'histograms') && child !== null) {
      const within = child as Record<string, unknown>;
      for (const name of ['response', 'attempt']) if (within[name] === null) delete within[name];
      normalise(child);
    } else normalise(child);
  }
}
