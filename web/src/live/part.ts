/** A trial that is what one of several generators measures: which one, and what has become of the others. */

import type { GeneratorPart, PartOf } from '../data';
import { h, type Child } from '../page/dom';

/** So many are named; of more only how many there are. */
const NAMED = 8;

const hasDied = (part: GeneratorPart): boolean => part.is_silent || part.state === 'aborted' || part.state === 'failed';

/** `generator 0 of 2`. */
export const which = (part: PartOf): string => `generator ${part.generator} of ${part.generators}`;

/** What is said of those that have ended before their time; empty: none. */
function lost(dead: GeneratorPart[]): string {
  const name = (one: GeneratorPart): string => `generator ${one.generator} (trial ${one.trial})`;
  const names = dead.length > NAMED ? `${dead.length} generators` : dead.map(name).join(', ').replace(/, ([^,]*)$/, ' and $1');
  if (dead.length === 0) return '';
  const silent = dead.every((one) => one.is_silent);
  const does = silent ? `nothing has been heard of ${names} for 20 s or more: ${dead.length === 1 ? 'it counts' : 'they count'} as dead` : `${names} ${dead.length === 1 ? 'has' : 'have'} ended before ${dead.length === 1 ? 'its' : 'their'} time`;
  return `${does.charAt(0).toUpperCase()}${does.slice(1)}. The others measure on, and the result of all will be partial.`;
}

/** Which other generators have ended before their time, in a sentence; empty: none. Of its own silence a page tells by itself. */
export const died = (part: PartOf): string => lost(part.parts.filter((one) => one.generator !== part.generator && hasDied(one)));

/** The same of all of them. */
export const diedOfAll = (part: PartOf): string => lost(part.parts.filter(hasDied));

/** What the page of all generators together is of, with ways to each. */
export function aboutAll(part: PartOf): HTMLElement {
  const link = (one: GeneratorPart, i: number): Child[] => [i === 0 ? ' Each by itself: ' : ', ', h('a', { href: `/trial/${one.trial}` }, `generator ${one.generator}`)];
  return h('p', { class: 'sub part-of' }, h('strong', {}, `What all ${part.generators} generators do together.`), ' A second counts when each that lives has recorded it; histograms are added, never averaged.', ...(part.parts.length > NAMED ? [' The table below has each.'] : part.parts.flatMap(link)));
}

/** What this page is of, with ways to the others. */
export function about(part: PartOf, isLive: boolean, trial: number | null = null): HTMLElement {
  const others = part.parts.filter((one) => one.generator !== part.generator);
  const link = (one: GeneratorPart, i: number): Child[] => [i === 0 ? ' Others: ' : ', ', h('a', { href: `/trial/${one.trial}` }, `generator ${one.generator}`)];
  const together: Child[] = trial === null ? [] : [' ', h('a', { href: `/trial/${trial}/together` }, 'All of them together'), isLive ? '.' : ''];
  const whole: Child[] =
    part.whole !== null
      ? [' All of them together: ', h('a', { href: `/trial/${part.whole}` }, `trial ${part.whole}`), '.']
      : [...together, isLive ? '' : ' Their result together is a trial of its own, as soon as they have been added up.'];
  return h('p', { class: 'sub part-of' }, h('strong', {}, `${isLive ? 'Only what' : 'What'} ${which(part)} ${isLive ? 'measures' : 'measured'}.`), ...whole, ...(others.length > NAMED ? [] : others.flatMap(link)));
}
