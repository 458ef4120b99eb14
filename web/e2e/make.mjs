/**
 * Makes the reports that the tests look at: real trials of pgdyno on a PostgreSQL of its own, small
 * ones. `node make.mjs PGDYNO DIRECTORY`; made.json says what is where.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Pgdyno } from './pgdyno.mjs';

/** Runs when it is read as HTML. */
export const HOSTILE = '</script><img src=x onerror="hacked=1">';

const [program, directory] = process.argv.slice(2).map((path) => resolve(path));
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const at = (name) => join(directory, name);
const store = at('notebook.sqlite');
const pgdyno = new Pgdyno(program, store);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The last trials of the notebook. */
const newest = () => pgdyno.sql('SELECT max(number) AS number FROM trial')[0].number;

/** A checkpoint in the middle of the run, conflicts, a schedule: something on every chart. */
async function fullTrial(url) {
  writeFileSync(at('checkpoint.sql'), 'CHECKPOINT;\n');
  pgdyno.run('load', 'tpcb', '--param', 'scale=2', '--url', url);
  const args = ['-c', '6', '-j', '2', '-T', '8', '--warmup', '2', '-R', '150', '--isolation', 'serializable', '--retry', 'restart', '--max-tries', '0'];
  const child = spawn(program, ['run', '-q', 'tpcb', ...args, '--url', url], { env: pgdyno.env, stdio: ['ignore', 'ignore', 'inherit'] });
  const trial = new Promise((done, failed) => child.on('exit', (code) => (code === 0 ? done() : failed(new Error(`the trial: exit ${code}`)))));
  await pause(5000);
  pgdyno.run('run', at('checkpoint.sql'), '-t', '1', '--no-store', '--observe', 'none', '--url', url);
  await trial;
  return newest();
}

/** Every text that a user or a server can put into the notebook is hostile. */
function hostileTrial(url) {
  const good = at('<img src=x onerror="hacked=1">.sql');
  const bad = at('fails.sql');
  writeFileSync(good, `SELECT '${HOSTILE}', :client_id;\n`);
  writeFileSync(bad, `SELECT '${HOSTILE}'::integer;\n`);
  pgdyno.run('run', good, bad, '-c', '2', '-t', '40', '--continue-on-error', '--note', HOSTILE, '--url', `${url}&application_name=${encodeURIComponent(HOSTILE)}`);
  const number = newest();
  pgdyno.run('exclude', String(number), '--reason', HOSTILE);
  return number;
}

/** Two points of five repeats: enough for a comparison with a verdict. */
function experiment(url) {
  const file = at('experiment.toml');
  writeFileSync(
    file,
    `name = ${JSON.stringify(`clients ${HOSTILE}`)}\nworkload = "select-only"\nduration = "500ms"\nrepeats = 5\n[matrix]\nparams.scale = [1]\nclients = [1, 3]\n`,
  );
  pgdyno.run('-q', 'sweep', file, '--replace', '--url', url);
  return pgdyno.sql('SELECT max(number) AS number, name FROM experiment')[0];
}

/** Kinds that are no numbers: rows, no curves. */
function kinds(url) {
  const file = at('kinds.toml');
  writeFileSync(file, 'name = "kinds"\nworkload = "select-only"\nclients = 2\nduration = "500ms"\nrepeats = 5\n[matrix]\nparams.scale = [1]\nquery_mode = ["simple", "prepared"]\n');
  pgdyno.run('-q', 'sweep', file, '--replace', '--url', url);
  return JSON.parse(pgdyno.run('show', '--experiment', 'kinds', '--json')).answer;
}

/** Five trials of a script, then five of one that takes three times as long: not by turns. */
function oneAfterTheOther(url) {
  // Sleeps beside which a busy host's noise is small: no drift is seen in it.
  return ['0.02', '0.06'].map((seconds) => {
    const file = at('sleeps.sql');
    writeFileSync(file, `SELECT pg_sleep(${seconds});\n`);
    return Array.from({ length: 5 }, () => {
      pgdyno.run('run', file, '-t', '24', '--observe', 'none', '--url', url);
      return newest();
    });
  });
}

/** A primary is killed and its standby promoted, twice. */
function failover() {
  const args = ['--repeat', '2', '-c', '4', '-R', '100', '--before', '3s', '--after', '6s', '--pg-set', 'fsync=off', ...pgdyno.bindir()];
  const child = spawn(program, ['-q', 'lab', 'failover', ...args], { env: pgdyno.env, stdio: ['ignore', 'ignore', 'inherit'] });
  // Lost writes, which an asynchronous standby may have, are exit code 1.
  return new Promise((done, failed) => child.on('exit', (code) => (code === 0 || code === 1 ? done() : failed(new Error(`the failover: exit ${code}`)))));
}

