import { expect } from 'vitest';
import { eventsOf } from '../support/server-sent-events.ts';
import type { Answer, Fact } from './conformance-case.ts';

type Json = Record<string, unknown>;

/** Schema that the requests of cases name. */
export const ON_OR_OFF = {
  type: 'object',
  properties: { mode: { type: 'string', enum: ['on', 'off'] } },
  required: ['mode'],
  additionalProperties: false,
};

const bodyOf = (answer: Answer): Json => JSON.parse(answer.text) as Json;

export const status =
  (code: number): Fact =>
  (answer) =>
    expect(answer.status, answer.text.slice(0, 500)).toBe(code);

export const statusIn =
  (...codes: number[]): Fact =>
  (answer) =>
    expect(codes, answer.text.slice(0, 500)).toContain(answer.status);

export const header =
  (name: string, value: string | RegExp): Fact =>
  ({ headers }) =>
    expect(headers[name], name).toMatch(value instanceof RegExp ? value : new RegExp(`^${escape(value)}$`));

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The body holds at least this. */
export const body =
  (part: Json): Fact =>
  (answer) =>
    expect(bodyOf(answer)).toMatchObject(part);

export const emptyBody: Fact = ({ text }) => expect(text).toBe('');

export const check =
  (what: (json: Json, answer: Answer) => void): Fact =>
  (answer) =>
    what(bodyOf(answer), answer);

/** An error in OpenAI's shape; the message must say something, and nothing of the inside. */
export const error =
  (code: number, type: string, param: string | null, errorCode?: string | null): Fact =>
  (answer) => {
    status(code)(answer);
    header('content-type', 'application/json')(answer);
    header('x-request-id', /./)(answer);
    const { error: given, ...rest } = bodyOf(answer) as { error: Json };
    expect(rest).toEqual({});
    expect(Object.keys(given).toSorted()).toEqual(['code', 'message', 'param', 'type']);
    expect({ type: given['type'], param: given['param'] }).toEqual({ type, param });
    if (errorCode !== undefined) expect(given['code']).toBe(errorCode);
    expect(given['message']).toMatch(/^.{10,}[.!]$/s);
    expect(given['message']).not.toMatch(/\.\.|\s\s/);
    expect(given['message']).not.toMatch(/lt_[\w-]{10}|\.ts\b|node_modules|at async|undefined|\[object/);
    if (param !== null && code === 400) expect(given['message']).toContain(`\`${param}\``);
  };

/** An error message says this, too. */
export const says =
  (part: string): Fact =>
  (answer) =>
    expect((bodyOf(answer)['error'] as Json)['message']).toContain(part);

export const badRequest = (param: string | null, code?: string | null): Fact =>
  error(400, 'invalid_request_error', param, code);

/** A field of another endpoint or server is refused. @param instead what the message names for it */
export const foreignField = (name: string, instead: string): Fact[] => [
  badRequest(name, 'unsupported_value'),
  says(instead),
];

export const unauthorized: Fact = (answer) => {
  error(401, 'invalid_request_error', null, 'invalid_api_key')(answer);
  says('keys.ensure()')(answer);
  header('www-authenticate', 'Bearer')(answer);
};

export const modelNotFound: Fact = (answer) =>
  error(404, 'invalid_request_error', 'model', 'model_not_found')(answer);

/** A whole chat completion with this many choices. */
export const completion =
  (choices = 1): Fact =>
  (answer) => {
    status(200)(answer);
    header('content-type', 'application/json')(answer);
    const json = bodyOf(answer);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.toSatisfy(isUnixSeconds),
      model: (answer.sent.json as Json)['model'],
      system_fingerprint: answer.headers['localtext-served-by'],
    });
    const list = json['choices'] as Json[];
    expect(list.map((choice) => choice['index'])).toEqual(
      Array.from({ length: choices }, (_, index) => index),
    );
    for (const choice of list) {
      const message = choice['message'] as Json;
      expect(message['role']).toBe('assistant');
      if (message['tool_calls'] === undefined) expect(message['content']).toEqual(expect.any(String));
      else expect(message['tool_calls']).not.toEqual([]);
      expect(['stop', 'length', 'tool_calls']).toContain(choice['finish_reason']);
    }
    const usage = json['usage'] as Record<string, number>;
    expect(usage['prompt_tokens']).toBeGreaterThan(0);
    expect(usage['completion_tokens']).toBeGreaterThan(0);
    expect(usage['total_tokens']).toBe((usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0));
    rateLimitHeaders(answer);
  };

