import { expect, test } from 'vitest';
import type { IsolationTransaction } from '../src/data';
import { columns, ends, rows } from '../src/document/cycle';
import { places } from '../src/document/history';

test('transactions of a cycle stand around a circle, the first at the top', () => {
  const [first, second] = places(2, 100);
  expect(first!.y).toBeCloseTo(-100);
  expect(second!.y).toBeCloseTo(100);
});

const operation = (did: string, key: string, writes: boolean, statement: string | null = null) => ({ did, key, writes, statement });
const transaction = (of: Partial<IsolationTransaction>): IsolationTransaction => ({ name: 'T1', client: 1, began_us: 0, ended_us: 300, end: 'committed', operations: [], ...of });
const first = transaction({ operations: [operation('read x = nothing', 'x', false, 'SELECT v FROM t;'), operation('append 1 to y', 'y', true)] });
const second = transaction({ name: 'T2', client: 2, began_us: 10, ended_us: 110, end: 'unknown', operations: [operation('read y = nothing', 'y', false), operation('append 1 to x', 'x', true)] });

test('moments of transactions stand in their order, operations between begin and end', () => {
  const all = rows([first, second]);
  expect(all.map((row) => `${row.of}:${row.step}`)).toEqual(['0:-1', '1:-1', '1:0', '1:1', '0:0', '1:2', '0:1', '0:2']);
  expect(all[0]).toMatchObject({ us: 0, says: 'BEGIN' });
  expect(all[4]).toMatchObject({ us: null, says: 'SELECT v FROM t;', result: 'read x = nothing' });
  expect(all[2]).toMatchObject({ us: null, says: 'read y = nothing', result: null });
  expect(all[5]).toMatchObject({ us: 110, says: 'COMMIT', result: 'no answer: not known whether it committed' });
});

test('an arrow leads from the operation to the one that must come later, or from the end to a begin', () => {
  const link = (from: number, to: number, kind: string, key: string | null) => ({ from, to, kind, key, why: '' });
  expect(ends(link(0, 1, 'rw', 'x'), [first, second])).toEqual([0, 1]);
  expect(ends(link(1, 0, 'rw', 'y'), [first, second])).toEqual([0, 1]);
  expect(ends(link(0, 1, 'wr', 'y'), [first, second])).toEqual([1, 0]);
  expect(ends(link(0, 1, 'session', null), [first, second])).toEqual([2, -1]);
  // What is not among the operations: a write elsewhere orders them.
  expect(ends(link(0, 1, 'ww', 'z'), [first, second])).toEqual([2, -1]);
});

test('transactions of one client share a column', () => {
  expect(columns([second, first, { ...second, name: 'T3' }])).toEqual([0, 1, 0]);
});
