/** Figures as they stand on a page beside those of the notebook. */

import assert from 'node:assert/strict';

const UNITS_US = { s: 1e6, ms: 1e3, 'µs': 1 };

/** Digits of a text as a number, and how much it may have been rounded by. */
export function read(text) {
  const clean = text.replace(/[\s\u00a0,]/g, '').replace('−', '-').replace(/^\+/, '');
  const found = /^-?\d+(\.\d+)?/.exec(clean);
  assert.ok(found, `no number: “${text}”`);
  const decimals = found[1] === undefined ? 0 : found[1].length - 1;
  return { value: Number(found[0]), half: 0.5 * 10 ** -decimals * 1.0001, rest: clean.slice(found[0].length) };
}

/** The text must be this number, rounded as far as it has digits. */
export function same(text, number, what) {
  const { value, half } = read(text);
  // Large ones with three digits only: 1,230 for 1,234.
  const digits = Math.abs(number) >= 1000 && value % 10 === 0 ? Math.abs(number) * 0.005 : half;
  assert.ok(Math.abs(value - number) <= digits, `${what}: “${text}” is not ${number}`);
}

/** The text must be this number, every digit of it. */
export function exactly(text, number, what) {
  const { value } = read(text);
  assert.equal(value, number, `${what}: “${text}”`);
}

/** A time with its unit, and with the mark of one that is of its run only. */
export function time(text, us, what) {
  const { value, half, rest } = read(text);
  const unit = UNITS_US[/^~?(µs|ms|s)/.exec(rest)?.[1]];
  assert.ok(unit, `${what}: no unit of time in “${text}”`);
  assert.ok(Math.abs(value * unit - us) <= half * unit, `${what}: “${text}” is not ${us} µs`);
}
