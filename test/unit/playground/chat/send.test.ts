// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { beforeEach, expect, test, vi } from 'vitest';

import {
  conversation,
  importConversation,
  openConversation,
  settings,
  showTurn,
  storageProblem,
  turns,
} from '../../../../playground/chat/chat-state.ts';
import {
  LIMITS,
  newConversation,
  siblings,
  wasCut,
  withTurn,
  type AssistantTurn,
  type Turn,
} from '../../../../playground/chat/conversation.ts';
import {
  deleteConversation,
  readConversation,
  saveConversation,
} from '../../../../playground/chat/conversation-store.ts';
import { message } from '../../../../playground/announce.ts';
import { cancelLoad } from '../../../../playground/client/downloads.ts';
import { FIRST_CHAT_MODEL, modelIds } from '../../../../playground/client/models.ts';
import { replaceRoute } from '../../../../playground/router.ts';
import { DEFAULT_SETTINGS, requestBody } from '../../../../playground/chat/chat-settings.ts';
import {
  answerTools,
  continueReply,
  remove,
  retry,
  say,
  sendProblem,
  writing,
} from '../../../../playground/chat/send.ts';

/** The chat without a page: what a browser has is replaced, and so is the service. The storage is fake-indexeddb's. */
vi.hoisted(() => {
  Object.assign(globalThis, {
    location: { hash: '' },
    history: {
      state: null,
      replaceState: (_state: null, _title: string, hash: string) => (location.hash = hash),
    },
    window: globalThis,
    addEventListener: () => undefined,
    requestAnimationFrame: (work: () => void) => setImmediate(work),
    matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
    cancelAnimationFrame: (frame: NodeJS.Immediate) => clearImmediate(frame),
  });
});

/** The reply that the service is streaming. */
const service = vi.hoisted(() => ({
  reply: null as ReadableStreamDefaultController<unknown> | null,
  started: Promise.resolve(),
}));

vi.mock('../../../../playground/client/localtext.ts', async () => {
  const { signal } = await import('@preact/signals');
  const ready = (_model: string, { signal: stopped }: { signal: AbortSignal }): Promise<void> =>
    new Promise((_, reject) => {
      stopped.addEventListener('abort', () => reject(stopped.reason as Error));
    });
  return {
    get handle() {
      return service.started.then(() => ({ ready }));
    },
    modelStatuses: signal([]),
    engineStatus: signal(null),
  };
});
vi.mock('../../../../playground/client/openai.ts', () => {
  const create = (_body: unknown, options: { signal: AbortSignal }): object => {
    const start = (controller: ReadableStreamDefaultController<unknown>): void => {
      service.reply = controller;
      options.signal.addEventListener('abort', () => controller.error(options.signal.reason));
    };
    return { withResponse: async () => ({ data: new ReadableStream({ start }), request_id: 'r' }) };
  };
  return { openai: () => Promise.resolve({ chat: { completions: { create } } }) };
});

beforeEach(() => {
  conversation.value = newConversation();
  service.reply = null;
});

type Finish = ChatCompletionChunk.Choice['finish_reason'];

const reply = () => vi.waitUntil(() => service.reply);

