import { describe, expect, it } from 'vitest';
import compareJson from './example/compare.json';
import experimentJson from './example/experiment.json';
import trialJson from './example/trial.json';
import type { CompareData, Difference, ExperimentData, Series, TrialData } from '../src/data';
import { extent, labelAt, scale, ticks, words } from '../src/compare/differences';
import { band, overTime, ratio } from '../src/compare/latency';
import { sideLine, startText } from '../src/compare/times';
import { zones } from '../src/experiment/curves';
import { drift, median, partsOf, plane, planeOf, pointAt, spreadShare, whyMissing } from '../src/experiment/model';
import { curve } from '../src/pure/histogram';
import { broken } from '../src/trial/instruments';
import { union } from '../src/trial/marks';
import { Model } from '../src/trial/model';
import { panels, titleOf } from '../src/trial/panels';
import { layers } from '../src/trial/stacks';

// The examples are also what the Rust side is told to write: that they have the contract's types is
// checked when this is compiled.
const trial = trialJson as unknown as TrialData;
const experiment = experimentJson as unknown as ExperimentData;
const compare = compareJson as unknown as CompareData;

describe('the repeats of a comparison in order of time', () => {
  it('begin at a clock that is as short as tells them apart', () => {
    const at = Date.parse('2026-11-25T15:02:07Z');
    expect(startText(at, 60_000)).toBe('15:02:07');
    expect(startText(at, 32 * 60_000)).toBe('15:02');
    expect(startText(at, 3 * 86_400_000)).toBe('2026-11-25 15:02');
  });

  it('lie along the drift that both sides share', () => {
    const slope = Math.log(0.9) / 100;
    const points = [0, 50, 100].map((at): [number, number] => [at, 200 * Math.exp(slope * at)]);
    const line = sideLine(points, slope);
    expect(line(0)).toBeCloseTo(200, 6);
    expect(line(100)).toBeCloseTo(180, 6);
  });

  it('have no verdict where they did not run by turns, and say so in words', () => {
    const row = { verdict: 'not-by-turns', higher_is_better: true } as Difference;
    expect(words(row)).toEqual({ text: 'cannot tell', style: 'careful' });
  });

  it('have ticks whose labels do not touch', () => {
    const of = { low: 0.05, high: 30 };
    const x = scale(of);
    const labels = ticks(of).map((share) => labelAt(share, x(share)));
    labels.slice(1).forEach((label, i) => expect(label.from).toBeGreaterThan(labels[i]!.to));
  });
});

describe('a trial', () => {
  const model = new Model(trial);
  it('numbers events in their order, those that have no number left out', () => {
    const events = [
      { at_us: 2e6, kind: 'checkpoint', text: '' },
      { at_us: 1e6, kind: 'wal-switch', text: '' },
      { at_us: 1.5e6, kind: 'outage', text: '' },
    ];
    const of = new Model({ ...trial, events });
    expect(of.events.map((event) => event.name)).toEqual(['', 'E1', 'E2']);
    expect(of.eventAt(0)!.name).toBe('E2');
  });
  it('sums up a range without the warm-up', () => {
    const warm = new Model({ ...trial, timeline: { ...trial.timeline, warmup: [1, 0, 0] } });
    expect(warm.total(trial.timeline.committed, warm.whole)).toEqual({ sum: 5, seconds: 2 });
    expect(warm.measured_from_s).toBe(1);
    expect(model.merged('response', model.whole).sum.total).toBe(8);
    expect(warm.merged('response', warm.whole).sum.total).toBe(5);
    expect(model.merged('service', { from: 1, to: 2 }).max_us).toBe(30000);
  });
  it('is of response times under a rate, else of service times', () => {
    expect(model.primary).toBe('response');
    const { response: _, ...timeline } = trial.timeline;
    expect(new Model({ ...trial, timeline }).primary).toBe('service');
  });
  it('finds the second of a moment', () => {
    expect(model.rowAt(1.5)).toBe(1);
    expect(model.rowAt(-1)).toBe(-1);
    expect(model.rowAt(99)).toBe(-1);
  });
  it('draws no percentile of too few transactions', () => expect(model.percentile('response', 0.99, 1)).toBeNull());
  it('without a second is still a trial', () => {
    const empty = { ...trial.timeline, start_us: [], length_us: [], committed: [], failed: [], skipped: [], unknown: [], retries: [], service: [], response: [], service_max_us: [] };
    expect(new Model({ ...trial, timeline: empty }).whole).toEqual({ from: 0, to: 1 });
  });
});

