import { expect } from 'vitest';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, check, modelNotFound, rateLimitHeaders, status } from './facts.ts';

const path = '/v1/decisions';
const predicate = { type: 'predicate', name: 'spam', instructions: 'This message is spam.' };
const choice = {
  type: 'choice',
  instructions: 'What is it about?',
  choices: [{ value: 'sports' }, { value: 'food', description: 'Cooking and meals' }, { value: true }],
};
const score = {
  type: 'score',
  name: 'urgency',
  instructions: 'How urgent is it?',
  levels: [{ label: 'low' }, { label: 'normal', description: 'Some days' }, { label: 'high' }],
};

const body = (json: Record<string, unknown>) => ({
  model: 'amber-phoenix-4',
  input: 'Fry the onions in butter.',
  questions: [predicate],
  ...json,
});
const of = (name: string, json: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `decisions: ${name}`,
  request: { path, json: body(json) },
  facts,
});
const bad = (name: string, json: Record<string, unknown>, param: string, code?: string | null) =>
  of(name, json, badRequest(param, code));
const asked = (name: string, question: object, param: string, code?: string | null) =>
  bad(name, { questions: [predicate, question] }, `questions[1]${param}`, code);
const said = (name: string, input: unknown, param: string, code?: string | null) =>
  bad(name, { input }, `input${param}`, code);

interface Answer {
  type: string;
  name: string | null;
  probability?: number;
  choice?: string | boolean;
  score?: number;
  confidence?: number;
  probabilities?: { probability: number; value: string | boolean | number; label?: string }[];
}

/** An answer for each question, whose probabilities add up to 1, and a usage without output. */
const decision =
  (...types: string[]): Fact =>
  (answer) => {
    status(200)(answer);
    rateLimitHeaders(answer);
    check((json) => {
      expect(Object.keys(json).toSorted()).toEqual(['answers', 'model', 'usage']);
      expect(json['model']).toBe((answer.sent.json as { model: string }).model);
      const answers = json['answers'] as Answer[];
      expect(answers.map(({ type }) => type)).toEqual(types);
      for (const each of answers) {
        expect(each).toHaveProperty('name');
        const { probability = 0.5, probabilities = [{ probability: 1, value: '' }] } = each;
        expect(probability).toBeGreaterThanOrEqual(0);
        expect(probability).toBeLessThanOrEqual(1);
        expect(probabilities.reduce((sum, { probability: share }) => sum + share, 0)).toBeCloseTo(1, 6);
        const best = Math.max(...probabilities.map(({ probability: share }) => share));
        if (each.type !== 'predicate') expect(each.confidence).toBe(best);
      }
      const usage = json['usage'] as Record<string, number>;
      expect(usage).toMatchObject({ output_tokens: 0, output_tokens_details: { reasoning_tokens: 0 } });
      expect(usage['input_tokens']).toBeGreaterThan(0);
      expect(usage['total_tokens']).toBe(usage['input_tokens']);
    })(answer);
  };

const answersOf = (json: Record<string, unknown>): Answer[] => json['answers'] as Answer[];

