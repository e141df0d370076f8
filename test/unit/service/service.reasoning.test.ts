import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { RequestLogEntry } from '../../../src/protocol/request-log.ts';
import type { ChatJob } from '../../../src/jobs/chat.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { chat, fakeService } from '../../support/fake-service.ts';
import { eventsOf } from '../../support/server-sent-events.ts';

const PATH = '/v1/chat/completions';
const model = 'amber-phoenix-4';
const reply = { thoughts: ['I ', 'add: STOP.'], deltas: ['Fo', 'ur', '.'] };
type Message = OpenAI.ChatCompletionMessage & { reasoning_content?: string };

const typedEvents = (text: string) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => data);

const jobOf = (engine: FakeEngine, index = 0) => engine.jobs[index] as ChatJob;

describe('chat completions', () => {
  test('a message has the thoughts beside its content, and usage counts them', async () => {
    const { fetch } = await fakeService({ engine: new FakeEngine(reply) });
    // A stop sequence is looked for in the answer alone.
    const response = await fetch(PATH, chat({ stop: ['STOP', '.'], logprobs: true }));
    const { choices, usage } = (await response.json()) as OpenAI.ChatCompletion;
    expect(choices[0]?.message as Message).toMatchObject({
      content: 'Four',
      reasoning_content: 'I add: STOP.',
    });
    expect(choices[0]?.logprobs?.content?.map(({ token }) => token).join('')).toBe('Four');
    expect(usage).toMatchObject({ completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 2 } });
  });

  test('a stream sends them before the content, for each choice', async () => {
    const { fetch } = await fakeService({ engine: new FakeEngine(reply) });
    const body = chat({ n: 2, stream: true, stream_options: { include_usage: true } });
    const events = eventsOf(await (await fetch(PATH, body)).text());
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk);
    for (const index of [0, 1]) {
      const deltas = chunks.flatMap(({ choices }) =>
        choices.filter((choice) => choice.index === index).map(({ delta }) => delta),
      );
      expect(deltas).toEqual([
        { role: 'assistant', content: '', refusal: null },
        { reasoning_content: 'I ' },
        { reasoning_content: 'add: STOP.' },
        { content: 'Fo' },
        { content: 'ur' },
        { content: '.' },
        {},
      ]);
    }
    expect(chunks.at(-1)?.usage).toMatchObject({
      completion_tokens: 10,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
  });

  test('the log has the time of the first thought, and the text of the answer', async () => {
    const entries: RequestLogEntry[] = [];
    const engine = new FakeEngine({ ...reply, deltas: [], finishReason: 'length' });
    const { fetch } = await fakeService({ engine, log: (entry) => entries.push(entry) });
    await (await fetch(PATH, chat({ stream: true }))).text();
    expect(entries.at(-1)).toMatchObject({
      firstTokenMs: expect.any(Number) as number,
      responseBody: { text: '' },
    });
  });

  test('a reply without thoughts has no such field, and counts none', async () => {
    const { fetch } = await fakeService();
    const text = await (await fetch(PATH, chat({ reasoning_effort: 'high' }))).text();
    expect(text).not.toContain('reasoning_content');
    expect(text).toContain('"reasoning_tokens":0');
  });

  test.each([
    [{ reasoning_effort: 'low' }, { effort: 'low' }],
    [{ chat_template_kwargs: { enable_thinking: true } }, { enableThinking: true }],
    [
      { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: false, other: 1 } },
      { effort: 'none', enableThinking: false },
    ],
    [{ reasoning_effort: null, chat_template_kwargs: {} }, undefined],
    [{}, undefined],
  ])('%j reaches the engine', async (fields, reasoning) => {
    const { fetch, engine } = await fakeService();
    expect((await fetch(PATH, chat(fields))).status).toBe(200);
    expect(jobOf(engine).reasoning).toEqual(reasoning);
  });

  test('thoughts that a client sends back are left out of the next prompt', async () => {
    const { fetch, engine } = await fakeService();
    const before = { role: 'assistant', content: 'Four.', reasoning_content: 'I add.' };
    const messages = [{ role: 'user', content: 'Hi' }, before, { role: 'user', content: 'Sure?' }];
    expect((await fetch(PATH, chat({ messages }))).status).toBe(200);
    expect(JSON.stringify(jobOf(engine))).not.toContain('I add.');
  });

  test('a call that follows thoughts is generated after them, and they are sent once', async () => {
    const engine = new FakeEngine((_, at) => (at === 0 ? { ...reply, deltas: ['<tool_', 'call>['] } : {}));
    const { fetch } = await fakeService({ engine });
    const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
    const response = await fetch(PATH, chat({ tools, max_tokens: 50 }));
    const { choices, usage } = (await response.json()) as OpenAI.ChatCompletion;
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { reasoning_content: 'I add: STOP.' },
    });
    expect(jobOf(engine, 1)).toMatchObject({
      thoughts: { text: 'I add: STOP.', ended: true },
      maxTokens: 46,
    });
    expect(usage?.completion_tokens_details).toEqual({ reasoning_tokens: 2 });
  });
});