describe('bands', () => {
  it('that overlap are one', () => {
    expect(union([{ from_s: 0, to_s: 2 }, { from_s: 1, to_s: 5 }, { from_s: 2, to_s: 3 }, { from_s: 7, to_s: 8 }])).toEqual([{ from: 0, to: 5 }, { from: 7, to: 8 }]);
  });
});

describe('sessions', () => {
  it('are stacked by class, rare events as one', () => {
    const found = layers({ clock: 0, cores: null, events: [
      { class: 'Lock', event: 'tuple', sessions: [10, 10] },
      { class: 'CPU', event: 'CPU', sessions: [50, 50] },
      { class: 'Lock', event: 'transactionid', sessions: [39, 39] },
      { class: 'IPC', event: 'rare', sessions: [0.2, null] },
      { class: 'Client', event: 'rarer', sessions: [0.1, null] },
    ] });
    expect(found.map((layer) => layer.name)).toEqual(['CPU', 'Lock:transactionid', 'Lock:tuple', 'Other (2 events)']);
    expect(found.map((layer) => layer.opacity)).toEqual([1, 1, 0.6, 1]);
    expect(found[3]!.sessions[0]).toBeCloseTo(0.3);
    expect(found[3]!.sessions[1]).toBeNull();
  });
});

describe('instruments', () => {
  const series = (name: string, label = ''): Series => ({ instrument: 0, name, label, unit: '1/s', kind: 'gauge', clock: 0, value: [1] });
  const instrument = { name: 'x', source: 'y', of: 'host' as const, gaps: [] };
  it('stand in one chart where they differ by label only', () => {
    const { panels: found } = panels([instrument], [series('host.disk.await', 'vdb'), series('host.disk.await', 'vda'), series('host.net')]);
    expect(found.map((panel) => [panel.title, panel.lines.map((line) => line.name)])).toEqual([
      ['Disk await', ['vda', 'vdb']],
      ['Net', ['Net']],
    ]);
  });
  it('that are modes of a CPU are stacked', () => {
    const { panels: found } = panels([instrument], [series('host.cpu.user'), series('host.cpu.system')]);
    expect(found).toHaveLength(1);
    expect(found[0]!.stack).toBe(true);
  });
  it('that are modes of a CPU are stacked by label too', () => {
    const { panels: found } = panels([instrument], [series('host.cpu', 'user'), series('host.cpu', 'iowait'), series('host.cpu.others')]);
    expect(found.map((panel) => [panel.title, panel.stack, panel.lines.map((line) => line.name)])).toEqual([
      ['CPU', true, ['user', 'iowait']],
      ['CPU others', false, ['CPU others']],
    ]);
  });
  it('of too many labels become several charts', () => {
    const { panels: found } = panels([instrument], Array.from({ length: 9 }, (_, i) => series('a.b', `n${i}`)));
    expect(found.map((panel) => panel.lines.length)).toEqual([7, 2]);
  });
  it('that were never read are told with their reason', () => {
    const gap = { label: '', from_us: null, to_us: null, reason: 'no', remedy: 'GRANT' };
    expect(panels([{ ...instrument, gaps: [gap] }], []).missing).toEqual([{ title: 'y', of: 'host', gap }]);
  });
  it('have titles from their names', () => {
    expect(titleOf('pg.wal.bytes')).toBe('WAL bytes');
    expect(titleOf('up')).toBe('Up');
  });
  it('are not drawn across a gap', () => {
    expect(broken([[0, 1], [10, 1]], [{ from: 2, to: 8 }])).toEqual([[0, 1], [5, null], [10, 1]]);
    expect(broken([[0, 1], [1, 1]], [])).toHaveLength(2);
  });
});

