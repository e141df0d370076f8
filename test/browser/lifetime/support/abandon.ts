import type { Tab } from './tab.ts';

/** Sends requests that are not streamed, one after the other, and gives each up once the engine has it. */
export const abandon = (tab: Tab, maxTokens: number, count: number) =>
  tab.page.evaluate(
    async ([apiKey, tokens, requests]) => {
      const jobs = async (): Promise<number> => {
        const { models } = await window.lifetime.handle().status();
        const { running = 0, queued = 0 } = models.find(({ id }) => id === 'amber-phoenix-4') ?? {};
        return running + queued;
      };
      for (let index = 0; index < requests; index++) {
        const abort = new AbortController();
        const sent = fetch('/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'amber-phoenix-4',
            messages: [{ role: 'user', content: `Count from ${index} to a thousand in words.` }],
            max_tokens: tokens,
            logit_bias: { 2: -100 },
          }),
          signal: abort.signal,
        });
        while ((await jobs()) < Math.min(index + 1, 60))
          await new Promise((resolve) => setTimeout(resolve, 20));
        abort.abort();
        await sent.catch(() => undefined);
      }
    },
    [tab.key, maxTokens, count] as const,
  );
