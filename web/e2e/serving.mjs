/** `pgdyno serve` with a notebook and a server of its own, and pages of it in the browser. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Pgdyno } from './pgdyno.mjs';

const WAIT_MS = Number(process.env.PGDYNO_E2E_WAIT_MS ?? 60_000);

/** A free port: the server takes the same one again later. */
const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

export class Serving {
  constructor(program) {
    this.directory = mkdtempSync(join(tmpdir(), 'pgdyno-live-'));
    this.pgdyno = new Pgdyno(program, join(this.directory, 'notebook.sqlite'));
    this.children = new Set();
    this.token = join(this.directory, 'token');
    writeFileSync(this.token, 'a-token-of-this-test-0123456789abcdef\n');
  }

  /** A private PostgreSQL with tables for `tpcb`, and a notebook with a trial. */
  load() {
    this.url = this.pgdyno.startServer();
    this.pgdyno.run('run', '-q', 'tpcb', '-t', '5', '--param', 'scale=1', '--observe', 'none', '--url', this.url);
  }

  /** A pgdyno that goes on; killed at the end at the latest. */
  begin(...args) {
    const child = spawn(this.pgdyno.program, args, { env: this.pgdyno.env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.said = '';
    const keep = (bytes) => (child.said += bytes);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.over = new Promise((done) => child.on('exit', (code, signal) => done(code ?? signal)));
    this.children.add(child);
    return child;
  }

  /** The server at the same address each time; its link. */
  async serve(...options) {
    this.port ??= await freePort();
    this.server = this.begin('serve', '--listen', `127.0.0.1:${this.port}`, '--token-file', this.token, ...options);
    return this.said(this.server, /http:\S+/);
  }

  /** Waits until it has said this. */
  async said(child, what) {
    for (const end = Date.now() + WAIT_MS; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
      const found = what.exec(child.said);
      if (found !== null) return found[0];
      if (child.exitCode !== null) break;
    }
    throw new Error(`pgdyno did not say ${what}: ${child.said}`);
  }

  /** Connections that the server has open, its listener among them. */
  sockets() {
    const of = `/proc/${this.server.pid}/fd`;
    return readdirSync(of).filter((fd) => {
      try {
        return readlinkSync(join(of, fd)).startsWith('socket:');
      } catch {
        return false;
      }
    }).length;
  }

  async browse() {
    this.browser ??= await chromium.launch({ executablePath: process.env.PGDYNO_CHROMIUM, args: ['--no-sandbox'] });
    return this.browser;
  }

  /** A page at this path, with what it complains of. */
  async page(link, path, { width = 1280, colorScheme = 'light' } = {}) {
    const browser = await this.browse();
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    page.findings = [];
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.findings.push(message.text()));
    page.on('pageerror', (error) => page.findings.push(String(error.stack ?? error)));
    await page.goto(link);
    await page.locator('main h1').waitFor();
    if (path !== '/') {
      await page.goto(new URL(path, link).href);
      await page.locator('main h1').waitFor();
    }
    return page;
  }

  /** Ends what runs, but for the server. */
  async quiet() {
    const others = [...this.children].filter((child) => child !== this.server && child.exitCode === null && child.signalCode === null);
    for (const child of others) child.kill('SIGINT');
    const killed = others.map((child) => setTimeout(() => child.kill('SIGKILL'), 8000));
    await Promise.all(others.map((child) => child.over));
    killed.forEach(clearTimeout);
  }

  async end() {
    await this.browser?.close();
    this.server?.kill('SIGINT');
    await this.server?.over;
    this.server = undefined;
    await this.quiet();
    if (this.url === undefined) this.pgdyno.forget();
    else this.pgdyno.end();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
