/** For everyone: axe, the keyboard alone, light and dark, small windows, paper. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { alike, axe, made, opened, picture, seeAll, until } from './open.mjs';

const PAGES = ['trial', 'experiment', 'kinds', 'capacity', 'retries', 'compare', 'failover', 'beside'];
const color = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

for (const name of PAGES) {
  test(`axe finds nothing, in light and in dark colours: ${name}`, async () => {
    await opened(name, async (page) => {
      await seeAll(page);
      assert.deepEqual(await axe(page), []);
      await page.getByRole('button', { name: 'Dark', exact: true }).click();
      assert.deepEqual(await axe(page, ['color-contrast', 'link-in-text-block']), []);
    });
  });

  test(`nothing is wider than the window, be it small: ${name}`, async () => {
    await opened(name, async (page) => {
      for (const width of [1280, 1024, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await seeAll(page);
        const wider = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(await until(wider, (now) => now === 0), 0, `${width} px`);
      }
    });
  });

  test(`it goes to paper: ${name}`, async () => {
    await opened(
      name,
      async (page) => {
        const paper = await page.pdf({ format: 'A4', landscape: true });
        assert.equal(paper.subarray(0, 5).toString(), '%PDF-');
        const pages = paper.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;
        assert.ok(pages >= 2, `${pages} pages`);
        await until(() => page.evaluate(() => document.documentElement.classList.contains('printing')), (printing) => !printing);
      },
      { colorScheme: 'dark' },
    );
  });
}

test('the page has the colours that the system has, and those that are chosen', async () => {
  await opened(
    'trial',
    async (page) => {
      await page.locator('#throughput-plot').scrollIntoViewIfNeeded();
      await page.locator('#throughput canvas').first().waitFor();
      assert.equal(await color(page), 'rgb(18, 23, 28)');
      const dark = await picture(page.locator('#throughput-plot'));
      await page.getByRole('button', { name: 'Light', exact: true }).click();
      await until(() => color(page), (now) => now === 'rgb(255, 255, 255)');
      await until(() => picture(page.locator('#throughput-plot')), (now) => !alike(now, dark));
      await page.getByRole('button', { name: 'Dark', exact: true }).click();
      await page.emulateMedia({ colorScheme: 'light' });
      await until(() => color(page), (now) => now === 'rgb(18, 23, 28)');
      await page.getByRole('button', { name: 'Auto', exact: true }).click();
      await until(() => color(page), (now) => now === 'rgb(255, 255, 255)');
    },
    { colorScheme: 'dark' },
  );
});

/** What has the focus. That everything can have it is for boxes.test.mjs. */
const focus = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    return { id: at.id, words: (at.getAttribute('aria-label') ?? at.textContent ?? '').trim() };
  });

test('the keyboard alone goes to the content, to a section, zooms, moves the cursor and opens a statement', async () => {
  await opened('trial', async (page) => {
    const range = () => page.locator('.timebar-range').innerText();
    await page.keyboard.press('Tab');
    assert.match((await focus(page)).words, /content/);
    await page.keyboard.press('Enter');
    await until(() => focus(page), (at) => at.id === 'main');
    await page.locator('nav a', { hasText: 'Over time' }).focus();
    await page.keyboard.press('Enter');
    await until(() => focus(page), (at) => /^Throughput/.test(at.words));
    const whole = await range();
    await page.keyboard.press('+');
    await until(range, (now) => now !== whole);
    // Where the cursor is: what it shows may be the same in two seconds.
    const cursor = page.locator('#throughput .cursor-line');
    await page.keyboard.press('End');
    await cursor.waitFor({ state: 'visible' });
    const last = await cursor.getAttribute('style');
    await page.keyboard.press('Home');
    const first = await until(() => cursor.getAttribute('style'), (now) => now !== last);
    await page.keyboard.press('ArrowRight');
    await until(() => cursor.getAttribute('style'), (now) => now !== first);
    await page.keyboard.press('Escape');
    await until(range, (now) => now === whole);
    const statement = page.locator('#statements button.sql').nth(1);
    await statement.focus();
    await page.keyboard.press('Enter');
    assert.equal(await statement.getAttribute('aria-expanded'), 'true');
    const legend = page.locator('#throughput .legend button').first();
    await legend.focus();
    await page.keyboard.press('Space');
    assert.equal(await legend.getAttribute('aria-pressed'), 'false');
  });
});

test('a report without its data is small enough to be mailed', () => {
  for (const name of PAGES) {
    const { size } = statSync(made.pages[name].file);
    assert.ok(size < 5_000_000, `${name}: ${size} bytes`);
  }
});
