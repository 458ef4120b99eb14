/** The pages of an experiment and of a comparison: their figures, their charts, the way to each trial. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactly, same, time } from './figures.mjs';
import { documentOf, made, opened, seeAll, sql, until } from './open.mjs';

const experiment = made.pages.experiment.experiment;
const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/** The trials that count, by their number of clients. */
const trials = () => {
  const rows = sql(`SELECT * FROM result WHERE experiment = ${experiment} AND repeat IS NOT NULL ORDER BY number`);
  return [1, 3].map((clients) => rows.filter((row) => row.clients === clients));
};

/** Pixels with a colour in this share of a chart, from the left: names stand at the end of lines. */
const colored = (plot, share) =>
  plot.locator('canvas').first().evaluate((canvas, share) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, Math.floor(canvas.width * share), canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 128 && Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 50) count += 1;
    return count;
  }, share);

test('the points of an experiment are the medians over its repeats in the notebook', async () => {
  const points = trials();
  assert.deepEqual(points.map((of) => of.length), [5, 5]);
  await opened('experiment', async (page) => {
    const table = page.locator('#points table').first();
    const head = await table.locator('thead tr').last().locator('th').allInnerTexts();
    const rows = await table.locator('tbody tr').all();
    assert.equal(rows.length, 2);
    const column = (name) => {
      const found = head.findIndex((text) => text.startsWith(name));
      assert.ok(found >= 0, `${name} in ${head}`);
      return found;
    };
    for (const [i, of] of points.entries()) {
      const cells = await rows[i].locator('th, td').allInnerTexts();
      exactly(cells[column('clients')], of[0].clients, 'clients');
      same(cells[column('Goodput')], median(of.map((trial) => trial.goodput_per_s)), 'goodput');
    }
    const cells = await page.locator('#map table').first().locator('tbody td').allInnerTexts();
    points.forEach((of, i) => same(cells.filter((text) => /\d/.test(text))[i], median(of.map((trial) => trial.goodput_per_s)), 'the map'));
  });
});

test('every chart of an experiment and of a comparison is drawn', async () => {
  // On a busy machine waits may not have been sampled, and a trial of a second have no three moments.
  const sampled = (documentOf('compare').pairs[0].time_per_commit ?? []).length > 0 ? 1 : 0;
  for (const [name, least, share] of [['experiment', 3, 1], ['compare', 2 + sampled, 0.6]]) {
    await opened(name, async (page) => {
      await seeAll(page);
      const plots = page.locator('.plot:has(.canvas)');
      const count = await plots.count();
      assert.ok(count >= least, `${name}: ${count} charts`);
      for (let i = 0; i < count; i += 1) {
        const plot = plots.nth(i);
        const words = (await plot.getAttribute('aria-label')) ?? '';
        // A trial of a second has one p99 over time: a mark, no line.
        if (/over time/.test(words)) continue;
        await plot.scrollIntoViewIfNeeded();
        await until(() => colored(plot, share), (found) => found > 20).catch((error) => assert.fail(`${name}, ${words}: ${error.message}`));
      }
    });
  }
});

test('an experiment opens with its answer, in the words of pgdyno show', async () => {
  for (const [name, answer] of [['kinds', made.pages.kinds.answer], ['experiment', documentOf('experiment').answer]]) {
    await opened(name, async (page) => {
      const block = page.locator('.verdict');
      assert.equal(await block.locator('.sentence').innerText(), answer.sentence.replaceAll('`', ''));
      const figures = await block.locator('.evidence-figure').allInnerTexts();
      assert.deepEqual(figures, answer.evidence.map((of) => of.figure));
      const checks = await block.locator('.checks li strong').allInnerTexts();
      assert.deepEqual(checks, answer.sure.map((of) => `${of.name}.`));
      // Each figure leads to where it is drawn.
      const link = block.locator('.evidence a').first();
      const target = (await link.getAttribute('href')).slice(1);
      assert.equal(await page.locator(`[id="${target}"]`).count(), 1, target);
    });
  }
});

test('kinds are rows with the best first, and no line joins them', async () => {
  const { points } = documentOf('kinds');
  const ordered = [...points].sort((a, b) => b.figures.goodput.over_repeats.median - a.figures.goodput.over_repeats.median);
  await opened('kinds', async (page) => {
    const section = page.locator('#workload-1');
    assert.equal(await section.locator('h2').innerText(), 'select-only');
    assert.equal(await section.locator('canvas').count(), 0);
    const rows = page.locator('#rank-goodput .rank-name');
    assert.deepEqual(await rows.allInnerTexts(), ordered.map((point) => point.varied.query_mode));
    const shown = await page.locator('#rank-goodput .rank-figure').allInnerTexts();
    ordered.forEach((point, i) => same(shown[i], point.figures.goodput.over_repeats.median, 'goodput'));
    const titles = documentOf('kinds').points.map((point) => point.title).sort();
    assert.deepEqual(titles, ['prepared statements', 'simple queries']);
  });
});

