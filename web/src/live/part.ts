/** A trial that is what one of several generators measures: which one, and what has become of the others. */

import type { GeneratorPart, PartOf } from '../data';
import { h, type Child } from '../page/dom';

/** So many are named; of more only how many there are. */
const NAMED = 8;

const hasDied = (part: GeneratorPart): boolean => part.is_silent || part.state === 'aborted' || part.state === 'failed';

/** `generator 0 of 2`. */
export const which = (part: PartOf): string => `generator ${part.generator} of ${part.generators}`;

/** Which other generators have ended before their time, in a sentence; empty: none. Of its own silence a page tells by itself. */
export function died(part: PartOf): string {
  const dead = part.parts.filter((one) => one.generator !== part.generator && hasDied(one));
  const name = (one: GeneratorPart): string => `generator ${one.generator} (trial ${one.trial})`;
  const names = dead.length > NAMED ? `${dead.length} generators` : dead.map(name).join(', ').replace(/, ([^,]*)$/, ' and $1');
  if (dead.length === 0) return '';
  const silent = dead.every((one) => one.is_silent);
  const does = silent ? `nothing has been heard of ${names} for 20 s or more: ${dead.length === 1 ? 'it counts' : 'they count'} as dead` : `${names} ${dead.length === 1 ? 'has' : 'have'} ended before ${dead.length === 1 ? 'its' : 'their'} time`;
  return `${does.charAt(0).toUpperCase()}${does.slice(1)}. The others measure on, and the result of all will be partial.`;
}

/** What this page is of, with ways to the others. */
export function about(part: PartOf, isLive: boolean): HTMLElement {
  const others = part.parts.filter((one) => one.generator !== part.generator);
  const link = (one: GeneratorPart, i: number): Child[] => [i === 0 ? ' Others: ' : ', ', h('a', { href: `/trial/${one.trial}` }, `generator ${one.generator}`)];
  const whole: Child[] =
    part.whole !== null
      ? [' All of them together: ', h('a', { href: `/trial/${part.whole}` }, `trial ${part.whole}`), '.']
      : [isLive ? ' All are added up when they have ended.' : ' Their result together is a trial of its own, as soon as they have been added up.'];
  return h('p', { class: 'sub part-of' }, h('strong', {}, `${isLive ? 'Only what' : 'What'} ${which(part)} ${isLive ? 'measures' : 'measured'}.`), ...whole, ...(others.length > NAMED ? [] : others.flatMap(link)));
}
