/** Reads the data that pgdyno wrote into the page and shows the page of its kind. */

import { FORMAT, type Data, type TrialData } from './data';
import { disposeAll, flushAll, redrawAll } from './chart/plot';
import { comparePage } from './compare/page';
import { GO_ON } from './live/bar';
import { Feed, type Coming, type FeedState } from './live/feed';
import { keepStatus, showStatus } from './live/status';
import { notebookPage } from './notebook/page';
import { experimentPage } from './experiment/page';
import { h } from './page/dom';
import { setRoute } from './page/shell';
import { forgetListeners, setPrinting, startTheme } from './page/theme';
import { fromHash } from './pure/bus';
import { applied } from './pure/delta';
import { normalise } from './pure/normalise';
import { trialPage, type Shown } from './trial/page';
import './styles.css';

function fail(title: string, words: string): void {
  document.body.replaceChildren(h('main', { class: 'failed' }, h('h1', {}, title), h('p', {}, words)));
}

/** The trial that the address asks for, where this file has its page. */
const routed = (data: Data): TrialData | null => {
  const { trial } = fromHash(location.hash);
  if (trial === null || data.kind !== 'experiment') return null;
  return data.pages?.find((page) => page.run.stored?.number === trial) ?? null;
};

let shown: TrialData | null = null;
/** The page that is shown, where it takes in what comes; others are made anew. */
let shownPage: Shown | null = null;

/** Where trials can be looked at: in this file, or at the server that gave the page. */
function links(data: Data): Map<number, string> {
  const found = new Map<number, string>();
  if (data.kind === 'experiment') for (const page of data.pages ?? []) if (page.run.stored !== undefined) found.set(page.run.stored.number, `#trial=${page.run.stored.number}`);
  return found;
}

/** The page that the address asks for; `stays`: the same, with what has changed. */
function show(data: Data, stays = false): void {
  disposeAll();
  forgetListeners();
  const again = document.getElementById('main') !== null;
  const { scrollX, scrollY } = window;
  const trial = routed(data);
  shown = trial;
  setRoute(trial?.run.stored?.number ?? null, links(data), data.served !== undefined);
  const live = (of: TrialData): boolean => (of.served?.live ?? null) !== null;
  shownPage = null;
  if (trial !== null) trialPage(trial, { title: data.title });
  else if (data.kind === 'trial') {
    const page = trialPage(data);
    if (live(data)) shownPage = page;
  } else if (data.kind === 'experiment') experimentPage(data);
  else if (data.kind === 'compare') comparePage(data);
  else if (data.kind === 'notebook') shownPage = notebookPage(data);
  else fail('This report is of an unknown kind', 'A newer pgdyno wrote it.');
  if (stays) window.scrollTo(scrollX, scrollY);
  else if (again) {
    window.scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }
}

/** What is redrawn at most so often. */
const UPDATE_MS = 1000;

/** So much waits for who does not look; then the whole is asked for when they come back. */
const WAITING_MAX = 600;

/** A page that grows while it is looked at. What comes waits until it is drawn: data and drawing are of one moment. */
function watch(data: Data, path: string): void {
  let state: FeedState = { kind: 'connected' };
  let timer = 0;
  let last = 0;
  let waiting: Coming[] = [];
  let missed = false;
  const isLive = (): boolean => data.kind === 'trial' && (data.served?.live ?? null) !== null;
  const take = (coming: Coming): void => {
    if (coming.delta !== undefined) applied(data, coming.delta);
    else {
      // What is shown keeps hold of its data: they are changed, not replaced.
      const target = data as unknown as Record<string, unknown>;
      for (const key of Object.keys(target)) delete target[key];
      Object.assign(target, coming.whole);
    }
  };
  const draw = (): void => {
    timer = 0;
    if (shownPage?.held?.() === true) return;
    last = performance.now();
    if (missed) {
      missed = false;
      waiting = [];
      feed.open();
      return;
    }
    const wasLive = isLive();
    const all = waiting;
    waiting = [];
    try {
      all.forEach(take);
    } catch {
      feed.open();
      return;
    }
    normalise(data);
    const ended = wasLive && !isLive();
    if (shownPage !== null && !ended) shownPage.update();
    else show(data, true);
    keepStatus(state);
    if (ended) announce('The trial has ended: this is its report.');
  };
  const soon = (): void => {
    // Who does not look at it costs nothing.
    if (timer !== 0 || document.hidden || (waiting.length === 0 && !missed)) return;
    timer = window.setTimeout(draw, Math.max(0, UPDATE_MS - (performance.now() - last)));
  };
  document.addEventListener('visibilitychange', soon);
  document.addEventListener(GO_ON, soon);
  const feed = new Feed(path, {
    coming: (coming) => {
      if (coming.whole !== undefined) waiting = [];
      waiting.push(coming);
      if (waiting.length > WAITING_MAX) {
        missed = true;
        waiting = [];
        feed.close();
      }
      soon();
    },
    state: (now) => {
      state = now;
      showStatus(now);
    },
  });
}

/** Tells those who do not see it. */
function announce(words: string): void {
  const box = h('div', { class: 'visually-hidden', role: 'status' });
  document.body.append(box);
  setTimeout(() => (box.textContent = words), 100);
}

function start(): void {
  const text = document.getElementById('data')?.textContent ?? '';
  let data: Data | null;
  try {
    data = JSON.parse(text) as Data | null;
  } catch {
    fail('This report cannot be read', 'Its data is truncated or damaged. Write it again: pgdyno report.');
    return;
  }
  if (data === null) {
    fail('No data', 'This is the empty template of pgdyno’s reports.');
    return;
  }
  if (data.format !== FORMAT) {
    fail('This report is of another version', `Its data have format ${String(data.format)}; this page reads ${FORMAT}.`);
    return;
  }
  normalise(data);
  startTheme();
  show(data);
  const events = data.served?.events ?? null;
  if (events !== null) watch(data, events);
  window.addEventListener('hashchange', () => {
    if (routed(data) !== shown) show(data);
  });
  // On paper: light, at the width of A4 across, everything drawn and painted.
  window.addEventListener('beforeprint', () => {
    document.documentElement.classList.add('printing');
    setPrinting(true);
    flushAll();
  });
  window.addEventListener('afterprint', () => {
    document.documentElement.classList.remove('printing');
    setPrinting(false);
    redrawAll();
  });
}

start();