export const decisionCases: ConformanceCase[] = [
  of('a predicate', {}, decision('predicate')),
  of(
    'every type, in order, with names',
    { questions: [score, choice, predicate] },
    decision('score', 'choice', 'predicate'),
    check((json) => {
      const [first, second, third] = answersOf(json);
      expect([first?.name, second?.name, third?.name]).toEqual(['urgency', null, 'spam']);
      expect(first?.probabilities?.map(({ value, label }) => [value, label])).toEqual([
        [0, 'low'],
        [1, 'normal'],
        [2, 'high'],
      ]);
      const mean = first?.probabilities?.reduce(
        (sum, { value, probability }) => sum + +value * probability,
        0,
      );
      expect(first?.score).toBeCloseTo(mean ?? -1, 6);
      expect(second?.probabilities?.map(({ value }) => value)).toEqual(['sports', 'food', true]);
      const chosen = second?.probabilities?.find(({ value }) => value === second.choice);
      expect(chosen?.probability).toBe(second?.confidence);
    }),
  ),
  of('an embedding model', { model: 'jade-mole-4', questions: [choice] }, decision('choice')),
  of(
    'messages with texts and JSON',
    {
      input: [
        { role: 'developer', content: 'Mails of a shop.' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Hello' },
            { type: 'input_json', data: { total: 3 } },
          ],
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
      ],
    },
    decision('predicate'),
  ),
  of(
    'calls and their outputs',
    {
      input: [
        { role: 'user', content: 'What is the weather?' },
        { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'Sun' },
        { type: 'custom_tool_call', call_id: 'b', name: 'note', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'done' }] },
      ],
    },
    decision('predicate'),
  ),
  of(
    'instructions in parts',
    { questions: [{ ...predicate, instructions: [{ type: 'input_text', text: 'It is spam.' }] }] },
    decision('predicate'),
  ),
  of(
    'fields without effect, nulls, and fields that are not known',
    {
      prompt_cache_key: 'k',
      prompt_cache_options: { mode: 'implicit', ttl: '30m' },
      safety_identifier: null,
      speed: 'fast',
    },
    decision('predicate'),
  ),
  of('half a surrogate pair', { input: 'broken \ud83d here' }, decision('predicate')),
  bad('no model', { model: undefined }, 'model', 'missing_required_parameter'),
  of('a model not known', { model: 'gpt-6-luna' }, modelNotFound),
  bad('no input', { input: undefined }, 'input', 'missing_required_parameter'),
  said('an empty input', '', ''),
  said('an empty array as input', [], ''),
  said(
    'JSON that is missing',
    [{ role: 'user', content: [{ type: 'input_json' }] }],
    '[0].content[0].data',
    'missing_required_parameter',
  ),
  said(
    'JSON that is a text',
    [{ role: 'user', content: [{ type: 'input_json', data: 'a' }] }],
    '[0].content[0].data',
  ),
  said('a message without text', [{ role: 'user', content: ' ' }], ''),
  said('a role not known', [{ role: 'critic', content: 'a' }], '[0].role'),
  said('an image for a model that does not see', [imageMessage()], '[0].content[0]', 'unsupported_value'),
  said(
    'an image of the assistant',
    [{ ...imageMessage(), role: 'assistant' }],
    '[0].content[0].type',
    'unsupported_value',
  ),
  said(
    'an output without its call',
    [{ type: 'function_call_output', call_id: 'a', output: 'x' }],
    '[0].call_id',
  ),
  bad('no questions', { questions: undefined }, 'questions', 'missing_required_parameter'),
  bad('an empty array of questions', { questions: [] }, 'questions'),
  bad('401 questions', { questions: Array.from({ length: 401 }, () => predicate) }, 'questions'),
  asked('a type not known', { type: 'essay', instructions: 'Why?' }, '.type'),
  asked('no instructions', { type: 'predicate' }, '.instructions', 'missing_required_parameter'),
  asked('empty instructions', { ...predicate, instructions: ' ' }, '.instructions'),
  asked(
    'an image in the instructions',
    { ...predicate, instructions: imageMessage().content },
    '.instructions[0]',
    'unsupported_value',
  ),
  asked('a name of 257 characters', { ...predicate, name: 'x'.repeat(257) }, '.name'),
  asked('one choice', { ...choice, choices: [{ value: 'a' }] }, '.choices'),
  asked('256 choices', { ...choice, choices: choices(256) }, '.choices'),
  ...(
    [
      ['a choice', ['a', 'a']],
      ['a boolean and its text', [false, 'false']],
      ['two halves of characters', ['\ud800', '\ud801']],
    ] as const
  ).map(([name, values]) =>
    asked(`${name} twice`, { ...choice, choices: values.map((value) => ({ value })) }, '.choices[1].value'),
  ),
  asked('an empty choice', { ...choice, choices: [{ value: 'a' }, { value: '' }] }, '.choices[1].value'),
  asked('a number as a choice', { ...choice, choices: [{ value: 'a' }, { value: 1 }] }, '.choices[1].value'),
  asked('one level', { ...score, levels: [{ label: 'a' }] }, '.levels'),
  asked('11 levels', { ...score, levels: choices(11).map(({ value }) => ({ label: value })) }, '.levels'),
  asked('a level twice', { ...score, levels: [{ label: 'a' }, { label: 'a' }] }, '.levels[1].label'),
  bad(
    'too many choices in all',
    { questions: Array.from({ length: 10 }, () => ({ ...choice, choices: choices(255) })) },
    'questions',
  ),
  bad(
    'too long choices in all',
    {
      questions: Array.from({ length: 41 }, () => ({
        ...choice,
        choices: [{ value: 'a'.repeat(250) }, { value: 'b'.repeat(250) }],
      })),
    },
    'questions',
  ),
  bad(
    'too long descriptions in all',
    {
      questions: Array.from({ length: 11 }, () => ({
        ...choice,
        choices: [{ value: 'a', description: 'x'.repeat(10_000) }, { value: 'b' }],
      })),
    },
    'questions',
  ),
  bad(
    'too long instructions that begin as a data URL',
    { questions: [{ ...predicate, instructions: `data:${'!'.repeat(100_000)}x` }] },
    'questions',
  ),
  bad(
    'too much JSON in instructions, far down',
    {
      questions: [
        {
          ...predicate,
          instructions: [
            { type: 'input_json', data: { a: { b: { c: { d: { e: { f: '!'.repeat(100_000) } } } } } } },
          ],
        },
      ],
    },
    'questions',
  ),
  asked(
    'a large image in instructions',
    {
      ...predicate,
      instructions: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(200_000)}` }],
    },
    '.instructions[0]',
    'unsupported_value',
  ),
];

function imageMessage() {
  return { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] };
}

function choices(count: number) {
  return Array.from({ length: count }, (_, index) => ({ value: `choice ${index}` }));
}