describe('responses', () => {
  const ask = { model, input: 'Two and two?', reasoning: { effort: 'low' } };

  test('an item of reasoning comes before the message, and the next response does not see it', async () => {
    const engine = new FakeEngine(reply);
    const { fetch } = await fakeService({ engine });
    const response = (await (
      await fetch('/v1/responses', { json: ask })
    ).json()) as OpenAI.Responses.Response;
    expect(response).toMatchObject({
      status: 'completed',
      reasoning: { effort: 'low', summary: null },
      usage: { output_tokens: 5, output_tokens_details: { reasoning_tokens: 2 } },
    });
    expect(response.output).toMatchObject([
      {
        id: expect.stringMatching(/^rs_/),
        type: 'reasoning',
        status: 'completed',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'I add: STOP.' }],
      },
      { type: 'message', content: [{ text: 'Four.' }] },
    ]);
    expect(jobOf(engine).reasoning).toEqual({ effort: 'low' });
    // By id, and by the items themselves.
    await fetch('/v1/responses', { json: { model, input: 'Sure?', previous_response_id: response.id } });
    await fetch('/v1/responses', {
      json: { model, input: [...response.output, { role: 'user', content: 'Sure?' }] },
    });
    for (const index of [1, 2]) {
      const { input } = jobOf(engine, index);
      expect(JSON.stringify(input)).toContain('Four.');
      expect(JSON.stringify(input)).not.toContain('I add');
    }
  });

  test('streamed: its text in typed events, done before the message begins', async () => {
    const { fetch } = await fakeService({ engine: new FakeEngine(reply) });
    const text = await (await fetch('/v1/responses', { json: { ...ask, stream: true } })).text();
    const events = typedEvents(text).map((each) => JSON.parse(each) as OpenAI.Responses.ResponseStreamEvent);
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual(
      'created in_progress output_item.added content_part.added reasoning_text.delta reasoning_text.delta reasoning_text.done content_part.done output_item.done output_item.added content_part.added output_text.delta output_text.delta output_text.delta output_text.done content_part.done output_item.done completed'.split(
        ' ',
      ),
    );
    expect(events[6]).toMatchObject({ text: 'I add: STOP.', output_index: 0, content_index: 0 });
    expect(events[11]).toMatchObject({ output_index: 1 });
  });

  test('a summary that is asked for is the same text, for clients that read no other', async () => {
    const asked = { ...ask, reasoning: { effort: 'low', summary: 'auto' } };
    const { fetch } = await fakeService({ engine: new FakeEngine(reply) });
    const { output, reasoning } = (await (
      await fetch('/v1/responses', { json: asked })
    ).json()) as OpenAI.Responses.Response;
    const summary = [{ type: 'summary_text', text: 'I add: STOP.' }];
    expect(output[0]).toMatchObject({ summary, content: [{ text: 'I add: STOP.' }] });
    expect(reasoning?.summary).toBe('auto');
    const text = await (await fetch('/v1/responses', { json: { ...asked, stream: true } })).text();
    expect(text).toMatch(/\n\ndata: \[DONE\]\n\n$/);
    const events = typedEvents(text).map((each) => JSON.parse(each) as OpenAI.Responses.ResponseStreamEvent);
    const ofSummary = events.filter(({ type }) => type.includes('summary'));
    expect(ofSummary).toMatchObject([
      { type: 'response.reasoning_summary_part.added', part: { text: '' } },
      { type: 'response.reasoning_summary_text.delta', summary_index: 0, output_index: 0 },
      { type: 'response.reasoning_summary_text.delta' },
      { type: 'response.reasoning_summary_text.done', text: 'I add: STOP.' },
      { type: 'response.reasoning_summary_part.done', part: summary[0] },
    ]);
    expect(events.at(2)).toMatchObject({ item: { summary: [] } });
    expect(events.at(-1)).toMatchObject({ response: { output: [{ summary }, {}] } });
  });

  test('cut off in thought: the message is there, empty and incomplete', async () => {
    for (const stream of [false, true]) {
      const engine = new FakeEngine({ ...reply, deltas: [], finishReason: 'length' });
      const { fetch } = await fakeService({ engine });
      const text = await (await fetch('/v1/responses', { json: { ...ask, stream } })).text();
      const { response } = stream
        ? (JSON.parse(typedEvents(text).at(-1) ?? '') as OpenAI.Responses.ResponseIncompleteEvent)
        : { response: JSON.parse(text) as OpenAI.Responses.Response };
      expect(response.output).toMatchObject([
        { type: 'reasoning', status: 'completed' },
        { type: 'message', status: 'incomplete', content: [{ text: '' }] },
      ]);
    }
  });
});
