export function comparePage(_: unknown): void {}
