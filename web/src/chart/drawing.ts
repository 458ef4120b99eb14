/**
 * A drawing of elements (SVG): its texts are text of the page, its colours follow the theme by themselves.
 * Drawn anew when its width changes. For figures with few marks and many words; thousands of marks
 * belong on a canvas (`plot.ts`).
 */

import { h, svg } from '../page/dom';
import { token } from '../page/theme';
import { HEAD, onPaper, saveCanvas, sheet } from './plot';
import { FONT } from './shapes';

export interface DrawingSpec {
  /** Of this width; without one that of its box. */
  height: number | ((width: number) => number);
  /** Least width: below it the box scrolls. */
  least?: number;
  build: (size: { width: number; height: number }) => SVGElement[];
}

const SVG = 'http://www.w3.org/2000/svg';

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
    const width = Math.max(900, this.element.clientWidth);
    const picture = this.picture(width);
    picture.setAttribute('xmlns', SVG);
    const { height } = this.sized(width);
    // Outside the page its colours are not known.
    const text = new XMLSerializer().serializeToString(picture).replace(/var\(--([a-z0-9]+)\)/g, (_, color: string) => token(color));
    const image = new Image();
    image.addEventListener('load', () => {
      const { canvas, context } = sheet(width, height + HEAD, title, subtitle);
      context.drawImage(image, 0, HEAD, width, height);
      saveCanvas(name, canvas);
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
