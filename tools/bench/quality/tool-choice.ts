import { readFileSync } from 'node:fs';

import type OpenAI from 'openai';
import type { Catalog, CatalogModel, VariantOf } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { answersOf, callsIn, withQualityPage } from './quality-page.ts';

type Tool = [name: string, description: string, parameters: Record<string, string>];
type Turn =
  [role: 'user' | 'assistant' | 'tool', content: string] | [role: 'call', name: string, args: object];
type Request = [tools: string, input: string | Turn[], expected: string | null];

const CHOOSER = 'jade-mole-4';
const { tools, requests, otherLanguages } = JSON.parse(
  readFileSync('tools/bench/quality/tool-requests.json', 'utf8'),
) as {
  tools: Record<string, Tool[]>;
  requests: Request[];
  otherLanguages: Record<string, Request[]>;
};

/**
 * Prints for each model how many requests with `tool_choice: "auto"` call the right function, and how many that need none
 * are left alone: by itself, and with a `toolChooser`.
 */
export async function measureToolChoice(names: readonly string[], step: number): Promise<void> {
  const sets = Object.entries({ '': requests, ...otherLanguages });
  await withQualityPage(names, catalogOf, async (page, { models }) => {
    console.log('| model | right function | left alone | more than one call | s a request |');
    console.log('| --- | --- | --- | --- | --- |');
    const chats = models.filter(({ kind }) => kind === 'chat');
    for (const [{ id }, [language, all]] of chats.flatMap((model) =>
      sets.map((set) => [model, set] as const),
    )) {
      const asked = all.filter((_, index) => index % step === 0);
      const began = performance.now();
      const answers = await answersOf(page, id, asked.map(toBody));
      const seconds = (performance.now() - began) / 1000 / asked.length;
      const replies = answers.map((answer, at) => ({
        calls: callsIn(answer),
        expected: asked[at]?.[2] ?? null,
      }));
      const needs = replies.filter(({ expected }) => expected !== null);
      const right = needs.filter(({ calls, expected }) => calls[0]?.name === expected).length;
      const alone = replies.filter(({ calls, expected }) => expected === null && calls.length === 0).length;
      const several = replies.filter(({ calls }) => calls.length > 1).length;
      const row = [
        `${id} ${language}`,
        `${right} / ${needs.length}`,
        `${alone} / ${asked.length - needs.length}`,
        several,
        seconds.toFixed(1),
      ];
      console.log(`| ${row.join(' | ')} |`);
    }
  });
}

/** Each model twice: by itself, and with the chooser. */
function catalogOf(variants: readonly VariantOf<'wllama'>[]): Catalog {
  const models = variants.flatMap((variant): CatalogModel[] => {
    const modelOf = (id: string, more: Partial<VariantOf<'wllama'>>): CatalogModel => ({
      id,
      kind: 'chat',
      created: 0,
      variants: [{ ...variant, ...more, name: id }],
    });
    return [modelOf(variant.name, {}), modelOf(`${variant.name}-chosen`, { toolChooser: CHOOSER })];
  });
  const chooser = defaultCatalog.models.filter(({ id }) => id === CHOOSER);
  return { ownedBy: 'quality', models: [...models, ...chooser] };
}

function toBody([set, input]: Request) {
  const turns = typeof input === 'string' ? ([['user', input]] satisfies Turn[]) : input;
  return {
    max_tokens: 24,
    tool_choice: 'auto' as const,
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
      type: 'function' as const,
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
