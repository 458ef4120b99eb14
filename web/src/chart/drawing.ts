/**
 * A drawing of elements (SVG): its texts are text of the page, its colours follow the theme by themselves.
 * Drawn anew when its width changes. For figures with few marks and many words; thousands of marks
 * belong on a canvas (`plot.ts`).
 */

import { h, save, svg } from '../page/dom';
import { token } from '../page/theme';
import { onPaper } from './plot';

export interface DrawingSpec {
  /** Of this width; without one that of its box. */
  height: number | ((width: number) => number);
  /** Least width: below it the box scrolls. */
  least?: number;
  build: (size: { width: number; height: number }) => SVGElement[];
}

const SVG = 'http://www.w3.org/2000/svg';
const FONT = '-apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, system-ui, sans-serif';

export class Drawing {
  readonly element: HTMLElement;
  private width = 0;

  constructor(private readonly spec: DrawingSpec) {
    this.element = h('div', { class: 'drawing', 'aria-hidden': 'true' });
    onPaper(this);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  private sized(width: number): { width: number; height: number } {
    const { height } = this.spec;
    return { width, height: typeof height === 'number' ? height : height(width) };
  }

  private picture(width: number): SVGElement {
    const size = this.sized(width);
    return svg('svg', { ...size, viewBox: `0 0 ${size.width} ${size.height}`, 'font-family': FONT, 'font-size': 11.5 }, ...this.spec.build(size));
  }

  draw(force = false): void {
    const width = Math.max(this.spec.least ?? 0, this.element.clientWidth);
    if (this.element.clientWidth === 0 || (width === this.width && !force)) return;
    this.width = width;
    this.element.replaceChildren(this.picture(width));
  }

  flush(): void {
    this.draw(true);
  }

  redraw(): void {
    this.draw(true);
  }

  dispose(): void {
    this.element.replaceChildren();
  }

  /** Saves a picture of what is seen, with its heading. */
  png(name: string, title: string, subtitle: string): void {
    const [width, head] = [Math.max(900, this.element.clientWidth), 52];
    const size = this.sized(width);
    const root = svg('svg', { width: size.width, height: size.height + head, 'font-family': FONT, 'font-size': 11.5 }, svg('rect', { width: size.width, height: size.height + head, fill: 'var(--bg)' }), svg('text', { x: 12, y: 22, fill: 'var(--ink1)', 'font-size': 15, 'font-weight': 650 }, title), svg('text', { x: 12, y: 40, fill: 'var(--ink3)', 'font-size': 12 }, subtitle), svg('g', { transform: `translate(0 ${head})` }, ...this.spec.build(size)));
    root.setAttribute('xmlns', SVG);
    // Outside the page its colours are not known.
    const text = new XMLSerializer().serializeToString(root).replace(/var\(--([a-z0-9]+)\)/g, (_, color: string) => token(color));
    const image = new Image();
    image.addEventListener('load', () => {
      const canvas = h('canvas', { width: size.width * 2, height: (size.height + head) * 2 });
      const context = canvas.getContext('2d')!;
      context.scale(2, 2);
      context.drawImage(image, 0, 0);
      canvas.toBlob((blob) => {
        if (blob !== null) save(name, blob);
      });
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }
}

/** How wide a text is, about: no wider than this. */
let pen: CanvasRenderingContext2D | null = null;
export function textWidth(text: string, size = 11.5, weight = 400): number {
  pen ??= document.createElement('canvas').getContext('2d');
  if (pen === null) return text.length * size * 0.6;
  pen.font = `${weight} ${size}px ${FONT}`;
  return Math.ceil(pen.measureText(text).width) + 1;
}
