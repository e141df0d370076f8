import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';

import { Random } from '../chaos/random.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { servedModels, speechForm, type ServedModels } from './served-models.ts';

/** What a key pays for a request to a server that is left, breaks off, or whose server's count is false. */

const count = Number(process.env['LOCALTEXT_FUZZ_ENDINGS'] ?? 100);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);
const LANES = 8;
/** Time until the service has read what the server has sent. */
const READ_MS = 100;

const PROMPT = 'word '.repeat(400);
const ENDS = [
  'refused',
  'left before the headers',
  'left after the headers',
  'left in the middle',
  'left late',
  'cut in the middle',
  'whole',
] as const;
const USAGES = [null, 0, 1, 600, 1_000_000, 1e300, -1, 'many', {}];
type Usage = (typeof USAGES)[number];

const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

interface Kind {
  path: string;
  body(isStream: boolean): object | FormData;
  /** Characters that a key pays for. */
  prompt: number;
  /** Counts against no limit. */
  isFree?: true;
  /** An answer whose text is in these pieces. */
  answer(texts: string[], usage: Usage, isStream: boolean): { pieces: string[]; end: string };
}

const chatAnswer: Kind['answer'] = (texts, usage) => ({
  pieces: texts.map((content) => event({ choices: [{ delta: { content }, text: content }] })),
  end:
    event({ choices: [{ delta: {}, finish_reason: 'stop' }] }) +
    event({ choices: [], usage: { prompt_tokens: usage, completion_tokens: usage } }) +
    'data: [DONE]\n\n',
});
const halves = (text: string): string[] => [text.slice(0, text.length / 2), text.slice(text.length / 2)];

const KINDS: Record<string, Kind> = {
  chat: {
    path: '/chat/completions',
    body: (stream) => ({ model: 'chat', messages: [{ role: 'user', content: PROMPT }], stream }),
    prompt: PROMPT.length,
    answer: chatAnswer,
  },
  completion: {
    path: '/completions',
    body: (stream) => ({ model: 'chat', prompt: PROMPT, max_tokens: 3000, stream }),
    prompt: PROMPT.length,
    answer: chatAnswer,
  },
  response: {
    path: '/responses',
    body: (stream) => ({ model: 'chat', input: PROMPT, store: false, stream }),
    prompt: PROMPT.length,
    answer: chatAnswer,
  },
  transcription: {
    path: '/audio/transcriptions',
    body: (isStream) => speechForm({ model: 'speech', stream: String(isStream) }),
    prompt: 0,
    answer: (texts, output, isStream) => {
      const usage = { input_tokens: output, output_tokens: output };
      if (!isStream) return { pieces: halves(JSON.stringify({ text: texts.join(''), usage })), end: '' };
      return {
        pieces: texts.map((delta) => event({ type: 'transcript.text.delta', delta })),
        end: event({ type: 'transcript.text.done', text: texts.join(''), usage }),
      };
    },
  },
  embedding: {
    path: '/embeddings',
    body: () => ({ model: 'vectors', input: PROMPT }),
    prompt: 0,
    isFree: true,
    answer: (_, told) => ({
      pieces: halves(
        JSON.stringify({ data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: told } }),
      ),
      end: '',
    }),
  },
  rerank: {
    path: '/rerank',
    body: () => ({ model: 'rank', query: 'Which?', documents: [PROMPT] }),
    prompt: PROMPT.length,
    answer: (_, told) => ({
      pieces: halves(
        JSON.stringify({ results: [{ index: 0, relevance_score: 1 }], usage: { prompt_tokens: told } }),
      ),
      end: '',
    }),
  },
  speech: {
    path: '/audio/speech',
    body: () => ({ model: 'voice', input: PROMPT }),
    prompt: PROMPT.length,
    answer: (texts) => ({ pieces: texts, end: '' }),
  },
  decision: {
    path: '/decisions',
    body: () => ({
      model: 'chat',
      input: PROMPT,
      questions: [{ type: 'predicate', name: 'a', instructions: 'It is a greeting.' }],
    }),
    prompt: PROMPT.length,
    answer: (_, told) => ({
      pieces: halves(
        JSON.stringify({
          answers: [{ type: 'predicate', name: 'a', probability: 1 }],
          usage: { input_tokens: told },
        }),
      ),
      end: '',
    }),
  },
};

/** Answers in one piece of JSON. */
const WHOLE = new Set(['decision', 'embedding', 'rerank']);

interface Case {
  kind: string;
  end: (typeof ENDS)[number];
  isStream: boolean;
  usage: Usage;
  texts: string[];
}

function hostileEnding(random: Random): Case {
  const length = random.pick([4, 40, 1000]);
  return {
    kind: random.pick(Object.keys(KINDS)),
    end: random.pick(ENDS),
    isStream: random.below(2) === 0,
    usage: random.pick(USAGES),
    texts: Array.from({ length: random.pick([2, 8, 16]) }, () => 'word '.repeat(length).slice(0, length)),
  };
}

