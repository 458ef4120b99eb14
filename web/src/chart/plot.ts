/**
 * One drawing on a canvas: made when it comes into sight, drawn anew when its data, its width or the
 * theme change, and only while it can be seen. Its owner says how it looks in `build`.
 */

import { token, onTheme } from '../page/theme';
import { h, save } from '../page/dom';
import { init, type ECharts, type Option } from './echarts';
import { FONT } from './shapes';

export interface Context {
  width: number;
  height: number;
  /** For a file: axes that the page leaves out are drawn. */
  exported: boolean;
}

export interface PlotSpec {
  height: number;
  build: (context: Context) => Option;
}

/** What is drawn anew for paper, and goes when another page takes this one's place. */
export interface Drawn {
  readonly element: HTMLElement;
  flush: () => void;
  redraw: () => void;
  dispose: () => void;
}

const all = new Set<Drawn>();

/** Another kind of drawing that does as plots do. */
export const onPaper = (drawn: Drawn): void => void all.add(drawn);

/** Base that every drawing has. */
const BASE = {
  animation: false,
  textStyle: { fontFamily: FONT, fontSize: 11.5 },
};

/** Above a saved picture: its heading. */
export const HEAD = 52;

/** An empty picture with its heading, at twice the resolution. */
export function sheet(width: number, height: number, title: string, subtitle: string): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
  const canvas = h('canvas', { width: width * 2, height: height * 2 });
  const context = canvas.getContext('2d')!;
  context.fillStyle = token('bg');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(2, 2);
  const line = (text: string, y: number, ink: string, font: string): void => {
    context.fillStyle = token(ink);
    context.font = `${font} ${FONT}`;
    context.fillText(text, 12, y, width - 24);
  };
  line(title, 22, 'ink1', '650 15px');
  line(subtitle, 40, 'ink3', '12px');
  return { canvas, context };
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => {
    if (blob !== null) save(name, blob);
  });
}

export class Plot {
  readonly element: HTMLElement;
  private chart: ECharts | null = null;
  private visible = false;
  private stale = true;
  private width = 0;
  private frame = 0;
  private readonly deaf: () => void;

  constructor(private readonly spec: PlotSpec) {
    this.element = h('div', { class: 'canvas', 'aria-hidden': 'true', style: { height: `${spec.height}px` } });
    all.add(this);
    // For tests, which read from it where texts and marks stand: a canvas has no elements.
    Object.defineProperty(this.element, 'drawing', { value: () => this.chart?.getZr().storage.getDisplayList() ?? [] });
    this.deaf = onTheme(() => this.redraw());
    new IntersectionObserver(
      (entries) => {
        this.visible = entries[entries.length - 1]!.isIntersecting;
        if (this.visible) this.draw();
      },
      { rootMargin: '120px' },
    ).observe(this.element);
    new ResizeObserver(() => {
      const { clientWidth } = this.element;
      if (clientWidth !== this.width && clientWidth > 0) this.redraw();
    }).observe(this.element);
  }

  get isVisible(): boolean {
    return this.visible;
  }

  /** It is so high from now on. */
  tall(height: number): void {
    this.spec.height = height;
    this.element.style.height = `${height}px`;
    // Another width than any: it is resized when it is drawn.
    this.width = 0;
    this.redraw();
  }

  /** What is drawn is out of date; it is drawn anew with the next frame, or when it comes into sight. */
  redraw(): void {
    this.stale = true;
    if (!this.visible || this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Draws now. */
  draw(force = false): void {
    if (!this.stale && !force) return;
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.chart ??= init(this.element, null, { renderer: 'canvas', height: this.spec.height });
    if (width !== this.width) {
      this.width = width;
      this.chart.resize({ width, height: this.spec.height });
    }
    this.chart.setOption(
      { ...BASE, ...this.spec.build({ width, height: this.spec.height, exported: false }) },
      { notMerge: true, lazyUpdate: false },
    );
    this.stale = false;
  }

  /** Draws and paints, whatever is in sight: for paper. */
  flush(): void {
    this.draw(true);
    this.chart?.getZr().flush();
  }

  dispose(): void {
    this.deaf();
    cancelAnimationFrame(this.frame);
    this.chart?.dispose();
    this.chart = null;
    this.visible = false;
  }

  /** The place of an item, in pixels of the element. */
  pixel(point: [number, number], grid = 0): [number, number] | null {
    return (this.chart?.convertToPixel({ gridIndex: grid }, point) as [number, number] | undefined) ?? null;
  }

  /** What lies at a pixel. */
  value(pixel: [number, number], grid = 0): [number, number] | null {
    return (this.chart?.convertFromPixel({ gridIndex: grid }, pixel) as [number, number] | undefined) ?? null;
  }

  /** Saves a picture of what is seen, with its heading. */
  png(name: string, title: string, subtitle: string): void {
    const width = Math.max(900, this.element.clientWidth);
    const box = h('div', { style: { width: `${width}px`, height: `${this.spec.height}px` } });
    const chart = init(box, null, { renderer: 'canvas', width, height: this.spec.height, devicePixelRatio: 2 });
    chart.setOption({ ...BASE, ...this.spec.build({ width, height: this.spec.height, exported: true }) });
    const drawn = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: token('bg') });
    const { canvas, context } = sheet(width, this.spec.height + HEAD, title, subtitle);
    context.drawImage(drawn, 0, HEAD, width, this.spec.height);
    chart.dispose();
    saveCanvas(name, canvas);
  }
}

/** Those that another one has taken the place of. */
export function disposeDetached(): void {
  for (const plot of all) {
    if (plot.element.isConnected) continue;
    plot.dispose();
    all.delete(plot);
  }
}

/** Before another page takes this one's place. */
export function disposeAll(): void {
  for (const plot of all) plot.dispose();
  all.clear();
}

/** Before the page goes to paper: everything at the width it has now, in the colours of paper. */
export function flushAll(): void {
  for (const plot of all) plot.flush();
}

/** After paper. */
export function redrawAll(): void {
  for (const plot of all) plot.redraw();
}
