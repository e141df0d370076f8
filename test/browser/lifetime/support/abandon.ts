import type { Tab } from './tab.ts';

export interface Asked {
  /** Sends the requests through `localtext.fetch`. */
  own?: boolean;
  /** Requests, with a text each unless they are equal. */
  count?: number;
  equal?: boolean;
}

/** Sends requests that are not streamed, one after the other, and gives each up once the engine has it. */
export const abandon = (tab: Tab, maxTokens: number, { own = false, count = 1, equal = false }: Asked = {}) =>
  tab.page.evaluate(
    async ([apiKey, tokens, how]) => {
      const handle = window.lifetime.handle();
      const send = how.own ? handle.fetch : fetch;
      const jobs = async (): Promise<number> => {
        const { models } = await handle.status();
        const { running = 0, queued = 0 } = models.find(({ id }) => id === 'amber-phoenix-4') ?? {};
        return running + queued;
      };
      for (let index = 0; index < how.count; index++) {
        const abort = new AbortController();
        const content = `Count from ${how.equal ? 1 : index} to a thousand in words.`;
        const sent = send('/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'amber-phoenix-4',
            messages: [{ role: 'user', content }],
            max_tokens: tokens,
            logit_bias: { 2: -100 },
          }),
          signal: abort.signal,
        });
        const expected = how.own || how.equal ? 1 : Math.min(index + 1, 60);
        while ((await jobs()) < expected) await new Promise((resolve) => setTimeout(resolve, 20));
        // Equal requests at once are wanted beside each other.
        if (how.equal) await new Promise((resolve) => setTimeout(resolve, 1100));
        abort.abort();
        await sent.catch(() => undefined);
      }
    },
    [tab.key, maxTokens, { own, count, equal }] as const,
  );
