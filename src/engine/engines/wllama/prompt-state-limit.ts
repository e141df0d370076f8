import type { Wllama } from '@wllama/wllama';

/** The package's own link to its worker. Its version is pinned. */
interface Proxy {
  taskId: number;
  resources: { compat: boolean };
  pushTask(task: { verb: string; args: unknown[]; callbackId: number }): Promise<unknown>;
}

/**
 * Bounds llama.cpp's saved prompt states to as many tokens as the context holds; the oldest are dropped first. The worker's
 * file says how (`wllama-worker.ts`). The 32-bit build has this bound already: 8 GiB is 0 there.
 */
export async function limitPromptStates(wllama: Wllama): Promise<void> {
  const { proxy } = wllama as unknown as { proxy: Proxy };
  if (proxy.resources.compat) return;
  const args = [wllama.getLoadedContextInfo().n_ctx];
  const isLimited = await proxy.pushTask({
    verb: 'localtext.limit-states',
    args,
    callbackId: proxy.taskId++,
  });
  if (isLimited !== true) {
    console.warn(
      "localtext: the limit of llama.cpp's prompt cache was not found: its memory may grow to 4 GiB.",
    );
  }
}
