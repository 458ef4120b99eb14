// Takes pictures of pages in a real Chromium, says what the console said, which requests were made,
// whether something is wider than the window, and what axe found.
// node tests/look.mjs DIRECTORY [page…]; CHROMIUM names the program, WIDTHS and THEMES what to look at.
import { readFileSync, readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [, , directory = 'look', ...wanted] = process.argv;
const widths = (process.env.WIDTHS ?? '1344,1024,390').split(',').map(Number);
const themes = (process.env.THEMES ?? 'light,dark').split(',');
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const pages = wanted.length > 0 ? wanted : readdirSync(directory).filter((n) => n.endsWith('.html')).map((n) => n.replace('.html', ''));
let bad = 0;
for (const name of pages) {
  for (const theme of themes) {
    for (const width of widths) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, bypassCSP: false });
      const page = await context.newPage();
      const said = [];
      page.on('console', (m) => ['error', 'warning'].includes(m.type()) && said.push(m.text()));
      page.on('pageerror', (e) => said.push(String(e)));
      page.on('request', (r) => !r.url().startsWith('file:') && !r.url().startsWith('blob:') && !r.url().startsWith('data:') && said.push(`request ${r.url()}`));
      await page.goto(`file://${process.cwd()}/${directory}/${name}.html`);
      await page.waitForTimeout(300);
      // Everything once in sight, so that it is drawn.
      await page.evaluate(async () => {
        for (let y = 0; y < document.body.scrollHeight; y += 700) {
          scrollTo(0, y);
          await new Promise((r) => setTimeout(r, 60));
        }
        scrollTo(0, 0);
        await new Promise((r) => setTimeout(r, 100));
      });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      const hacked = await page.evaluate(() => window.hacked);
      if (process.env.AXE !== '0') {
        const handle = await page.context().newCDPSession(page);
        await handle.send('Runtime.evaluate', { expression: axe });
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        for (const v of found.violations) said.push(`axe ${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 140)} ${v.nodes[0].failureSummary.split('\n').slice(1, 3).join(' ')}`);
      }
      if (process.env.SHOTS !== '0') await page.screenshot({ path: `${directory}/${name}-${theme}-${width}.png`, fullPage: true });
      const words = `${name} ${theme} ${width}: overflow ${wide}${hacked ? ' HACKED' : ''}`;
      console.log(words, said.length > 0 ? `\n  ${[...new Set(said)].join('\n  ')}` : 'clean');
      bad += said.length + (wide > 0 ? 1 : 0) + (hacked ? 1 : 0);
      await context.close();
    }
  }
}
await browser.close();
process.exit(bad > 0 ? 1 : 0);
