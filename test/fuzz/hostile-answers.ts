import type { IncomingMessage, ServerResponse } from 'node:http';
import { Random } from '../chaos/random.ts';

type Answer = (response: ServerResponse, random: Random) => void;

const json = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));
const event = (body: unknown): string => `data: ${json(body)}\n\n`;
const delta = (content: unknown, more: object = {}): string =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] });
const stop = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });

function open(response: ServerResponse, status = 200): void {
  response.writeHead(status, { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' });
}

/** Sends as fast as the client reads, until it leaves or `most` bytes are sent. */
function pour(response: ServerResponse, block: string, most = Number.POSITIVE_INFINITY): void {
  let sent = 0;
  const push = (): void => {
    while (sent < most && !response.destroyed) {
      sent += block.length;
      if (!response.write(block)) return void response.once('drain', push);
    }
    response.end();
  };
  push();
}

function trickle(response: ServerResponse, text: string): void {
  const timer = setInterval(() => response.write(text), 50);
  response.on('close', () => clearInterval(timer));
}

const stream =
  (...events: string[]): Answer =>
  (response) => {
    open(response);
    response.end(events.join(''));
  };
const endless =
  (first: string, block: string): Answer =>
  (response) => {
    open(response);
    response.write(first);
    pour(response, block);
  };
const failing =
  (status: number, body: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

const block = 'a'.repeat(65_536);
const VALUES: unknown[] = [
  null,
  -1,
  1e300,
  0.5,
  '',
  'text',
  [],
  {},
  true,
  [[[]]],
  { a: { b: 1 } },
  '\ud800',
  '\u0000',
];
const anyValue = (random: Random): unknown => random.pick(VALUES);

export const CHAT_ANSWERS: Record<string, Answer> = {
  'a whole reply': stream(delta('a'), stop, 'data: [DONE]\n\n'),
  'a line without end': endless('data: ', block),
  'a field without end': endless('', block),
  'an event without end': endless('', `data: ${'a'.repeat(60)}\n`.repeat(1000)),
  'comments without end': endless('', `: ${'a'.repeat(60)}\n`.repeat(1000)),
  'events without text': endless('', event({ choices: [] }).repeat(3000)),
  'two megabytes of deltas': (response) => {
    open(response);
    pour(response, delta('a').repeat(1000), 2 ** 21);
  },
  'many choices': stream(event({ choices: Array.from({ length: 100_000 }, () => 0) })),
  'deep JSON': stream(event(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)),
  'many keys': stream(event(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at])))),
  'many probabilities': stream(
    delta('a', { logprobs: { content: Array.from({ length: 5000 }, () => ({ token: 'a', logprob: -1 })) } }),
  ),
  'values of other types': (response, random) =>
    stream(
      delta(anyValue(random)),
      event({
        choices: [{ delta: anyValue(random), finish_reason: anyValue(random), text: anyValue(random) }],
      }),
      event({ choices: anyValue(random), usage: anyValue(random), error: anyValue(random) }),
      stop,
    )(response, random),
  'a false usage': (response, random) =>
    stream(
      delta('a'),
      stop,
      event({ choices: [], usage: { prompt_tokens: anyValue(random), completion_tokens: anyValue(random) } }),
    )(response, random),
  'bytes at random': (response, random) => {
    open(response);
    response.end(Buffer.from(Array.from({ length: 5000 }, () => random.below(256))));
  },
  'pings alone': (response) => {
    open(response);
    trickle(response, ': ping\n\n');
  },
  'empty deltas alone': (response) => {
    open(response);
    trickle(response, delta(''));
  },
  'a reply that is cut': (response) => {
    open(response);
    response.write(delta('a'));
    setTimeout(() => response.destroy(), 20);
  },
  'no answer': (response) => void response.destroy(),
  'an error of 50 MB': (response) => {
    open(response, 400);
    response.write('{"error":{"message":"');
    pour(response, block, 50 * 2 ** 20);
  },
  'an error that is no JSON': failing(422, '<html>'),
  'an error of other types': (response, random) =>
    failing(
      random.pick([400, 401, 404, 413, 422, 429, 500, 503]),
      JSON.stringify({
        error: { message: anyValue(random), code: anyValue(random), param: anyValue(random) },
      }),
      { 'retry-after-ms': random.pick(['1e300', '-1', 'soon', '5']) },
    )(response, random),
  'a redirect': failing(307, '', { location: '/v1/elsewhere' }),
};

