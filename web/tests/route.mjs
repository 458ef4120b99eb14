// In a real Chromium: an experiment's link to a trial within the same file, zoom there, and back.
// node tests/route.mjs DIRECTORY/experiment.html
import { chromium } from 'playwright-core';
import { resolve } from 'node:path';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1344, height: 900 } });
const said = [];
page.on('pageerror', (e) => said.push(String(e)));
page.on('console', (m) => m.type() === 'error' && said.push(m.text()));
await page.goto(`file://${resolve(process.argv[2] ?? 'look/experiment.html')}`);
const check = (what, holds) => {
  console.log(holds ? 'ok  ' : 'FAIL', what);
  if (!holds) process.exitCode = 1;
};
await page.click('a[aria-label="trial 12"]');
await page.waitForSelector('#throughput canvas');
check('the trial is shown', (await page.title()).startsWith('tpcb at scale 50'));
check('the address names it', (await page.evaluate(() => location.hash)) === '#trial=12');
await page.focus('#throughput-plot');
await page.keyboard.press('+');
await page.waitForTimeout(400);
check('zoom keeps the trial', /^#trial=12&t=5~15$/.test(await page.evaluate(() => location.hash)));
await page.click('nav >> text=Latency');
check('sections keep trial and zoom', (await page.evaluate(() => location.hash)) === '#trial=12&latency&t=5~15');
await page.reload();
await page.waitForSelector('#latency canvas');
check('and so does the address opened again', (await page.textContent('.timebar-range strong')) === '00:05.0 – 00:15.0');
await page.click('text=Back to');
await page.waitForSelector('#map');
check('back to the experiment', (await page.title()).includes('4 scales'));
await page.goBack();
await page.waitForSelector('#trial-none, #latency');
check('the browser’s own back', (await page.title()).startsWith('tpcb at scale 50'));
await page.click('.headlines sup a');
check('a note’s link keeps the trial', (await page.evaluate(() => location.hash)).startsWith('#trial=12&note-1'));
check(`nothing was said on the console ${said.join(' ')}`, said.length === 0);
await browser.close();
