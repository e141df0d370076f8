import { expect } from 'vitest';
import { eventsOf } from '../support/server-sent-events.ts';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import {
  badRequest,
  check,
  foreignField,
  header,
  modelNotFound,
  rateLimitHeaders,
  says,
  status,
} from './facts.ts';

const path = '/v1/completions';
const base = { model: 'amber-phoenix-4', prompt: 'One, two, three,', max_tokens: 3, temperature: 0 };

const of = (name: string, extra: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `completions: ${name}`,
  request: { path, json: { ...base, ...extra } },
  facts,
});
const bad = (name: string, extra: Record<string, unknown>, param: string, code?: string) =>
  of(name, extra, badRequest(param, code));

interface Choice {
  index: number;
  text: string;
  finish_reason: string;
  logprobs: {
    tokens: string[];
    text_offset: number[];
    token_logprobs: (number | null)[];
    top_logprobs: (Record<string, number> | null)[];
  } | null;
}

const whole = (choices: number): Fact[] => [
  status(200),
  rateLimitHeaders,
  check((json, { headers }) => {
    expect(json).toMatchObject({ object: 'text_completion', id: expect.stringMatching(/^cmpl-/) });
    expect(json['system_fingerprint']).toBe(headers['localtext-served-by']);
    const list = json['choices'] as Choice[];
    expect(list.map(({ index }) => index)).toEqual(Array.from({ length: choices }, (_, index) => index));
    for (const choice of list) {
      expect(choice.text).toEqual(expect.any(String));
      expect(['stop', 'length']).toContain(choice.finish_reason);
    }
    const usage = json['usage'] as Record<string, number>;
    expect(usage['total_tokens']).toBe((usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0));
  }),
];

export const completionCases: ConformanceCase[] = [
  of(
    'the least that is needed',
    { temperature: undefined, max_tokens: undefined, stop: [',', ' ', 'e'] },
    ...whole(1),
  ),
  of('several prompts, several choices', { prompt: ['One,', 'Two,'], n: 2, max_tokens: 1 }, ...whole(4)),
  of(
    'echo',
    { echo: true },
    ...whole(1),
    check((json) => expect((json['choices'] as Choice[])[0]?.text).toMatch(/^One, two, three,/)),
  ),
  of(
    'logprobs',
    { logprobs: 1 },
    ...whole(1),
    check((json) => {
      const {
        tokens = [],
        token_logprobs = [],
        top_logprobs = [],
        text_offset = [],
      } = (json['choices'] as Choice[])[0]?.logprobs ?? {};
      expect(tokens.length).toBeGreaterThan(0);
      expect(token_logprobs).toHaveLength(tokens.length);
      expect(text_offset[0]).toBe(0);
      // The token that was drawn is always among them.
      for (const [index, top] of top_logprobs.entries())
        expect(top?.[tokens[index] ?? '']).toBe(token_logprobs[index]);
    }),
  ),
  of(
    'streamed with usage',
    { stream: true, stream_options: { include_usage: true } },
    status(200),
    header('content-type', 'text/event-stream'),
    ({ text }) => {
      const events = eventsOf(text);
      expect(events.at(-1)).toBe('[DONE]');
      const chunks = events
        .slice(0, -1)
        .map((event) => JSON.parse(event) as { choices: Choice[]; usage: unknown });
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } });
      expect(['stop', 'length']).toContain(chunks.at(-2)?.choices[0]?.finish_reason);
      expect(chunks.slice(0, -2).every(({ choices }) => choices[0]?.finish_reason === null)).toBe(true);
    },
  ),
  of(
    'max_tokens 0',
    { max_tokens: 0 },
    status(200),
    check((json) => {
      expect(json['choices']).toMatchObject([{ text: '', finish_reason: 'length' }]);
      expect(json['usage']).toMatchObject({
        prompt_tokens: expect.toSatisfy((n) => n > 0),
        completion_tokens: 0,
      });
    }),
  ),
  ...[{ max_tokens: 0 }, { echo: true }, { echo: true, max_tokens: 0 }].map((extra) =>
    of(
      `the fingerprint of a stream with ${JSON.stringify(extra)}`,
      { ...extra, stream: true },
      status(200),
      ({ text }) => {
        const prints = eventsOf(text)
          .slice(0, -1)
          .map((event) => (JSON.parse(event) as { system_fingerprint: string }).system_fingerprint);
        expect(new Set(prints).size).toBe(1);
        // It names weights and backend: never the model's id.
        expect(prints[0]).toMatch(/-.*-/);
        expect(prints[0]).not.toBe(base.model);
      },
    ),
  ),
  of('an empty prompt', { prompt: '' }, ...whole(1)),
  of('best_of 1, which some clients always send', { best_of: 1, n: 2, max_tokens: 1 }, ...whole(2)),
  bad('best_of', { n: 2, best_of: 2 }, 'best_of', 'invalid_value'),
  bad('more choices of all prompts than 128', { prompt: ['a', 'b'], n: 65 }, 'n'),
  bad('token ids', { prompt: [1000, 2000] }, 'prompt', 'unsupported_value'),
  bad('prompts of token ids', { prompt: [[1000], [2000]] }, 'prompt', 'unsupported_value'),
  bad('text beside token ids', { prompt: ['a', 1] }, 'prompt[1]'),
  bad('echo with logprobs', { echo: true, logprobs: 0 }, 'echo', 'invalid_parameter_combination'),
  bad('no prompt', { prompt: undefined }, 'prompt', 'missing_required_parameter'),
  bad('no prompts', { prompt: [] }, 'prompt'),
  bad('too many prompts', { prompt: Array.from({ length: 129 }, () => 'a') }, 'prompt'),
  bad('a suffix', { suffix: 'end' }, 'suffix', 'unsupported_value'),
  ...(
    [
      ['messages', [{ role: 'user', content: 'Hi.' }], '/v1/chat/completions'],
      ['response_format', { type: 'json_object' }, '/v1/chat/completions'],
      ['guided_json', { type: 'object' }, '/v1/chat/completions'],
      ['grammar', 'root ::= "a"', '/v1/chat/completions'],
      ['max_completion_tokens', 4, '`max_tokens`'],
      ['n_predict', 4, '`max_tokens`'],
      ['stop_sequences', ['a'], '`stop`'],
      ['system', 'Be brief.', '/v1/chat/completions'],
      ['functions', [{ name: 'f' }], '/v1/chat/completions'],
      ['input', 'Hi.', '`prompt`'],
    ] as const
  ).map(([name, value, instead]) =>
    of(`${name}, of another endpoint or server`, { [name]: value }, ...foreignField(name, instead)),
  ),
  bad('max_tokens negative', { max_tokens: -1 }, 'max_tokens'),
  ...[6, 1e20].map((logprobs) =>
    of(`logprobs ${logprobs}`, { logprobs }, badRequest('logprobs', 'invalid_value'), says('at most 5')),
  ),
  bad('logprobs a boolean', { logprobs: true }, 'logprobs', 'invalid_type'),
  bad('temperature too high', { temperature: 3 }, 'temperature', 'invalid_value'),
  of('a model not known', { model: 'davinci' }, modelNotFound),
  of('an embedding model', { model: 'jade-mole-4' }, modelNotFound),
];
