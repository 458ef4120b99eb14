/** A trial's page: what is drawn, what zooms, and that its figures are the notebook's. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exactly, same, time } from './figures.mjs';
import { alike, documentOf, drawn, made, opened, picture, seeAll, sql, until } from './open.mjs';

const of = made.pages.trial;
const row = () => sql(`SELECT * FROM trial WHERE number = ${of.trial}`)[0];

/** The headline with this label: value and unit, and the line below. */
async function headline(page, label) {
  const box = page.locator('.headlines > div').filter({ has: page.locator('dt', { hasText: label }) }).first();
  const context = box.locator('.context');
  return { value: await box.locator('dd').first().innerText(), context: (await context.count()) > 0 ? await context.innerText() : '' };
}

/** A latency of the notebook, or the dash where it has none. */
function latency(text, us, what) {
  if (us === null) assert.equal(text.trim(), '–', what);
  else time(text, us, what);
}

/** The file that a button of this name saves. */
async function saved(page, name) {
  const button = page.locator(`button.act[aria-label="${name}"]`);
  // Those of small charts appear when the pointer or the focus is there.
  await button.locator('xpath=ancestor::*[self::figure or self::section or contains(@class, "strip")][1]').hover();
  // A file that comes seconds after its click is refused by the browser: a slow machine tries again.
  let download = null;
  for (let tries = 0; download === null && tries < 4; tries += 1) {
    const coming = page.waitForEvent('download', { timeout: 15_000 }).catch(() => null);
    await button.click();
    download = await coming;
  }
  assert.ok(download !== null, `${name} saves no file`);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

const lines = (bytes) => bytes.toString('utf8').trim().split(/\r?\n/).map((line) => line.split(','));

/** The time that is seen, in the rail of the time bar. */
const range = (page) => page.locator('.timebar-range').innerText();

test('headlines are the figures of the notebook', async () => {
  const trial = row();
  await opened('trial', async (page) => {
    same((await headline(page, 'Goodput')).value, trial.goodput_per_s, 'goodput');
    for (const [name, column] of [['p50', 'p50'], ['p99', 'p99'], ['p99.9', 'p99_9']]) {
      const { value, context } = await headline(page, new RegExp(`^(Response|Service) ${name.replace('.', '\\.')}(?!\\.)`));
      latency(value.replace('~', ''), trial[`response_${column}_us`], `response ${name}`);
      if (trial[`response_${column}_us`] !== null) latency(/service (.*)$/.exec(context)[1], trial[`service_${column}_us`], `service ${name}`);
      else assert.match(context, /10 needed/);
    }
    exactly((await headline(page, 'Failed')).value, trial.failed, 'failed');
    same((await headline(page, 'Retries')).value, trial.retries / trial.committed, 'retries per commit');
    const accounting = await page.locator('.accounting').innerText();
    for (const word of ['committed', 'failed', 'skipped', 'unknown']) {
      exactly(new RegExp(`([\\d,]+)\\s${word}`).exec(accounting)[1], trial[word], word);
    }
    exactly(/([\d,]+)\sstarted/.exec(accounting)[1], trial.committed + trial.failed + trial.skipped + trial.unknown, 'started');
  });
});

test('figures and the limit are in the first screen of a telephone and of a desk', async () => {
  await opened('trial', async (page) => {
    for (const [width, height] of [[390, 844], [1440, 900]]) {
      await page.setViewportSize({ width, height });
      const bottoms = await page.evaluate(() => {
        const bottom = (element) => element.getBoundingClientRect().bottom + scrollY;
        const cells = [...document.querySelectorAll('#figures .headlines > div')];
        const values = cells.map((cell) => [cell.querySelector('dt').textContent, bottom(cell.querySelector('.value'))]);
        return [...values, ['limit', bottom(document.querySelector('#verdict .sentence'))]];
      });
      for (const name of ['Goodput', 'p50', 'p99', 'Failed', 'limit']) {
        const [, bottom] = bottoms.find(([label]) => label.includes(name));
        assert.ok(bottom <= height, `${width} px: ${name} ends at ${bottom}`);
      }
    }
  });
});

test('every second of the throughput chart is that of the notebook', async () => {
  const seconds = sql(`SELECT * FROM timeline WHERE trial = ${of.trial} ORDER BY start_us, warmup DESC`);
  await opened('trial', async (page) => {
    await page.getByRole('button', { name: 'Table: Throughput', exact: true }).click();
    assert.equal(await page.locator('#throughput .behind tbody tr').count(), seconds.length);
    const { name, bytes } = await saved(page, 'CSV: Throughput');
    assert.match(name, /\.csv$/);
    const [head, ...rows] = lines(bytes);
    assert.equal(rows.length, seconds.length);
    const column = (row, name) => row[head.indexOf(name)];
    seconds.forEach((second, i) => {
      for (const figure of ['committed', 'failed', 'unknown', 'skipped', 'retries']) {
        assert.equal(Number(column(rows[i], figure)), second[figure], `${figure} of second ${i}`);
      }
      assert.equal(column(rows[i], 'phase'), second.warmup === 1 ? 'warm-up' : 'measured');
      assert.ok(Math.abs(Number(column(rows[i], 'start_s')) - second.start_us / 1e6) < 1e-3);
    });
  });
});

test('the percentile table is the notebook’s, and withholds what it withholds', async () => {
  const trial = row();
  await opened('trial', async (page) => {
    const rows = await page.locator('#latency table').first().locator('tbody tr').allInnerTexts();
    const cells = (name) => rows.map((text) => text.split(/\t/).map((cell) => cell.trim())).find((all) => all[0].startsWith(name) && !/\d/.test(all[0][name.length] ?? ''));
    const heads = (await page.locator('#latency table').first().locator('thead th').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    const unit = (column) => /(µs|ms|s)$/.exec(heads[column])?.[1];
    for (const [name, column] of [['p50', 'p50'], ['p90', 'p90'], ['p95', 'p95'], ['p99', 'p99'], ['p99.9', 'p99_9']]) {
      const found = cells(name);
      for (const [index, kind] of [[1, 'response'], [2, 'service']]) {
        const us = trial[`${kind}_${column}_us`];
        if (us === null) assert.ok(found === undefined || !/^\d/.test(found[index] ?? ''), `${kind} ${name} is shown: ${found}`);
        else time(`${found[index]} ${unit(index)}`, us, `${kind} ${name}`);
      }
    }
  });
});

test('statements are the notebook’s, in order', async () => {
  const statements = sql(`SELECT * FROM statement WHERE trial = ${of.trial} AND is_sql AND executions > 0 ORDER BY script, command`);
  await opened('trial', async (page) => {
    const shown = page.locator('#statements .scroll table.statements tbody tr');
    assert.equal(await shown.count(), statements.length);
    const { bytes } = await saved(page, 'CSV: Statements');
    const csv = bytes.toString('utf8');
    for (const [i, statement] of statements.entries()) {
      const cells = await shown.nth(i).locator('td').allInnerTexts();
      assert.equal(cells[1].trim(), statement.text.replace(/\s+/g, ' ').replace(/;\s*$/, '').trim());
      exactly(cells[2], statement.executions, `calls of ${cells[1]}`);
      assert.ok(csv.includes(`${statement.executions},`) && csv.includes(String(statement.latency_max_us)), `figures of ${cells[1]} in the CSV`);
    }
  });
});

test('percentiles over the measured time are those of the merged histograms', () => {
  const { timeline, histograms, run } = documentOf('trial');
  const trial = row();
  const measured = timeline.committed.filter((_, i) => !timeline.warmup?.[i]);
  assert.equal(measured.reduce((a, b) => a + b, 0), trial.committed);
  assert.equal(run.measured.committed, trial.committed);
  for (const kind of ['service', 'response']) {
    // Whole-run histogram, and the seconds of the measured time put together: the same values.
    const counts = new Map();
    timeline[kind].forEach((packed, second) => {
      if (timeline.warmup?.[second]) return;
      let bucket = 0;
      for (let i = 0; i < packed.length; i += 2) {
        bucket += packed[i];
        counts.set(timeline.buckets_us[bucket], (counts.get(timeline.buckets_us[bucket]) ?? 0) + packed[i + 1]);
      }
    });
    const { value_us, count } = histograms[kind];
    assert.equal(count.reduce((a, b) => a + b, 0), trial.committed, kind);
    if (timeline.resolution <= 0.001) assert.deepEqual([...counts].sort((a, b) => a[0] - b[0]), value_us.map((us, i) => [us, count[i]]), kind);
    const at = (share) => {
      const beyond = Math.ceil(share * trial.committed);
      let seen = 0;
      return value_us.find((_, i) => (seen += count[i]) >= beyond);
    };
    for (const [share, column] of [[0.5, 'p50'], [0.99, 'p99']]) {
      const us = trial[`${kind}_${column}_us`];
      if (us !== null) assert.ok(Math.abs(at(share) - us) <= us * 0.001 + 1, `${kind} ${column}: ${at(share)}, ${us}`);
    }
  }
});

test('every chart is drawn', async () => {
  await opened('trial', async (page) => {
    await seeAll(page);
    const plots = page.locator('.plot:has(.canvas)');
    const count = await plots.count();
    assert.ok(count >= 6, `${count} charts`);
    for (let i = 0; i < count; i += 1) {
      const plot = plots.nth(i);
      await plot.scrollIntoViewIfNeeded();
      const name = (await plot.getAttribute('aria-label')) ?? '';
      assert.ok(name.length > 10, `chart ${i} says in words what there is to be seen`);
      const colors = () =>
        plot.locator('canvas').first().evaluate((canvas) => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Set();
          for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
          return seen.size;
        });
      await until(colors, (found) => found > 3).catch((error) => assert.fail(`${name}: ${error.message}`));
    }
  });
});

test('a drag over one chart zooms all of them, and a double click shows the whole run again', async () => {
  await opened('trial', async (page) => {
    await seeAll(page);
    const strips = page.locator('.strip .plot.time');
    const whole = await range(page);
    // The last of them is far below: it is drawn for a new range only when it is seen.
    const last = strips.last();
    await last.scrollIntoViewIfNeeded();
    const lastBefore = await drawn(last);
    const throughput = page.locator('#throughput-plot');
    const latencies = page.locator('#latency-over-time-plot');
    await throughput.scrollIntoViewIfNeeded();
    const [before, words] = [await drawn(latencies), await page.locator('#latency-over-time .legend').innerText()];
    const box = await throughput.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 70, { steps: 4 });
    await page.mouse.up();
    await until(() => range(page), (now) => now !== whole);
    await until(() => picture(latencies), (now) => !alike(now, before));
    await until(() => page.evaluate(() => location.hash), (hash) => /t=[\d.-]+~[\d.]+/.test(hash));
    await last.scrollIntoViewIfNeeded();
    await until(() => picture(last), (now) => !alike(now, lastBefore));
    await throughput.scrollIntoViewIfNeeded();
    await throughput.dblclick({ position: { x: box.width / 2, y: 60 } });
    assert.equal(await until(() => range(page), (now) => now === whole), whole);
    await page.mouse.move(2, 2);
    await until(() => page.evaluate(() => location.hash), (hash) => !hash.includes('t='));
    await until(() => picture(latencies), (now) => alike(now, before));
    assert.equal(await page.locator('#latency-over-time .legend').innerText(), words);
    await last.scrollIntoViewIfNeeded();
    await until(() => picture(last), (now) => alike(now, lastBefore));
  });
});

