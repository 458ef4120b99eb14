/** Reads the data that pgdyno wrote into the page and shows the page of its kind. */

import { FORMAT, type Data, type TrialData } from './data';
import { disposeAll, flushAll, redrawAll } from './chart/plot';
import { comparePage } from './compare/page';
import { experimentPage } from './experiment/page';
import { h } from './page/dom';
import { setRoute } from './page/shell';
import { forgetListeners, setPrinting, startTheme } from './page/theme';
import { fromHash } from './pure/bus';
import { normalise } from './pure/normalise';
import { trialPage } from './trial/page';
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

/** Where trials can be looked at in this file. */
function links(data: Data): Map<number, string> {
  const found = new Map<number, string>();
  if (data.kind === 'experiment') for (const page of data.pages ?? []) if (page.run.stored !== undefined) found.set(page.run.stored.number, `#trial=${page.run.stored.number}`);
  return found;
}

/** The page that the address asks for. */
function show(data: Data): void {
  disposeAll();
  forgetListeners();
  const again = document.getElementById('main') !== null;
  const trial = routed(data);
  shown = trial;
  setRoute(trial?.run.stored?.number ?? null, links(data));
  if (trial !== null) trialPage(trial, { title: data.title });
  else if (data.kind === 'trial') trialPage(data);
  else if (data.kind === 'experiment') experimentPage(data);
  else if (data.kind === 'compare') comparePage(data);
  else fail('This report is of an unknown kind', 'A newer pgdyno wrote it.');
  if (again) {
    window.scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }
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