/** Sends as much as the case says. @returns characters of the text that it has sent */
async function answer(
  { kind, end, isStream, usage, texts }: Case,
  response: ServerResponse,
): Promise<number> {
  const { pieces, end: last } = KINDS[kind]?.answer(texts, usage, isStream) ?? { pieces: [], end: '' };
  if (end === 'refused') response.writeHead(500).end('{}');
  if (end === 'refused' || end === 'left before the headers') return 0;
  const isText = WHOLE.has(kind) || (kind === 'transcription' && !isStream);
  const streamType = kind === 'speech' ? 'audio/mpeg' : 'text/event-stream';
  response.writeHead(200, { 'content-type': isText ? 'application/json' : streamType });
  response.flushHeaders();
  if (end === 'left after the headers') return 0;
  const isHalf = end.endsWith('in the middle');
  const sent = isHalf ? pieces.slice(0, pieces.length / 2) : pieces;
  for (const piece of sent) response.write(piece);
  if (end === 'whole') response.end(last);
  else await sleep(READ_MS);
  if (end === 'cut in the middle') response.destroy();
  // What breaks off is no JSON.
  if ((isText && end !== 'whole') || kind === 'speech') return 0;
  return texts.slice(0, sent.length).join('').length;
}

/** Null: the key has paid as much as may have been computed, and no more. */
async function judge(models: ServedModels, given: Case): Promise<string | null> {
  const before = await models.spent();
  const leave = new AbortController();
  let characters = 0;
  const respond = async (response: ServerResponse): Promise<void> => {
    characters = await answer(given, response);
    if (given.end.startsWith('left')) leave.abort(new Error('left'));
  };
  models.answer = (response) => void respond(response);
  const { path, body, prompt, isFree } = KINDS[given.kind] ?? {};
  if (path === undefined || !body || prompt === undefined) throw new Error('no such kind');
  const ended = models
    .send(path, body(given.isStream), leave.signal)
    .then((response) => response.text())
    .catch(() => '');
  await ended;
  for (let waited = 0; models.open() > 0; waited += 10) {
    if (waited > 5000) return 'is not settled';
    await sleep(10);
  }
  const paid = (await models.spent()) - before;
  const isComputed = given.end !== 'refused' && !isFree;
  // The service may have read any part of a reply that is left or cut.
  const read = given.end === 'whole' ? characters : 0;
  const least = isComputed ? Math.floor((prompt + read) / 16) || 1 : 0;
  const most = isComputed ? (prompt + characters) * 4 + 3000 : 0;
  return paid >= least && paid <= most ? null : `paid ${paid}, not ${least} to ${most}`;
}

const lanes: ServedModels[] = [];
beforeAll(async () => {
  for (let lane = 0; lane < LANES; lane++) lanes.push(await servedModels(4096));
});
test(
  `every request is paid for, however it ends (${count}, seed ${seed})`,
  { timeout: 60_000 + count * 500 },
  async () => {
    const faults: string[] = [];
    let next = 0;
    const run = async (models: ServedModels): Promise<void> => {
      while (next < count) {
        const index = next++;
        const given = hostileEnding(new Random(seed * 4_000_037 + index));
        const fault = await judge(models, given);
        const { texts, ...rest } = given;
        const size = `${texts.length} × ${texts[0]?.length}`;
        if (fault !== null) faults.push(`${index} ${JSON.stringify({ ...rest, size })}: ${fault}`);
      }
    };
    await Promise.all(lanes.map(run));
    expect(faults).toEqual([]);
  },
);

/** Times of the fake device, in milliseconds: to its first token, and of each. */
const [FIRST_MS, TOKEN_MS, TOKENS] = [20, 5, 10];
const ON_DEVICE: Record<string, (stream: boolean) => [path: string, body: object | FormData]> = {
  chat: (stream) => [
    '/chat/completions',
    { model: 'device-chat', messages: [{ role: 'user', content: PROMPT }], stream },
  ],
  completion: (stream) => ['/completions', { model: 'device-chat', prompt: PROMPT, max_tokens: 100, stream }],
  response: (stream) => ['/responses', { model: 'device-chat', input: PROMPT, store: false, stream }],
  transcription: (stream) => [
    '/audio/transcriptions',
    speechForm({ model: 'device-speech', stream: String(stream) }),
  ],
};

test.each(Object.keys(ON_DEVICE))(
  'what a device has computed is paid for, whenever its client leaves: %s',
  async (kind) => {
    const [models] = lanes;
    if (!models) throw new Error('no service');
    const deltas = Array.from({ length: TOKENS }, () => 'word ');
    models.device = new FakeEngine({
      deltas,
      waiting: 'prefill',
      acceptAfterMs: FIRST_MS,
      delayMs: TOKEN_MS,
    });
    for (const stream of [false, true])
      for (const leaveMs of [0, 10, 40, 60, 5000]) {
        const before = await models.spent();
        const leave = new AbortController();
        const timer = setTimeout(() => leave.abort(new Error('left')), leaveMs);
        const [path, body] = ON_DEVICE[kind]?.(stream) ?? ['', {}];
        models.device.yielded = 0;
        const whole = await models
          .send(path, body, leave.signal)
          .then((response) => response.text())
          .catch(() => null);
        clearTimeout(timer);
        await expect.poll(() => models.open()).toBe(0);
        const paid = (await models.spent()) - before;
        const told = `${stream ? 'streamed, ' : ''}left after ${leaveMs} ms`;
        // Tokens that have come, and a prompt that the engine counts as 7; a file costs its text, or the tokens reserved for it.
        if (kind === 'transcription') expect(paid, told).toBeLessThanOrEqual(256);
        else expect(paid, told).toBeLessThanOrEqual(PROMPT.length / 4 + 4 + TOKENS);
        if (models.device.yielded > 1)
          expect(paid, told).toBeGreaterThanOrEqual(7 + models.device.yielded - 2);
        // The fake's sound has 50 tokens, and its text 3.
        if (whole !== null) expect(paid, told).toBe(kind === 'transcription' ? 53 : 7 + TOKENS);
      }
  },
);
