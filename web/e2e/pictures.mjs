/**
 * The pictures of docs/images, from real reports of real trials on a PostgreSQL of pgdyno's own:
 * `scripts/pictures`. Some five minutes; a machine that does nothing else makes better ones.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { Pgdyno } from './pgdyno.mjs';

const [program, images] = process.argv.slice(2).map((path) => resolve(path));
const directory = mkdtempSync('/var/tmp/pgdyno-pictures-');
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
  pgdyno.run('-q', 'sweep', file, '--url', url);
  return name;
}

function comparison(url, ...output) {
  const name = sweep(url, 'synchronous commit', 'clients = 4\nduration = "3s"\nwarmup = "1s"\nrepeats = 6\n[matrix]\nsettings.synchronous_commit = ["on", "off"]\n');
  const of = (value) => pgdyno.sql(`SELECT t.number FROM result t WHERE experiment_name = '${name}' AND point ->> '$.settings.synchronous_commit' = '${value}' ORDER BY 1`).map((row) => row.number).join(',');
  pgdyno.run('compare', of('on'), of('off'), ...output);
}

/** The top of the page, or what this selector finds. */
async function picture(browser, name, report, { colorScheme = 'light', height = 1000, of = null } = {}) {
  const page = await (await browser.newContext({ viewport: { width: 1160, height }, colorScheme })).newPage();
  await page.goto(pathToFileURL(at(report)).href);
  const place = of === null ? page.locator('main') : page.locator(of).first();
  await place.scrollIntoViewIfNeeded();
  if (of === null) await page.evaluate(() => scrollTo(0, 0));
  await pause(1500);
  const path = join(images, name);
  if (of === null) await page.screenshot({ path });
  else await place.screenshot({ path });
  await page.context().close();
}

try {
  mkdirSync(images, { recursive: true });
  const url = pgdyno.startServer('shared_buffers=64MB', 'track_io_timing=on');
  pgdyno.run('report', await trial(url), '-o', at('trial.html'));
  const experiment = sweep(url, 'scales and clients', 'duration = "4s"\nwarmup = "1s"\nrepeats = 3\n[matrix]\nparams.scale = [1, 10]\nclients = [1, 2, 4, 8]\n');
  pgdyno.run('report', experiment, '-o', at('experiment.html'));
  comparison(url, '--html', at('compare.html'));
  const browser = await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM, args: ['--no-sandbox'] });
  await picture(browser, 'report-trial.png', 'trial.html', { height: 1240 });
  await picture(browser, 'report-trial-dark.png', 'trial.html', { colorScheme: 'dark', of: '#over-time' });
  await picture(browser, 'report-experiment.png', 'experiment.html', { height: 1500 });
  await picture(browser, 'report-compare.png', 'compare.html', { height: 1200 });
  await browser.close();
} finally {
  pgdyno.end();
  if (process.env.KEEP === undefined) rmSync(directory, { recursive: true, force: true });
  else console.log(directory);
}
