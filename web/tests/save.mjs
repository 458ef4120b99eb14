// In a real Chromium: PNG, CSV and Table of charts, zoom by dragging, legend, theme.
// node tests/save.mjs DIRECTORY/trial.html
import { chromium } from 'playwright-core';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1344, height: 900 } });
const said = [];
page.on('pageerror', (e) => said.push(String(e)));
page.on('console', (m) => m.type() === 'error' && said.push(m.text()));
await page.goto(`file://${resolve(process.argv[2] ?? 'look/trial.html')}`);
const check = (what, holds) => {
  console.log(holds ? 'ok  ' : 'FAIL', what);
  if (!holds) process.exitCode = 1;
};
const saved = async (name) => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(`button[aria-label="${name}"]`)]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
};
for (const chart of ['Throughput', 'Latency heat map', 'Percentile curve', 'What sessions were doing']) {
  const png = await saved(`PNG: ${chart}`);
  check(`PNG of ${chart}: ${png.name}, ${png.bytes.length} bytes`, png.bytes.subarray(1, 4).toString() === 'PNG' && png.bytes.length > 8000);
  const csv = await saved(`CSV: ${chart}`);
  check(`CSV of ${chart}: ${csv.name}`, csv.bytes.toString().split('\r\n').length > 20);
}
await page.click('button[aria-label="Table: Throughput"]');
check('the table behind has the seconds', (await page.locator('#throughput .behind tbody tr').count()) === 300);
await page.click('button[aria-label="Table: Throughput"]');
const box = await page.locator('#throughput-plot').boundingBox();
await page.mouse.move(box.x + 54 + 100, box.y + 50);
await page.mouse.down();
await page.mouse.move(box.x + 54 + 300, box.y + 50, { steps: 4 });
await page.mouse.up();
await page.waitForTimeout(500);
const range = await page.textContent('.timebar-range strong');
check(`dragging zooms: ${range}`, range !== '00:00 – 05:00');
await page.dblclick('#throughput-plot', { position: { x: 400, y: 60 } });
check('a double click shows all', (await page.textContent('.timebar-range strong')) === '00:00 – 05:00');
await page.click('#throughput .legend button');
check('the legend switches a line off', (await page.getAttribute('#throughput .legend button', 'aria-pressed')) === 'false');
await page.click('button:has-text("Dark")');
check('dark', (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === 'rgb(18, 23, 28)');
check(`nothing was said on the console ${said.join(' ')}`, said.length === 0);
await browser.close();
