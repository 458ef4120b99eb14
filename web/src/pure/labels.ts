/** Labels at the ends of lines, pushed apart so that each can be read. */

/**
 * Positions as near as possible to those wanted, at least `gap` apart and within low..high. In the
 * order given. Labels that touch become one block around its members' middle.
 */
export function pushApart(wanted: number[], gap: number, low: number, high: number): number[] {
  const order = wanted.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at || a.index - b.index);
  const blocks: { at: number; members: { at: number; index: number }[] }[] = [];
  const place = (block: (typeof blocks)[number]): void => {
    const n = block.members.length;
    const middle = block.members.reduce((sum, m, i) => sum + m.at - i * gap, 0) / n;
    block.at = Math.max(low, Math.min(middle, high - (n - 1) * gap));
  };
  for (const member of order) {
    const block = { at: 0, members: [member] };
    place(block);
    blocks.push(block);
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1]!;
      const before = blocks[blocks.length - 2]!;
      if (before.at + before.members.length * gap <= last.at + 1e-9) break;
      before.members.push(...last.members);
      blocks.pop();
      place(before);
    }
  }
  const placed = new Array<number>(wanted.length).fill(0);
  for (const block of blocks) block.members.forEach((m, i) => (placed[m.index] = block.at + i * gap));
  return placed;
}
