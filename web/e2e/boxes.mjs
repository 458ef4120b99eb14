/**
 * Where things stand on a page, and what is where it must not be: text over other text or over a mark
 * that is not its own, text outside its cell, its drawing or its box, a page wider than its window.
 * `misplaced` runs in the page: it sees nothing of this module.
 */

import { seeAll, until } from './open.mjs';

/** All that is misplaced at one of these widths, a line each. */
export async function misplacedAt(page, widths) {
  const found = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 1000 });
    await until(() => page.evaluate(() => innerWidth), (now) => now === width);
    await seeAll(page);
    found.push(...(await page.evaluate(misplaced)).map((what) => `${width} px: ${what}`));
  }
  return found;
}

/** All that is misplaced, in words. */
function misplaced() {
  const found = [];
  const brief = (text) => `“${text.trim().replace(/\s+/g, ' ').slice(0, 48)}”`;
  const where = (element) => {
    const part = element.closest('section[id], figure[id], .strip[id], header, footer');
    return part === null ? '' : ` (#${part.id || part.tagName.toLowerCase()})`;
  };
  const size = (box) => `${box.left.toFixed(0)},${box.top.toFixed(0)} ${(box.right - box.left).toFixed(0)}×${(box.bottom - box.top).toFixed(0)}`;
  /** Boxes of text are as high as the font's: lines that stand close touch a little. */
  const lies = (a, b) => {
    const [x, y] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    return x > 1.5 && y > Math.max(2, 0.25 * Math.min(a.bottom - a.top, b.bottom - b.top));
  };
  const inside = (a, b, by = 1.5) => a.left >= b.left - by && a.right <= b.right + by && a.top >= b.top - by && a.bottom <= b.bottom + by;

  /** What cuts off what is within it. */
  const cutters = new Map();
  const isHidden = (element) => !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || element.closest('.visually-hidden, .skip') !== null || getComputedStyle(element).clipPath === 'inset(50%)';
  const scrollerOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at !== document.documentElement && at !== document.body) return at;
    }
    return null;
  };

  // What is at the top of the window stays there whatever is below.
  const isSticky = (element) => {
    for (let at = element; at !== null; at = at.parentElement) if (/sticky|fixed/.test(getComputedStyle(at).position)) return true;
    return false;
  };

  /** Lines of text in the document, each with its box. */
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || /^(SCRIPT|STYLE|TITLE)$/.test(element.tagName) || isHidden(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const scroller = scrollerOf(element);
    const view = scroller?.getBoundingClientRect();
    for (const { left, right, top, bottom } of range.getClientRects()) {
      if (right - left < 1) continue;
      // Within a box that scrolls: what is not in sight now.
      if (view !== undefined && (left < view.left - 1 || right > view.right + 1)) continue;
      // Statements end with an ellipsis where their button does.
      const end = element.closest('button.sql')?.getBoundingClientRect().right ?? Infinity;
      if (left >= end) continue;
      texts.push({ element, node, text: node.data, box: { left, right: Math.min(right, end), top: top + scrollY, bottom: bottom + scrollY }, sticky: isSticky(element) });
    }
  }
  texts.sort((a, b) => a.box.top - b.box.top);
  texts.forEach((one, i) => {
    for (const other of texts.slice(i + 1)) {
      if (other.box.top >= one.box.bottom) break;
      if (one.node === other.node || one.sticky !== other.sticky || !lies(one.box, other.box)) continue;
      found.push(`text over text: ${brief(one.text)} ${size(one.box)} and ${brief(other.text)} ${size(other.box)}${where(one.element)}`);
    }
    const cell = one.element.closest('td, th');
    if (cell !== null) {
      const { left, right, top, bottom } = cell.getBoundingClientRect();
      if (!inside(one.box, { left, right, top: top + scrollY, bottom: bottom + scrollY }, 2)) found.push(`text outside its cell: ${brief(one.text)}${where(one.element)}`);
    }
    const drawing = one.element.closest('svg');
    if (drawing !== null) {
      const { left, right, top, bottom } = drawing.getBoundingClientRect();
      const box = { left, right, top: top + scrollY, bottom: bottom + scrollY };
      if (getComputedStyle(drawing).overflow !== 'visible' && !inside(one.box, box)) found.push(`text outside its drawing: ${brief(one.text)} ${size(one.box)} in ${size(box)}${where(one.element)}`);
      for (const mark of drawing.querySelectorAll('rect, circle, path, polygon, line, polyline')) {
        if (isHidden(mark)) continue;
        const of = mark.getBoundingClientRect();
        const style = getComputedStyle(mark);
        const hairline = ['--line1', '--line2'].map((name) => mark.getAttribute('stroke') === `var(${name})`).includes(true) && style.fill === 'none';
        const pale = Number(style.fillOpacity) * Number(style.opacity) < 0.3 || ['var(--line1)', 'var(--tint)', 'var(--tint2)', 'var(--bg)', 'none'].includes(mark.getAttribute('fill') ?? '');
        if (/^(line|polyline)$/.test(mark.tagName) ? hairline || mark.getAttribute('stroke')?.includes('line') : pale) continue;
        const box = { left: of.left, right: Math.max(of.right, of.left + 1), top: of.top + scrollY, bottom: Math.max(of.bottom, of.top + 1) + scrollY };
        if (mark.tagName === 'path' || mark.tagName === 'polyline' || mark.tagName === 'line') {
          const length = mark.getTotalLength?.() ?? 0;
          const matrix = mark.getScreenCTM();
          const core = { left: one.box.left + 2, right: one.box.right - 2, top: one.box.top + 3, bottom: one.box.bottom - 3 };
          for (let d = 0; d <= length; d += 2) {
            const point = mark.getPointAtLength(d).matrixTransform(matrix);
            if (point.x > core.left && point.x < core.right && point.y + scrollY > core.top && point.y + scrollY < core.bottom) {
              found.push(`text over a line: ${brief(one.text)} ${size(one.box)} and <${mark.tagName}>${where(one.element)}`);
              break;
            }
          }
        } else if (lies(one.box, box) && !inside(one.box, box)) found.push(`text over a mark: ${brief(one.text)} ${size(one.box)} and <${mark.tagName}> ${size(box)}${where(one.element)}`);
      }
    }
    for (let at = one.element; at !== null && at !== document.body; at = at.parentElement) {
      if (at instanceof SVGElement) continue;
      const style = getComputedStyle(at);
      if (!/hidden|clip/.test(style.overflowX) && !/hidden|clip/.test(style.overflowY)) {
        if (/auto|scroll/.test(style.overflowX)) break;
        continue;
      }
      // Statements end with an ellipsis and open when they are asked to.
      if (at.closest('button.sql') === null) cutters.set(at, one);
    }
  });
  for (const [cutter, { text, element }] of cutters) {
    if (cutter.scrollWidth > cutter.clientWidth + 1 || cutter.scrollHeight > cutter.clientHeight + 2) found.push(`cut off by its box: ${brief(text)} in <${cutter.tagName.toLowerCase()} class="${cutter.className}">${where(element)}`);
  }

  // A box that scrolls where there is room for all of it in a window as wide as a desk's.
  if (innerWidth >= 1280) {
    for (const box of document.querySelectorAll('.verdict .scroll')) {
      if (box.scrollWidth > box.clientWidth + 1) found.push(`a table is cut off by its box: ${brief(box.getAttribute('aria-label') ?? box.textContent)}, ${box.scrollWidth} in ${box.clientWidth} px${where(box)}`);
    }
  }

  /** Drawings on canvases: what is in the display list, by its boxes. */
  const [faint1, faint2] = ['--line1', '--line2'].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  for (const canvas of document.querySelectorAll('.canvas')) {
    const list = canvas.drawing?.() ?? [];
    if (list.length === 0 || isHidden(canvas)) continue;
    const title = canvas.closest('figure, .strip')?.querySelector('h3')?.textContent ?? '';
    const isText = (item) => item.type === 'tspan' || item.type === 'text';
    const boxOf = (item) => {
      const rect = item.getBoundingRect().clone();
      const transform = item.getComputedTransform?.() ?? item.transform;
      if (transform) rect.applyTransform(transform);
      // A letter is about as high as its font; the library's box of a line is that of its lowest letters.
      const font = isText(item) ? parseFloat(/([\d.]+)px/.exec(item.style.font ?? '')?.[1] ?? '11.5') : 0;
      const more = Math.max(0, font * 0.95 - rect.height) / 2;
      return { left: rect.x, right: rect.x + rect.width, top: rect.y - more, bottom: rect.y + rect.height + more };
    };
    const shown = list.filter((item) => !item.ignore && !item.invisible && (item.style?.opacity ?? 1) > 0);
    // What has a background of its own is in front of lines.
    const hasGround = (item) => item.parent?.type === 'text' && Boolean(item.parent.style.backgroundColor);
    const words = shown.filter((item) => isText(item) && (item.style?.text ?? '').trim() !== '').map((item) => ({ text: item.style.text, box: boxOf(item), hasGround: hasGround(item) }));
    words.forEach((one, i) => {
      for (const other of words.slice(i + 1)) if (lies(one.box, other.box)) found.push(`text over text in ${brief(title)}: ${brief(one.text)} ${size(one.box)} and ${brief(other.text)} ${size(other.box)}${where(canvas)}`);
      if (!inside(one.box, { left: 0, top: 0, right: canvas.clientWidth, bottom: canvas.clientHeight })) found.push(`text outside its drawing ${brief(title)}: ${brief(one.text)} ${size(one.box)} in ${canvas.clientWidth}×${canvas.clientHeight}${where(canvas)}`);
    });
    for (const item of shown) {
      if (isText(item) || item.type === 'image') continue;
      const { fill, stroke, opacity = 1 } = item.style ?? {};
      const isDrawn = (of) => of !== undefined && of !== null && of !== 'none' && of !== 'transparent' && of !== faint1 && of !== faint2;
      const filled = isDrawn(fill) && typeof fill === 'string' && opacity * (item.style.fillOpacity ?? 1) >= 0.3;
      const stroked = isDrawn(stroke) && (item.style.lineWidth ?? 1) > 0 && opacity >= 0.3;
      if (!filled && !stroked) continue;
      const box = boxOf(item);
      const transform = item.getComputedTransform?.() ?? item.transform;
      const place = (x, y) => (transform ? [transform[0] * x + transform[2] * y + transform[4], transform[1] * x + transform[3] * y + transform[5]] : [x, y]);
      // Lines by their pieces, all else by its box.
      let pieces = null;
      const { shape } = item;
      if (shape?.x1 !== undefined) pieces = [[place(shape.x1, shape.y1), place(shape.x2, shape.y2)]];
      else if (!filled && shape?.points !== undefined) {
        const flat = typeof shape.points[0] === 'number';
        const points = flat ? Array.from({ length: shape.points.length / 2 }, (_, i) => place(shape.points[2 * i], shape.points[2 * i + 1])) : shape.points.map(([x, y]) => place(x, y));
        pieces = points.slice(1).map((to, i) => [points[i], to]);
      }
      // Lines that begin outside their plot are cut off at its edge.
      const cuts = (item.__clipPaths ?? []).map(boxOf);
      for (const { text, box: of, hasGround } of words) {
        if (hasGround && pieces !== null) continue;
        if (!cuts.every((cut) => of.left < cut.right && of.right > cut.left && of.top < cut.bottom && of.bottom > cut.top)) continue;
        const core = { left: of.left + 2, right: of.right - 2, top: of.top + 3, bottom: of.bottom - 3 };
        if (pieces === null) {
          if (lies(of, box) && !inside(of, box, 3)) found.push(`text over a mark in ${brief(title)}: ${brief(text)} ${size(of)} and ${item.type} ${size(box)}${where(canvas)}`);
          continue;
        }
        const crosses = ([[x0, y0], [x1, y1]]) => {
          if (![x0, y0, x1, y1].every(Number.isFinite)) return false;
          const steps = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 2));
          for (let i = 0; i <= steps; i += 1) {
            const [x, y] = [x0 + ((x1 - x0) * i) / steps, y0 + ((y1 - y0) * i) / steps];
            if (x > core.left && x < core.right && y > core.top && y < core.bottom) return true;
          }
          return false;
        };
        if (pieces.some(crosses)) found.push(`text over a line in ${brief(title)}: ${brief(text)} ${size(of)}${where(canvas)}`);
      }
    }
  }

  const wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wider > 0) found.push(`the page is ${wider} px wider than its window`);
  return [...new Set(found)];
}
