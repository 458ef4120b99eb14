/** Which ink can be read on a colour, and colours between two. */

export type Rgb = [number, number, number];

export function parse(hex: string): Rgb {
  const text = hex.trim().replace('#', '');
  const full = text.length === 3 ? [...text].map((c) => c + c).join('') : text;
  return [0, 2, 4].map((i) => parseInt(full.slice(i, i + 2), 16)) as Rgb;
}

const linear = (byte: number): number => {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

/** WCAG's relative luminance. */
export function luminance(hex: string): number {
  const [r, g, b] = parse(hex).map(linear) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Black or white, whichever can be read better on it. */
export const inkOn = (hex: string): string => (contrast(hex, '#000000') >= contrast(hex, '#ffffff') ? '#000000' : '#ffffff');

/** One colour over another: share 0 to 1 of the first. */
export function mix(over: string, under: string, share: number): string {
  const [a, b] = [parse(over), parse(under)];
  return `#${a.map((v, i) => Math.round(v * share + b[i]! * (1 - share)).toString(16).padStart(2, '0')).join('')}`;
}
