/** The bar of a running trial: how far it has come, and what can be done. */

import type { Live, Served, TrialData } from '../data';
import { clock, percent, rate, timeText } from '../pure/format';
import { h } from '../page/dom';
import { copyLink, stop, teller, type Answer } from './actions';
import { about, aboutAll, died, diedOfAll } from './part';
import { refreshed } from './refresh';

/** Interval of the text for screen readers. */
const SAY_MS = 15_000;

/** Why nothing comes of a running trial, as far as its server knows; empty: it comes. */
export function silence({ silent_s, is_gone }: { silent_s: number | null; is_gone: boolean }): string {
  if (is_gone) return 'Its process has ended without a word. What waits of it on its host is brought by pgdyno store push there.';
  if (silent_s === null) return '';
  return `Nothing has come from it for ${clock(silent_s)}: its process is halted or very late, or cannot reach the notebook. It may go on by itself.`;
}

/** `00:37 of 01:00`; without a planned end only what has passed. */
export function passed(now_us: number | null, planned_us: number | null): string {
  const now = clock((now_us ?? 0) / 1e6);
  return planned_us === null ? `${now}, until its transactions are done` : `${now} of ${clock(planned_us / 1e6)}`;
}

export interface RunningBar {
  element: HTMLElement;
  update: () => void;
  /** Whether the picture is held. */
  held: () => boolean;
}

/** The picture is not held any more. */
export const GO_ON = 'pgdyno-go-on';

export function runningBar(data: TrialData): RunningBar {
  const live = (): Live => data.served!.live!;
  const served: Served = data.served!;
  let isHeld = false;
  let said = 0;
  const word = h('strong', { class: 'running-word' });
  const fill = h('div', { class: 'progress-fill' });
  const track = h('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the trial', 'aria-valuemin': 0, 'aria-valuemax': 100 }, fill);
  const time = h('span', { class: 'running-time' });
  const { shown, tell: say } = teller();
  const polite = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const stalled = h('p', { role: 'status', class: 'stalled bad', hidden: true });
  const lost = h('p', { role: 'status', class: 'generators-lost bad', hidden: true });
  let part: HTMLElement = h('p', { hidden: true });
  const hold = h('button', { type: 'button', class: 'button', 'aria-pressed': 'false' }, 'Hold the picture');
  hold.addEventListener('click', () => {
    isHeld = !isHeld;
    hold.setAttribute('aria-pressed', String(isHeld));
    hold.textContent = isHeld ? 'Go on' : 'Hold the picture';
    if (!isHeld) document.dispatchEvent(new Event(GO_ON));
  });
  const stopping = h('button', { type: 'button', class: 'button danger' }, 'Stop the trial…');
  stopping.addEventListener('click', () => {
    const tell = (answer: Answer): void => {
      say(answer);
      stopping.disabled = answer.ok;
    };
    void stop({ number: live().number, uuid: live().uuid, part: data.served?.part ?? null }, data.title, tell);
  });
  const reason = live().cannot_stop;
  const mayStop = served.may_change && reason === null;
  const element = h(
    'section',
    { class: 'running-bar', 'aria-label': 'Running' },
    h('div', { class: 'running-line' }, word, track, time, h('span', { class: 'running-buttons' }, hold, copyLink(() => location.href), mayStop && stopping)),
    served.may_change && reason !== null && h('p', { class: 'sub' }, reason),
    part,
    lost,
    stalled,
    shown,
    polite,
  );
  const isOver = (): boolean => {
    const { now_us, planned_us } = live();
    return planned_us !== null && now_us !== null && now_us >= planned_us;
  };
  const update = (): void => {
    const { now_us, planned_us } = live();
    const warm = data.timeline.warmup;
    const isWarming = warm !== undefined && warm.length > 0 && warm[warm.length - 1] === 1;
    word.textContent = now_us === null ? '● Starting' : isOver() ? '● Ending' : isWarming ? '● Warming up' : '● Running';
    stalled.textContent = silence(live());
    stalled.hidden = stalled.textContent === '';
    const of = data.served?.part ?? null;
    if (of !== null) {
      const together = data.served!.together;
      part = refreshed(part, together ? aboutAll(of) : about(of, true, live().number));
      lost.textContent = together ? diedOfAll(of) : died(of);
      lost.hidden = lost.textContent === '';
    }
    const share = planned_us === null || now_us === null ? null : Math.min(1, now_us / planned_us);
    track.hidden = planned_us === null;
    fill.style.width = `${(share ?? 0) * 100}%`;
    track.setAttribute('aria-valuenow', String(Math.round((share ?? 0) * 100)));
    track.setAttribute('aria-valuetext', passed(now_us, planned_us));
    time.textContent = passed(now_us, planned_us);
    if (Date.now() - said < SAY_MS) return;
    said = Date.now();
    const { measured } = data.run;
    const main = measured.response ?? measured.service;
    polite.textContent = `${passed(now_us, planned_us)}${share === null ? '' : ` (${percent(share)})`}: ${rate(measured.goodput_per_s)} transactions a second so far, p99 ${timeText(main.p99_us)}.`;
  };
  update();
  return { element, update, held: () => isHeld };
}