/** The sessions of two databases are ended, by turns. */
function beside(url) {
  for (const [name, sql] of [
    ['other.sql', 'CREATE DATABASE other;'],
    ['load.sql', 'SELECT 1;'],
    // For a second no session comes back: a new session reads the list of databases.
    ['kill.sql', "BEGIN; LOCK pg_database IN ACCESS EXCLUSIVE MODE; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'; SELECT pg_sleep(1); COMMIT;"],
  ])
    writeFileSync(at(name), `${sql}\n`);
  const once = ['-t', '1', '--observe', 'none', '--no-store', '--quiet'];
  pgdyno.run('run', at('other.sql'), ...once, '--url', url);
  const kill = `${program} run ${at('kill.sql')} ${once.join(' ')} --url "$PGDYNO_URL"`;
  const args = ['-c', '60', '-R', '300', '--before', '3s', '--after', '3s', '--within', '500ms', '--repeat', '1', '--no-controls'];
  pgdyno.run('-q', 'lab', 'disturb', at('load.sql'), ...args, '--during', kill, '--url', url, '--against', url.replace('/postgres?', '/other?'));
}

/** A search for a capacity with time for two steps. */
function capacity(url) {
  const file = at('capacity.toml');
  writeFileSync(file, 'name = "capacity"\nworkload = "select-only"\nduration = "10s"\nwarmup = 0\nreset.settle = 0\n[matrix]\nparams.scale = [1]\nclients = [2]\nrate = [200]\n[capacity]\nslo = "500ms"\n');
  pgdyno.run('-q', 'sweep', file, '--capacity-time', '25s', '--url', url);
}

/** Two forms of a transaction, often enough to differ significantly. */
function retries(url) {
  pgdyno.run('-q', 'lab', 'retries', '--forms', 'statements,batch', '-c', '4', '--isolation', 'serializable', '-T', '500ms', '--repeat', '5', '--url', url);
}

const made = { program, store, hostile: HOSTILE, pages: {} };
const report = (page, facts, ...args) => {
  made.pages[page] = { file: at(`${page}.html`), ...facts };
  pgdyno.run(...args.map((arg) => (arg === 'FILE' ? at(`${page}.html`) : arg)));
};

try {
  const url = pgdyno.startServer('fsync=off', 'log_checkpoints=on', 'cluster_name=<img src=x onerror="hacked=1">');
  const full = await fullTrial(url);
  report('trial', { trial: full }, 'report', String(full), '-o', 'FILE');
  await pgdyno.interrupted(2500, 'run', 'tpcb', '-c', '2', '-R', '200', '-T', '60', '--url', url);
  const aborted = newest();
  report('aborted', { trial: aborted }, 'report', String(aborted), '-o', 'FILE');
  const hostile = hostileTrial(url);
  report('hostile', { trial: hostile }, 'report', String(hostile), '-o', 'FILE');
  const { number, name } = experiment(url);
  report('experiment', { experiment: number }, 'report', name, '-o', 'FILE');
  report('kinds', { answer: kinds(url) }, 'report', 'kinds', '-o', 'FILE');
  const trials = (clients) => pgdyno.sql(`SELECT number FROM trial WHERE experiment = ${number} AND clients = ${clients} ORDER BY number`).map((row) => row.number);
  const [a, b] = [trials(1), trials(3)];
  report('compare', { a, b }, 'compare', a.join(','), b.join(','), '--html', 'FILE');
  report('compare-one-each', {}, 'compare', String(a[0]), String(b[0]), '--html', 'FILE');
  const [before, later] = oneAfterTheOther(url);
  report('compare-in-order', { a: before, b: later }, 'compare', before.join(','), later.join(','), '--html', 'FILE');
  capacity(url);
  retries(url);
  report('retries', {}, 'report', 'lab-retries', '-o', 'FILE');
  const failedOver = failover();
  beside(url);
  report('beside', {}, 'report', 'lab-disturb', '-o', 'FILE');
  await failedOver;
  report('failover', {}, 'report', 'lab-failover', '-o', 'FILE');
  report('capacity', {}, 'report', 'capacity', '-o', 'FILE');
  writeFileSync(at('made.json'), JSON.stringify(made, null, 2));
} finally {
  pgdyno.end();
}
