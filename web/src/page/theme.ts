/** Light, dark or as the system has it; colours for what is drawn on canvases. */

import { segmented } from './dom';

export type Choice = 'auto' | 'light' | 'dark';
const CHOICES = { auto: 'Auto', light: 'Light', dark: 'Dark' } as const;

const KEY = 'pgdyno-theme';
let dark: MediaQueryList | null = null;
const listeners: (() => void)[] = [];
let printing = false;
let cache = new Map<string, string>();

function stored(): Choice {
  try {
    const choice = localStorage.getItem(KEY);
    if (choice === 'light' || choice === 'dark') return choice;
  } catch {
    // A page opened from a file may have no storage.
  }
  return 'auto';
}

let choice: Choice = stored();

function apply(): void {
  const isDark = !printing && (choice === 'dark' || (choice === 'auto' && dark?.matches === true));
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  cache = new Map();
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  dark = window.matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', apply);
  apply();
}

/** On paper everything is light. */
export function setPrinting(on: boolean): void {
  printing = on;
  apply();
}

/** No listeners any more: another page takes this one's place. */
export function forgetListeners(): void {
  listeners.length = 0;
}

/** Gives what makes it stop. */
export function onTheme(listener: () => void): () => void {
  listeners.push(listener);
  return () => {
    const at = listeners.indexOf(listener);
    if (at >= 0) listeners.splice(at, 1);
  };
}

/** A colour of the palette as it is now: `token('accent')`. */
export function token(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, value);
  }
  return value;
}

export function themeSwitch(): HTMLElement {
  return segmented('Colours', ['Auto', 'Light', 'Dark'] as const, CHOICES[choice], (name) => {
    choice = name.toLowerCase() as Choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Then it lasts as long as the page.
    }
    apply();
  });
}
