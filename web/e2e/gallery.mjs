/**
 * The gallery: pages of real experiments and comparisons, small ones, one of each kind that a page may
 * have to show. `node gallery.mjs PGDYNO DIRECTORY [NAME…]` runs them (all: some eight minutes) and
 * writes made.json, as make.mjs does; named ones are made anew beside those that are there.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Pgdyno } from './pgdyno.mjs';

const [program, directory] = process.argv.slice(2, 4).map((path) => resolve(path));
const asked = process.argv.slice(4);
mkdirSync(directory, { recursive: true });
const at = (name) => join(directory, name);
const pgdyno = new Pgdyno(program, at('notebook.sqlite'));

const newest = () => pgdyno.sql('SELECT max(number) AS number FROM trial')[0].number;
const script = (name, sql) => {
  writeFileSync(at(name), `${sql}\n`);
  return at(name);
};
const once = (url, file) => pgdyno.run('run', file, '-t', '1', '--observe', 'none', '--no-store', '--quiet', '--url', url);

/** An experiment from its file. */
function sweep(url, name, text, ...more) {
  writeFileSync(at(`${name}.toml`), `name = "${name}"\n${text}`);
  // One whose points name their target needs no other.
  pgdyno.run('-q', 'sweep', at(`${name}.toml`), '--replace', ...more, ...(url === null ? [] : ['--url', url]));
  return ['report', name];
}

/** What differs by a value of its point. */
function sidesOf(name, parameter) {
  const rows = pgdyno.sql(`SELECT number, point ->> '$.${parameter}' AS value FROM result WHERE experiment = (SELECT max(experiment) FROM result WHERE experiment_name = '${name}') ORDER BY number`);
  const sides = new Map();
  for (const { number, value } of rows) sides.set(value, [...(sides.get(value) ?? []), number]);
  return [...sides.values()].map((numbers) => numbers.join(','));
}

/** So many trials of a script; their numbers. */
function trials(url, count, file, ...more) {
  const numbers = [];
  for (let i = 0; i < count; i += 1) {
    pgdyno.run('run', file, '-c', '2', '--url', url, ...(more.length > 0 ? more : ['-t', '100']));
    numbers.push(newest());
  }
  return numbers.join(',');
}