describe('an experiment', () => {
  const of = plane(experiment.axes)!;
  it('has clients to the right and scales as lines', () => {
    expect(of.x!.title).toBe('clients');
    expect(of.line!.title).toBe('scale');
    expect(pointAt(experiment, of, 1, 0)!.index).toBe(2);
    expect(pointAt(experiment, of, 7, 0)).toBeNull();
    expect(plane([])).toBeNull();
  });
  it('has other axes to choose from', () => {
    const axes = [...experiment.axes, { name: 'mix', title: 'mix', kind: 'category' as const, values: ['a', 'b'], numbers: null }, { name: 'one', title: 'one', kind: 'category' as const, values: ['x'], numbers: null }];
    expect(plane(axes)!.rest.map((rest) => rest.axis.name)).toEqual(['mix']);
  });
  it('is a part for each workload, which varies only what its own points do', () => {
    const axes = [{ name: 'workload', title: 'workload', kind: 'workload' as const, values: ['a', 'b'], numbers: null }, ...experiment.axes];
    const points = experiment.points.map((point, i) => ({ ...point, workload: i < 2 ? 'a' : 'b', at: [i < 2 ? 0 : 1, ...point.at] }));
    const missing = [{ title: 'b, scale 1, 8 clients', at: [1, 0, 1], why: 'failed: full' }];
    const parts = partsOf({ ...experiment, axes, points, missing });
    expect(parts.map((part) => [part.workload, part.id, part.index.length, part.data.missing.length])).toEqual([['a', 'workload-1', 2, 0], ['b', 'workload-2', experiment.points.length - 2, 1]]);
    // Of one scale there is no line.
    expect(planeOf(parts[0]!)!.line).toBeNull();
    expect(planeOf(parts[0]!)!.x!.title).toBe('clients');
    const second = planeOf(parts[1]!)!;
    expect(whyMissing(parts[1]!.data, second, 0, 1)).toBe('failed: full');
    expect(whyMissing(parts[1]!.data, second, 1, 1)).toBeNull();
  });
  it('has nothing to the right where only kinds vary, and targets are its lines', () => {
    const kind = (name: string) => ({ name, title: name, kind: 'category' as const, values: ['a', 'b'], numbers: null });
    expect(plane([kind('isolation')])!.x).toBeNull();
    const both = plane([kind('isolation'), kind('target'), experiment.axes[1]!])!;
    expect([both.x!.name, both.line!.name, both.rest[0]!.axis.name]).toEqual(['clients', 'target', 'isolation']);
  });
  it('compares each trial that counts with its point', () => {
    const found = drift(experiment);
    expect(found[0]!.share).toBeCloseTo(640 / 650 - 1);
    expect(found[6]!.share).toBeNull();
  });
  it('knows the noise of repeats', () => {
    expect(spreadShare({ n: 2, median: 10, min: 9, max: 11, interval: null, values: [9, 11] })).toBeCloseTo(Math.SQRT2 / 10);
    expect(spreadShare({ n: 1, median: 10, min: 10, max: 10, interval: null, values: [10] })).toBeNull();
    expect(median([3, 1, 2, 10])).toBe(2.5);
    expect(median([])).toBeNull();
  });
  it('has zones where the database fits', () => {
    const sizes = [10, 100, 1000];
    const data = { ...experiment, zones: { axis: 'params.scale', shared_buffers_bytes: 50, memory_bytes: 500 } };
    expect(zones(data, 'params.scale', sizes).map((zone) => [zone.from, zone.to, zone.tint])).toEqual([
      [-0.5, 0.5, false],
      [0.5, 1.5, false],
      [1.5, 2.5, true],
    ]);
    expect(zones(data, 'clients', sizes)).toEqual([]);
    expect(zones(data, 'params.scale', [10, null, 5])).toEqual([]);
  });
});

describe('a comparison', () => {
  const pair = compare.pairs[0]!;
  it('says in words what is better', () => {
    expect(words(pair.differences[0]!)).toEqual({ text: 'better', style: 'better' });
    expect(words({ ...pair.differences[0]!, higher_is_better: false }).text).toBe('worse');
    expect(words({ ...pair.differences[0]!, verdict: 'not-enough-repeats', repeats_needed: 6 }).text).toBe('cannot tell: 6 repeats needed');
    expect(words({ ...pair.differences[0]!, verdict: 'time-explains' }).text).toBe('cannot tell');
  });
  it('has an axis of ratios on which half and double are as far', () => {
    const of = { low: 0.25, high: 4 };
    const x = scale(of);
    expect(x(1) - x(0)).toBeCloseTo(x(0) - x(-0.5));
    expect(ticks(of)).toContain(0);
    const reach = extent(pair.differences);
    expect(reach.low).toBeLessThan(1);
    expect(reach.high).toBeGreaterThan(1.116);
  });
  it('shows the range of repeats where all still have ten values beyond', () => {
    const found = band(pair.a.repeats, [0.3, 1, 9]);
    expect(found.map((p) => [p.x, p.low, p.high])).toEqual([[0.3, 1000, 1000], [1, 1000, 1000]]);
    expect(band([pair.a.repeats[0]!], [0.3])).toEqual([]);
  });
  it('divides B by A at the same percentile', () => {
    const [a, b] = [curve(pair.a.histogram).points, curve(pair.b.histogram).points];
    expect(ratio(a, b, [0.5, 99])).toEqual([[0.5, 0.9]]);
  });
  it('merges seconds until a percentile is known', () => {
    const of = { step_us: 1e6, buckets_us: [1, 2], merged: Array.from({ length: 10 }, () => [0, 500, 1, 100]) };
    expect(overTime(of, 0.99)!.step).toBe(2);
    expect(overTime({ ...of, merged: [[0, 5]] }, 0.99)).toBeNull();
  });
});