test('each trial’s own page is in the file of its experiment, and the way back', async () => {
  const [[first]] = trials();
  await opened('experiment', async (page) => {
    const title = await page.locator('h1').innerText();
    const link = page.locator(`#points a[href="#trial=${first.number}"]`).first();
    await link.focus();
    await page.keyboard.press('Enter');
    await until(() => page.locator('h1').innerText(), (now) => now !== title);
    const headline = page.locator('.headlines > div').filter({ has: page.locator('dt', { hasText: 'Goodput' }) });
    same(await headline.locator('dd').first().innerText(), first.goodput_per_s, 'goodput');
    const p50 = page.locator('.headlines > div').filter({ has: page.locator('dt', { hasText: /^Service p50/ }) });
    time(await p50.locator('dd').first().innerText(), first.service_p50_us, 'p50');
    await page.goBack();
    await until(() => page.locator('h1').innerText(), (now) => now === title);
  });
});

test('a comparison shows what pgdyno compare says', async () => {
  const sides = trials();
  const pair = documentOf('compare').pairs[0];
  await opened('compare', async (page) => {
    const rows = await page.locator('#differences tbody tr:not(.group)').all();
    assert.equal(rows.length, pair.differences.length);
    const cells = await rows[0].locator('th, td').allInnerTexts();
    assert.match(cells[0], /^Goodput/);
    sides.forEach((of, i) => same(cells[i + 1], median(of.map((trial) => trial.goodput_per_s)), `goodput of ${'AB'[i]}`));
    const [a, b] = sides.map((of) => of.map((trial) => trial.goodput_per_s));
    assert.deepEqual([pair.differences[0].a.values, pair.differences[0].b.values], [a, b]);
    const change = pair.differences[0].change * 100;
    if (change !== 0) same(cells.find((text) => /^[+−±]/.test(text.trim())).replace('±', ''), change, 'the change');
    const changed = await page.locator('#changed table').first().innerText();
    assert.match(changed, /clients/);
  });
});

test('what did not run by turns is not called different: medians stay, intervals and words do not', async () => {
  await opened('compare-in-order', async (page) => {
    const verdict = page.locator('#verdict');
    assert.match(await verdict.locator('.sentence').innerText(), /^Cannot tell: goodput of B is .* lower, but the sides did not run by turns/);
    const warn = await page.evaluate(() => {
      const probe = document.createElement('div');
      probe.style.color = 'var(--warn)';
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    });
    assert.equal(await verdict.evaluate((element) => getComputedStyle(element).borderLeftColor), warn);
    assert.match(await verdict.locator('.verdict-right').innerText(), /What changed.*\n[^]*statement 1[^]*What would tell[^]*All of A ran before all of B/);
    const row = page.locator('#differences tbody tr:not(.group)').first();
    assert.match(await row.innerText(), /withdrawn: not by turns[^]*medians[^]*withheld[^]*cannot tell/);
    const [a, b] = ['a', 'b'].map((side) => median(made.pages['compare-in-order'][side].map((number) => sql(`SELECT goodput_per_s FROM result WHERE number = ${number}`)[0].goodput_per_s)));
    const cells = await row.locator('th, td').allInnerTexts();
    same(cells[1], a, 'A');
    same(cells[2], b, 'B');
    // The order of the repeats explains it, so it comes first.
    const order = await page.locator('main > section').evaluateAll((sections) => sections.map((section) => section.id));
    assert.ok(order.indexOf('repeats') < order.indexOf('differences'), order.join(' '));
  });
});

test('of one trial each nothing is said in percent', async () => {
  await opened('compare-one-each', async (page) => {
    const verdict = page.locator('#verdict .verdict-left');
    assert.match(await verdict.locator('.sentence').innerText(), /^Cannot tell: 1 repeat a side, 5 needed/);
    assert.doesNotMatch(await verdict.innerText(), /%/);
    assert.match(await verdict.innerText(), /pgdyno sweep .*--resume/);
    assert.doesNotMatch(await page.locator('#differences tbody tr:not(.group)').first().innerText(), /%/);
  });
});