async function write(content: string, finish: Finish = null): Promise<void> {
  (await reply()).enqueue({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
}

async function end(): Promise<void> {
  (await reply()).close();
  await vi.waitUntil(() => writing.value === null);
}

async function complete(content: string): Promise<void> {
  await write(content, 'stop');
  await end();
}

const newTurn = (): Turn => ({ id: 'a', parent: null, createdAt: 1, role: 'user', content: 'Elsewhere.' });

async function open(id: string): Promise<void> {
  replaceRoute('chat', id);
  await openConversation(id);
}

/** Leaves the conversation for another that is stored, and comes back. */
async function comeBack(): Promise<void> {
  const { id } = conversation.value;
  const other = withTurn(newConversation(), newTurn());
  await saveConversation(other);
  await open(other.id);
  expect(shown()).toEqual(['Elsewhere.']);
  await open(id);
}

function lastReply(): AssistantTurn {
  const last = turns.value.at(-1);
  if (last?.role !== 'assistant') throw new Error('no reply');
  return last;
}

const shown = (): string[] => turns.value.map(({ content }) => content);

test.each([
  ['a message', say],
  ['the answer of a tool', (content: string) => answerTools([{ toolCallId: 'a', name: 'a', content }])],
])('%s that could not be kept is refused, and nothing is asked', async (_name, send) => {
  await expect(send('x'.repeat(LIMITS.chars + 1))).resolves.toBe(false);
  expect(sendProblem.value).toBe('The message has 1,000,001 characters. Shorten it to 1,000,000.');
  expect(shown()).toEqual([]);
  expect(writing.value).toBe(null);
});

test('the longest message is sent, and can be opened again; no other conversation is read', async () => {
  const readAll = vi.spyOn(IDBIndex.prototype, 'getAll');
  const { id } = conversation.value;
  const sent = say('x'.repeat(LIMITS.chars));
  await complete('A reply.');
  await expect(sent).resolves.toBe(true);
  await vi.waitFor(async () => {
    expect(Object.values((await readConversation(id))?.turns ?? {})).toHaveLength(2);
  });
  expect(readAll).not.toHaveBeenCalled();
});

test('the first token is announced, and then the whole reply', async () => {
  const sent = say('A question.');
  await write('One');
  await vi.waitFor(() => expect(message.value).toBe('Writing. Escape stops it.'));
  await complete(', two');
  await sent;
  expect(message.value).toBe('Reply: One, two');
});

test('a reply is shown and kept when its conversation is left and opened again meanwhile', async () => {
  const { id } = conversation.value;
  void say('A question.');
  await write('One');
  await comeBack();
  await write(', two', 'stop');
  await vi.waitFor(() => expect(shown()).toEqual(['A question.', 'One, two']));
  await end();
  conversation.value = newConversation();
  await vi.waitFor(async () => {
    await open(id);
    expect(shown()).toEqual(['A question.', 'One, two']);
  });
});

test('so is another reply to the same words, unless the first is looked at', async () => {
  void say('A question.');
  await complete('One');
  const first = lastReply();
  service.reply = null;
  void retry(first);
  await write('Two');
  await comeBack();
  await write(', three', 'stop');
  await vi.waitFor(() => expect(shown()).toEqual(['A question.', 'Two, three']));
  showTurn(first);
  await end();
  expect(shown()).toEqual(['A question.', 'One']);
});

test('a conversation that is deleted while its reply is written stays deleted, and the reply stops', async () => {
  const { id } = conversation.value;
  const sent = say('A question.');
  await write('One');
  await remove(id);
  await expect(sent).resolves.toBe(true);
  await saveConversation(withTurn(newConversation(), newTurn()));
  expect(await readConversation(id)).toBeUndefined();
  expect(storageProblem.value).toBe(null);
  expect(conversation.value.id).not.toBe(id);
});

test('so does one that another tab deletes, and the page that shows it says so; an import restores it', async () => {
  const { id } = conversation.value;
  void say('A question.');
  await write('One');
  const exported = await vi.waitUntil(() => readConversation(id));
  await deleteConversation(id);
  await end();
  await vi.waitFor(() =>
    expect(storageProblem.value).toBe('This conversation could not be kept: it was deleted.'),
  );
  expect(await readConversation(id)).toBeUndefined();
  await importConversation(exported);
  expect(await readConversation(id)).toBeDefined();
});

test.each([
  ['cut at its length', async () => write('One', 'length').then(end)],
  [
    'stopped',
    async () => {
      await write('One');
      await vi.waitFor(() => expect(shown()).toContain('One'));
      writing.value?.stop();
      await vi.waitUntil(() => writing.value === null);
    },
  ],
])('a reply that was %s can be continued again after that has failed', async (_name, cut) => {
  void say('A question.');
  await cut();
  for (const part of ['', ', two']) {
    expect(wasCut(lastReply())).toBe(true);
    service.reply = null;
    void continueReply(lastReply());
    if (part) await write(part);
    await vi.waitFor(() => expect(shown().at(-1)).toContain(part));
    (await reply()).error(new Error('The engine ended.'));
    await vi.waitUntil(() => writing.value === null);
    expect(lastReply().problem).toBe('The engine ended.');
  }
  expect(wasCut(lastReply())).toBe(true);
  service.reply = null;
  void continueReply(lastReply());
  await complete(', three');
  expect(shown()).toEqual(['A question.', 'One, two, three']);
  expect(wasCut(lastReply())).toBe(false);
});

test('a load that the user cancels ends the request that waits for it, and a retry replaces its reply', async () => {
  const sent = say('A question.');
  await reply();
  cancelLoad(settings.value.model);
  await expect(sent).resolves.toBe(true);
  expect(lastReply().problem).toBe('stopped');
  // An empty reply is no version of the next one.
  service.reply = null;
  void retry(lastReply());
  await complete('One');
  expect(siblings(conversation.value, lastReply())).toHaveLength(1);
});

test('a reply that is stopped before the page has started is stored as stopped', async () => {
  const { id } = conversation.value;
  let start = (): void => undefined;
  service.started = new Promise((resolve) => (start = resolve));
  const sent = say('A question.');
  await reply();
  writing.value?.stop();
  await sent;
  start();
  await new Promise((resolve) => setImmediate(resolve));
  await saveConversation(withTurn(newConversation(), newTurn()));
  const stored = Object.values((await readConversation(id))?.turns ?? {});
  expect(stored.at(-1)).toMatchObject({ role: 'assistant', problem: 'stopped' });
});

test('a conversation that is read late does not replace one that was begun meanwhile', async () => {
  const other = withTurn(newConversation(), newTurn());
  await saveConversation(other);
  replaceRoute('chat', other.id);
  const opened = openConversation(other.id);
  void say('A question.');
  await expect(opened).resolves.toBe(true);
  await complete('One');
  expect(shown()).toEqual(['A question.', 'One']);
});

test('what has come of a reply is stored while it is written, and can be continued after a reload', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { id } = conversation.value;
  const stored = async () => Object.values((await readConversation(id))?.turns ?? {});
  const replyStored = (content: string) =>
    vi.waitFor(async () => {
      const found = (await stored()).find((turn) => turn.role === 'assistant');
      expect(found).toMatchObject({ content, problem: expect.stringContaining('reloaded') });
      expect(found && wasCut(found)).toBe(content !== '');
    });
  void say('A question.');
  await replyStored('');
  for (const content of ['One', 'One, two']) {
    await write(content.slice(shown().at(-1)?.length));
    await vi.waitFor(() => expect(shown().at(-1)).toBe(content));
    expect(lastReply().problem).toBe(null);
    vi.advanceTimersByTime(2000);
    await replyStored(content);
  }
  vi.useRealTimers();
  await complete('.');
  await vi.waitFor(async () => {
    expect((await stored()).at(-1)).toMatchObject({ content: 'One, two.', problem: null });
  });
});

const messagesFor = (examples: string) =>
  requestBody({ ...DEFAULT_SETTINGS, system: '', examples }, [{ role: 'user', content: 'Ok' }]).messages;

test('a model that is no longer listed is replaced by the first', () => {
  settings.value = { ...DEFAULT_SETTINGS, model: 'own' };
  modelIds.value = ['own', FIRST_CHAT_MODEL];
  expect(settings.value.model).toBe('own');
  modelIds.value = [FIRST_CHAT_MODEL];
  expect(settings.value.model).toBe(FIRST_CHAT_MODEL);
});

test('example turns precede the chat, one a line', () => {
  expect(messagesFor('')).toEqual([{ role: 'user', content: 'Ok' }]);
  expect(messagesFor('Hi => Hello!\n\n Bye=>See you. ')).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello!' },
    { role: 'user', content: 'Bye' },
    { role: 'assistant', content: 'See you.' },
    { role: 'user', content: 'Ok' },
  ]);
});

test.each(['Hi', '=> Hello!', 'Hi =>', 'a => b => c'])('a line that is no example is named (%s)', (line) => {
  expect(() => messagesFor(`Bye => See you.\n${line}`)).toThrow(`This one is not: ${line}`);
});
