/** Parts of a page made anew: what has not changed stays, and so does what the user reads or works in. */

import { disposeDetached } from '../chart/plot';

/** Charts of a section that is made as a whole are made again after so long. */
const CHARTS_MS = 10_000;

/** Names that are counted up differ each time, and mean nothing. */
const looks = (element: Element): string => element.outerHTML.replace(/-\d+"/g, '"');

const made = new WeakMap<Element, number>();

/** What has the focus and is there again gets it again, but not so often that who hears it hears nothing else. */
const FOCUS_MS = 5000;

/** Whether the user is in it: with the pointer, the focus, a selection, or a table that was opened. */
function isInUse(element: Element, fresh: Element): boolean {
  if (element.querySelector(':active') !== null) return true;
  const focused = document.activeElement;
  if (focused !== null && focused !== element && element.contains(focused)) {
    const again = focused.id !== '' && fresh.querySelector(`#${CSS.escape(focused.id)}`) !== null;
    if (!again || performance.now() - (made.get(element) ?? 0) < FOCUS_MS) return true;
  }
  if (element.querySelector('.behind:not([hidden])') !== null) return true;
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.anchorNode !== null && element.contains(selection.anchorNode);
}

/** Puts `fresh` in the place of `old` if it looks different; gives what is there then. */
export function refreshed(old: HTMLElement, fresh: HTMLElement): HTMLElement {
  const before = old.querySelectorAll('details');
  fresh.querySelectorAll('details').forEach((details, i) => {
    if (before[i] !== undefined) details.open = before[i].open;
  });
  const drawn = old.querySelector('.canvas') !== null;
  const isSoon = drawn && performance.now() - (made.get(old) ?? 0) < CHARTS_MS;
  if (isSoon || isInUse(old, fresh) || (drawn && old.matches(':hover')) || looks(old) === looks(fresh)) return old;
  const scrolled = [...old.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
  const focused = old.contains(document.activeElement) ? (document.activeElement?.id ?? '') : '';
  old.replaceWith(fresh);
  if (focused !== '') document.getElementById(focused)?.focus({ preventScroll: true });
  made.set(fresh, performance.now());
  fresh.querySelectorAll('.scroll').forEach((box, i) => {
    box.scrollLeft = scrolled[i] ?? 0;
  });
  return fresh;
}

/** The children of `parent` after `first` become these, by their ids; those named `own` look after themselves. */
export function reconciled(parent: HTMLElement, first: Element, fresh: HTMLElement[], own: ReadonlySet<string>): void {
  const wanted = new Set(fresh.map((element) => element.id));
  for (const child of [...parent.children]) {
    if (child.id !== '' && !wanted.has(child.id) && child.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_PRECEDING) child.remove();
  }
  let last = first;
  for (const element of fresh) {
    const there = [...parent.children].find((child) => child.id === element.id) as HTMLElement | undefined;
    if (there === undefined) {
      last.after(element);
      last = element;
    } else last = own.has(element.id) ? there : refreshed(there, element);
  }
  disposeDetached();
}
