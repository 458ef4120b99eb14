/** Calling the program, with a notebook and a server of its own. */

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** pgdyno with this notebook. As root the server's user must be able to reach its directory. */
export class Pgdyno {
  constructor(program, store) {
    this.program = program;
    this.home = mkdtempSync(join(tmpdir(), 'pgdyno-page-'));
    chmodSync(this.home, 0o755);
    const other = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
    this.env = { ...Object.fromEntries(other), PGDYNO_STORE: store, PGDYNO_CACHE: join(this.home, 'cache'), PGDYNO_SERVERS: join(this.home, 'servers') };
  }

  /** Its standard output; throws when it fails, with all it said. */
  run(...args) {
    try {
      return execFileSync(this.program, args, { env: this.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 900_000, maxBuffer: 64 << 20 });
    } catch (error) {
      throw new Error(`pgdyno ${args.join(' ')}: exit ${error.status ?? error.signal}\n${error.stdout}\n${error.stderr}`);
    }
  }

  /** Rows of a query on the notebook, as objects. */
  sql(query) {
    return JSON.parse(this.run('sql', '--json', query));
  }

  /** Ends with SIGINT after so long; its exit does not matter. */
  interrupted(after_ms, ...args) {
    const child = spawn(this.program, args, { env: this.env, stdio: 'ignore' });
    setTimeout(() => child.kill('SIGINT'), after_ms);
    return new Promise((done) => child.on('exit', done));
  }

  /** Where PostgreSQL's programs are, if the tests have some. */
  bindir() {
    const tools = process.env.PGDYNO_TEST_TOOLS;
    const stock = tools === undefined ? '' : join(tools, 'stock-postgresql/bin');
    return stock !== '' && existsSync(join(stock, 'postgres')) ? ['--pg-bindir', stock] : [];
  }

  startServer(...settings) {
    this.run('server', 'start', ...this.bindir(), ...settings.flatMap((set) => ['--pg-set', set]));
    return this.run('server', 'url').trim();
  }

  end() {
    try {
      this.run('server', 'stop', '--discard');
    } finally {
      this.forget();
    }
  }

  /** Where there is no server. */
  forget() {
    rmSync(this.home, { recursive: true, force: true });
  }
}
