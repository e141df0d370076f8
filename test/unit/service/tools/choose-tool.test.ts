import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { chat, fakeService } from '../../../support/fake-service.ts';
import { eventsOf } from '../../../support/server-sent-events.ts';
import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import type { ToolChoiceEvent } from '../../../../src/jobs/tool-choice.ts';
import { catalogOf, ggufVariant, modelOf } from '../../../support/catalogs.ts';

const PATH = '/v1/chat/completions';
const toolOf = (name: string) => ({
  type: 'function',
  function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties: {} } },
});
const tools = [toolOf('get_weather'), toolOf('get_time')];
async function ask(scores: ToolChoiceEvent['scores'], extra: Record<string, unknown> = {}) {
  const engine = new FakeEngine();
  engine.toolScores = scores;
  const { fetch } = await fakeService({ engine });
  const response = await fetch(PATH, chat({ tools, ...extra }));
  expect(response.status).toBe(200);
  return { engine, response, prompt: JSON.stringify(engine.jobs) };
}

const choiceOf = async (response: Response) =>
  ((await response.json()) as OpenAI.ChatCompletion).choices[0] as OpenAI.ChatCompletion.Choice;

test('the chosen function must be called, and the model is told of no other', async () => {
  const { engine, response, prompt } = await ask([0.1, 0.8, 0.1]);
  const { message, finish_reason: reason } = await choiceOf(response);
  expect(message.content).toBeNull();
  expect(reason).toBe('tool_calls');
  expect(message.tool_calls).toMatchObject([{ function: { name: 'get_time', arguments: '{}' } }]);
  expect(prompt).toContain('get_time');
  expect(prompt).not.toContain('get_weather');
  expect(engine.toolChoices).toMatchObject([
    {
      model: 'amber-phoenix-4',
      message: 'Say hello.',
      before: '',
      tools: [{ name: 'get_weather', description: 'Does get_weather.' }, { name: 'get_time' }],
    },
  ]);
});

test('a streamed call has the same form as without a decision', async () => {
  const { response } = await ask([0.8, 0.1, 0.1], { stream: true });
  const events = eventsOf(await response.text());
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk);
  const calls = chunks.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? []);
  expect(calls[0]).toMatchObject({ index: 0, function: { name: 'get_weather' } });
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
});

test('without a function the model is told of none, and its text is never a call', async () => {
  const engine = new FakeEngine({ deltas: ['[{"name":"get_time",', '"arguments":{}}]'] });
  engine.toolScores = [0.1, 0.1, 0.8];
  const { fetch } = await fakeService({ engine });
  const { message, finish_reason: reason } = await choiceOf(await fetch(PATH, chat({ tools })));
  expect(message.tool_calls).toBeUndefined();
  expect(reason).toBe('stop');
  expect(engine.jobs).toMatchObject([{ input: { messages: [{ role: 'user' }] } }]);
});

test('an undecided job leaves the choice to the model', async () => {
  const { engine, prompt } = await ask(null);
  expect(engine.toolChoices).toHaveLength(1);
  expect(prompt).toContain('get_weather');
  expect(prompt).toContain('Otherwise answer in words.');
});

test('`required` and `none` need no choice', async () => {
  for (const choice of ['required', 'none'])
    expect((await ask([1, 0, 0], { tool_choice: choice })).engine.toolChoices).toEqual([]);
});

test('a model without a chooser in the catalog is not asked', async () => {
  const engine = new FakeEngine();
  const models = catalogDirectory(async () => catalogOf(modelOf('own', [ggufVariant('own')])));
  const { fetch } = await fakeService({ engine, models });
  expect((await fetch(PATH, chat({ tools, model: 'own' }))).status).toBe(200);
  expect(engine.toolChoices).toEqual([]);
});

test('the message before the last is its context, and nothing is asked after a result', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 'get_time', arguments: '{}' } };
  const messages = [
    { role: 'user', content: 'The time?' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'Noon' },
  ];
  const after = await ask([0, 0, 1], { messages });
  expect(after.engine.toolChoices).toMatchObject([{ message: '' }]);
  const next = [...messages, { role: 'assistant', content: 'Noon.' }, { role: 'user', content: 'In Rome?' }];
  const { engine } = await ask([0, 1, 0], { messages: next });
  expect(engine.toolChoices).toMatchObject([{ message: 'In Rome?', before: 'The time?' }]);
});

test('a key pays for the choice, which is not usage', async () => {
  const engine = new FakeEngine();
  engine.toolScores = [1, 0, 0];
  const { fetch } = await fakeService({
    engine,
    issue: { limits: { requestsPerMinute: 10, tokensPerMinute: 1000 } },
  });
  const first = await fetch(PATH, chat({ tools, max_tokens: 10 }));
  const { usage } = (await first.json()) as OpenAI.ChatCompletion;
  const later = await fetch(PATH, chat({ max_tokens: 1 }));
  const remaining = Number(later.headers.get('x-ratelimit-remaining-tokens'));
  expect(usage?.prompt_tokens).toBe(7);
  // The choice of the fake engine takes 12 tokens.
  expect(1000 - remaining).toBeGreaterThanOrEqual((usage?.total_tokens ?? 0) + 12);
});
