import type { EngineStatus } from '../protocol/worker-control.ts';

let asked = false;

/** Asks the browser to keep the weights when space runs short, as their download begins: a worker cannot ask. */
export function persistOnce({ models }: EngineStatus, leading: boolean): void {
  if (asked || !leading || !models.some(({ progress }) => progress?.phase === 'download')) return;
  asked = true;
  // Where it says no, the weights are kept as long as there is room.
  navigator.storage?.persist?.().catch(() => {});
}
