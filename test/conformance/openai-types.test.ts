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

/** On the wire a stream of chunks, and what the client adds by itself, are distinguished from its own types. */
const TYPES: [path: RegExp, whole: string, event: string | null][] = [
  [/^\/v1\/chat\/completions$/, 'OpenAI.ChatCompletion', 'OpenAI.ChatCompletionChunk'],
  [/^\/v1\/responses$/, 'Whole<OpenAI.Responses.Response>', 'Wire<OpenAI.Responses.ResponseStreamEvent>'],
  [/^\/v1\/completions$/, 'OpenAI.Completion', 'Wire<OpenAI.Completion>'],
  [/^\/v1\/embeddings$/, 'Wire<OpenAI.CreateEmbeddingResponse>', null],
  [/^\/v1\/models$/, "{ object: 'list'; data: (OpenAI.Model & ModelFacts)[] }", null],
  [/^\/v1\/models\/.+$/, 'OpenAI.Model & ModelFacts', null],
];

const PREAMBLE = `import type OpenAI from 'openai';
/** Not OpenAI's: docs/compatibility.md. */
type ModelFacts = { capabilities: string[] };
/** Open Responses requires more than the client's types. */
type Whole<T extends OpenAI.Responses.Response> = Required<
  Omit<T, 'conversation' | 'moderation' | 'output_text' | 'prompt' | 'prompt_cache_options' | 'prompt_cache_retention' | 'usage' | 'user'>
> & {
  frequency_penalty: number;
  max_tool_calls: number | null;
  presence_penalty: number;
  store: boolean;
  usage: OpenAI.Responses.ResponseUsage | null;
  user?: string;
};
/** What the client's types leave out of the wire: reasons that are not there yet, base64, its own additions. */
type Wire<T> = T extends OpenAI.Responses.Response
  ? Whole<T>
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

test('every good answer is of the type that the client promises', { timeout: 60_000 }, async () => {
  const found = await literals();
  expect(new Set(found.map(({ type }) => type)).size).toBe(9);
  const lines = found.map(
    ({ type, json, name }, index) => `// ${name}\nexport const v${index}: ${type} = ${json};`,
  );
  const text = lines.join('\n');
  await writeFile(join(folder, 'answers.mts'), `${PREAMBLE}${text}\n`);
  expect(await compile('answers.mts')).toBe('');
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
