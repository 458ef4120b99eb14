/**
 * The pictures of docs/images, from real reports of real trials on a PostgreSQL of pgdyno's own:
 * `scripts/pictures`. Some five minutes; a machine that does nothing else makes better ones.
 * With a third argument from the reports that an earlier call left there (KEEP=1).
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { Pgdyno } from './pgdyno.mjs';
import { Serving } from './serving.mjs';

const [program, images, made] = process.argv.slice(2).map((path) => resolve(path));
const directory = made ?? mkdtempSync('/var/tmp/pgdyno-pictures-');
const at = (name) => join(directory, name);
const pgdyno = new Pgdyno(program, at('notebook.sqlite'));
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const newest = () => pgdyno.sql('SELECT max(number) AS number FROM trial')[0].number;

/** A minute at a rate that the server keeps, with a checkpoint in the middle. */
async function trial(url) {
  writeFileSync(at('checkpoint.sql'), 'CHECKPOINT;\n');
  pgdyno.run('load', 'tpcb', '--param', 'scale=10', '--url', url);
  const child = spawn(program, ['run', '-q', 'tpcb', '-c', '8', '-j', '1', '-T', '60', '--warmup', '5', '-R', '250', '--isolation', 'serializable', '--retry', 'restart', '--max-tries', '0', '--url', url], { env: pgdyno.env, stdio: 'ignore' });
  const ended = new Promise((done) => child.on('exit', done));
  await pause(35_000);
  pgdyno.run('run', at('checkpoint.sql'), '-t', '1', '--no-store', '--observe', 'none', '--url', url);
  await ended;
  return String(newest());
}

function sweep(url, name, text) {
  const file = at(`${name}.toml`);
  writeFileSync(file, `name = "${name}"\nworkload = "tpcb"\n${text}`);
  pgdyno.run('-q', 'sweep', file, '--replace', '--url', url);
  return name;
}

/** Twelve trials by turns, with different tags. */
function comparison(url) {
  const name = sweep(url, 'synchronous commit', 'clients = 4\nduration = "3s"\nwarmup = "1s"\nrepeats = 6\n[matrix]\nsettings.synchronous_commit = ["on", "off"]\n');
  for (const [value, tag] of [['on', 'waits-for-disk'], ['off', 'does-not-wait']]) {
    const trials = pgdyno.sql(`SELECT number FROM result WHERE experiment_name = '${name}' AND point ->> '$.settings.synchronous_commit' = '${value}'`);
    for (const { number } of trials) pgdyno.run('tag', String(number), tag);
  }
}

/** A table that grows slows each trial down: whatever ran later is slower. */
function oneAfterTheOther(url) {
  writeFileSync(at('growing.sql'), 'CREATE TABLE growing AS SELECT generate_series(1, 20000) AS id;\n');
  pgdyno.run('run', at('growing.sql'), '-t', '1', '--observe', 'none', '--no-store', '--url', url);
  const file = at('grow.sql');
  writeFileSync(file, 'INSERT INTO growing SELECT generate_series(1, 10);\nSELECT count(*) FROM growing;\n');
  return [url, `${url}&options=-c%20work_mem%3D64MB`].map((of) => {
    const numbers = Array.from({ length: 8 }, () => {
      pgdyno.run('run', file, '-c', '2', '-t', '300', '--url', of);
      return newest();
    });
    return numbers.join(',');
  });
}

/** The top of the page, or what this selector finds, whole. */
async function picture(browser, name, report, { colorScheme = 'light', height = 1000, of = null } = {}) {
  const page = await (await browser.newContext({ viewport: { width: 1160, height }, colorScheme })).newPage();
  await page.goto(pathToFileURL(at(report)).href);
  const place = page.locator(of ?? 'main').first();
  // Below the bar that stays on top.
  if (of !== null) await place.evaluate((element) => scrollTo(0, element.getBoundingClientRect().top - 60));
  await pause(1500);
  await (of === null ? page : place).screenshot({ path: join(images, name) });
  await page.context().close();
}