export const rateLimitHeaders: Fact = (answer) => {
  for (const what of ['requests', 'tokens']) {
    header(`x-ratelimit-limit-${what}`, /^\d+$/)(answer);
    header(`x-ratelimit-remaining-${what}`, /^\d+$/)(answer);
    header(`x-ratelimit-reset-${what}`, /^(\d+m)?[\d.]+m?s$/)(answer);
  }
  // The request's estimated tokens have been taken.
  const tokens = (part: string): number => Number(answer.headers[`x-ratelimit-${part}-tokens`]);
  expect(tokens('remaining')).toBeLessThan(tokens('limit'));
};

const isUnixSeconds = (value: number): boolean => Number.isInteger(value) && value > 1.6e9 && value < 1e10;

interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { index: number; delta: Json; finish_reason: string | null }[];
  usage?: Json | null;
}

export const chunksOf = ({ text }: Answer): Chunk[] =>
  eventsOf(text)
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event) as Chunk);

/** A whole stream with this many choices: every rule of the order of its events. */
export const stream =
  (choices = 1): Fact =>
  (answer) => {
    status(200)(answer);
    header('content-type', 'text/event-stream')(answer);
    rateLimitHeaders(answer);
    expect(answer.text.endsWith('data: [DONE]\n\n')).toBe(true);
    for (const block of answer.text.split('\n\n').slice(0, -1)) expect(block).toMatch(/^(data: |: )[^\n]*$/);
    const chunks = chunksOf(answer);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        object: 'chat.completion.chunk',
        model: (answer.sent.json as Json)['model'],
      });
      expect(chunk.created).toSatisfy(isUnixSeconds);
    }
    for (let index = 0; index < choices; index++) checkChoice(chunks, index);
  };

function checkChoice(chunks: Chunk[], index: number): void {
  const own = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
  expect(own[0]?.delta['role']).toBe('assistant');
  expect(own.slice(1).every((choice) => choice.delta['role'] === undefined)).toBe(true);
  expect(own.at(-1)?.delta).toEqual({});
  expect(['stop', 'length', 'tool_calls', 'function_call']).toContain(own.at(-1)?.finish_reason);
  expect(own.slice(0, -1).every((choice) => choice.finish_reason === null)).toBe(true);
}

export const streamedText = (answer: Answer, index = 0): string =>
  chunksOf(answer)
    .flatMap((chunk) => chunk.choices)
    .filter((choice) => choice.index === index)
    .map((choice) => (choice.delta['content'] as string | undefined) ?? '')
    .join('');

/** An embedding list of this many vectors, in order, each of length 1. */
export const embeddings =
  (count: number): Fact =>
  (answer) => {
    status(200)(answer);
    const json = bodyOf(answer);
    expect(json).toMatchObject({ object: 'list', model: 'jade-mole-4' });
    const data = json['data'] as { object: string; index: number; embedding: number[] | string }[];
    expect(data.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index));
    for (const { object, embedding } of data) {
      expect(object).toBe('embedding');
      expect(Math.hypot(...vectorOf(embedding))).toBeCloseTo(1, 3);
    }
    const usage = json['usage'] as Record<string, number>;
    expect(usage['prompt_tokens']).toBeGreaterThan(0);
    expect(usage['total_tokens']).toBe(usage['prompt_tokens']);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  };

function vectorOf(embedding: number[] | string): number[] {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Uint8Array.from(atob(embedding), (character) => character.codePointAt(0) ?? 0);
  return [...new Float32Array(bytes.buffer)];
}
