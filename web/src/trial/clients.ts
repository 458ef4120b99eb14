/** Over time: clients asked for and clients that worked, where their number moves. */

import type { Bus } from '../pure/bus';
import { lower, thin } from '../pure/bins';
import { fixed } from '../pure/format';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { lineSeries } from '../chart/shapes';
import { Strip, type Entry } from '../chart/strip';
import { token } from '../page/theme';
import { marks } from './marks';
import type { Model } from './model';

/** Half a second: the value of a second is its mean. */
const MIDDLE_US = 5e5;

export function clients(model: Model, bus: Bus): Strip | null {
  const course = model.data.run.client_course;
  if (course === undefined || course.seconds.length === 0) return null;
  const { seconds } = course;
  const start = Float64Array.from(seconds, (one) => one.start_us / 1e6);
  const x = Float64Array.from(seconds, (one) => (one.start_us + MIDDLE_US) / 1e6);
  const asked = seconds.map((one) => one.asked);
  const working = seconds.map((one) => one.working);
  const axis = linear(Math.max(1, ...asked, ...working), 4);
  const mean = (values: readonly number[], whole: number) => (at: number | null) => {
    if (at !== null) return fixed(values[Math.max(0, lower(start, at + 1e-9) - 1)]!, 1);
    if (bus.isWhole) return fixed(whole, 1);
    const within = values.filter((_, row) => x[row]! >= bus.range.from && x[row]! <= bus.range.to);
    return within.length === 0 ? '–' : fixed(within.reduce((sum, value) => sum + value, 0) / within.length, 1);
  };
  const entries: Entry[] = [
    { key: 'working', name: () => 'Working', mark: 'line', color: 'accent', value: mean(working, course.working) },
    { key: 'asked', name: () => 'Asked for', mark: 'dashed', color: 'ok', value: mean(asked, course.asked) },
  ];
  return Strip.of(
    {
      id: 'clients-over-time',
      title: 'Clients',
      subtitle: () => 'that work, mean of each second',
      height: 130,
      entries,
      summary: () => `On average ${fixed(course.working, 1)} clients worked of ${fixed(course.asked, 1)} asked for.`,
      data: () => ({
        head: ['start_s', 'asked', 'working'],
        rows: seconds.flatMap((one, row) => (x[row]! < bus.range.from || x[row]! > bus.range.to ? [] : [[one.start_us / 1e6, one.asked, one.working]])),
      }),
      build: ({ width }, hidden) => {
        const { from, to } = bus.range;
        const series: object[] = [marks(model, bus.range)];
        if (!hidden.has('working')) series.push(lineSeries(thin(x, working, from, to, width), { color: token('accent'), width: 1.6 }, { z: 3 }));
        if (!hidden.has('asked')) series.push(lineSeries(thin(x, asked, from, to, width), { color: token('ok'), width: 1.4, type: [4, 3] }, { z: 4 }));
        return { grid: {}, yAxis: linearAxis(axis.min, axis.max, axis.step), series };
      },
    },
    bus,
  );
}
