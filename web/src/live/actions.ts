/** What can be done to a trial from a served page: asked for by POST, each with the trial's uuid. */

import type { PartOf } from '../data';
import { copyButton, h, uniqueId, type Child } from '../page/dom';

export interface Named {
  number: number;
  uuid: string;
}

export interface Answer {
  ok: boolean;
  words: string;
}

/** Where answers are shown, and the function that shows them. */
export function teller(tag: 'span' | 'p' = 'span'): { shown: HTMLElement; tell: (answer: Answer) => void } {
  const shown = h(tag, { role: 'status', class: 'answer-line' });
  const tell = (answer: Answer): void => {
    shown.textContent = answer.words;
    shown.classList.toggle('bad', !answer.ok);
  };
  return { shown, tell };
}

/** Asks the server; what it answers, in a sentence. */
export async function ask(trial: Named, action: string, body: object): Promise<Answer> {
  try {
    const answer = await fetch(`/trial/${trial.number}/${action}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ uuid: trial.uuid, ...body }),
    });
    const reply = (await answer.json().catch(() => ({}))) as { done?: string; error?: string; hints?: string[] };
    if (answer.ok) return { ok: true, words: reply.done ?? 'Done.' };
    return { ok: false, words: [reply.error ?? `The server answers ${answer.status}.`, ...(reply.hints ?? [])].join(' ') };
  } catch {
    return { ok: false, words: 'The server does not answer: nothing was changed.' };
  }
}

export interface Question {
  title: string;
  words: Child[];
  /** What the button says that does it. */
  yes: string;
  no: string;
  danger?: boolean;
  /** A line to fill in, and what it says at first; required where it may not be empty. */
  line?: { label: string; value: string; required: boolean };
}

/** Asks a person; null: no. */
export function question(of: Question): Promise<string | null> {
  const title = uniqueId('question');
  const input = of.line === undefined ? null : h('input', { type: 'text', value: of.line.value, required: of.line.required, autocomplete: 'off', maxlength: 2000 });
  const yes = h('button', { type: 'submit', class: of.danger === true ? 'button danger' : 'button primary', value: 'yes' }, of.yes);
  const no = h('button', { type: 'button', class: 'button' }, of.no);
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: title }, of.title),
    ...of.words.map((words) => h('p', {}, words)),
    input !== null && h('label', {}, h('span', {}, of.line!.label), input),
    h('div', { class: 'dialog-buttons' }, no, yes),
  );
  const dialog = h('dialog', { 'aria-labelledby': title }, form);
  document.body.append(dialog);
  dialog.showModal();
  (input ?? no).focus();
  return new Promise((resolve) => {
    no.addEventListener('click', () => dialog.close(''));
    dialog.addEventListener('close', () => {
      const said = dialog.returnValue === 'yes' ? (input?.value.trim() ?? '') : null;
      dialog.remove();
      resolve(said);
    });
  });
}

/** Stops a trial after asking; the answer goes to `tell`. */
export async function stop(trial: Named & { part: PartOf | null }, what: string, tell: (answer: Answer) => void): Promise<void> {
  const others = trial.part === null ? '' : ` So do the other generators of the trial (${trial.part.generators} in all), unless this one was started with --leave.`;
  const said = await question({
    title: `Stop trial ${trial.number}?`,
    words: [`${what}. As Ctrl-C in its terminal: it ends now, and what was measured is kept. What runs it, such as a sweep, ends with it.${others}`],
    yes: `Stop trial ${trial.number}`,
    no: 'Let it run',
    danger: true,
  });
  if (said !== null) tell(await ask(trial, 'stop', {}));
}

/** A button that takes the page's address along. */
export const copyLink = (href: () => string): HTMLElement => copyButton('Copy link', 'button', href, () => 'Copy it from the address bar');

/** Tag, note, exclude: for a trial that has a page of its own; one that does not grow is asked for again. */
export function trialActions(trial: Named & { tags: string[]; note: string | null; excluded: string | null }, grows: boolean): HTMLElement {
  const { shown, tell: say } = teller();
  const tell = (answer: Answer): void => {
    say(answer);
    if (answer.ok && !grows) location.reload();
  };
  const button = (text: string, act: () => Promise<void>): HTMLElement => h('button', { type: 'button', class: 'button', on: { click: () => void act() } }, text);
  const tag = button('Tags…', async () => {
    const said = await question({ title: `Tags of trial ${trial.number}`, words: [], yes: 'Keep them', no: 'Cancel', line: { label: 'Tags, with spaces between', value: trial.tags.join(' '), required: false } });
    if (said === null) return;
    const wanted = said.split(/\s+/).filter((word) => word !== '');
    tell(await ask(trial, 'tag', { add: wanted.filter((one) => !trial.tags.includes(one)), remove: trial.tags.filter((one) => !wanted.includes(one)) }));
  });
  const note = button('Note…', async () => {
    const said = await question({ title: `Note on trial ${trial.number}`, words: [], yes: 'Keep it', no: 'Cancel', line: { label: 'Note; empty: none', value: trial.note ?? '', required: false } });
    if (said !== null) tell(await ask(trial, 'note', { note: said === '' ? null : said }));
  });
  const exclude =
    trial.excluded !== null
      ? button('Include again', async () => tell(await ask(trial, 'exclude', { reason: null })))
      : button('Exclude…', async () => {
          const said = await question({ title: `Exclude trial ${trial.number}?`, words: ['It stays in the notebook and in lists, with the reason; comparisons leave it out.'], yes: 'Exclude it', no: 'Cancel', line: { label: 'Why', value: '', required: true } });
          if (said !== null && said !== '') tell(await ask(trial, 'exclude', { reason: said }));
        });
  return h('div', { class: 'page-actions' }, tag, note, exclude, copyLink(() => location.href), shown);
}
