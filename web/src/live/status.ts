/** What is shown when the picture is not current. */

import { h } from '../page/dom';
import type { FeedState } from './feed';

let shown = '';

const time = (at: Date): string => at.toISOString().slice(11, 19);

/** The words for it; empty: all is well. */
export function words(state: FeedState): [strong: string, rest: string] | null {
  switch (state.kind) {
    case 'lost':
      return ['The server does not answer. ', `What is shown is of ${time(state.since)} UTC. It is asked again by itself; if pgdyno serve was ended, start it again.`];
    case 'away':
      return ['The notebook cannot be read now: ', [state.error.replace(/\.?$/, '.'), ...state.hints].join(' ')];
    default:
      return null;
  }
}

/** Shows it above the page, or takes it away. */
export function showStatus(state: FeedState): void {
  const now = words(state);
  const text = now === null ? '' : now.join('');
  if (text === shown && (text === '' || document.getElementById('feed-status') !== null)) return;
  shown = text;
  const old = document.getElementById('feed-status');
  if (now === null) {
    old?.replaceChildren();
    old?.classList.remove('on');
    return;
  }
  const box = old ?? h('div', { id: 'feed-status', role: 'status', class: 'feed-status' });
  box.classList.add('on');
  box.replaceChildren(h('p', {}, h('strong', {}, now[0]), now[1]));
  if (old === null) document.querySelector('.topbar')?.after(box);
}

/** Another page has been put together: what was shown is shown there. */
export function keepStatus(state: FeedState): void {
  shown = '';
  showStatus(state);
}
