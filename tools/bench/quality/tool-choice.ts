import { readFileSync } from 'node:fs';

import type OpenAI from 'openai';
import type { Page } from 'playwright';

import type { Catalog, CatalogModel, WllamaVariant } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';
import { findWeights } from './find-weights.ts';
import { serveWeights, withQualityPage } from './quality-page.ts';

type Tool = [name: string, description: string, parameters: Record<string, string>];
type Turn =
  [role: 'user' | 'assistant' | 'tool', content: string] | [role: 'call', name: string, args: object];
type Request = [tools: string, input: string | Turn[], expected: string | null];

const CHOOSER = 'jade-mole-4';
const { tools, requests } = JSON.parse(readFileSync('tools/bench/quality/tool-requests.json', 'utf8')) as {
  tools: Record<string, Tool[]>;
  requests: Request[];
};

/**
 * Prints for each model how many requests with `tool_choice: "auto"` call the right function, and how many that need none
 * are left alone: by itself, and with a `toolChooser`.
 */
export async function measureToolChoice(names: readonly string[], step: number): Promise<void> {
  await pullTestWeights();
  const found = await Promise.all(names.map((name) => findWeights(name, 'public/models')));
  const served = await Promise.all(found.map(({ paths }) => Promise.all(paths.map(serveWeights))));
  const models = found.flatMap(({ variant }, index): CatalogModel[] => {
    const files = (served[index] ?? []).map(({ file }) => file);
    const modelOf = (id: string, more: Partial<WllamaVariant>): CatalogModel => ({
      id,
      kind: 'chat',
      created: 0,
      variants: [{ ...variant, ...more, name: id, files }],
    });
    return [modelOf(variant.name, {}), modelOf(`${variant.name}-chosen`, { toolChooser: CHOOSER })];
  });
  const chooser = defaultCatalog.models.filter(({ id }) => id === CHOOSER);
  const catalog: Catalog = { ownedBy: 'quality', models: [...models, ...chooser] };
  const asked = requests.filter((_, index) => index % step === 0);
  try {
    await withQualityPage(catalog, async (page) => {
      console.log('| model | right function | left alone | more than one call | s a request |');
      console.log('| --- | --- | --- | --- | --- |');
      for (const { id } of models) {
        const began = performance.now();
        const called = await callsOf(page, id, asked);
        const seconds = (performance.now() - began) / 1000 / asked.length;
        const needs = asked.flatMap(([, , expected], index) =>
          expected === null ? [] : [{ expected, index }],
        );
        const right = needs.filter(({ expected, index }) => called[index]?.[0] === expected).length;
        const alone = asked.filter(
          ([, , expected], index) => expected === null && called[index]?.length === 0,
        ).length;
        const several = called.filter(({ length }) => length > 1).length;
        const row = [
          id,
          `${right} / ${needs.length}`,
          `${alone} / ${asked.length - needs.length}`,
          several,
          seconds.toFixed(1),
        ];
        console.log(`| ${row.join(' | ')} |`);
      }
    });
  } finally {
    for (const { close } of served.flat()) close();
  }
}

/** Names of the functions that the reply to each request calls. */
const callsOf = (page: Page, model: string, asked: readonly Request[]): Promise<string[][]> =>
  page.evaluate(
    async ([id, bodies]) => {
      const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
      const { key } = await (await window.localtext).keys.ensure({ label: 'quality', limits });
      const client = window.client(key, { timeout: 600_000 });
      const names: string[][] = [];
      for (const body of bodies) {
        const { choices } = await client.chat.completions.create({
          model: id,
          temperature: 0,
          max_tokens: 24,
          tool_choice: 'auto',
          ...body,
        });
        const calls = choices[0]?.message.tool_calls ?? [];
        names.push(calls.flatMap((call) => ('function' in call ? [call.function.name] : [])));
      }
      return names;
    },
    [model, asked.map(toBody)] as const,
  );

function toBody([set, input]: Request): Pick<
  OpenAI.ChatCompletionCreateParamsNonStreaming,
  'messages' | 'tools'
> {
  const turns = typeof input === 'string' ? ([['user', input]] satisfies Turn[]) : input;
  return {
    messages: turns.map((turn): OpenAI.ChatCompletionMessageParam => {
      if (turn[0] === 'call') {
        const called = { name: turn[1], arguments: JSON.stringify(turn[2]) };
        return {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: called }],
        };
      }
      const [role, content] = turn;
      return role === 'tool' ? { role, content, tool_call_id: 'call_1' } : { role, content };
    }),
    tools: (tools[set] ?? []).map(([name, description, parameters]) => ({
      type: 'function',
      function: { name, description, parameters: schemaOf(parameters) },
    })),
  };
}

const schemaOf = (parameters: Record<string, string>) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(parameters).map(([name, description]) => [name, { type: 'string', description }]),
  ),
  required: Object.keys(parameters),
  additionalProperties: false,
});
