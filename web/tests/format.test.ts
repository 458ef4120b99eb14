import { describe, expect, it } from 'vitest';
import cases from '../../crates/spec/src/text/cases.json';
import { asked, bytes, bytesText, bytesUnit, change, clock, columnUnit, count, fixed, inUnit, inUnitOf, join, oneIn, partOf, percent, percentileName, rate, shortCount, signed, significant, span, time, timeText } from '../src/pure/format';

const plain = (text: string): string => text.replace(/\u00a0/g, ' ');

/** How the page writes each kind of figure that the terminal writes too. */
const kinds: Record<string, (value: number) => string> = {
  count,
  significant: (value) => significant(value),
  bytes: bytesText,
  'bytes/s': (value) => join(inUnitOf(value, 'bytes/s')),
  time_us: (value) => timeText(value),
  asked_us: asked,
  seconds: span,
  share: percent,
  change,
  percentile: (value) => percentileName(value / 100),
};

describe('the table that the terminal reads too', () => {
  it.each(cases)('$kind $value: $text', ({ kind, value, text }) => {
    // The page alone has no-break spaces and a true minus.
    expect(plain(kinds[kind]!(value)).replace('−', '-')).toBe(text);
  });
  it('has all of it', () => {
    expect(new Set(cases.map((of) => of.kind))).toEqual(new Set(Object.keys(kinds)));
  });
});

describe('counts', () => {
  it('mark thousands and have a true minus', () => {
    expect(count(1259504)).toBe('1,259,504');
    expect(count(-1234)).toBe('−1,234');
    expect(count(-0.2)).toBe('0');
    expect(fixed(-0.001, 2)).toBe('0.00');
  });
});

describe('significant digits', () => {
  it('are three, and digits before the point are never cut', () => {
    expect(significant(7.853)).toBe('7.85');
    expect(significant(0.117)).toBe('0.117');
    expect(significant(44.12)).toBe('44.1');
    expect(significant(1234.6)).toBe('1,235');
    expect(significant(0)).toBe('0');
  });
  it('are those of rates, and of counts in little room', () => {
    expect(rate(12345.6)).toBe('12,346');
    expect(rate(null)).toBe('–');
    expect(plain(shortCount(1_259_504))).toBe('1.26 M');
    expect(shortCount(999_999)).toBe('999,999');
  });
  it('are those of the rounded number', () => {
    expect(significant(9.996)).toBe('10.0');
    expect(significant(99.96)).toBe('100');
    expect(significant(0.09996)).toBe('0.100');
  });
  it('of what is no number are a dash', () => expect(significant(NaN)).toBe('–'));
});

describe('durations', () => {
  it('choose their unit by their size', () => {
    expect(join(time(82))).toBe('82.0\u00a0µs');
    expect(plain(timeText(508863))).toBe('509 ms');
    expect(plain(timeText(1181911))).toBe('1.18 s');
  });
  it('that round to the next unit belong to it', () => {
    expect(plain(timeText(999.9))).toBe('1.00 ms');
    expect(plain(timeText(999_960))).toBe('1.00 s');
  });
  it('that are not known are a dash', () => expect(timeText(null)).toBe('–'));
  it('that were asked for have no noughts that nobody typed', () => {
    expect(plain(asked(20000))).toBe('20 ms');
    expect(plain(asked(12500))).toBe('12.5 ms');
    expect(plain(asked(1000000))).toBe('1 s');
  });
  it('in a column share one unit', () => {
    const unit = columnUnit([60, 320, 1300, 2_000_000]);
    expect(unit.unit).toBe('ms');
    expect(inUnit(60, unit)).toBe('0.060');
    expect(inUnit(1300, unit)).toBe('1.30');
    expect(inUnit(2_000_000, unit)).toBe('2,000');
    expect(inUnit(0.2, unit)).toBe('< 0.001');
    expect(inUnit(0, unit)).toBe('0');
    expect(inUnit(null, unit)).toBe('–');
    expect(columnUnit([3_000_000, 4_000_000]).unit).toBe('s');
    expect(columnUnit([2, 3, 4]).unit).toBe('µs');
  });
});

describe('shares', () => {
  it('are never rounded up to all or down to nothing', () => {
    expect(plain(percent(0.9999999))).toBe('> 99.999 %');
    expect(plain(percent(0.99998))).toBe('99.998 %');
    expect(plain(percent(0.9996))).toBe('99.960 %');
    expect(plain(percent(0.000001))).toBe('< 0.001 %');
    expect(plain(percent(1))).toBe('100 %');
    expect(plain(percent(0))).toBe('0 %');
    expect(partOf(1259502, 1259504)).toBe('all but 2 of 1,259,504');
    expect(partOf(10, 10)).toBe('all 10');
    expect(partOf(900, 1000)).toBe('900 of 1,000');
  });
  it('as differences are always signed', () => {
    expect(plain(change(0.106))).toBe('+10.6 %');
    expect(plain(change(-0.39))).toBe('−39.0 %');
    expect(plain(change(0.0001))).toBe('±0 %');
    expect(change(null)).toBe('–');
    expect(signed(-0.03, 2)).toBe('−0.030');
    expect(signed(0)).toBe('0');
  });
});

describe('units', () => {
  it('of bytes are those of PostgreSQL', () => {
    expect(join(bytes(134217728))).toBe('128\u00a0MB');
    expect(join(bytes(-1536))).toBe('−1.5\u00a0kB');
    expect(bytes(NaN)).toEqual({ value: '–', unit: '' });
    expect(bytesUnit(100e6)).toEqual({ by: 2 ** 20, name: 'MB' });
    expect(bytesUnit(0).name).toBe('bytes');
    expect(bytesUnit(2 ** 70).name).toBe('PB');
  });
  it('of series are shown as they are meant', () => {
    expect(plain(join(inUnitOf(8.3e6, 'bytes/s')))).toBe('7.92 MB/s');
    expect(plain(join(inUnitOf(3.6, 'ms')))).toBe('3.60 ms');
    expect(plain(join(inUnitOf(44, '1/s')))).toBe('44 /s');
    expect(inUnitOf(null, 'bytes').value).toBe('–');
    expect(plain(join(inUnitOf(7.83, 'cores')))).toBe('7.83 cores');
  });
});

describe('times of a run', () => {
  it('are minutes and seconds, hours where there are any', () => {
    expect(clock(169.6, 1)).toBe('02:49.6');
    expect(clock(3769)).toBe('1:02:49');
    expect(clock(-5)).toBe('−00:05');
    expect(clock(59.99)).toBe('01:00');
    expect(plain(span(11940))).toBe('3 h 19 min');
    expect(plain(span(300))).toBe('5 min 00 s');
    expect(plain(span(12.5))).toBe('12.5 s');
  });
});

describe('percentiles', () => {
  it('have names', () => {
    expect(percentileName(0.999)).toBe('p99.9');
    expect(percentileName(0.5)).toBe('p50');
    expect(percentileName(0.99999)).toBe('p99.999');
    expect(oneIn(0.999)).toBe('1 in 1,000');
  });
});
