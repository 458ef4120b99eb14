/** The page of a laboratory: one clock for all strips, phases, figures as the document has them. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { misplacedAt } from './boxes.mjs';
import { exactly, read, time } from './figures.mjs';
import { documentOf, drawn, opened, seeAll, until, writeWith } from './open.mjs';

const lab = (name) => documentOf(name).disturb_lab;
/** Of repeats that missed the same the one that was longer without service. */
const missed = (one) => (one.figures?.missed ?? -1) + (one.figures?.is_back === false ? 1e12 : 0) + Math.min(0.99, (one.figures?.no_service_us ?? 0) / 1e10);
const shown = (target) => target.repeats.filter((one) => one.figures !== null).reduce((a, b) => (missed(b) > missed(a) ? b : a));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
/** A quick failover need not be an outage for a client. */
const strips = (repeat) => ['served', 'response', 'errors', 'endpoints', ...(repeat.clients_stalls > 0 ? ['clients'] : [])];

/** The share of a column of the plot that is reddish: the shade of a disturbance. */
const column = (plot, share) =>
  plot.locator('canvas').first().evaluate((canvas, share) => {
    const x = Math.round(54 * devicePixelRatio + share * (canvas.width - 68 * devicePixelRatio));
    // A copy: reading a canvas of the page again and again makes the browser warn.
    const copy = new OffscreenCanvas(1, canvas.height).getContext('2d');
    copy.drawImage(canvas, -x, 0);
    const { data } = copy.getImageData(0, 0, 1, canvas.height);
    let red = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0 && data[at] > data[at + 1] + 4 && data[at] > data[at + 2] + 4) red += 1;
    return red / canvas.height;
  }, share);

test('a failover is on one clock: what was due and served, response times, errors, endpoints, clients', async () => {
  const one = shown(lab('failover').targets[0]);
  await opened('failover', async (page) => {
    await seeAll(page);
    for (const strip of strips(one)) {
      const plot = page.locator(`#disturb-0-${strip}-plot`);
      await plot.scrollIntoViewIfNeeded();
      await drawn(plot);
    }
    // The commands' time is shaded, and nothing before it is.
    const { course, phases } = one.figures;
    const during = phases.find((phase) => phase.name === 'during');
    const whole = course.due.length * course.bin_us;
    const plot = page.locator('#disturb-0-response-plot');
    // Words, hatching and the line of the recovery hide the shade here and there.
    const shade = async (from, to) => Promise.all([0.1, 0.3, 0.5, 0.7, 0.9].map((part) => column(plot, (from + part * (to - from)) / whole)));
    assert.ok(Math.max(...(await shade(during.from_us, during.to_us))) > 0.5, 'the disturbance is shaded');
    assert.ok(Math.min(...(await shade(0, during.from_us))) < 0.3, 'the time before is not');
    assert.match(await page.locator('#disturb-0-served').innerText(), /Offered[\s\S]*Served within/);
    assert.match(await page.locator('#disturb-0-response').innerText(), /p50/);
  });
});

test('errors by SQLSTATE and endpoint, and bars of clients, are those of the document', async () => {
  const one = shown(lab('failover').targets[0]);
  const { course } = one.figures;
  await opened('failover', async (page) => {
    await seeAll(page);
    const legend = page.locator('#disturb-0-errors .legend .v');
    const counts = await legend.allInnerTexts();
    assert.ok(counts.length > 0);
    assert.equal(sum(counts.map((text) => read(text).value)), sum(course.errors));
    const rows = page.locator('table:has(th:text-is("errors over time")) tbody tr');
    assert.equal(await rows.count(), course.errors_by.length);
    for (const [i, kind] of course.errors_by.entries()) {
      const cells = await rows.nth(i).locator('th, td').allInnerTexts();
      assert.equal(cells[1], kind.endpoint);
      exactly(cells[2], kind.count, kind.code);
    }
    assert.equal(one.clients_stalled, new Set(one.clients.map((stall) => stall.client)).size);
    if (one.clients_stalls === 0) assert.equal(await page.locator('#disturb-0-clients').count(), 0);
    else assert.match(await page.locator('#disturb-0-clients').innerText(), new RegExp(`${one.clients_stalls}\\stimes? of ${one.clients_stalled}\\sclients?`));
    const shares = await page.locator('#disturb-0-endpoints .legend .v').allInnerTexts();
    assert.equal(shares.length, 2);
    assert.ok(Math.abs(sum(shares.map((text) => read(text).value)) - 100) < 0.2, `${shares}`);
  });
});

