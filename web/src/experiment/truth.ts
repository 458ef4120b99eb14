/** Whether the database has what it acknowledged: lost writes, and what became of unknown transactions. */

import type { DisturbRepeat, LostWrite } from '../data';
import { count, DASH, fixed } from '../pure/format';
import { trialLink } from '../page/shell';
import { h, type Child } from '../page/dom';
import { figureTable, nums } from '../page/table';

const HEAD = ['Acknowledged', 'Lost', 'Unknown', 'Of these committed', 'Failed', 'Of these committed', 'Twice'];

function cells(of: DisturbRepeat): Child[] {
  const truth = of.truth;
  if (truth === null) return [h('td', { colspan: String(HEAD.length) }, DASH)];
  if ('unknown' in truth) return [h('td', { colspan: String(HEAD.length) }, `not known: ${truth.unknown}`)];
  const numbers = [truth.acknowledged, truth.lost, truth.in_doubt, truth.in_doubt_landed, truth.failed, truth.failed_landed, truth.twice];
  return numbers.map((n, i) => h('td', { class: i === 1 && n > 0 ? 'n state-bad' : 'n' }, count(n)));
}

const lostFirst = (truth: DisturbRepeat['truth']): LostWrite[] => (truth === null || 'unknown' in truth ? [] : truth.lost_first.slice(0, 5));

/** A table of the trials whose transactions left receipts, and the first lost writes; nothing without any. */
export function truthTable(repeats: DisturbRepeat[], where: string): HTMLElement | null {
  const asked = repeats.filter((of) => of.truth !== null);
  if (asked.length === 0) return null;
  const lost = asked.flatMap((of) => lostFirst(of.truth).map((write) => ({ of, write })));
  return h(
    'div',
    {},
    h('h4', {}, 'Receipts: what the database has of what it acknowledged'),
    figureTable(`Receipts${where}`, ['Trial', ...nums(...HEAD)], asked.map((of) => [trialLink(of.trial, `trial ${of.trial}`), ...cells(of)])),
    ...lost.map(({ of, write }) => h('p', { class: 'sub' }, h('strong', { class: 'state-bad' }, 'Lost: '), `trial ${of.trial}, client ${write.client}, its transaction ${count(write.number)}, acknowledged by ${fixed(write.by_us / 1e6, 1)} s`)),
  );
}
