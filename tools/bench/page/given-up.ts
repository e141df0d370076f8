import { CHAT_MODEL, EMBEDDING_MODEL, withCatalog } from './engines.ts';
import { longText } from './long-text.ts';
import { SPEECH_MODEL, type SpeechFiles } from './speech.ts';
import { elapsed } from './once.ts';

interface Work {
  model: string;
  path: string;
  /** Bodies of a long request and of a short one. `at` makes each differ from all others. */
  long(at: number, files: SpeechFiles): Promise<Body> | Body;
  short(at: number, files: SpeechFiles): Promise<Body> | Body;
}

type Body = Record<string, unknown> | FormData;

const chat = (content: string, maxTokens: number): Body => ({
  model: CHAT_MODEL,
  messages: [{ role: 'user', content }],
  max_tokens: maxTokens,
  temperature: 0,
});

const decide = (model: string, at: number, questions: number): Body => ({
  model,
  input: `${at} The weather in the mountains changes faster than most visitors believe.`,
  questions: Array.from({ length: questions }, (_, each) => ({
    type: 'predicate',
    instructions: `Is it about ${each}?`,
  })),
});

async function sound({ url }: SpeechFiles, clip: string, at: number): Promise<FormData> {
  const form = new FormData();
  form.set('model', SPEECH_MODEL);
  form.set('prompt', `${at}.`);
  form.set('file', await (await fetch(`${url}/clips/${clip}`)).blob(), clip);
  return form;
}

const shortChat = (at: number): Body => chat(`Count from ${at} to a thousand in words.`, 16);

const KINDS = {
  chats: {
    model: CHAT_MODEL,
    path: 'chat/completions',
    long: (at) => chat(`Count from ${at} to a thousand in words.`, 1500),
    short: shortChat,
  },
  prompts: {
    model: CHAT_MODEL,
    path: 'chat/completions',
    long: (at) => chat(longText(200, `${at}`), 16),
    short: shortChat,
  },
  decisions: {
    model: CHAT_MODEL,
    path: 'decisions',
    long: (at) => decide(CHAT_MODEL, at, 20),
    short: (at) => decide(CHAT_MODEL, at, 1),
  },
  embeddings: {
    model: EMBEDDING_MODEL,
    path: 'embeddings',
    long: (at) => ({
      model: EMBEDDING_MODEL,
      input: Array.from({ length: 16 }, (_, each) => longText(10, `${at} ${each}`)),
    }),
    short: (at) => ({ model: EMBEDDING_MODEL, input: `The weather of day ${at}.` }),
  },
  transcriptions: {
    model: SPEECH_MODEL,
    path: 'audio/transcriptions',
    long: (at, files) => sound(files, 'sentences.ogg', at),
    short: (at, files) => sound(files, 'sentence.ogg', at),
  },
} satisfies Record<string, Work>;

export type GivenUpKind = keyof typeof KINDS;

async function ask(files: SpeechFiles, path: string, body: Body, signal?: AbortSignal): Promise<void> {
  const { handle, client } = await withCatalog(files.catalog);
  const isForm = body instanceof FormData;
  const response = await fetch(`${handle.baseURL}/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${client.apiKey}`,
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
}

/** Jobs that run or wait. */
export async function jobsOf(kind: GivenUpKind, files: SpeechFiles): Promise<number> {
  const { handle } = await withCatalog(files.catalog);
  const { models } = await handle.status();
  const { running = 0, queued = 0 } = models.find(({ id }) => id === KINDS[kind].model) ?? {};
  return running + queued;
}

/** Milliseconds of short requests, one after another. */
export async function shortOnes(
  kind: GivenUpKind,
  files: SpeechFiles,
  from: number,
  count: number,
): Promise<number[]> {
  const { short, path, model }: Work = KINDS[kind];
  await (await withCatalog(files.catalog)).handle.ready(model);
  const times: number[] = [];
  for (let at = from; at < from + count; at++) {
    const body = await short(at, files);
    times.push(await elapsed(() => ask(files, path, body)));
  }
  return times;
}

/** Sends long requests at once, and abandons them once the engine has as many as it accepts, without notifying it. */
export async function giveUp(
  kind: GivenUpKind,
  files: SpeechFiles,
  from: number,
  count: number,
): Promise<void> {
  const { long, path }: Work = KINDS[kind];
  const bodies = await Promise.all(Array.from({ length: count }, (_, at) => long(from + at, files)));
  const gone = new AbortController();
  for (const body of bodies) ask(files, path, body, gone.signal).catch(() => undefined);
  const least = Math.min(count, 60);
  while ((await jobsOf(kind, files)) < least) await new Promise((resolve) => setTimeout(resolve, 10));
  gone.abort();
}