test('an address keeps the range of time that it was taken at', async () => {
  const { timeline } = documentOf('trial');
  const last = timeline.start_us.at(-1) / 1e6;
  await opened('trial', async (page) => {
    assert.match(await range(page), /of/);
    assert.notEqual(await page.locator('#throughput .behind').count(), 0);
  }, { hash: `#throughput&t=${last - 5}~${last}` });
});

test('pictures and data of every chart can be saved', async () => {
  await opened('trial', async (page) => {
    await seeAll(page);
    const buttons = page.locator('button.act');
    const names = await buttons.evaluateAll((all) => all.map((button) => button.getAttribute('aria-label')));
    const kinds = { PNG: 0, CSV: 0, Table: 0 };
    let tried = 0;
    for (const name of names) {
      kinds[name.split(':')[0]] += 1;
      // One title may stand twice (nodes); of the many small ones a few are enough.
      const small = await page.locator(`.strip.small button.act[aria-label="${name}"]`).count();
      if (names.filter((other) => other === name).length > 1 || (small > 0 && (tried += 1) > 4)) continue;
      if (name.startsWith('PNG')) {
        const { bytes } = await saved(page, name);
        assert.equal(bytes.subarray(1, 4).toString(), 'PNG', name);
        assert.ok(bytes.length > 2000, `${name}: ${bytes.length} bytes`);
      } else if (name.startsWith('CSV')) {
        const [head, ...rows] = lines((await saved(page, name)).bytes);
        assert.ok(head.length > 1 && rows.length > 0, `${name}: ${head}`);
      }
    }
    assert.ok(kinds.PNG >= 6 && kinds.CSV >= kinds.PNG && kinds.Table === kinds.CSV, JSON.stringify(kinds));
  });
});