/** Pages that are served, while an experiment runs. */
async function served() {
  const serving = new Serving(program);
  try {
    serving.load();
    for (const tag of ['baseline', 'nightly', 'nightly']) serving.pgdyno.run('run', '-q', 'tpcb', '-c', '4', '-T', '4', '--param', 'scale=1', '--tag', tag, '--url', serving.url);
    serving.pgdyno.run('exclude', '2', '--reason', 'a backup ran');
    const file = at('growing.toml');
    writeFileSync(file, 'name = "clients"\nworkload = "tpcb"\nparams.scale = 1\nduration = "4s"\nrepeats = 4\n[matrix]\nclients = [1, 2, 4, 8]\n');
    const sweep = serving.begin('-q', 'sweep', file, '--url', serving.url);
    const link = await serving.serve();
    const shot = async (name, path, wait, height, colorScheme = 'light') => {
      const page = await serving.page(link, path, { width: 1160, colorScheme });
      await page.setViewportSize({ width: 1160, height });
      await wait(page);
      await pause(1500);
      await page.screenshot({ path: join(images, name) });
      await page.context().close();
    };
    await pause(30_000);
    await shot('serve-list.png', '/', (page) => page.locator('.progress-cell .progress').first().waitFor(), 1240);
    sweep.kill('SIGINT');
    await sweep.over;
    const run = serving.begin('run', '-q', 'tpcb', '-c', '8', '-T', '60', '--param', 'scale=1', '--url', serving.url);
    await pause(37_000);
    const { number } = serving.pgdyno.sql('SELECT max(number) AS number FROM trial')[0];
    await shot('serve-trial.png', `/trial/${number}`, (page) => page.locator('#throughput').waitFor(), 1500);
    await shot('serve-trial-dark.png', `/trial/${number}`, (page) => page.locator('#throughput').evaluate((element) => scrollTo(0, element.getBoundingClientRect().top - 220)), 1100, 'dark');
    run.kill('SIGINT');
    await run.over;
    // Three generators, of which one dies.
    const args = ['run', '-q', 'tpcb', '-c', '9', '-T', '60', '--param', 'scale=1', '--generators', '3', '--join', 'picture', '--url', serving.url];
    const generators = [1, 2, 3].map(() => serving.begin(...args));
    await pause(32_000);
    generators[2].kill('SIGKILL');
    await pause(10_000);
    const part = serving.pgdyno.sql("SELECT min(number) AS number FROM trial WHERE state = 'running'")[0].number;
    await shot('serve-generators.png', `/trial/${part}/together`, (page) => page.locator('#generators').waitFor(), 1500);
    generators.slice(0, 2).forEach((one) => one.kill('SIGKILL'));
    await Promise.all(generators.map((one) => one.over));
  } finally {
    await serving.end();
  }
}

try {
  mkdirSync(images, { recursive: true });
  if (made === undefined) {
    const url = pgdyno.startServer('shared_buffers=64MB', 'track_io_timing=on');
    pgdyno.run('report', await trial(url), '-o', at('trial.html'));
    const experiment = sweep(url, 'scales and clients', 'duration = "4s"\nwarmup = "1s"\nrepeats = 3\n[matrix]\nparams.scale = [1, 10]\nclients = [1, 2, 4, 8]\n');
    pgdyno.run('report', experiment, '-o', at('experiment.html'));
    comparison(url);
    pgdyno.run('compare', 'tag:waits-for-disk', 'tag:does-not-wait', '--html', at('compare.html'));
    pgdyno.run('compare', ...oneAfterTheOther(url), '--html', at('compare-cannot-tell.html'));
  }
  const browser = await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM, args: ['--no-sandbox'] });
  await picture(browser, 'report-trial.png', 'trial.html', { height: 1240 });
  await picture(browser, 'report-trial-dark.png', 'trial.html', { colorScheme: 'dark', height: 1600, of: '#over-time' });
  await picture(browser, 'report-experiment.png', 'experiment.html', { height: 1500 });
  await picture(browser, 'report-compare.png', 'compare.html', { height: 1400 });
  await picture(browser, 'report-compare-cannot-tell.png', 'compare-cannot-tell.html', { height: 1100 });
  await browser.close();
  await served();
} finally {
  pgdyno.end();
  if (process.env.KEEP !== undefined) console.log(directory);
  else if (made === undefined) rmSync(directory, { recursive: true, force: true });
}
