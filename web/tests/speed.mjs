// How long a zoom takes on a two-hour trial with forty series: from the key press until the frame in
// which everything in sight has been drawn. node tests/speed.mjs DIRECTORY/long.html [NAME=json file]
import { chromium } from 'playwright-core';
import { resolve } from 'node:path';

const file = process.argv[2] ?? 'look/long.html';
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1344, height: 1400 } });
const begun = Date.now();
await page.goto(`file://${resolve(file)}`);
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
const result = { open_ms, zoom_strips: summary(await zooms('#throughput-plot')), zoom_instruments: summary(await zooms('#instruments .plot.time')), cursor: summary(cursor) };
console.log(JSON.stringify(result));
await browser.close();
