/** Pages of a laboratory and of a search: they open with their answer, and their words lie on nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read, same } from './figures.mjs';
import { documentOf, opened, seeAll } from './open.mjs';

const WIDTHS = [390, 1280, 2560];
const plain = (text) => text.replaceAll('`', '').replace(/\s+/g, ' ').trim();

/** Boxes of what a selector finds, as far as it is seen. */
const boxes = (page, selector) =>
  page.locator(selector).evaluateAll((all) =>
    all.map((of) => {
      const { x, y, width, height } = of.getBoundingClientRect();
      return { x, y: y + scrollY, width, height, text: of.textContent };
    }),
  );
const overlap = (a, b) => a.x + 0.5 < b.x + b.width && b.x + 0.5 < a.x + a.width && a.y + 0.5 < b.y + b.height && b.y + 0.5 < a.y + a.height;
/** Hairs of rounding are no overlap. */
const shrunk = ({ x, y, width, height, text }) => ({ x: x + 1, y: y + 3, width: width - 2, height: height - 6, text });

function apart(words, others, what) {
  for (const [i, one] of words.entries()) for (const [k, other] of others.entries()) if (words !== others || k > i) assert.ok(!overlap(one, other), `${what}: “${one.text}” lies over “${other.text ?? 'a mark'}”`);
}

for (const name of ['capacity', 'retries']) {
  test(`the page opens with the answer of the document and how sure it is: ${name}`, async () => {
    const { answer } = documentOf(name);
    await opened(name, async (page) => {
      assert.equal(plain(await page.locator('.verdict .sentence').innerText()), plain(answer.sentence));
      const checks = await page.locator('.verdict .checks li').allInnerTexts();
      assert.equal(checks.length, answer.sure.length);
      for (const [i, sure] of answer.sure.entries()) assert.ok(checks[i].includes({ held: '✓', failed: '✗', limit: '○' }[sure.state]) && checks[i].includes(sure.name), checks[i]);
      const figures = await page.locator('.verdict .evidence-figure').allInnerTexts();
      assert.deepEqual(figures.map(plain), answer.evidence.map((of) => plain(of.figure)));
      // A laboratory's forms and a search's rates are no plane of a sweep.
      assert.equal(await page.locator('#map, #curves').count(), 0);
    });
  });
}

test('forms are rows, the best first, with the figures of the document and each repeat as a dot', async () => {
  const [point] = documentOf('retries').retries_lab.points;
  await opened('retries', async (page) => {
    const rows = await page.locator('table.forms tbody tr').all();
    assert.equal(rows.length, point.forms.length);
    for (const [i, form] of point.forms.entries()) {
      assert.equal(await rows[i].locator('th code').innerText(), form.form);
      const cell = rows[i].locator('td').first();
      same(await cell.locator('.track-value').innerText(), form.goodput_per_s.median, form.form);
      assert.equal(await cell.locator('.track-dot').count(), form.goodput_per_s.repeats.length);
    }
    const pairs = await page.locator('table.pairs').first().locator('tbody tr').all();
    assert.ok(pairs.length > 0);
    for (const row of pairs) {
      const [first, second] = await row.locator('th code').allInnerTexts();
      const pair = point.pairs.find((of) => of.first === first && of.second === second);
      const ahead = await row.locator('td').last().innerText();
      assert.equal(ahead.startsWith('cannot tell'), pair.ahead === null, `${first}, ${second}: ${ahead}`);
    }
  });
});

test('a figure of a form lies on no bar and no other figure, and axes begin at 0', async () => {
  for (const width of WIDTHS) {
    await opened('retries', async (page) => {
      await seeAll(page);
      const values = await boxes(page, 'table.forms tbody .track-value');
      assert.ok(values.length > 0);
      apart(values, values, `${width}`);
      apart(values, await boxes(page, 'table.forms tbody .track-bar'), `${width}`);
      const ticks = await boxes(page, 'table.forms tfoot .tick');
      apart(ticks, ticks, `${width}`);
      assert.equal(ticks.filter((tick) => read(tick.text).value === 0).length, 4);
    }, { width });
  }
});

test('the words of the curve lie within it, and not on each other', async () => {
  for (const width of WIDTHS) {
    await opened('capacity', async (page) => {
      await seeAll(page);
      const words = (await boxes(page, '#capacity-0 text')).map(shrunk);
      const [frame] = await boxes(page, '#capacity-0 svg');
      assert.ok(words.some((of) => of.text.startsWith('asked: p99')), 'the limit has its name');
      apart(words, words, `${width}`);
      for (const of of words) assert.ok(of.x >= frame.x - 1 && of.x + of.width <= frame.x + frame.width + 1, `${width}: “${of.text}” is cut`);
      apart(words, (await boxes(page, '#capacity-0 circle')).map((of) => ({ ...of, text: 'a mark' })), `${width}`);
    }, { width });
  }
});
