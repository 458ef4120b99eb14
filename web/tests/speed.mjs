/**
 * How fluid a page is: node tests/speed.mjs PAGE.html RESULTS.md. Times are from the key press or the
 * pointer's move until the frame in which everything in sight has been drawn.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const [file, results] = process.argv.slice(2).map((path) => resolve(path));
const data = JSON.parse(readFileSync(file, 'utf8').split('id="data">')[1].split('</script>')[0]);
const seconds = data.timeline.start_us.length;
const series = data.series.length;
const browser = await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1344, height: 1400 } });
const begun = Date.now();
await page.goto(`file://${file}`);
await page.waitForSelector('#throughput canvas');
await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
const open_ms = Date.now() - begun;
const zooms = async (selector) =>
  page.evaluate(async (where) => {
    const plot = document.querySelector(where);
    plot.scrollIntoView({ block: 'center' });
    await new Promise((r) => setTimeout(r, 400));
    const times = [];
    const press = async (key) => {
      const from = performance.now();
      plot.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
      times.push(performance.now() - from);
      await new Promise((r) => setTimeout(r, 60));
    };
    for (const key of ['+', '+', '+', '+', '+', '-', '-', '-', '-', '-', '+', '+', '0', '+', '+', '0']) await press(key);
    return times;
  }, selector);
const summary = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  return { median_ms: Math.round(sorted[sorted.length >> 1]), worst_ms: Math.round(sorted[sorted.length - 1]) };
};
const cursor = await page.evaluate(async () => {
  const plot = document.querySelector('#throughput-plot');
  plot.scrollIntoView({ block: 'center' });
  await new Promise((r) => setTimeout(r, 300));
  const box = plot.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 60; i += 1) {
    const from = performance.now();
    plot.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 80 + i * 12, clientY: box.top + 40, bubbles: true }));
    await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
    times.push(performance.now() - from);
  }
  return times;
});
const rows = [
  ['zoom by a key, charts over time in sight', await zooms('#throughput-plot')],
  ['zoom by a key, instruments in sight', await zooms('#instruments .plot.time')],
  ['cursor moved, on all charts', cursor],
].map(([what, times]) => {
  const { median_ms, worst_ms } = summary(times);
  return `| ${what} | ${median_ms} | ${worst_ms} |`;
});
const text = `<!-- Written by \`make bench\`; not to be edited. -->
# The report's page with a long trial

- date: ${new Date().toISOString().slice(0, 10)}
- CPU: ${cpus()[0].model.trim()}, ${cpus().length} of them; kernel: ${release()}; Chromium ${browser.version()}
- page: ${(readFileSync(file).length / 1e6).toFixed(1)} MB, ${seconds.toLocaleString('en')} seconds, ${series} series; invented data (\`web/tests/fixtures\`)

| what | median, ms | worst, ms |
| --- | --- | --- |
| opened, first charts drawn | ${open_ms} | |
${rows.join('\n')}
`;
writeFileSync(results, text);
console.log(text.slice(text.indexOf('# ')));
await browser.close();
