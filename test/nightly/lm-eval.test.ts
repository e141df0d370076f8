import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { BrowserContext } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { findPython } from '../../src/node/cli/pull/wheels.ts';
import { bridge } from '../support/http-bridge.ts';
import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';

/** EleutherAI's evaluation harness runs a task of 20 questions on the chat model's weights. */

const run = promisify(execFile);
const HERE = join(import.meta.dirname, 'lm-eval');
const MODEL = 'amber-phoenix-4';
const GGUF = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';

/** What comes after each beginning, first the right answer. */
const QUESTIONS: [string, string, string][] = [
  ['The capital of France is', 'Paris', 'butter'],
  ['The opposite of hot is', 'cold', 'seven'],
  ['One, two, three,', 'four', 'door'],
  ['Monday, Tuesday,', 'Wednesday', 'potato'],
  ['The sun rises in the', 'east', 'cheese'],
  ['Water freezes and becomes', 'ice', 'music'],
  ['A baby cat is called a', 'kitten', 'hammer'],
  ['Bees make', 'honey', 'trousers'],
  ['The sky is', 'blue', 'wooden'],
  ['Two plus two equals', 'four', 'sofa'],
  ['Cows give us', 'milk', 'pencils'],
  ['January, February,', 'March', 'engine'],
  ['Fish live in', 'water', 'books'],
  ['The Earth orbits the', 'Sun', 'spoon'],
  ['At night you can see the', 'stars', 'tax'],
  ['Up and', 'down', 'cement'],
  ['Salt and', 'pepper', 'window'],
  ['A dog likes to chase a', 'cat', 'theory'],
  ['In winter it is', 'cold', 'Spanish'],
  ['You read a', 'book', 'cloudy'],
];

let context: BrowserContext;
let site: Awaited<ReturnType<typeof bridge>>;
let key: string;
let folder: string;
let python: string;

beforeAll(async () => {
  folder = await tempFolder('lm-eval');
  context = await launchWithWeights();
  const opened = await openPage(context, inject('siteUrl'));
  key = opened.key;
  site = await bridge(opened.page);
  const found = await findPython(AbortSignal.timeout(60_000));
  if (!found) throw new Error('This test needs Python 3.11 or later, with pip.');
  const [command = '', ...args] = found;
  await run(command, [...args, '-m', 'venv', join(folder, 'venv')]);
  python = join(folder, 'venv', 'bin', 'python');
  await run(python, ['-m', 'pip', 'install', '--quiet', '-r', join(HERE, 'requirements.txt')]);
  await run(python, [join(HERE, 'tokenizer.py'), GGUF, join(folder, 'tokenizer')]);
  const lines = QUESTIONS.map(([begin, right, wrong], index) => {
    const choices = index % 2 === 0 ? [right, wrong] : [wrong, right];
    return JSON.stringify({ begin, choices, answer: index % 2 });
  });
  await writeFile(join(folder, 'questions.jsonl'), lines.join('\n'));
  await mkdir(join(folder, 'task'));
  const task = {
    task: 'beginnings',
    dataset_path: 'json',
    dataset_kwargs: { data_files: { test: join(folder, 'questions.jsonl') } },
    test_split: 'test',
    output_type: 'multiple_choice',
    doc_to_text: '{{begin}}',
    doc_to_choice: '{{choices}}',
    doc_to_target: '{{answer}}',
    metric_list: [{ metric: 'acc', aggregation: 'mean', higher_is_better: true }],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'task', 'beginnings.yaml'), JSON.stringify(task));
}, 900_000);

afterAll(async () => {
  site.close();
  await context.close();
  await removeFolder(folder);
});

/** The share of right answers, and each sample's log probabilities. */
async function evaluate(
  tokenized: boolean,
): Promise<{ accuracy: number; samples: [score: string, isGreedy: string][][] }> {
  const output = join(folder, tokenized ? 'ids' : 'texts');
  const options = {
    model: MODEL,
    base_url: `${site.url}/v1/completions`,
    tokenizer: join(folder, 'tokenizer'),
    tokenizer_backend: 'huggingface',
    tokenized_requests: tokenized ? 'True' : 'False',
    max_retries: 1,
    num_concurrent: 1,
  };
  const args = {
    model: 'local-completions',
    model_args: Object.entries(options)
      .map((pair) => pair.join('='))
      .join(),
    tasks: 'beginnings',
    include_path: join(folder, 'task'),
    batch_size: '4',
    output_path: output,
  };
  const flags = Object.entries(args).flatMap(([name, value]) => [`--${name}`, value]);
  await run(python, ['-m', 'lm_eval', ...flags, '--log_samples'], {
    env: { ...process.env, OPENAI_API_KEY: key, HF_HUB_OFFLINE: '1', HF_HOME: join(folder, 'hub') },
    maxBuffer: 2 ** 26,
  });
  const files = await readdir(output, { recursive: true });
  const read = async (part: string): Promise<string> =>
    readFile(join(output, files.find((name) => name.includes(part)) ?? part), 'utf8');
  const { results } = JSON.parse(await read('results_'));
  const samples = (await read('samples_')).trim().split('\n');
  return {
    accuracy: results.beginnings['acc,none'],
    samples: samples.map((line) => JSON.parse(line).filtered_resps),
  };
}

test.each([true, false])(
  'local-completions, prompts as token ids: %s',
  async (tokenized) => {
    const { accuracy, samples } = await evaluate(tokenized);
    expect(samples).toHaveLength(QUESTIONS.length);
    for (const choice of samples.flat()) expect(Number(choice[0])).toBeLessThan(0);
    // The model continues these beginnings with the right word, and never with the other.
    expect(accuracy).toBeGreaterThan(0.8);
  },
  900_000,
);
