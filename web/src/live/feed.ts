/** The stream of a served page: the whole document first, then what changes of it; and what is shown when it is cut. */

import type { Delta } from '../pure/delta';

/** What comes: another document, or what changes of the one that came before. */
export interface Coming {
  whole?: object;
  delta?: Delta;
}

export interface Listener {
  coming: (coming: Coming) => void;
  state: (state: FeedState) => void;
}

export type FeedState =
  | { kind: 'connected' }
  /** The server does not answer since then. */
  | { kind: 'lost'; since: Date }
  /** The server is there, its notebook is not. */
  | { kind: 'away'; error: string; hints: string[] }
  /** Nothing more will come. */
  | { kind: 'over' };

/** After so long another attempt is made where the browser makes none itself. */
const AGAIN_MS = [2000, 4000, 8000, 15_000];

export class Feed {
  private source: EventSource | null = null;
  private timer = 0;
  private attempts = 0;
  private lost: Date | null = null;
  private over = false;

  constructor(
    private readonly path: string,
    private readonly listener: Listener,
  ) {
    this.open();
    // A page that is left, or kept for the way back, holds no connection.
    window.addEventListener('pagehide', () => this.close());
    window.addEventListener('pageshow', (event) => {
      if (event.persisted && !this.over) this.open();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  /** Begins anew: with the whole. */
  open(): void {
    this.close();
    const source = new EventSource(this.path);
    this.source = source;
    const on = (name: string, act: (data: string) => void): void => source.addEventListener(name, (event) => act((event as MessageEvent<string>).data));
    for (const name of ['whole', 'delta'] as const) {
      on(name, (data) => {
        this.connected();
        this.listener.coming({ [name]: JSON.parse(data) as object });
      });
    }
    on('away', (data) => {
      const { error, hints } = JSON.parse(data) as { error: string; hints?: string[] };
      this.listener.state({ kind: 'away', error, hints: hints ?? [] });
    });
    on('end', () => {
      this.over = true;
      this.close();
      this.listener.state({ kind: 'over' });
    });
    source.addEventListener('error', () => {
      if (this.over) return;
      this.lost ??= new Date();
      this.listener.state({ kind: 'lost', since: this.lost });
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.open(), AGAIN_MS[Math.min(this.attempts, AGAIN_MS.length - 1)]);
      this.attempts += 1;
    });
  }

  private connected(): void {
    this.attempts = 0;
    this.lost = null;
    this.listener.state({ kind: 'connected' });
  }
}
