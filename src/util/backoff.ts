/** Milliseconds to wait after so many failures in a row, of which the first is number 0: twice as long each time. */
export const backoff = (failures: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number =>
  Math.min(maxMs, firstMs * 2 ** failures);
