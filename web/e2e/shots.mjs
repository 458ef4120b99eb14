/**
 * Pictures of all pages of a directory (made.json), dark and light, at three widths, to look at:
 * `node shots.mjs DIRECTORY PICTURES [NAME…]`
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { seeAll } from './open.mjs';

const [directory, pictures] = process.argv.slice(2, 4).map((path) => resolve(path));
const asked = process.argv.slice(4);
const { pages } = JSON.parse(readFileSync(join(directory, 'made.json'), 'utf8'));
mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM, args: ['--no-sandbox'] });
for (const [name, { file }] of Object.entries(pages)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const colorScheme of ['light', 'dark']) {
    const page = await (await browser.newContext({ colorScheme })).newPage();
    await page.goto(pathToFileURL(file).href);
    for (const width of [390, 1280, 2560]) {
      await page.setViewportSize({ width, height: 1000 });
      await seeAll(page);
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
    await page.context().close();
  }
}
await browser.close();