test('what the instruments saw is on the page: series, the checkpoint, what sessions waited for', async () => {
  const series = sql(`SELECT DISTINCT s.name FROM series s JOIN sample v USING (trial, series) WHERE s.trial = ${of.trial}`);
  const document = documentOf('trial');
  assert.ok(series.length > 10, 'the notebook has series');
  const there = new Set(document.series.map((one) => one.name));
  const waits = series.filter((one) => one.name === 'pg.waits');
  for (const one of series) if (!waits.includes(one)) assert.ok(there.has(one.name), `${one.name} is on the page`);
  // It is there with no wait in it, too, where readings found none.
  assert.ok(document.waits !== undefined || waits.length === 0);
  const checkpoints = document.events.filter((event) => event.kind === 'checkpoint');
  assert.ok(checkpoints.length > 0, 'the checkpoint was seen');
  await opened('trial', async (page) => {
    assert.ok((await page.locator('#instruments .strip').count()) > 3);
    await page.getByText('Events in words').click();
    assert.match(await page.locator('details.more table').first().innerText(), /checkpoint/);
  });
});

test('a trial that was interrupted says so, and shows what was measured', async () => {
  const [aborted] = sql(`SELECT * FROM trial WHERE number = ${made.pages.aborted.trial}`);
  assert.equal(aborted.state, 'aborted');
  await opened('aborted', async (page) => {
    assert.match(await page.locator('.banner').innerText(), /aborted/);
    assert.ok((await page.locator('.partial').count()) > 3);
    same((await headline(page, 'Goodput')).value, aborted.goodput_per_s, 'goodput');
  });
});
