import { describe, expect, test } from 'vitest';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { clientOf } from '../../../support/openai-client.ts';

const model = 'amber-phoenix-4';

async function connect(engine = new FakeEngine()) {
  return { client: clientOf(await fakeService({ engine })), engine };
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
});
