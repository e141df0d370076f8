import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { fakeService, type FakeService } from '../support/fake-service.ts';
import { cases } from './cases.ts';
import { toPlainRequest, toRequestInit } from './plain-request.ts';

/**
 * Every good answer of the table, written down as a literal of the type that the client library promises for it, and
 * given to the compiler: there is no other form of these types to check against at run time.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Types of answers. A stream's chunks on the wire, and what the client adds by itself, differ from its own types. */
const TYPES: [path: RegExp, whole: string, event: string | null][] = [
  [/^\/v1\/chat\/completions$/, 'Chat', 'OpenAI.ChatCompletionChunk & Fingerprint'],
  [/^\/v1\/responses$/, 'Whole<OpenAI.Responses.Response>', 'Wire<OpenAI.Responses.ResponseStreamEvent>'],
  [/^\/v1\/completions$/, 'Legacy', 'Wire<OpenAI.Completion> & Fingerprint'],
  [/^\/v1\/embeddings$/, 'Wire<OpenAI.CreateEmbeddingResponse>', null],
  [/^\/v1\/models$/, "{ object: 'list'; data: (OpenAI.Model & ModelFacts)[] }", null],
  [/^\/v1\/models\/.+$/, 'OpenAI.Model & ModelFacts', null],
];

const PREAMBLE = `import type OpenAI from 'openai-7';
/** Fields that OpenAI lacks: docs/compatibility.md. */
type ModelFacts = { capabilities: string[] };
/** Optional in the client's types, and part of every answer. */
type Fingerprint = { system_fingerprint: string };
type Chat = Required<Omit<OpenAI.ChatCompletion, 'metadata' | 'moderation' | 'service_tier'>>;
type Legacy = Required<OpenAI.Completion>;
/** Each has an id here. */
type Called = OpenAI.Responses.ResponseFunctionToolCall & { id: string; status: string };
type Item<T> = T extends OpenAI.Responses.ResponseFunctionToolCall ? Called : T;
/** Open Responses requires more than the client's types. */
type Whole<T extends OpenAI.Responses.Response> = Required<
  Omit<T, 'access_programs' | 'conversation' | 'image' | 'input_transformations' | 'moderation' | 'output' | 'output_text' | 'prompt' | 'prompt_cache_diagnostics' | 'prompt_cache_options' | 'prompt_cache_retention' | 'tool_usage' | 'usage' | 'user'>
> & {
  frequency_penalty: number;
  output: Item<T['output'][number]>[];
  max_tool_calls: number | null;
  presence_penalty: number;
  store: boolean;
  usage: OpenAI.Responses.ResponseUsage | null;
  user?: string;
};
/** What the client's types leave out of the wire: reasons that are not there yet, base64, its own additions. */
type Wire<T> = T extends OpenAI.Responses.ResponseFunctionCallArgumentsDoneEvent
  ? T & { name: string } // As the client's version 6 has it.
  : T extends OpenAI.Responses.Response
  ? Whole<T>
  : T extends OpenAI.Responses.ResponseFunctionToolCall
  ? Called
  : T extends OpenAI.Embedding
    ? Omit<T, 'embedding'> & { embedding: number[] | string }
    : T extends OpenAI.CompletionChoice
      ? Omit<T, 'finish_reason'> & { finish_reason: OpenAI.CompletionChoice['finish_reason'] | null }
      : T extends OpenAI.Completion
        ? { [K in keyof Omit<T, 'usage'>]: Wire<T[K]> } & { usage?: OpenAI.CompletionUsage | null }
        : T extends object
          ? { [K in keyof T]: Wire<T[K]> }
          : T;
`;

let service: FakeService;
let folder: string;

