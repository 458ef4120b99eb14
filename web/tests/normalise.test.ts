import { expect, it } from 'vitest';
import { normalise } from '../src/pure/normalise';

it('takes null for missing where a field is optional, and for itself elsewhere', () => {
  const data = {
    verdict: null,
    waits: null,
    timeline: { due: null, response: null, service_max_us: [null, 1] },
    histograms: { response: null, service: { max_us: null } },
    run: { measured: { response: null }, note: null },
    instruments: [{ gaps: [{ from_us: null, to_us: null, label: null }] }],
    series: [{ clock: null, value: null, before: null }],
    slob: { accounting: [{ value: null }] },
  };
  normalise(data);
  expect(data).toEqual({
    verdict: null,
    timeline: { service_max_us: [null, 1] },
    histograms: { service: { max_us: null } },
    run: { measured: { response: null }, note: null },
    instruments: [{ gaps: [{ from_us: null, to_us: null }] }],
    series: [{ before: null }],
    slob: { accounting: [{ value: null }] },
  });
});

it('survives what is no document', () => {
  expect(() => normalise([null, 1, 'x', [null, { waits: null }]])).not.toThrow();
});
