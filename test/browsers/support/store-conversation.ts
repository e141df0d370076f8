import { storedConversation } from '../../support/stored-conversation.ts';
import type { Tab } from './driver.ts';

const CONTENT = [
  `${Array.from({ length: 12 }, (_, index) => `${index + 1}. item`).join('\n')}`,
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '```js\nconst line = "a line that is longer than a phone is wide, so that the block has to scroll by itself";\n```',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsparagraph',
].join('\n\n');

/** Puts a conversation where the playground keeps them, under `#/chat/stored`. */
export async function storeConversation(tab: Tab): Promise<void> {
  await tab.evaluate(
    (conversation) =>
      new Promise<void>((resolve, reject) => {
        const open = indexedDB.open('localtext-playground');
        open.onerror = () => reject(open.error ?? new Error('no database'));
        open.onsuccess = () => {
          const { transaction } = open.result
            .transaction('conversations', 'readwrite')
            .objectStore('conversations')
            .put(conversation) as IDBRequest & { transaction: IDBTransaction };
          transaction.oncomplete = () => {
            open.result.close();
            resolve();
          };
        };
      }),
    storedConversation('stored', CONTENT),
  );
}
