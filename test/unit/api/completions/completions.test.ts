import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../../src/errors/service-error.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { eventsOf } from '../../../support/server-sent-events.ts';

const model = 'amber-phoenix-4';

async function connect(engine = new FakeEngine()) {
  const { service, key } = await fakeService({ engine });
  const client = new OpenAI({
    apiKey: key,
    baseURL: 'https://site.example/v1',
    maxRetries: 0,
    fetch: (url, init) => service(new Request(url, init)),
  });
  return { client, engine };
}

describe('a completion', () => {
  test('goes on from a raw prompt, for 16 tokens when nothing is said', async () => {
    const { client, engine } = await connect();
    const { choices, object, usage } = await client.completions.create({ model, prompt: 'Once' });
    expect(object).toBe('text_completion');
    expect(choices).toEqual([{ text: 'Hello, world!', index: 0, logprobs: null, finish_reason: 'stop' }]);
    expect(usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 4 });
    expect(engine.jobs).toMatchObject([{ input: { prompt: 'Once' }, maxTokens: 16 }]);
  });

  test('begins with the first token where the prompt is null, as OpenAI’s default', async () => {
    const { client, engine } = await connect();
    await client.completions.create({ model, prompt: null });
    expect(engine.jobs).toMatchObject([{ input: { prompt: '' } }]);
  });

  test('several prompts and choices are numbered through, and each prompt is counted once', async () => {
    const engine = new FakeEngine((job) => ({
      deltas: ['prompt' in job.input ? job.input.prompt.toUpperCase() : ''],
    }));
    const { client } = await connect(engine);
    const { choices, usage } = await client.completions.create({
      model,
      prompt: ['a', 'b', 'c'],
      n: 2,
      echo: true,
      seed: 3,
    });
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, 'aA'],
      [1, 'aA'],
      [2, 'bB'],
      [3, 'bB'],
      [4, 'cC'],
      [5, 'cC'],
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 21, completion_tokens: 6 });
    expect(engine.jobs.map((job) => job.kind === 'chat' && job.sampling.seed)).toEqual([3, 4, 3, 4, 3, 4]);
  });

  test('streamed, with its echo, offsets and usage', async () => {
    const { client } = await connect();
    let text = '';
    const offsets: number[] = [];
    let usage;
    for await (const chunk of await client.completions.create({
      model,
      prompt: 'Once',
      stream: true,
      logprobs: 1,
      stream_options: { include_usage: true },
    })) {
      text += chunk.choices[0]?.text ?? '';
      offsets.push(...(chunk.choices[0]?.logprobs?.text_offset ?? []));
      usage = chunk.usage;
    }
    expect([text, offsets]).toEqual(['Hello, world!', [0, 5, 7, 12]]);
    expect(usage).toMatchObject({ completion_tokens: 4 });
  });

  test('legacy log probabilities in one piece', async () => {
    const { client } = await connect();
    const { choices } = await client.completions.create({ model, prompt: 'Once', logprobs: 1 });
    expect(choices[0]?.logprobs).toMatchObject({
      tokens: ['Hello', ', ', 'world', '!'],
      text_offset: [0, 5, 7, 12],
      token_logprobs: [-0.5, -0.5, -0.5, -0.5],
    });
  });

  test.each([false, true])('echo with logprobs, streamed: %s', async (stream) => {
    const { client, engine } = await connect();
    const request = { model, prompt: 'Once "upon" a\ntime', echo: true, logprobs: 1, max_tokens: 2 };
    const choices: (OpenAI.CompletionChoice | undefined)[] = [];
    let usage;
    if (stream) {
      const options = { include_usage: true };
      for await (const chunk of await client.completions.create({
        ...request,
        stream,
        stream_options: options,
      })) {
        choices.push(...chunk.choices);
        usage = chunk.usage;
      }
    } else {
      const whole = await client.completions.create(request);
      choices.push(...whole.choices);
      usage = whole.usage;
    }
    const logprobs = choices.map((choice) => choice?.logprobs);
    expect(choices.map((choice) => choice?.text).join('')).toBe('Once "upon" a\ntimeHello, ');
    const tokens = ['Once', ' "upon"', ' a', '\ntime', 'Hello', ', '];
    expect(logprobs.flatMap((part) => part?.tokens ?? [])).toEqual(tokens);
    expect(logprobs.flatMap((part) => part?.token_logprobs ?? [])).toEqual([
      null,
      ...tokens.slice(1).map(() => -0.5),
    ]);
    expect(logprobs.flatMap((part) => part?.text_offset ?? [])).toEqual([0, 4, 11, 13, 18, 23]);
    expect(usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 2 });
    // The first token alone, the rest after it, and the reply to the whole prompt.
    expect(engine.jobs.map((job) => job.kind === 'chat' && [job.input, job.maxTokens])).toEqual([
      [{ prompt: '' }, 1],
      [{ prompt: 'Once' }, 19],
      [{ prompt: request.prompt }, 2],
    ]);
    expect(engine.jobs.slice(0, 2)).toMatchObject(
      [0, 1].map((from) => ({ constraint: { spells: { text: request.prompt, from } } })),
    );
  });

  test('token ids are continued as they are, and generated where they are echoed', async () => {
    const { client, engine } = await connect();
    const plain = await client.completions.create({ model, prompt: [[5, 6], [7]], max_tokens: 1 });
    expect(plain.choices.map(({ text }) => text)).toEqual(['Hello', 'Hello']);
    expect(engine.jobs.splice(0)).toMatchObject([{ input: { tokens: [5, 6] } }, { input: { tokens: [7] } }]);
    const echoed = await client.completions.create({ model, prompt: [5, 6, 7], max_tokens: 1, echo: true });
    expect(echoed.choices).toMatchObject([{ text: ' t5 t6 t7Hello', logprobs: null }]);
    expect(engine.jobs).toMatchObject([
      { input: { prompt: '' }, constraint: { gbnf: 'root ::= <[5]> <[6]> <[7]>' }, maxTokens: 1 },
      { input: { prompt: ' t5' }, constraint: { gbnf: 'root ::= <[6]> <[7]>' }, maxTokens: 2 },
      { input: { prompt: ' t5 t6 t7' }, maxTokens: 1 },
    ]);
  });

  test.each([
    ['streamed', 1, true],
    ['in one piece', 1, false],
    ['alone', 0, false],
  ])(
    'choices of a scored prompt share its scores, and the key pays them once: %s',
    async (_, most, stream) => {
      const engine = new FakeEngine();
      const issue = { limits: { tokensPerMinute: 1000 } };
      const { fetch } = await fakeService({ engine, now: () => 0, issue });
      const json = { model, prompt: ['one two', 'three four five'], n: 3, echo: true, logprobs: 1, stream };
      const response = await fetch('/v1/completions', { json: { ...json, max_tokens: most } });
      const remaining = (of: Response) => Number(of.headers.get('x-ratelimit-remaining-tokens'));
      // A quarter of the prompts' characters, once more to be continued, and the replies.
      expect(1000 - remaining(response)).toBe((2 + 4) * (1 + most) + 6 * most);
      const body = await response.text();
      const texts: string[] = [];
      for (const object of stream ? eventsOf(body).slice(0, -1) : [body])
        for (const { index, text } of (JSON.parse(object) as OpenAI.Completion).choices)
          texts[index] = (texts[index] ?? '') + text;
      const hello = most > 0 ? 'Hello' : '';
      expect(texts).toEqual(['one two', 'three four five'].flatMap((text) => Array(3).fill(text + hello)));
      const scoring = engine.jobs.filter((job) => job.kind === 'chat' && job.constraint);
      expect([scoring.length, engine.jobs.length]).toEqual([4, 4 + 6 * most]);
      const next = await fetch('/v1/completions', { json: { model, prompt: 'four', max_tokens: 1 } });
      // Each token of the prompts, the 7 that the engine counts for each to be continued, and the replies.
      expect(1000 - 2 - remaining(next)).toBe(5 + (2 * 7 + 6) * most);
    },
  );

  test('scores that fail end a request of several choices once', async () => {
    const refuse = new ServiceError({ status: 400, param: 'prompt', message: 'No.' });
    const { client, engine } = await connect(new FakeEngine(() => ({ refuse })));
    const request = { model, prompt: 'a b', n: 8, echo: true, logprobs: 1 };
    await expect(client.completions.create(request)).rejects.toMatchObject({ status: 400, param: 'prompt' });
    expect(engine.jobs).toHaveLength(1);
  });

  test('a prompt whose tokens cannot be generated one by one is spelled in any', async () => {
    const refuse = new ServiceError({ status: 400, param: 'response_format', message: 'No.' });
    const { client, engine } = await connect(
      new FakeEngine(({ constraint }) => (constraint && 'spells' in constraint ? { refuse } : {})),
    );
    const scored = await client.completions.create({
      model,
      prompt: 'a b',
      echo: true,
      logprobs: 1,
      max_tokens: 0,
    });
    expect(scored.choices[0]?.logprobs?.tokens).toEqual(['a', ' b']);
    expect(engine.jobs.map((job) => job.kind === 'chat' && [job.input, job.maxTokens])).toEqual([
      [{ prompt: '' }, 1],
      [{ prompt: '' }, 1],
      [{ prompt: 'a' }, 4],
      [{ prompt: 'a' }, 4],
    ]);
  });

  test('an engine that has no grammars refuses to score a prompt', async () => {
    const refuse = new ServiceError({ status: 400, param: 'response_format', message: 'No.' });
    const { client } = await connect(new FakeEngine({ refuse }));
    const asked = client.completions.create({ model, prompt: 'a', echo: true, logprobs: 1 });
    await expect(asked).rejects.toMatchObject({ status: 400, param: 'echo' });
  });

  test('best_of returns the choices that are most probable a token', async () => {
    const scores = [-3, -1, -2, -5, -0.5, -4];
    const engine = new FakeEngine((_, index) => ({
      deltas: Array.from({ length: 1 + (index % 2) }, () => `${index}`),
      logprob: scores[index] ?? 0,
    }));
    const { client } = await connect(engine);
    const request = { model, prompt: ['a', 'b'], n: 2, best_of: 3 };
    const { choices, usage } = await client.completions.create(request);
    expect(choices.map(({ index, text, logprobs }) => [index, text, logprobs])).toEqual([
      [0, '11', null],
      [1, '2', null],
      [2, '4', null],
      [3, '55', null],
    ]);
    // All that were generated are counted.
    expect(usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 9 });
    const scored = await client.completions.create({ ...request, prompt: 'a', logprobs: 1 });
    expect(scored.choices[0]?.logprobs?.tokens).toHaveLength(1);
  });

  test.each([false, true])(
    'max_tokens 0 counts the prompt and generates nothing, streamed: %s',
    async (stream) => {
      const { client, engine } = await connect();
      const request = { model, prompt: 'Once', max_tokens: 0, echo: true };
      const texts = [];
      let last;
      if (stream) {
        const options = { include_usage: true };
        for await (const chunk of await client.completions.create({
          ...request,
          stream,
          stream_options: options,
        })) {
          last = chunk;
          for (const choice of chunk.choices) texts.push(choice.text, choice.finish_reason);
        }
      } else {
        last = await client.completions.create(request);
        texts.push(last.choices[0]?.text, last.choices[0]?.finish_reason);
      }
      expect(texts.filter((text) => text)).toEqual(['Once', 'length']);
      expect(last?.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 0 });
      expect([engine.yielded, engine.running]).toEqual([0, 0]);
    },
  );

  test.each([
    ['suffix', { suffix: 'end' }],
    ['best_of', { best_of: 1, n: 2 }],
    ['best_of', { best_of: 3, stream: true as const }],
    ['best_of', { best_of: 65, prompt: ['a', 'b'] }],
  ])('%s is refused where it cannot be done', async (param, extra) => {
    const { client } = await connect();
    const { error } = (await client.completions
      .create({ model, prompt: 'a', ...extra })
      .catch((reason: unknown) => reason)) as { error: { param: string } };
    expect(error.param).toMatch(new RegExp(`^${param}`));
  });
});
