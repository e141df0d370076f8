import type { Tab } from './driver.ts';

const CONTENT = [
  `${Array.from({ length: 12 }, (_, index) => `${index + 1}. item`).join('\n')}`,
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '```js\nconst line = "a line that is longer than a phone is wide, so that the block has to scroll by itself";\n```',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsparagraph',
].join('\n\n');

/** A conversation that the playground has kept, under `#/chat/stored`. */
export async function storeConversation(tab: Tab): Promise<void> {
  await tab.evaluate(
    (content) =>
      new Promise<void>((resolve, reject) => {
        const noStats = { firstTokenMs: 210, totalMs: 2000, promptTokens: 31, cachedTokens: 0 };
        const stats = { ...noStats, completionTokens: 99, tokensPerSecond: 47, fingerprint: null };
        const reply = {
          model: 'indigo-owl-4',
          problem: null,
          finishReason: 'stop',
          toolCalls: [],
          logprobs: [],
          stats,
        };
        const turns = {
          a: { id: 'a', parent: null, createdAt: 1, content: 'List what there is.', role: 'user' },
          b: { id: 'b', parent: 'a', createdAt: 2, content, role: 'assistant', ...reply },
        };
        const chosen = { '': 'a', a: 'b' };
        const open = indexedDB.open('localtext-playground');
        open.onerror = () => reject(open.error ?? new Error('no database'));
        open.onsuccess = () => {
          const { transaction } = open.result
            .transaction('conversations', 'readwrite')
            .objectStore('conversations')
            .put({
              id: 'stored',
              title: 'Stored',
              createdAt: 1,
              updatedAt: Date.now(),
              turns,
              chosen,
            }) as IDBRequest & { transaction: IDBTransaction };
          transaction.oncomplete = () => {
            open.result.close();
            resolve();
          };
        };
      }),
    CONTENT,
  );
}
