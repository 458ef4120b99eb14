export function experimentPage(_: unknown): void {}