beforeAll(async () => {
  service = await fakeService({
    issue: { limits: { requestsPerMinute: 10_000, tokensPerMinute: 10_000_000 } },
  });
  // Inside the project, so that the compiler finds the client library.
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true });
  folder = await mkdtemp(join(root, 'node_modules/.cache/openai-types-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function literals(): Promise<{ type: string; json: string; name: string }[]> {
  const found = [];
  for (const { name, request } of cases) {
    const { path, ...init } = toPlainRequest(request, { good: service.key });
    const known = TYPES.find(([pattern]) => pattern.test(path));
    if (!known || (request.key ?? 'good') !== 'good') continue;
    const response = await service.service(new Request(`https://site.example${path}`, toRequestInit(init)));
    const text = await response.text();
    if (!response.ok || text === '') continue;
    const [, whole, event] = known;
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      found.push({ type: whole, json: text, name });
      continue;
    }
    for (const [, json = ''] of text.matchAll(/^data: (\{.*\})$/gm))
      found.push({ type: event ?? whole, json, name });
  }
  return found;
}

/** What the compiler says of these files of the folder. */
function compile(...files: string[]): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023'.split(
    ' ',
  );
  return new Promise((resolve, reject) => {
    const run = spawn(process.execPath, [tsc, ...options, '--types', '', ...files], { cwd: folder });
    let output = '';
    run.stdout.on('data', (data: Buffer) => {
      output += data.toString();
    });
    run.on('error', reject);
    run.on('close', () => resolve(output));
  });
}

/** Fields that the client's types leave optional, and values of which any part may be absent. */
const OPTIONAL = new Set(
  'tool_calls function_call prompt_tokens_details completion_tokens_details logprobs user reason delta metadata parameters text tools tool_choice reasoning usage'.split(
    ' ',
  ),
);

type Json = Record<string, unknown>;

/** Every copy of it that lacks one field, at any depth. */
function* withoutOne(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [index, each] of value.slice(0, 1).entries())
      for (const copy of withoutOne(each)) yield value.with(index, copy);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value).filter(([name]) => !OPTIONAL.has(name))) {
      const { [key]: _, ...rest } = value as Json;
      yield rest;
      for (const copy of withoutOne(inner)) yield { ...value, [key]: copy };
    }
  }
}

/** One answer of each type, and one event of each kind, without each of its fields: each must be an error. */
function incomplete(found: Awaited<ReturnType<typeof literals>>): string {
  const samples = new Map(
    found.map(({ type, json }) => {
      const value = JSON.parse(json) as Json;
      return [
        `${type} ${String(value['type'])} ${JSON.stringify(value).includes('function_call')}`,
        { type, value },
      ];
    }),
  );
  return [...samples.values()]
    .flatMap(({ type, value }) => [...withoutOne(value)].map((copy) => ({ type, copy })))
    .map(
      ({ type, copy }, index) =>
        `// @ts-expect-error\nexport const f${index}: ${type} = ${JSON.stringify(copy)};`,
    )
    .join('\n');
}

test('every good answer is of the type that the client promises', { timeout: 120_000 }, async () => {
  const found = await literals();
  expect(new Set(found.map(({ type }) => type)).size).toBe(9);
  const lines = found.map(
    ({ type, json, name }, index) => `// ${name}\nexport const v${index}: ${type} = ${json};`,
  );
  const text = lines.join('\n');
  await writeFile(join(folder, 'answers.mts'), `${PREAMBLE}${text}\n`);
  await writeFile(join(folder, 'incomplete.mts'), `${PREAMBLE}${incomplete(found)}\n`);
  expect(await compile('answers.mts', 'incomplete.mts')).toBe('');
  // The compiler would tell: a value that is not allowed, a field that is missing, one that nobody knows.
  const faults = [
    ['"object":"chat.completion"', '"object":"chat"'],
    ['"finish_reason":"tool_calls"', '"finish_reason":"called"'],
    ['"created":', '"made":'],
    ['"type":"response.completed"', '"type":"response.finished"'],
  ] as const;
  const files = faults.map((_, index) => `fault-${index}.mts`);
  for (const [index, [before, after]] of faults.entries()) {
    expect(text).toContain(before);
    await writeFile(join(folder, `fault-${index}.mts`), PREAMBLE + text.replace(before, after));
  }
  const complaints = await compile(...files);
  for (const file of files) expect(complaints).toMatch(new RegExp(`${file}.*error TS`));
});
