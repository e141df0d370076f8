import { detectDevice, type Gpu } from '../../../src/engine-kit/device.ts';
import { KEEP_ALIVE_PATH, PROTOCOL_HEADER } from '../../../src/protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../../../src/protocol/version.ts';
import { texts } from './embedding-texts.ts';
import {
  CHAT_MODEL,
  EMBEDDING_MODEL,
  engineThreads,
  fingerprintOf,
  generateRaw,
  generateThroughV1,
  localtext,
  type Messages,
  openai,
  story,
  timed,
  tokensPerSecond,
} from './engines.ts';
import { longText, textOfTokens } from './long-text.ts';
import { loadRawChat, rawWeights } from './raw-chat.ts';
import { besideLoad } from './beside-load.ts';
import { giveUp, jobsOf, shortOnes } from './given-up.ts';
import { embedOn } from './on-device.ts';
import { loadVision, pictureOurs } from './pictures.ts';
import { speechOurs, speechRaw } from './speech.ts';
import { webLlmOurs, webLlmRaw } from './web-llm.ts';
import { elapsed } from './once.ts';

/** Milliseconds since 1970: to compare with times of the engine's worker. */
const clock = (): number => performance.timeOrigin + performance.now();

const short: Messages = [{ role: 'user', content: 'Name a colour.' }];

let running: { controller: AbortController; ended: Promise<unknown> } | null = null;

/** Single calls, for the rows that need something from outside the page between them. Times in milliseconds. */
export const calls = {
  engineThreads,
  webLlmOurs,
  webLlmRaw,

  embedOn,
  besideLoad,
  loadVision,
  pictureOurs,
  speechOurs,
  speechRaw,
  shortOnes,
  giveUp,
  jobsOf,

  /**
   * GPU as the engine's worker sees it; null if there is none. A browser that has just started may offer its GPU late.
   */
  async gpu(): Promise<Gpu | null> {
    for (let left = 10; left > 0; left--) {
      const { gpu } = await detectDevice();
      if (gpu) return gpu;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    return null;
  },

  chatFingerprint: async (): Promise<string> => fingerprintOf(await localtext(), CHAT_MODEL),

  /** Resolves when an engine's worker answers, in which nothing is loaded. */
  async start(): Promise<void> {
    await openai();
    await (await localtext()).status();
  },

  /** GET /v1/models, until its body is read. */
  async models(): Promise<number> {
    const client = await openai();
    return elapsed(() => client.models.list());
  },

  /** The service worker's smallest answer: no key, no database, no body. */
  async emptyAnswer(): Promise<number> {
    await localtext();
    const headers = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
    return elapsed(() => fetch(KEEP_ALIVE_PATH, { headers }));
  },

  async decodeOurs(maxTokens: number): Promise<number> {
    return tokensPerSecond(await generateThroughV1(story, maxTokens));
  },

  /** Tokens a second of `chats` concurrent chats, each with its own text, prompts included. */
  async decodeTogether(chats: number, maxTokens: number): Promise<number> {
    const began = performance.now();
    const replies = await Promise.all(
      Array.from({ length: chats }, (_, i) =>
        generateThroughV1([...story, { role: 'user', content: `Chapter ${i + 1}.` }], maxTokens),
      ),
    );
    const tokens = replies.reduce((sum, reply) => sum + reply.tokens, 0);
    return tokens / ((performance.now() - began) / 1000);
  },

  /** Milliseconds to the first token of a new prompt of about so many tokens. */
  async prefillOurs(salt: string, tokens: number): Promise<number> {
    const messages: Messages = [{ role: 'user', content: textOfTokens(salt, tokens) }];
    return (await generateThroughV1(messages, 1)).firstTokenMs;
  },

  firstTokenRaw: async (): Promise<number> => (await generateRaw(story, 2, 'ours')).firstTokenMs,
  firstTokenOurs: async (): Promise<number> => (await generateThroughV1(story, 2)).firstTokenMs,

  /** Milliseconds from a Blob to the first token of a raw engine, which is then ended. */
  async warmStartRaw(threads: number): Promise<number> {
    await rawWeights();
    const { firstTokenMs } = await timed(async (onDelta) => {
      const wllama = await loadRawChat('ours', threads);
      const onData = ({ choices }: { choices: { delta: { content?: string | null } }[] }): void =>
        onDelta(choices[0]?.delta.content ?? '');
      await wllama.createChatCompletion({
        messages: short,
        max_tokens: 1,
        temperature: 0,
        stream: true,
        onData,
      });
      await wllama.exit();
      return 1;
    });
    return firstTokenMs;
  },

  /** Start of a request, and its time to the first token, with weights stored. */
  async warmStartOurs(): Promise<{ began: number; firstTokenMs: number }> {
    const began = clock();
    const { firstTokenMs } = await generateThroughV1(short, 1);
    return { began, firstTokenMs };
  },

  /** Times of a call and of its first token. */
  async chatTimes(): Promise<{ began: number; first: number }> {
    await openai();
    const began = clock();
    const { firstTokenMs } = await generateThroughV1(story, 2);
    return { began, first: began + firstTokenMs };
  },

  /** Begins a chat of `messages` short messages, which `abort` ends; when the call was made. */
  async beginChat(messages: number): Promise<number> {
    const roles = Array.from({ length: messages }, (_, i) => (i % 2 === 0 ? 'user' : 'assistant'));
    return begin(roles.map((role) => ({ role, content: 'Go on.' })));
  },

  /** Begins a chat with a prompt of about 1,500 tokens. */
  beginLongPrompt: (salt: string): Promise<number> => begin([{ role: 'user', content: longText(230, salt) }]),

  /** Aborts the running chat. @returns when */
  async abort(): Promise<number> {
    const aborted = clock();
    running?.controller.abort();
    await running?.ended;
    running = null;
    return aborted;
  },

  /** One request of `count` short texts, answered as base64. */
  async embed(count: number): Promise<number> {
    const client = await openai();
    const input = texts(count, 3, 8);
    return elapsed(() =>
      client.embeddings.create({ model: EMBEDDING_MODEL, input, encoding_format: 'base64' }),
    );
  },
};

async function begin(messages: { role: 'user' | 'assistant'; content: string }[]): Promise<number> {
  const client = await openai();
  const controller = new AbortController();
  const read = async (): Promise<void> => {
    const stream = await client.chat.completions.create(
      { model: CHAT_MODEL, messages, max_tokens: 1, stream: true },
      { signal: controller.signal },
    );
    for await (const _ of stream);
  };
  const began = clock();
  running = { controller, ended: read().catch(() => undefined) };
  return began;
}
