import { expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { killEngine } from '../browser/lifetime/support/kill.ts';
import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { Tab } from '../browser/lifetime/support/tab.ts';
import { workerThreads } from '../browser/lifetime/support/worker-threads.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';

test.runIf(process.platform === 'linux')(
  'an engine that dies, or whose tab is closed, takes all of its workers and WASM threads along',
  async () => {
    const profile = await tempFolder('threads');
    const context = await launchWithWeights({ profile });
    try {
      const [first, second] = [
        await Tab.open(context, inject('siteUrl')),
        await Tab.open(context, inject('siteUrl')),
      ];
      expect(await first.page.evaluate(() => crossOriginIsolated)).toBe(true);
      await first.load();
      await first.run(counting({ max_tokens: 2 }));
      const loaded = await workerThreads(profile);
      expect(loaded).toBeGreaterThan(2);
      console.log(`${loaded} worker threads with both models in memory`);

      const threads = (): Promise<number> => workerThreads(profile);
      const patience = { interval: 200, timeout: 20_000 };
      const running = await first.begin(counting());
      await first.deltas(running, 3);
      await killEngine(first.page);
      expect((await first.ended(running)).error).toBeNull();
      await first.load();
      await expect.poll(threads, patience).toBe(loaded);

      const name = await second.begin(counting());
      await second.deltas(name, 3);
      await first.page.close();
      expect((await second.ended(name)).error).toBeNull();
      await second.load();
      await expect.poll(threads, patience).toBe(loaded);
      await second.page.close();
      await expect.poll(threads, patience).toBe(0);
    } finally {
      await context.close();
      await removeFolder(profile);
    }
  },
);
