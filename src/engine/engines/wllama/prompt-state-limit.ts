import type { Wllama } from '@wllama/wllama';

import { runTask, type WorkerProxy } from './worker-proxy.ts';

/**
 * Bounds llama.cpp's saved prompt states to as many tokens as the context holds; the oldest are dropped first. The worker's
 * file says how (`wllama-worker.ts`). The 32-bit build has this bound already: 8 GiB is 0 there.
 */
export async function limitPromptStates(wllama: Wllama): Promise<void> {
  const { proxy } = wllama as unknown as { proxy: WorkerProxy };
  if (proxy.resources.compat) return;
  const isLimited = await runTask(proxy, 'localtext.limit-states', [wllama.getLoadedContextInfo().n_ctx]);
  if (isLimited !== true) {
    console.warn(
      "localtext: the limit of llama.cpp's prompt cache was not found: its memory may grow to 4 GiB.",
    );
  }
}