const embeddings = (...vectors: unknown[]): string =>
  JSON.stringify({
    data: vectors.map((embedding, index) => ({ index, embedding })),
    usage: { prompt_tokens: -1 },
  });

export const EMBEDDING_ANSWERS: Record<string, Answer> = {
  'a vector': failing(200, embeddings([1, 2])),
  'numbers without end': endless('{"data":[{"index":0,"embedding":[', '0,'.repeat(32_768)),
  'spaces without end': (response) => {
    open(response);
    pour(response, ' '.repeat(65_536));
  },
  'another length': failing(200, embeddings([1])),
  'infinite numbers': failing(200, '{"data":[{"index":0,"embedding":[1e999,1]}]}'),
  'other types': (response, random) => failing(200, embeddings(anyValue(random)))(response, random),
  'too many vectors': failing(200, embeddings([1, 2], [1, 2])),
  'no JSON': failing(200, '{"data":[NaN]}'),
};

const spoken = (text: unknown): string => event({ type: 'transcript.text.delta', delta: text });
const transcript = (more: object): Answer => failing(200, JSON.stringify({ text: 'a', ...more }));
const segment = { start: 0, end: 1, text: 'a' };

/** Answers to transcriptions. Those that send nothing of use for a minute are in unit tests. */
export const SPEECH_ANSWERS: Record<string, Answer> = {
  'a transcript': transcript({ segments: [segment] }),
  'a spoken stream': stream(spoken('a'), event({ type: 'transcript.text.done', text: 'a' })),
  'a transcript without end': endless('{"text":"', block),
  'a transcript of 40 MB': (response) => {
    open(response);
    response.write('{"text":"');
    pour(response, block, 40 * 2 ** 20);
  },
  'two megabytes of speech': (response) => {
    open(response);
    pour(response, spoken('a').repeat(1000), 2 ** 21);
  },
  'speech that is cut': (response) => {
    open(response);
    response.write(spoken('a'));
    setTimeout(() => response.destroy(), 20);
  },
  'many segments': transcript({ segments: Array.from({ length: 100_000 }, () => segment) }),
  'a deep transcript': failing(200, `{"text":"a","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  'a transcript of other types': (response, random) =>
    transcript({
      text: anyValue(random),
      segments: anyValue(random),
      words: anyValue(random),
      usage: anyValue(random),
    })(response, random),
  'segments of other types': (response, random) =>
    transcript({
      segments: [{ start: anyValue(random), end: anyValue(random), text: anyValue(random) }],
      usage: { input_tokens: anyValue(random), output_tokens: anyValue(random) },
    })(response, random),
  'speech of other types': (response, random) =>
    stream(
      spoken(anyValue(random)),
      event({ type: anyValue(random), delta: anyValue(random), text: anyValue(random) }),
      event({ type: 'transcript.text.done', text: anyValue(random), usage: anyValue(random) }),
    )(response, random),
  ...Object.fromEntries(
    [
      'a line without end',
      'comments without end',
      'deep JSON',
      'bytes at random',
      'no answer',
      'an error of 50 MB',
      'an error that is no JSON',
      'an error of other types',
      'a redirect',
    ].flatMap((name) => {
      const answer = CHAT_ANSWERS[name];
      return answer ? [[`${name}, for speech`, answer]] : [];
    }),
  ),
};

/** What a browser asks before it sends a request with a key to another origin, and what every answer needs. */
export function allowOrigins(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-headers', 'authorization, content-type');
  if (request.method !== 'OPTIONS') return false;
  response.end();
  return true;
}
