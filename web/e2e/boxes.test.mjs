/**
 * Every page there is, at the widths of a phone, a laptop and a desk: no text lies over other text or a
 * mark that is not its own, nothing is cut off, the keyboard alone reaches and operates everything, and axe
 * finds nothing serious. Over the pages of make.mjs in `make test`, over those of gallery.mjs in
 * `make test-long PART=pages`.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misplacedAt } from './boxes.mjs';
import { axe, made, opened, seeAll } from './open.mjs';

const WIDTHS = [390, 1280, 2560];
const PAGES = Object.keys(made.pages);

/** Whose axe findings everyone.test.mjs asks for by all rules. */
const BY_ALL_RULES = process.env.GALLERY === undefined ? ['trial', 'experiment', 'kinds', 'capacity', 'retries', 'compare', 'failover', 'beside'] : [];

/** Pages with what another page of their kind has: keyboard and axe try them in the long test. */
const LIKE_OTHERS = process.env.GALLERY === undefined ? ['aborted', 'hostile', 'compare-one-each', 'compare-in-order'] : [];

/** Everything open that can be opened: its place must hold, too. */
const openAll = (page) => page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));

for (const name of PAGES) {
  test(`no text lies over what is not its own, and nothing is cut off: ${name}`, async () => {
    await opened(name, async (page) => {
      await openAll(page);
      assert.equal((await misplacedAt(page, WIDTHS)).join('\n'), '');
    });
  });

  test(`axe finds nothing serious, light or dark: ${name}`, { skip: (BY_ALL_RULES.includes(name) && 'everyone.test.mjs asks') || (LIKE_OTHERS.includes(name) && 'a page of its kind is tried') }, async () => {
    await opened(name, async (page) => {
      await seeAll(page);
      const bad = async (rules) => (await axe(page, rules)).filter((of) => /^(serious|critical)/.test(of));
      assert.deepEqual(await bad(null), []);
      await page.getByRole('button', { name: 'Dark', exact: true }).click();
      assert.deepEqual(await bad(['color-contrast', 'link-in-text-block']), []);
    });
  });

  test(`the keyboard alone reaches and operates everything: ${name}`, { skip: LIKE_OTHERS.includes(name) && 'a page of its kind is tried' }, async () => {
    await opened(name, async (page) => {
      const wanted = await page.evaluate(() => {
        const all = [...document.querySelectorAll('a[href], button:not(:disabled), [tabindex="0"], summary')].filter((element) => element.checkVisibility({ visibilityProperty: true }));
        all.forEach((element, i) => element.setAttribute('data-stop', String(i)));
        return all.map((element) => (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60));
      });
      // Buttons of small charts are there only while the focus is within them.
      const most = 4 * wanted.length + 20;
      const trouble = [];
      const reached = new Set();
      for (let press = 0; press < most; press += 1) {
        await page.keyboard.press('Tab');
        const at = await focus(page);
        if (at.tag === 'BODY') break;
        reached.add(at.stop);
        if (at.words === '') trouble.push(`${at.called} has no name`);
        if (!at.ring) trouble.push(`${at.called} does not show that it has the focus`);
      }
      trouble.push(...wanted.filter((_, i) => !reached.has(String(i))).map((words) => `not reached: ${words}`));
      // Once more: what has a state is switched, and switched back. Of several one is always on.
      for (let press = 0; press < most; press += 1) {
        await page.keyboard.press('Tab');
        const at = await focus(page);
        if (at.tag === 'BODY' && press > 0) break;
        if (at.state === null) continue;
        await page.keyboard.press('Enter');
        const then = await focus(page);
        if (at.oneOf ? then.state !== 'true' : then.state === at.state) trouble.push(`${at.called} does nothing on Enter`);
        if (at.oneOf || then.state === at.state) continue;
        await page.keyboard.press('Enter');
        if ((await focus(page)).state !== at.state) trouble.push(`${at.called} does not go back`);
      }
      assert.deepEqual(trouble, []);
    });
  });
}

/** What has the focus, and in which state it is. */
function focus(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const words = (element.getAttribute('aria-label') ?? element.textContent ?? '').trim();
    const others = element.hasAttribute('aria-pressed') ? [...element.parentElement.querySelectorAll(':scope > [aria-pressed]')] : [];
    return {
      stop: element.getAttribute('data-stop'),
      tag: element.tagName,
      words,
      called: `${element.tagName} “${words.slice(0, 60)}”`,
      ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1.5,
      oneOf: others.length > 1 && others.filter((other) => other.getAttribute('aria-pressed') === 'true').length === 1,
      state: element.getAttribute('aria-pressed') ?? element.getAttribute('aria-expanded') ?? (element.tagName === 'SUMMARY' ? String(element.parentElement.open) : null),
    };
  });
}
