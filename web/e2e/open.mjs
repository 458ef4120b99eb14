/**
 * Opens reports in the browser, as a reader who got one by mail, and watches what they do: any
 * request, error, warning or dialog is a finding, and so is any script that stored text brought in.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { Pgdyno } from './pgdyno.mjs';

/** What make.mjs made. */
export const made = JSON.parse(readFileSync(join(process.env.REPORTS, 'made.json'), 'utf8'));

const pgdyno = new Pgdyno(made.program, made.store);
export const sql = (query) => pgdyno.sql(query);

let browser = null;
after(async () => {
  await browser?.close();
  pgdyno.forget();
});

/** Patience for what a loaded machine does late. */
const WAIT_MS = Number(process.env.PGDYNO_E2E_WAIT_MS ?? 60_000);

/**
 * The page of this name of made.json, or a file. `look` gets the page; afterwards nothing may have
 * happened that must not.
 */
export async function opened(name, look, { width = 1344, height = 900, colorScheme = 'light', hash = '' } = {}) {
  // Root may not use Chromium's sandbox; what is opened was made here.
  browser ??= await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM, args: ['--no-sandbox'] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const findings = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && findings.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => findings.push(`error: ${error.stack ?? error}`));
  page.on('dialog', (dialog) => {
    findings.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const url = pathToFileURL(made.pages[name]?.file ?? name).href;
  // What the page makes itself for saving (blob:) leaves nothing.
  context.on('request', (request) => request.url().split('#')[0] !== url && !/^(blob|data):/.test(request.url()) && findings.push(`request: ${request.url()}`));
  try {
    await page.goto(url + hash);
    await page.locator('main h1').waitFor();
    await look(page);
    assert.equal(await page.evaluate(() => window.hacked), undefined, 'stored text ran as a script');
    assert.deepEqual([...new Set(findings)], []);
  } catch (error) {
    // What the page said explains what did not come.
    if (findings.length > 0 && !error.message.includes(findings[0])) error.message += `\n${[...new Set(findings)].join('\n')}`;
    throw error;
  } finally {
    await context.close();
  }
}

/** A report: what is before its document, the document's text, and what follows. */
function parts(name) {
  const html = readFileSync(made.pages[name].file, 'utf8');
  const start = html.indexOf('id="data">') + 'id="data">'.length;
  const end = html.indexOf('</script>', start);
  return [html.slice(0, start), html.slice(start, end), html.slice(end)];
}

/** The document that a report has in it. */
export const documentOf = (name) => JSON.parse(parts(name)[1]);

/** Writes the same page with another document. */
export function writeWith(name, document, file) {
  const [before, , after] = parts(name);
  writeFileSync(file, before + JSON.stringify(document).replaceAll('<', '\\u003c') + after);
}

/** Brings everything into sight once: charts are drawn when they are seen. */
export async function seeAll(page) {
  await page.evaluate(async () => {
    const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight / 2) {
      scrollTo(0, y);
      await settled();
    }
    scrollTo(0, 0);
    await settled();
  });
}

/** What axe finds by all its rules or these, in words; the page's policy lets no script in but through the browser's tools. */
export async function axe(page, rules = null) {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const tools = await page.context().newCDPSession(page);
  await tools.send('Runtime.evaluate', { expression: source });
  const { violations } = await page.evaluate((rules) => window.axe.run(document, { resultTypes: ['violations'], ...(rules === null ? {} : { runOnly: rules }) }), rules);
  return violations.map((found) => `${found.impact} ${found.id}: ${found.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`);
}

/** What the first canvas within shows, small: pixels of a drawing differ a little from one time to the next. */
export const picture = (locator) =>
  locator.locator('canvas').first().evaluate((canvas) => {
    const small = new OffscreenCanvas(Math.ceil(canvas.width / 4), Math.ceil(canvas.height / 4)).getContext('2d');
    small.drawImage(canvas, 0, 0, small.canvas.width, small.canvas.height);
    return Array.from(small.getImageData(0, 0, small.canvas.width, small.canvas.height).data);
  });

/** Whether two pictures show the same: all but one value in two hundred are alike. */
export function alike(a, b) {
  if (a.length !== b.length) return false;
  const far = a.reduce((sum, value, i) => sum + (Math.abs(value - b[i]) > 48 ? 1 : 0), 0);
  return far <= a.length / 200;
}

/** The picture when drawing has come to its end: two in a row are alike. */
export async function drawn(locator) {
  let before = await picture(locator);
  return until(
    () => picture(locator),
    (now) => {
      const same = alike(now, before);
      before = now;
      return same;
    },
  );
}

/** Waits until this gives what it should: drawing happens with the next frame. */
export async function until(what, holds) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await what();
    if (holds(found)) return found;
    assert.ok(Date.now() < end, `it stayed: ${JSON.stringify(found)?.slice(0, 200)}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