/** A command that may end with another exit code, such as lost writes. */
function spawned(codes, ...args) {
  const child = spawn(program, args, { env: pgdyno.env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (more) => (said += more));
  return new Promise((done, failed) => child.on('exit', (code) => (codes.includes(code) ? done() : failed(new Error(`pgdyno ${args.join(' ')}: exit ${code}\n${said}`)))));
}

const LONG = 'application_name=an-application-with-a-name-that-says-all-of-what-it-does&connect_timeout=10&keepalives_idle=30';

/** Each makes its trials and says which command writes its page. */
const PAGES = {
  'categories': (url) => sweep(url, 'categories', 'workload = ["select-only", "simple-update", "tpcb"]\nduration = "1s"\nrepeats = 6\nclients = 2\n[matrix]\nparams.scale = [1]\n'),
  'two-axes': (url) => sweep(url, 'two-axes', 'workload = "tpcb"\nduration = "1s"\nrepeats = 2\n[matrix]\nparams.scale = [1, 2]\nclients = [1, 2, 4, 8]\n'),
  'three-axes': (url) => sweep(url, 'three-axes', 'workload = "tpcb"\nduration = "1s"\nrepeats = 2\nretry = "restart"\n[matrix]\nclients = [1, 4]\nquery_mode = ["simple", "prepared"]\nisolation = ["read committed", "serializable"]\n'),
  'one-repeat': (url) => sweep(url, 'one-repeat', 'workload = "select-only"\nduration = "1s"\nrepeats = 1\n[matrix]\nclients = [1, 2, 4, 8]\n'),
  'targets': (url) => {
    const names = ['a_database_of_the_first_region', 'a_database_of_the_second_region', 'a_database_of_the_third_region'];
    for (const name of names) once(url, script('create.sql', `CREATE DATABASE ${name};`));
    const of = (name) => url.replace('/postgres?', `/${name}?`) + `&${LONG}`;
    return sweep(null, 'targets', `workload = ["select-only", "tpcb"]\nduration = "1s"\nrepeats = 2\ntarget = ${JSON.stringify(names.map(of))}\n[matrix]\nclients = [1, 4]\n`);
  },
  'failures': async (url) => {
    const [good, bad] = [script('good.sql', 'SELECT 1;'), script('no-such-table.sql', 'SELECT * FROM no_such_table;')];
    const text = `duration = "1s"\nrepeats = 2\nclients = 2\nworkload = ${JSON.stringify([[good], [bad]])}\n`;
    writeFileSync(at('failures.toml'), `name = "failures"\n${text}`);
    await spawned([0, 1, 2, 3, 4, 5], '-q', 'sweep', at('failures.toml'), '--url', url);
    // And one that was stopped.
    writeFileSync(at('failures.toml'), `name = "failures"\n${text.replace('repeats = 2', 'repeats = 3')}`);
    await pgdyno.interrupted(2500, '-q', 'sweep', at('failures.toml'), '--resume', '--url', url);
    return ['report', 'failures'];
  },
  'capacity': (url) => sweep(url, 'capacity', 'workload = "select-only"\nduration = "10s"\nwarmup = 0\nreset.settle = 0\n[matrix]\nparams.scale = [1]\nclients = [2]\nrate = [400, 4000]\n[capacity]\nslo = "5ms"\n', '--capacity-time', '80s'),
  'retries': (url) => {
    pgdyno.run('-q', 'lab', 'retries', '-c', '1,8', '-T', '1s', '--repeat', '2', '--isolation', 'serializable', '--url', url);
    return ['report', 'lab-retries'];
  },
  'calibration': async (url) => {
    await spawned([0, 1], '-q', 'calibrate', url, '--name', 'calibration', '-T', '6s', '--anyway', '--max-clients', '4');
    return ['report', 'calibration'];
  },
  'disturbance': (url) => {
    const other = url.replace('/postgres?', '/other?');
    once(url, script('other.sql', 'CREATE DATABASE other;'));
    // For a second no session comes back: a new session reads the list of databases.
    const kill = script('kill.sql', "BEGIN; LOCK pg_database IN ACCESS EXCLUSIVE MODE; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'; SELECT pg_sleep(1); COMMIT;");
    const command = `${program} run ${kill} -t 1 --observe none --no-store --quiet --url "$PGDYNO_URL"`;
    pgdyno.run('-q', 'lab', 'disturb', script('load.sql', 'SELECT 1;'), '-c', '20', '-R', '200', '--before', '3s', '--after', '3s', '--within', '500ms', '--repeat', '2', '--during', command, '--url', url, '--against', other);
    return ['report', 'lab-disturb'];
  },
  'failover': async () => {
    // Lost writes, which an asynchronous standby may have, are exit code 1.
    await spawned([0, 1], '-q', 'lab', 'failover', '--repeat', '2', '-c', '4', '-R', '100', '--before', '3s', '--after', '6s', '--pg-set', 'fsync=off', ...pgdyno.bindir());
    return ['report', 'lab-failover'];
  },
  'isolation': async (url) => {
    await spawned([0, 1], '-q', 'lab', 'isolation', '-T', '1s', '--repeat', '2', '--mix', 'append,register', '--url', url);
    return ['report', 'lab-isolation'];
  },
  'generators': async (url) => {
    const line = ['run', '-q', 'tpcb', '-c', '4', '-T', '6', '--generators', '2', '--join', 'gallery', '--url', url];
    await Promise.all([spawned([0], ...line), spawned([0], ...line)]);
    return ['report', String(newest())];
  },
  'compare-clear': (url) => {
    // Clear however busy the machine is: what one side waits for less.
    const file = script('waits.sql', "SELECT pg_sleep(CASE current_setting('work_mem') WHEN '64kB' THEN 0.02 ELSE 0.006 END);");
    sweep(url, 'compare-clear', `workload = [${JSON.stringify([file])}]\ntransactions = 60\nclients = 2\nrepeats = 8\n[matrix]\nsettings.work_mem = ["64kB", "64MB"]\n`);
    return ['compare', ...sidesOf('compare-clear', 'settings.work_mem'), '--fail-unless', 'goodput > -5%', '--accept-serious'];
  },
  'compare-none': (url) => {
    const file = script('sleep.sql', 'SELECT pg_sleep(0.004);');
    sweep(url, 'compare-none', `workload = [${JSON.stringify([file])}]\ntransactions = 200\nclients = 2\nrepeats = 6\n[matrix]\nsettings.work_mem = ["4MB", "64MB"]\n`);
    return ['compare', ...sidesOf('compare-none', 'settings.work_mem'), '--fail-if', 'p99 > +5%'];
  },
  // A table that grows slows each trial down: whatever ran later is slower.
  'compare-cannot-tell': (url) => {
    once(url, script('growing.sql', 'CREATE TABLE growing AS SELECT generate_series(1, 20000) AS id;'));
    const file = script('grow.sql', 'INSERT INTO growing SELECT generate_series(1, 40);\nSELECT count(*) FROM growing;');
    const [a, b] = [trials(url, 8, file), trials(`${url}&options=-c%20work_mem%3D64MB`, 8, file)];
    return ['compare', a, b, '--fail-if', 'goodput < -5%'];
  },
  'compare-one-each': (url) => {
    const file = script('sleep.sql', 'SELECT pg_sleep(0.004);');
    return ['compare', trials(url, 1, file), trials(url, 1, file)];
  },
  'compare-after-each-other': (url) => {
    const [fast, slow] = [script('answers.sql', 'SELECT pg_sleep(0.002);'), script('answers.sql', 'SELECT pg_sleep(0.002);')];
    const a = trials(url, 6, fast);
    script('answers.sql', 'SELECT pg_sleep(0.004);');
    return ['compare', a, trials(url, 6, slow)];
  },
  'compare-many-settings': (url) => {
    const settings = {
      work_mem: ['4MB', '64MB'],
      random_page_cost: [4, 1.1],
      effective_cache_size: ['4GB', '12GB'],
      log_line_prefix: ['%m [%p] ', '%m [%p] database %d, user %u, application %a, host %h, session %c, line %l '],
      maintenance_work_mem: ['64MB', '512MB'],
      max_parallel_workers_per_gather: [2, 0],
      autovacuum_vacuum_cost_delay: ['2ms', '0'],
      checkpoint_timeout: ['5min', '30min'],
      max_wal_size: ['1GB', '4GB'],
      wal_compression: ['off', 'on'],
    };
    const zip = Object.entries(settings).map(([name, values]) => `settings.${name} = ${JSON.stringify(values)}`).join('\n');
    sweep(url, 'compare-many-settings', `workload = "simple-update"\nduration = "1s"\nrepeats = 6\nclients = 2\n[[zip]]\n${zip}\n`);
    return ['compare', ...sidesOf('compare-many-settings', 'settings.work_mem')];
  },
  'compare-with-failures': (url) => {
    const [good, bad] = [script('half.sql', '\\set n random(1, 4)\nSELECT 1 / 1, pg_sleep(0.002);'), script('half.sql', '\\set n random(1, 4)\nSELECT 1 / 1, pg_sleep(0.002);')];
    const a = trials(url, 5, good, '-t', '200', '--continue-on-error');
    script('half.sql', '\\set n random(0, 3)\nSELECT 1 / :n, pg_sleep(0.002);');
    return ['compare', a, trials(url, 5, bad, '-t', '200', '--continue-on-error')];
  },
  'compare-points': (url) => {
    sweep(url, 'compare-points', 'workload = ["select-only", "simple-update"]\nduration = "1s"\nrepeats = 6\n[matrix]\nclients = [1, 3]\nquery_mode = ["simple", "prepared"]\n');
    return ['compare', 'compare-points:query_mode=simple', 'compare-points:query_mode=prepared'];
  },
};

const unknown = asked.filter((name) => PAGES[name] === undefined);
if (unknown.length > 0) throw new Error(`no such page: ${unknown.join(', ')}; there are ${Object.keys(PAGES).join(', ')}`);
const listed = existsSync(at('made.json')) ? JSON.parse(readFileSync(at('made.json'), 'utf8')).pages : {};
const made = { program, store: at('notebook.sqlite'), pages: asked.length > 0 ? listed : {} };
const failed = [];
try {
  const url = pgdyno.startServer('fsync=off', 'log_checkpoints=on');
  for (const name of asked.length > 0 ? asked : Object.keys(PAGES)) {
    const begun = Date.now();
    try {
      const [command, ...args] = await PAGES[name](url);
      const file = at(`${name}.html`);
      await spawned(command === 'compare' ? [0, 1, 4] : [0], command, ...args, command === 'compare' ? '--html' : '-o', file, '--force');
      made.pages[name] = { file };
      console.log(`${name}: ${((Date.now() - begun) / 1000).toFixed(0)} s`);
    } catch (error) {
      failed.push(`${name}: ${error.message}`);
      console.error(failed.at(-1));
    }
  }
  writeFileSync(at('made.json'), JSON.stringify(made, null, 2));
} finally {
  pgdyno.end();
}
if (failed.length > 0) process.exit(1);
