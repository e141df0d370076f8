import { execFileSync } from 'node:child_process';

import { describe, expect, test } from 'vitest';

import { codeSample, samplesFor } from '../../../../playground/requests/code-samples.ts';

const CHAT = '/v1/chat/completions';
const entry = (body: unknown, path = CHAT) => ({
  path,
  requestBody: { text: JSON.stringify(body), truncated: false },
});

describe.skipIf(process.platform === 'win32')('curl', () => {
  test('a shell hands the body on as it was, whatever it holds', () => {
    const body = {
      model: 'amber-phoenix-4',
      messages: [{ role: 'user', content: `It's "$HOME" \\n \`id\` '' \u2028 ; rm é\n` }],
    };
    // The shell's own reading of the command; curl is what prints what it is given.
    const script = `curl() { printf '%s\\0' "$@"; }\nSERVER=https://x API_KEY=k\n${codeSample('curl', entry(body))}`;
    const given = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0');
    expect(given.slice(0, 3)).toEqual([`https://x${CHAT}`, '-H', 'Authorization: Bearer k']);
    expect(JSON.parse(given[given.indexOf('-d') + 1] ?? '')).toEqual(body);
  });

  test('a shell runs nothing of a path', () => {
    const path = "/v1/$(echo run)/it's`id`";
    const script = `curl() { printf '%s' "$1"; }\nSERVER=https://x\n${codeSample('curl', entry({}, path))}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`https://x${path}`);
  });

  test('says that it reaches no page', () => {
    const requestBody = { text: '{"seed":2512292042121000001}', truncated: false };
    expect(codeSample('curl', { path: '/v1', requestBody })).toContain('"seed": 2512292042121000001');
    expect(codeSample('curl', entry({ model: 'm' }))).toMatch(/^# .*curl cannot reach it/);
  });
});

test('LanguageModel gets the last message as its prompt, and the temperature as a mode', () => {
  const schema = { type: 'object' };
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Time?' },
  ];
  const format = { type: 'json_schema', json_schema: { name: 'a', schema } };
  const body = { model: 'm', messages, temperature: 0, max_tokens: 9, response_format: format, seed: 1 };
  const code = codeSample('language-model', entry(body));
  const [comment, ...rest] = code.split('\n');
  expect(comment).toBe('// Left out, as the Prompt API has no word for it: seed');
  const asked: unknown[] = [];
  const session = { prompt: (...values: unknown[]) => asked.push(...values) };
  const globals = {
    start: () => 'handle',
    installLanguageModel: (...values: unknown[]) => asked.push(...values),
    LanguageModel: { create: (options: unknown) => (asked.push(options), session) },
    console: { log: () => undefined },
  };
  const program = rest
    .filter((line) => !line.startsWith('import '))
    .join('\n')
    .replaceAll('await ', '');
  new Function(...Object.keys(globals), program)(...Object.values(globals));
  expect(asked).toEqual([
    'handle',
    { model: 'm', maxTokens: 9 },
    { samplingMode: 'most-predictable', initialPrompts: [{ role: 'system', content: 'Be brief.' }] },
    [messages[1]],
    { responseConstraint: schema },
  ]);
  const streamed = codeSample('language-model', entry({ model: 'm', messages, stream: true }));
  expect(streamed).toContain('for await (const text of session.promptStreaming(');
  expect(samplesFor('/v1/embeddings').map(({ value }) => value)).not.toContain('language-model');
});

test('the AI SDK takes a conversation with tool calls in its own words', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } };
  const code = codeSample(
    'ai-sdk',
    entry({
      model: 'm',
      messages: [
        { role: 'user', content: 'Time?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'noon' },
      ],
      logprobs: true,
    }),
  );
  expect(code).toContain('toolCallId: "c1"');
  expect(code).toContain('toolName: "clock"');
  expect(code).toContain('zone: "UTC"');
  expect(code).toContain('// Left out, as the AI SDK has no word for it: logprobs');
});

test.each(['\n', '\r', '\u2028', '\u2029'])('no name of a field leaves its comment by %j', (end) => {
  const code = codeSample('ai-sdk', entry({ model: 'm', messages: [], [`x${end}injected()//`]: 1, n: 2 }));
  const [first = '', second] = code.split(/[\n\r\u2028\u2029]/);
  expect(first).toMatch(/^\/\/ Left out.*injected.*, n$/);
  expect(second).toMatch(/^import/);
});

test('older completions and responses are the OpenAI SDK’s alone', () => {
  const kinds = (path: string): string[] => samplesFor(path).map(({ value }) => value);
  expect(kinds('/v1/completions')).toEqual(['openai', 'curl']);
  expect(kinds('/v1/responses')).toEqual(['openai', 'curl']);
  expect(kinds(CHAT)).toEqual(['openai', 'ai-sdk', 'langchain', 'language-model', 'curl']);
});

test('endpoints that the client has no method for are asked by their path', () => {
  for (const path of ['/decisions', '/responses/input_tokens', '/chat/completions/input_tokens']) {
    const code = codeSample('openai', entry({ model: 'm', input: 'x' }, `/v1${path}`));
    expect(code).toContain(`client.post("${path}", { body: {\n  model: "m",\n  input: "x"\n} });`);
    expect(code).not.toContain('.create(');
  }
});

test('a body that was cut makes no code', () => {
  const requestBody = { text: '{"model":"m","mess', truncated: true };
  expect(codeSample('openai', { path: CHAT, requestBody })).toMatch(/^\/\/ The body was too long/);
});
