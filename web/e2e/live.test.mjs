/** Pages that a server gives, while real trials run: they grow, stop a trial, lose their server and find it again. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { axe, made, until } from './open.mjs';
import { Serving } from './serving.mjs';

const serving = new Serving(made.program);
let link = '';

before(async () => {
  serving.load();
  link = await serving.serve();
});
afterEach(() => serving.quiet());
after(() => serving.end());

const running = () => serving.pgdyno.sql("SELECT number, uuid FROM trial WHERE state = 'running' ORDER BY number DESC")[0];
const state = (number) => serving.pgdyno.sql(`SELECT state, reason, committed FROM trial WHERE number = ${number}`)[0];
const begun = () => until(async () => running() ?? null, (trial) => trial !== null);
/** With plain spaces. */
const texts = async (locator) => (await locator.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

/** The figure of a headline, as a number. */
const headline = async (page, label) => Number((await page.locator('.headlines > div').filter({ has: page.locator('dt', { hasText: label }) }).first().locator('.value').innerText()).replace(/[^\d.]/g, ''));
/** How long the trial has run, as its page shows it; `null`: the page shows none that runs. */
const seconds = (page) =>
  page.evaluate(() => {
    const shown = document.querySelector('.running-time')?.textContent;
    return shown === undefined ? null : /^(\d+):(\d+)/.exec(shown).slice(1).reduce((a, b) => a * 60 + Number(b), 0);
  });
/** Wider than the window, nothing may be. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test('a sweep is watched: boxes fill, a trial grows on its whole axis, and its page becomes the report', async () => {
  const file = join(serving.directory, 'sweep.toml');
  writeFileSync(file, 'name = "watched"\nworkload = "tpcb"\nparams.scale = 1\nduration = "25s"\nwarmup = "1s"\nrate = 200\nrepeats = 1\n[matrix]\nclients = [2, 3]\n');
  const sweep = serving.begin('-q', 'sweep', file, '--url', serving.url);
  const list = await serving.page(link, '/');
  await list.locator('#running-list tbody tr').first().waitFor();
  assert.match((await texts(list.locator('#running-list tbody tr')))[0], /tpcb, [23] clients in watched/);
  await list.locator('.growing-box.running').first().waitFor();
  assert.deepEqual(await texts(list.locator('.growing-name')), ['2 clients', '3 clients']);

  const { number } = running();
  const page = await serving.page(link, `/trial/${number}`);
  await page.locator('#throughput').scrollIntoViewIfNeeded();
  await page.locator('#throughput .canvas canvas').waitFor();
  const range = await page.locator('.timebar-range strong').innerText();
  assert.match(range, /^0?0:00 – 0?0:26$/, 'the axis is that of the whole trial');
  assert.equal(await page.locator('.verdict .sentence').count(), 0, 'no verdict before the end');
  assert.match(await page.locator('.headlines').innerText(), /so far/);
  // What the reader has chosen stays while the page grows.
  const plot = page.locator('#throughput .plot');
  await plot.scrollIntoViewIfNeeded();
  await plot.focus();
  await page.keyboard.press('+');
  const zoomed = await until(() => page.locator('.timebar-range strong').innerText(), (now) => now !== range);
  await page.locator('#latency-over-time .legend button').first().click();
  const [then, canvas] = [await seconds(page), await page.locator('#throughput canvas').elementHandle()];
  await until(() => seconds(page), (now) => now >= then + 2);
  assert.equal(await page.locator('.timebar-range strong').innerText(), zoomed);
  assert.equal(await page.locator('#latency-over-time .legend button').first().getAttribute('aria-pressed'), 'false');
  assert.ok(await canvas.evaluate((element) => element.isConnected), 'the chart goes on, it is not made anew');
  const shown = await headline(page, 'Goodput');
  const kept = serving.pgdyno.sql(`SELECT sum(committed) AS n FROM second WHERE trial = ${number} AND NOT warmup`)[0].n;
  assert.ok(shown > 0 && kept > 0);

  await page.locator('.verdict .sentence').waitFor();
  assert.equal(state(number).state, 'complete');
  assert.equal(await page.locator('.running-bar').count(), 0);
  const row = serving.pgdyno.sql(`SELECT goodput_per_s FROM trial WHERE number = ${number}`)[0];
  const final = await headline(page, 'Goodput');
  assert.ok(Math.abs(final - row.goodput_per_s) <= row.goodput_per_s * 0.006, `${final}, not ${row.goodput_per_s}`);
  // The other page has gone on to the next trial.
  await list.locator('.growing-box.done').first().waitFor();
  assert.deepEqual([...page.findings, ...list.findings], []);
  sweep.kill('SIGINT');
  await sweep.over;
  await page.context().close();
  await list.context().close();
});

test('a trial is stopped from its page after a question, and keeps what it measured', async () => {
  const run = serving.begin('run', '-q', 'tpcb', '-c', '2', '-R', '200', '-T', '300', '--param', 'scale=1', '--url', serving.url);
  const { number } = await begun();
  const page = await serving.page(link, `/trial/${number}`);
  await until(() => seconds(page), (now) => now >= 2);
  const button = page.getByRole('button', { name: 'Stop the trial…' });
  await button.click();
  const dialog = page.getByRole('dialog');
  assert.match(await dialog.innerText(), new RegExp(`Stop trial ${number}\\?`));
  await dialog.getByRole('button', { name: 'Let it run' }).click();
  assert.equal(state(number).state, 'running', 'no is no');
  await button.click();
  await page.getByRole('dialog').getByRole('button', { name: `Stop trial ${number}` }).click();
  await run.over;
  await page.locator('.banner').waitFor();
  assert.equal(await page.locator('.running-bar').count(), 0);
  const { state: became, committed } = state(number);
  assert.equal(became, 'aborted');
  assert.ok(committed > 0, 'what was measured is kept');
  assert.match(await page.locator('.banner').innerText(), /aborted|interrupted/);
  assert.deepEqual(page.findings, []);
  await page.context().close();
});

test('several generators are one row and one page; one that was killed is named there, on the others’ pages and on its own', async () => {
  const args = ['run', '-q', 'tpcb', '-c', '2', '-R', '200', '-T', '300', '--param', 'scale=1', '--generators', '2', '--join', 'killed', '--observe', 'none', '--url', serving.url];
  const both = [serving.begin(...args), serving.begin(...args)];
  const list = await serving.page(link, '/');
  const rows = list.locator('#running-list tbody tr');
  await until(() => texts(rows), (now) => now.length === 1 && /2 generators, figures of all together/.test(now[0]) && /generator 0 .* tps/.test(now[0]) && /generator 1 .* tps/.test(now[0]) && /00:0[1-9]/.test(now[0]));
  await rows.getByRole('link', { name: /^Watch trial/ }).click();
  await list.waitForURL(/\/trial\/\d+\/together$/);
  const all = list;
  await all.locator('table.generators tbody tr').nth(1).waitFor();
  assert.match(await all.locator('.running-bar .part-of').innerText(), /^What all 2 generators do together\./);
  assert.equal(await all.locator('.generators-lost').isVisible(), false);
  // Its seconds are the sums of theirs.
  const served = await (await all.request.get(all.url())).text();
  const together = JSON.parse(/id="data">(.*?)<\/script>/s.exec(served)[1]).timeline;
  const sums = serving.pgdyno.sql("SELECT start_us, sum(committed) AS n FROM second WHERE trial IN (SELECT number FROM trial WHERE state = 'running') GROUP BY start_us");
  const sumAt = new Map(sums.map(({ start_us, n }) => [start_us, n]));
  assert.ok(together.start_us.length >= 1);
  together.start_us.forEach((start, i) => assert.equal(together.committed[i], sumAt.get(start), `second at ${start}`));
  for (const width of [390, 1280]) {
    await all.setViewportSize({ width, height: 900 });
    await until(() => overflow(all), (wider) => wider <= 0);
  }
  assert.deepEqual((await axe(all, null)).filter((of) => /^(serious|critical)/.test(of)), []);
  const parts = serving.pgdyno.sql("SELECT number, pid FROM trial WHERE state = 'running' ORDER BY number");
  const [dies, stays] = parts.map((part) => ({ ...part, run: both.find((run) => run.pid === part.pid) }));
  const [killed, other] = await Promise.all([dies, stays].map(({ number }) => serving.page(link, `/trial/${number}`)));
  assert.match(await other.locator('.running-bar .part-of').innerText(), /^Only what generator [01] of 2 measures\./);
  assert.equal(await other.locator('.generators-lost').isVisible(), false);
  dies.run.kill('SIGKILL');
  await other.locator('.generators-lost').waitFor();
  const words = new RegExp(`Generator [01] \\(trial ${dies.number}\\) has ended before its time`);
  assert.match(await other.locator('.generators-lost').innerText(), words);
  await until(() => all.locator('.generators-lost').innerText(), (now) => words.test(now));
  await until(() => texts(all.locator('table.generators tbody tr')), (now) => now.filter((row) => /died at/.test(row)).length === 1);
  await all.goto(new URL('/', all.url()).href);
  await until(() => texts(rows), (now) => now.length === 1 && words.test(now[0]) && /has died/.test(now[0]));
  await killed.locator('.banner', { hasText: 'Its pgdyno ended before the trial did.' }).waitFor();
  assert.match(await killed.locator('.part-of').innerText(), /^What generator [01] of 2 measured\./);
  assert.equal(state(stays.number).state, 'running');
  assert.deepEqual([...list.findings, ...killed.findings, ...other.findings], []);
  // The survivor would wait for the dead one's last words.
  stays.run.kill('SIGKILL');
  await stays.run.over;
  for (const page of [list, killed, other]) await page.context().close();
});

test('a lost server is reported, and found again by itself; a closed page holds no connection', async () => {
  const run = serving.begin('run', '-q', 'tpcb', '-c', '2', '-R', '200', '-T', '300', '--param', 'scale=1', '--url', serving.url);
  const { number } = await begun();
  const before = serving.sockets();
  const page = await serving.page(link, `/trial/${number}`);
  await until(() => seconds(page), (now) => now >= 2);
  serving.server.kill('SIGKILL');
  await serving.server.over;
  await page.locator('.feed-status.on').waitFor();
  assert.match(await page.locator('.feed-status').innerText(), /does not answer/);
  assert.ok((await page.locator('#throughput').count()) > 0, 'the picture stays');
  const then = await seconds(page);
  link = await serving.serve();
  await page.locator('.feed-status.on').waitFor({ state: 'detached' });
  await until(() => seconds(page), (now) => now > then);
  await page.context().close();
  await until(() => Promise.resolve(serving.sockets()), (now) => now <= Math.max(before, 2));
  assert.equal(state(number).state, 'running', 'the trial has noticed nothing');
  run.kill('SIGINT');
  await run.over;
});

test('trials are found, tagged, excluded and compared from the list', async () => {
  for (const tag of ['first', 'second']) serving.pgdyno.run('run', '-q', 'select-only', '-c', '1', '-t', '50', '--param', 'scale=1', '--tag', tag, '--url', serving.url);
  const [last, before] = serving.pgdyno.sql("SELECT number FROM trial WHERE workload = 'select-only' ORDER BY number DESC").map((row) => row.number);
  const page = await serving.page(link, '/');
  await page.getByRole('searchbox', { name: 'Search trials' }).fill('select-only FIRST');
  await page.keyboard.press('Enter');
  await page.waitForURL(/q=select-only/);
  assert.equal(await page.locator('#trials-list tbody tr').count(), 1);
  await page.getByRole('link', { name: 'All trials' }).click();
  await page.locator(`#a-${before}`).check();
  await page.locator(`#b-${before}`).check();
  assert.equal(await page.locator(`#a-${before}`).isChecked(), false, 'a trial is on one side');
  await page.locator(`#a-${last}`).check();
  await page.getByRole('button', { name: 'Exclude…' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('a backup ran');
  await page.getByRole('dialog').getByRole('button', { name: 'Exclude' }).click();
  await page.locator('#trials-list tr', { hasText: 'a backup ran' }).first().waitFor();
  await page.getByRole('button', { name: 'Include again' }).click();
  await page.locator('#trials-list tr.is-excluded').first().waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Tag…' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('both');
  await page.getByRole('dialog').getByRole('button', { name: 'Tag', exact: true }).click();
  await until(() => page.locator('#trials-list a.tag', { hasText: 'both' }).count(), (n) => n === 2);
  await page.getByRole('link', { name: `Compare ${last} with ${before}` }).click();
  await page.locator('main h1').waitFor();
  assert.match(page.url(), new RegExp(`a=${last}&b=${before}$`));
  await page.goBack();
  await page.getByRole('link', { name: `Trial ${last}`, exact: true }).click();
  await page.getByRole('button', { name: 'Note…' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('<b>quiet</b>');
  await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
  await page.locator('.banner', { hasText: '<b>quiet</b>' }).waitFor();
  assert.deepEqual(page.findings, []);
  await page.context().close();
});

test('served pages are without serious findings of axe and fit their windows, in both themes', async () => {
  const run = serving.begin('run', '-q', 'tpcb', '-c', '2', '-R', '200', '-T', '300', '--param', 'scale=1', '--url', serving.url);
  const { number } = await begun();
  for (const [path, colorScheme, width] of [['/', 'light', 390], ['/', 'dark', 1280], [`/trial/${number}`, 'light', 390], [`/trial/${number}`, 'dark', 2560]]) {
    const page = await serving.page(link, path, { colorScheme, width });
    if (path !== '/') await page.locator('#throughput').waitFor();
    assert.deepEqual(await axe(page), [], `${path} ${colorScheme}`);
    assert.ok((await overflow(page)) <= 0, `${path} at ${width}`);
    await page.context().close();
  }
  run.kill('SIGINT');
  await run.over;
});

test('read-only, a page shows no action', async () => {
  serving.server.kill('SIGINT');
  await serving.server.over;
  link = await serving.serve('--read-only');
  const run = serving.begin('run', '-q', 'tpcb', '-c', '1', '-R', '200', '-T', '300', '--param', 'scale=1', '--url', serving.url);
  const { number } = await begun();
  for (const path of ['/', `/trial/${number}`, '/trial/1']) {
    const page = await serving.page(link, path);
    assert.deepEqual(await page.getByRole('button', { name: /Stop|Tag|Exclude|Note|Include/ }).count(), 0, path);
    await page.context().close();
  }
  run.kill('SIGINT');
  await run.over;
});
