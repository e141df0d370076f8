import type OpenAI from 'openai';
import * as z from 'zod/mini';
import type { chatRules } from '../src/service/chat/chat-schema.ts';
import type { completionRules } from '../src/service/completions/completion-schema.ts';
import type { embeddingsRules } from '../src/service/embeddings/embeddings-request.ts';
import type { responseRules } from '../src/service/responses/response-schema.ts';
import { ENDPOINTS, type EndpointName } from '../src/service/endpoints.ts';
import { RULES } from '../src/service/service.ts';

/** The tables of docs/compatibility.md, from the schemas that decide. Not part of the service itself. */

type Shape = Record<string, z.ZodMiniType>;

interface Rules {
  fields: { enforced: Shape; passedOn?: Shape; ignored: Shape };
  refused?: Record<string, string>;
}

/** The client's parameters that no schema names. The compiler reports a missing or superfluous one. */
type Unread<Parameters, Known extends Rules> = Record<
  Exclude<keyof Parameters, keyof Known['refused'] | KeysOf<Known['fields']>>,
  true
>;
type KeysOf<Groups> = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];

type Chat = OpenAI.ChatCompletionCreateParams;
const chatUnread: Unread<Chat, typeof chatRules> = {
  moderation: true,
  prediction: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
  safety_identifier: true,
  verbosity: true,
};

type Responses = OpenAI.Responses.ResponseCreateParams;
const responseUnread: Unread<Responses, typeof responseRules> = {
  context_management: true,
  moderation: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
};

const completionUnread: Unread<OpenAI.CompletionCreateParams, typeof completionRules> = {};

const embeddingsUnread: Unread<OpenAI.EmbeddingCreateParams, typeof embeddingsRules> = {};

/** Fields of OpenAI's client that no schema names, by endpoint. */
const UNREAD: Partial<Record<EndpointName, Record<string, true>>> = {
  chat: chatUnread,
  response: responseUnread,
  completion: completionUnread,
  embeddings: embeddingsUnread,
};

/** The document with the tables of all endpoints that have parameters, below their headings. */
export async function withTables(document: string): Promise<string> {
  let text = document;
  const written = new Set<unknown>();
  for (const [name, read] of Object.entries(RULES) as [EndpointName, () => Promise<Rules>][]) {
    const rules = await read();
    if (written.has(rules)) continue;
    written.add(rules);
    const { method, path } = ENDPOINTS[name];
    const heading = `\n## ${method} ${path}\n\n`;
    const start = text.indexOf(heading) + heading.length;
    if (start < heading.length) throw new Error(`docs/compatibility.md has no section of ${path}.`);
    text = text.slice(0, start) + text.slice(start).replace(/^(\|.*\n)*/, () => table(name, rules));
  }
  return text;
}

function table(name: EndpointName, rules: Rules): string {
  const { enforced, passedOn = {}, ignored } = rules.fields;
  const rows = [
    ...toRows(allowedIn(enforced), 'enforced'),
    ...toRows(allowedIn(passedOn), 'passed on'),
    ...toRows({ ...allowedIn(ignored), ...mapped(UNREAD[name] ?? {}, () => 'anything') }, 'ignored'),
    ...toRows(rules.refused ?? {}, 'refused'),
  ];
  return ['| parameter | | allowed |', '|---|---|---|', ...rows, ''].join('\n');
}

/** Fields with the same value share a row. */
function toRows(fields: Record<string, string>, effect: string): string[] {
  const groups = new Map<string, string[]>();
  for (const [name, what] of Object.entries(fields)) groups.set(what, [...(groups.get(what) ?? []), name]);
  return [...groups].map(
    ([what, names]) => `| \`${names.join('`, `')}\` | ${effect} | ${what.replaceAll('|', String.raw`\|`)} |`,
  );
}

const mapped = <T>(record: Record<string, T>, map: (value: T, name: string) => string) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));

/** What a schema allows for each field. */
function allowedIn(shape: Shape): Record<string, string> {
  const { properties = {}, required = [] } = z.toJSONSchema(z.object(shape), {
    unrepresentable: 'any',
    io: 'input',
    // Objects of the body that are not copied.
    override({ zodSchema, jsonSchema }) {
      if (zodSchema._zod.def.type === 'custom') jsonSchema.type = 'object';
    },
  });
  return mapped(
    properties,
    (schema, name) => allowed(schema) + (required.includes(name) ? '; required' : ''),
  );
}

type JsonSchema = z.core.JSONSchema._JSONSchema;

const isNotNull = (schema: JsonSchema): boolean => typeof schema === 'boolean' || schema.type !== 'null';

/** A schema in a few words, without `null`; equal alternatives are listed once. */
function allowed(schema: JsonSchema): string {
  if (typeof schema === 'boolean') return 'anything';
  const { anyOf, oneOf, enum: values, const: constant } = schema;
  const type = [schema.type].flat().find((name) => name !== 'null');
  const alternatives = anyOf ?? oneOf;
  if (alternatives) {
    const words = alternatives.filter(isNotNull).map(allowed);
    return [...new Set(words)].join(', or ');
  }
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``;
  if (values) return values.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (type === 'number' || type === 'integer') return `${type}${range(schema.minimum, schema.maximum)}`;
  if (type === 'string') return schema.minLength ? 'string, not empty' : 'string';
  if (type === 'array') {
    const { items = true } = schema;
    const item = Array.isArray(items) ? 'anything' : allowed(items);
    return `array${range(schema.minItems, schema.maxItems)} of ${item}`;
  }
  if (type === 'object') {
    const kind = schema.properties?.['type'] ?? schema.properties?.['role'];
    const named = kind === undefined ? '' : ` (${allowed(kind)})`;
    return `object${named}`;
  }
  return type ?? 'anything';
}

function range(low: number | undefined, high: number | undefined): string {
  const most = high === undefined || high >= Number.MAX_SAFE_INTEGER ? null : high;
  const least = low === undefined || low <= Number.MIN_SAFE_INTEGER ? null : low;
  if (least !== null && most !== null) return ` (${least} to ${most})`;
  if (least !== null) return ` (at least ${least})`;
  return most === null ? '' : ` (at most ${most})`;
}