test('the table has each repeat and their median, and the checks beside the answer say what is known', async () => {
  const [target] = lab('failover').targets;
  await opened('failover', async (page) => {
    const table = page.locator('#disturb table:has(th:text-is("metastable"))').first();
    const heads = await table.locator('tbody th').allInnerTexts();
    assert.deepEqual(heads, ['1', '2', `median of ${target.repeats.filter((one) => one.counts).length}`, 'range']);
    for (const [i, one] of target.repeats.entries()) {
      const cells = await table.locator('tbody tr').nth(i).locator('td').allInnerTexts();
      exactly(cells[6], one.figures.missed, 'missed');
      exactly(cells[11], one.truth.lost, 'lost writes');
    }
    // Response percentiles by phase.
    const phases = page.locator('#disturb table:has(th:text-is("Phase"))').first().locator('tbody tr');
    const { figures } = shown(target);
    assert.deepEqual(await phases.locator('th').allInnerTexts(), figures.phases.map((phase) => phase.name));
    const before = await phases.first().locator('td').allInnerTexts();
    const head = await page.locator('#disturb table:has(th:text-is("Phase")) thead').first().innerText();
    time(`${before[4]} ${/p50\s+(\S+)/.exec(head)[1]}`, figures.phases[0].response.p50_us, 'p50 before');
    const checks = (await page.locator('.verdict .checks li').allInnerTexts()).join('\n');
    const lost = sum(target.repeats.map((one) => one.truth.lost));
    assert.match(checks, lost > 0 ? /acknowledged transactions? (is|are) missing/ : /No lost writes\. All/);
    for (const says of ['Sums hold', 'did their work', 'No controls', 'it takes six']) assert.ok(checks.includes(says), `${says} in ${checks}`);
    const missedWork = target.summary.find((one) => one.figure === 'missed');
    const headline = page.locator('.headlines > div:has(dt:text-is("missed"))');
    exactly(await headline.locator('dd').first().innerText(), Math.round(missedWork.median), 'missed work');
  });
});

test('two databases under the same disturbance are side by side, on one clock', async () => {
  const { targets } = lab('beside');
  assert.equal(targets.length, 2);
  await opened('beside', async (page) => {
    await seeAll(page);
    const table = page.locator('#disturb table:has(th:text-is("median over runs"))');
    assert.deepEqual(await table.locator('thead th').allInnerTexts(), ['median over runs', ...targets.map((target) => target.title)]);
    const row = table.locator('tbody tr:has(th:text-is("Missed work")) td');
    for (const [i, target] of targets.entries()) exactly(await row.nth(i).innerText(), target.repeats[0].figures.missed, target.title);
    // Of more than fifty the longest are drawn, and all are counted.
    for (const [i, target] of targets.entries()) {
      const [one] = target.repeats;
      assert.ok(one.clients_stalled > 50 && one.clients.length === 50, `${one.clients_stalled} clients`);
      assert.match(await page.locator(`#disturb-${i}-clients`).innerText(), new RegExp(`the longest 50 of ${one.clients_stalls}\\stimes of ${one.clients_stalled}\\sclients`));
      assert.match(await page.locator(`#disturb-${i}-errors`).innerText(), /57P01/);
    }
    // A key on one strip zooms those of both.
    const [mine, other] = [0, 1].map((i) => page.locator(`#disturb-${i}-served-plot`));
    const labels = async () => (await page.locator('#disturb-1-served .legend .v').first().innerText()).trim();
    await other.scrollIntoViewIfNeeded();
    const before = await drawn(other);
    await mine.focus();
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    // What is out of sight is drawn when it is seen.
    await other.scrollIntoViewIfNeeded();
    await until(async () => JSON.stringify(await drawn(other)) !== JSON.stringify(before), (moved) => moved);
    assert.ok((await labels()).length > 0);
  });
});

/** In parts of the trial: when the disturbance begins, when it ends, and when all is served again. */
const PLACES = [
  [0.02, 0.03, 0.05],
  [0.1, 0.5, 0.3],
  [0.3, 0.9, 0.93],
  [0.5, 0.5, 0.98],
  [0.96, 1, 1],
];

/** The same page, had the disturbance been then; every other second has no commit. */
function moved(name, [from, to, back], file) {
  const document = documentOf(name);
  for (const { figures, commands, clients } of document.sections.flatMap((section) => section.parts).flatMap((part) => (part.sort === 'lanes' ? [part.repeat] : []))) {
    const whole = figures.course.due.length * figures.course.bin_us;
    const during = figures.phases.find((phase) => phase.name === 'during');
    Object.assign(during, { from_us: from * whole, to_us: to * whole });
    figures.back_us = (back - from) * whole;
    commands.forEach((command, i) => Object.assign(command, { from_us: (from + ((to - from) * i) / commands.length) * whole, to_us: to * whole }));
    clients.forEach((stall, i) => Object.assign(stall, { start_us: ((from * whole) / clients.length) * i, length_us: back * whole - ((from * whole) / clients.length) * i }));
    for (const second of figures.course.response.filter((_, i) => i % 2 === 1)) Object.assign(second, { p50_us: null, p95_us: null, p99_us: null, max_us: null });
  }
  writeWith(name, document, file);
  return file;
}

for (const name of ['failover', 'beside']) {
  test(`labels have their places wherever the disturbance lies: ${name}`, async () => {
    const found = [];
    for (const place of PLACES) {
      await opened(moved(name, place, join(process.env.REPORTS, `${name}-moved.html`)), async (page) => {
        found.push(...(await misplacedAt(page, [390, 1280])).map((what) => `${place}, ${what}`));
      });
    }
    assert.equal(found.join('\n'), '');
  });
}
