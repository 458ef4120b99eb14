/**
 * How long pages take to open: node tests/open.mjs PAGE.html…. From the request until the frame in
 * which all that is in sight has been drawn, in milliseconds, a line a page.
 */

import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const browser = await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const file of process.argv.slice(2)) {
  const page = await browser.newPage({ viewport: { width: 1344, height: 1400 } });
  const begun = Date.now();
  await page.goto(`file://${resolve(file)}`);
  await page.waitForSelector('h1');
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  console.log(Date.now() - begun);
  await page.close();
}
await browser.close();
