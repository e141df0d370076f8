import type * as z from 'zod/mini';
import { unsupported, shortened } from '#base';
import { flat, isKnown } from './requested-choice.ts';
import type { chatTools, inputTools, legacyFunctions, responseTools } from './tool-schema.ts';

/** A request's tools, in the form of chat completions or of responses. */
export interface ToolFields {
  tools?: z.infer<typeof chatTools | typeof responseTools>;
  functions?: z.infer<typeof legacyFunctions>;
}

/** Tools of a request beyond `tools`, and their place. */
export interface MoreTools {
  at: string;
  tools: z.infer<typeof inputTools>;
}

/** Maximum number of types that a warning names. */
const MAX_NAMED_TYPES = 8;

type Tools = NonNullable<ToolFields['tools']>;
type KnownTool = Extract<Tools[number], { type: 'function' | 'custom' | 'namespace' }>;
type Leaf = Exclude<KnownTool, { type: 'namespace' }>;
type FunctionFields = NonNullable<ToolFields['functions']>[number];
type CustomFields = Extract<NonNullable<z.infer<typeof responseTools>>[number], { type: 'custom' }>;
type NestedCustomFields =
  CustomFields | Extract<NonNullable<z.infer<typeof chatTools>>[number], { type: 'custom' }>['custom'];

/** A tool with its place in the request. */
export type GivenTool = { at: string; namespace?: string } & (
  | { kind: 'function'; fields: FunctionFields }
  | {
      kind: 'custom';
      fields: Omit<CustomFields, 'type' | 'format'>;
      pattern: string | null;
      patternAt: string;
    }
);

/** The request's functions and custom tools. @throws ServiceError 400 */
export function listTools(
  { tools, functions }: ToolFields,
  more: readonly MoreTools[],
  warnings: string[],
): GivenTool[] {
  const known = (functions ?? []).map((fields, index): GivenTool => ({
    kind: 'function',
    at: `functions[${index}]`,
    fields,
  }));
  const others: { type: string; at: string }[] = [];
  for (const list of [{ at: 'tools', tools: tools ?? [] }, ...more])
    for (const [index, tool] of list.tools.entries()) {
      if (isKnown(tool)) known.push(...leavesOf(tool, `${list.at}[${index}]`));
      else others.push({ type: tool.type, at: `${list.at}[${index}].type` });
    }
  const [first] = others;
  if (!first) return known;
  if (known.length === 0)
    throw unsupported(first.at, 'must be "function" or "custom": tools of other types cannot run here');
  const types = [...new Set(others.map(({ type }) => shortened(type)))].slice(0, MAX_NAMED_TYPES);
  const list = types.join(', ').replaceAll(/[^ -~]/g, '?');
  warnings.push(`Left out of \`tools\`: ${list}. Only functions and custom tools can run here.`);
  return known;
}

function leavesOf(tool: KnownTool, at: string): GivenTool[] {
  if (tool.type !== 'namespace') return [given(tool, at)];
  const { name, tools } = tool;
  return (tools as Leaf[]).map((leaf, index) => ({
    ...given(leaf, `${at}.tools[${index}]`),
    namespace: name,
  }));
}

function given(tool: Leaf, at: string): GivenTool {
  const isNested = tool.type in tool;
  const place = isNested ? `${at}.${tool.type}` : at;
  if (tool.type === 'function') return { kind: 'function', at: place, fields: flat(tool) as FunctionFields };
  const { format, ...fields } = flat(tool) as NestedCustomFields;
  const isGrammar = format?.type === 'grammar';
  const nested = isGrammar && 'grammar' in format ? format.grammar : null;
  const pattern = nested ?? (isGrammar && 'definition' in format ? format : null);
  const patternAt = `${place}.format${nested ? '.grammar' : ''}.definition`;
  return { kind: 'custom', at: place, fields, pattern: pattern?.definition ?? null, patternAt };
}
