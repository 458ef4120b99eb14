/** Elements with text by `textContent` only: nothing that was stored is ever read as HTML. */

export type Child = Node | string | null | undefined | false;

export interface Attributes {
  class?: string;
  id?: string;
  /** Set with `style.setProperty`, which a content security policy allows. */
  style?: Record<string, string>;
  on?: Record<string, (event: Event) => void>;
  [name: string]: unknown;
}

const SVG = 'http://www.w3.org/2000/svg';

function fill(element: Element & ElementCSSInlineStyle, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'style') {
      for (const [property, of] of Object.entries(value as Record<string, string>)) element.style.setProperty(property, of);
    } else if (name === 'on') {
      for (const [event, listener] of Object.entries(value as Record<string, (event: Event) => void>)) {
        element.addEventListener(event, listener);
      }
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
}

export function h<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[T] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

/** Words with `code` in backquotes. */
export function rich(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  text.split('`').forEach((part, index, parts) => {
    // An odd backquote at the end opens nothing.
    const code = index % 2 === 1 && index < parts.length - 1;
    if (code) fragment.append(h('code', {}, part));
    else if (part !== '') fragment.append(index % 2 === 1 ? `\`${part}` : part);
  });
  return fragment;
}

/** A box that what is too wide for the window is scrolled in. */
export const scroll = (label: string, ...children: Child[]): HTMLElement => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, ...children);

/** A few words, and what they are of. */
export const captioned = (words: string, ...of: Child[]): HTMLElement => h('div', {}, h('p', { class: 'sub' }, words), ...of);

/** What is seen when it is opened. */
export const more = (summary: string, ...of: Child[]): HTMLDetailsElement => h('details', { class: 'more' }, h('summary', {}, summary), ...of);

/** A name that is an id of its own on the page. */
let ids = 0;
export const uniqueId = (prefix: string): string => `${prefix}-${(ids += 1)}`;

/** Saves a file from the page, without a request. */
export function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A choice of one, as buttons side by side. */
export function segmented<T extends string>(label: string, choices: readonly T[], chosen: T, choose: (choice: T) => void): HTMLElement {
  const buttons = choices.map((choice) => {
    const button = h('button', { type: 'button', 'aria-pressed': String(choice === chosen) }, choice);
    button.addEventListener('click', () => {
      buttons.forEach((other) => other.setAttribute('aria-pressed', String(other === button)));
      choose(choice);
    });
    return button;
  });
  return h('div', { class: 'segmented', role: 'group', 'aria-label': label }, ...buttons);
}

/** A button that takes a text along; where the browser does not let it, `instead` is done, and says what. */
export function copyButton(name: string, style: string, text: () => string, instead: () => string): HTMLElement {
  const button = h('button', { type: 'button', class: style }, name);
  const say = (words: string): void => {
    button.textContent = words;
    setTimeout(() => (button.textContent = name), 2000);
  };
  button.addEventListener('click', () => {
    if (navigator.clipboard === undefined) say(instead());
    else navigator.clipboard.writeText(text()).then(() => say('Copied'), () => say(instead()));
  });
  return button;
}
