/** Reads the data that pgdyno wrote into the page and shows the page of its kind. */

import { FORMAT, type Data } from './data';
import { flushAll, redrawAll } from './chart/plot';
import { comparePage } from './compare/page';
import { experimentPage } from './experiment/page';
import { h } from './page/dom';
import { setPrinting, startTheme } from './page/theme';
import { trialPage } from './trial/page';
import './styles.css';

function fail(title: string, words: string): void {
  document.body.replaceChildren(h('main', { class: 'failed' }, h('h1', {}, title), h('p', {}, words)));
}

function start(): void {
  const text = document.getElementById('data')?.textContent ?? '';
  let data: Data | null;
  try {
    data = JSON.parse(text) as Data | null;
  } catch {
    fail('This report cannot be read', 'Its data are cut off or damaged. Write it again: pgdyno report.');
    return;
  }
  if (data === null) {
    fail('No data', 'This is the empty page that pgdyno puts its reports into.');
    return;
  }
  if (data.format !== FORMAT) {
    fail('This report is of another version', `Its data have format ${String(data.format)}; this page reads ${FORMAT}.`);
    return;
  }
  startTheme();
  switch (data.kind) {
    case 'trial':
      trialPage(data);
      break;
    case 'experiment':
      experimentPage(data);
      break;
    case 'compare':
      comparePage(data);
      break;
    default:
      fail('This report is of an unknown kind', 'A newer pgdyno wrote it.');
      return;
  }
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
