import type OpenAI from 'openai';
import * as z from 'zod/mini';
import { MAX_VALUES } from '../src/service/body/request-body.ts';
import type { chatRules } from '../src/service/chat/chat-schema.ts';
import type { completionRules } from '../src/service/completions/completion-schema.ts';
import type { embeddingsRules } from '../src/service/embeddings/embeddings-request.ts';
import { DEFAULT_LIMITS as LIMITS } from '../src/database/database.ts';
import { FORMATS } from '../src/grammar/formats.ts';
import type { ModelFacts } from '../src/protocol/model-facts.ts';
import type { responseRules } from '../src/service/responses/response-schema.ts';
import { ENDPOINTS, type EndpointName } from '../src/service/endpoints.ts';
import { RULES } from '../src/service/service.ts';

/** docs/compatibility.md, from the schemas and tables that decide. Not part of the service itself. */

type Shape = Record<string, z.ZodMiniType>;

interface Rules {
  fields: { enforced: Shape; passedOn?: Shape; accepted: Shape };
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

const INTRODUCTION = `# Compatibility

This page lists how the service handles each parameter of OpenAI's API. \`node scripts/compatibility.mjs\` writes it from the schemas; a test fails when it is stale.

- **enforced**: the service applies the parameter with every engine.
- **passed on**: the engine applies it. If the engine in use cannot, the answer is a 400 that names the parameter.
- **accepted**: no effect on the reply. Values of accepted fields, such as \`service_tier\`, are not validated.
- **refused**: a 400 that names the parameter, because ignoring it would change the meaning of the reply.

A value that is not allowed is a 400 that names the field. Fields that are not in these tables are ignored. \`null\` means the same as leaving an optional field out.

**Limits.**

| what | limit |
|---|---|
| a body | 8 MiB; 32 MiB for chat completions, responses and decisions, because of [images](capabilities.md#images) |
| values in a body (array elements and object members) | ${MAX_VALUES.toLocaleString('en')}; for embeddings, 300,000 token ids in addition |
| nesting | 200 levels |
| a prompt | 32 characters per token of the model's context |
| \`metadata\` | 16 members with keys of 64 and values of 512 characters |
| \`logit_bias\` | 1,024 members |
| [a key](keys.md#limits), by default | ${LIMITS.requestsPerMinute} requests and ${LIMITS.tokensPerMinute.toLocaleString('en')} tokens a minute, ${LIMITS.inFlight} requests in flight |

**Clients.** The tests run the OpenAI SDK 6 and 7, the AI SDK 6 and 7, LangChain and the OpenAI Agents SDK. Tested by hand in a page:
LlamaIndex 0.4 and Instructor 1.7 (needs zod 3).

- **Instructor**: use the modes \`TOOLS\`, \`FUNCTIONS\` and \`JSON_SCHEMA\`, which a grammar enforces.
- **Retries**: only OpenAI's SDKs read \`x-should-retry\`. Set LangChain's \`maxRetries\` to 1 (6 by default, which takes one to two minutes): an engine that stopped is loaded again at the
  first retry.
- **Chunks**: \`jade-mole-4\` accepts 512 tokens per text. Set LlamaIndex's \`Settings.chunkSize\` to 256, and LangChain's \`chunkSize\` to at most 1,000 characters.

**\`seed\` and temperature 0.** A request to the same weights and backend repeats its text if it runs alone and after the same requests. Other requests, at the same time or before, can change the text: they share
steps and parts of prompts, so numbers are added in another order and rounded differently. With four prompts of 30 tokens in turn, 8 of 8 repeats were equal; four at once, 8 of 12. \`system_fingerprint\` names weights
and backend.
`;

/** The type ensures that no field is missing. */
const MODEL_FIELDS: Record<keyof Required<ModelFacts>, string> = {
  context_length: 'tokens of prompt and reply together',
  max_output_tokens:
    'maximum tokens of a reply: the rest of `context_length` after the prompt. Chat models only',
  capabilities:
    'array of `chat`, `completions`, `embeddings`, `rerank`, `decisions`, `transcription`, `speech`, `tools`, `json_schema`, `logprobs`, `reasoning`, `vision`: what is known to work. `reasoning`, and `vision` of the browser’s own model, are known once the model is loaded. For a server, only the kind is known',
  size_bytes:
    'bytes of all weights in the storage; absent for a server, and while only the hub knows the size',
  loaded: 'whether the model is in the memory of this device; absent for a server',
};

function modelsSection(): string {
  const rows = Object.entries(MODEL_FIELDS).map(([name, what]) => `| \`${name}\` | ${what} |`);
  return [
    '## GET /v1/models, GET /v1/models/{id}',
    '',
    'In addition to OpenAI’s `id`, `object`, `created` and `owned_by`, a model has the fields below. They describe the variant that would',
    'answer on this device: its weights, or its server. Unknown facts are absent: until the first page of the site has chosen the',
    'variants, `capabilities` has only the model’s kind. Reading the fields starts no engine and fetches nothing.',
    '`GET /v1/models/{id}` also has `localtext`: the variant, and why it was chosen.',
    '',
    '| field | meaning |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

export async function compatibilityDocument(): Promise<string> {
  const sections = new Map<unknown, string>();
  for (const [name, read] of Object.entries(RULES) as [EndpointName, () => Promise<Rules>][]) {
    const rules = await read();
    if (!sections.has(rules)) sections.set(rules, section(name, rules));
  }
  return [
    INTRODUCTION,
    modelsSection(),
    ...sections.values(),
    TOOLS,
    COMPLETIONS,
    RERANKING,
    SCHEMAS,
    STORED,
    HEADERS,
    SPEECH,
  ].join('\n');
}

const TOOLS = `## Tools

The model calls functions, and the client runs them.

- **\`custom\` tools** take one text. A \`format\` with the syntax \`regex\` is enforced; \`lark\` is a 400. **Namespaces** of functions and custom tools are called by \`namespace.name\` in the prompt.
- **Other tool types** (\`web_search\`, \`mcp\`) cannot run here. They are left out, and the response header \`localtext-warning\` names them. A request is refused if no function is left, or if \`tool_choice\`
  requires another tool. A call of another type in the history is a 400.
- **Legacy** \`functions\`, \`function_call\` and messages of role \`function\` are translated: the answer has \`function_call\`, with one call at most.
- **\`finish_reason\`** is \`stop\` with a named function, as OpenAI's is, and \`tool_calls\` for other calls.
- A function with empty \`properties\` takes no arguments.
`;

const RERANKING = `## Reranking

\`POST /v1/reranking\` and \`/v1/v2/rerank\` are the same endpoint. Results are sorted by score; equal scores keep the order of the documents.

- **Models.** An embedding model scores a document by the cosine of its vector with the query's, and 0 at least. A [reranker in GGUF](models.md#rerankers-in-gguf) reads query and document together; its score is the
  model's own, as in llama.cpp: a logit for most models, a probability for Qwen3's.
- **Long documents** are cut at the end: to \`max_tokens_per_doc\` tokens, and to what the model's context holds. In GGUF models, a token of \`max_tokens_per_doc\` counts as four characters. A query that is too long is a 400.
- **Cost.** The key is charged for the tokens of all documents; a reranker reads the query once for each. Other requests to the model take turns with the documents: beside 1,000 of 40 tokens, an embedding of another tab took 0.06 s.
- **Clients**, tested by hand. With the site's origin as base URL: the CohereClient of cohere-ai 8.1.0, CohereRerank of @langchain/cohere 1.0.5 and of @llamaindex/cohere 0.0.4. With \`/v1\`: the CohereClientV2
  of cohere-ai, and Jina's requests. Through a bridge to a page: Haystack's CohereRanker 11.0.0, LlamaIndex's CohereRerank 0.10.0 and JinaRerank 0.6.0.
`;

const COMPLETIONS = `## Completions

- **Not supported**, each a 400: \`best_of\` above 1, token ids in \`prompt\`, \`echo\` with \`logprobs\`.
- **\`max_tokens\` 0** generates nothing and counts the prompt. An empty \`prompt\` begins with the model's first token.
- **Log probabilities** do not change the text. \`top_logprobs\` includes the token itself. The token that ends a reply has an entry too, with an empty text. A token with a part of a character is named by its bytes
  (\`bytes:\\xf0\\x9f\`; \`\\xf0\\x9f\` on the other endpoints, which have \`bytes\`), has the \`text_offset\` of that character, and comes with the token that completes it.
`;

const SCHEMAS = `## JSON schemas

Schemas of \`response_format\`, \`text.format\` and of tools' \`parameters\` (draft 2020-12) become grammars on the device, so replies always match the enforced keywords. With \`strict\`, a keyword that cannot be enforced is a
400 that names its place, and the rules of OpenAI's strict mode apply too. Without \`strict\` the keyword is left out, and \`localtext-warning\` names it. Upstream servers and the browser's own model get the schema
unchanged.

| keywords | effect |
|---|---|
| \`type\`, \`enum\`, \`const\` | enforced |
| \`$ref\`, \`$defs\`, \`definitions\` | enforced within the schema: recursion, percent-encoding, \`$anchor\` and relative \`$id\` included |
| \`allOf\`, \`anyOf\`, keywords beside them or beside \`$ref\` | enforced |
| \`oneOf\` | enforced; a member whose listed values tell the branches apart, such as \`kind\`, is always written |
| \`not\` | enforced where \`type\`, \`enum\`, \`const\`, \`pattern\`, bounds, \`required\`, \`properties\`, \`items\`, \`prefixItems\`, \`anyOf\`, \`allOf\`, \`not\` or \`$ref\` leave values |
| \`properties\`, \`required\`, \`additionalProperties\`, \`patternProperties\`, \`propertyNames\` | enforced. Members come in the schema's order; others follow only if \`additionalProperties\` allows them, or without \`properties\` |
| \`minProperties\`, \`maxProperties\` | enforced; \`minProperties\` up to one above the named members |
| \`dependentRequired\` | enforced |
| \`items\` (a list as in draft 7, too), \`additionalItems\`, \`prefixItems\`, \`minItems\`, \`maxItems\` | enforced; \`maxItems\` counts as 1,024 at most |
| \`uniqueItems\` | enforced for elements of an \`enum\`, which keep its order |
| \`minLength\`, \`maxLength\` | enforced; \`maxLength\` counts as 4,096 at most, and less with some patterns |
| \`pattern\` | enforced, except \`\\b\`, look-behind, back-references and look-ahead within repetitions |
| \`format\` | enforced: ${Object.keys(FORMATS)
  .map((format) => `\`${format}\``)
  .join(
    ', ',
  )} and their synonyms; for numbers \`int32\`, \`uint8\` and similar. Other formats need a \`pattern\` |
| \`minimum\`, \`maximum\`, \`exclusiveMinimum\`, \`exclusiveMaximum\`, \`multipleOf\` | enforced for numbers of up to 15 digits; \`multipleOf\` up to 10,000, not counting zeros at its end |
| \`if\`, \`then\`, \`else\`, \`dependentSchemas\`, \`contains\`, \`minContains\`, \`maxContains\`, \`unevaluatedItems\`, \`unevaluatedProperties\`, \`$dynamicRef\`, \`$recursiveRef\` | not enforced |
| \`title\`, \`description\`, \`default\`, \`examples\` and unknown keywords | no effect |
`;

const STORED = `## Stored responses

A response with \`store\` (the default) is kept for 30 days for its key, with its request. Above 10,000 responses or 64 million characters per key, the oldest are deleted. A response that does not fit has \`store: false\`. If
a streamed response fails or its client leaves, the received part is kept with the status \`failed\` or \`incomplete\`, so that the conversation can continue.

| request | answer |
|---|---|
| \`GET /v1/responses/{id}\` | the response; with \`?stream=true\` its events, each text in one piece, from the one after \`starting_after\` on |
| \`DELETE /v1/responses/{id}\` | \`{"id", "object": "response", "deleted": true}\` |
| \`GET /v1/responses/{id}/input_items\` | a page of the request's items: \`limit\` (1 to 100, 20 by default), \`order\` (\`desc\` by default), \`after\` (the id of an item) |

Later requests can refer to a response by \`previous_response_id\`, and to each item of its answer or request by \`{"type": "item_reference", "id": …}\`, where \`type\` is optional. An unknown \`previous_response_id\` is a 400, an unknown item a 404. The AI SDK's
default provider sends such references at every turn; for chats of more than 30 days, set \`providerOptions: { openai: { store: false } }\` or use \`openai.chat(id)\`.

\`POST /v1/responses/{id}/cancel\` and \`POST /v1/responses/compact\` are a 404: responses do not run in the background, and are not compacted.
`;

const HEADERS = `## Response headers

| header | sent with |
|---|---|
| \`x-request-id\` | every answer: the request's own \`x-request-id\`, or a new id |
| \`openai-processing-ms\` | every answer to a valid key: milliseconds until the headers |
| \`x-ratelimit-limit-requests\`, \`x-ratelimit-remaining-requests\`, \`x-ratelimit-reset-requests\`, and the same with \`-tokens\` | answers to requests that count against the key's limits |
| \`retry-after\`, \`retry-after-ms\` | 429, and temporary errors |
| \`x-should-retry: false\` | a 500 that would recur on a retry |
| \`localtext-served-by\` | replies: the variant that answered |
| \`localtext-warning\` | answers to requests with parts that were ignored |
| \`server-timing\` | replies: \`queue\`, \`prefill\`, \`decode\` or \`compute\`, and \`total\`, in milliseconds |
`;

const SPEECH = `## POST /v1/audio/transcriptions, POST /v1/audio/translations

These endpoints take forms with an audio file, on sites that add a speech model. [capabilities.md](capabilities.md#speech-to-text) lists the fields.
`;

function section(name: EndpointName, rules: Rules): string {
  const { method, path } = ENDPOINTS[name];
  const { enforced, passedOn = {}, accepted } = rules.fields;
  const rows = [
    ...toRows(allowedIn(enforced), 'enforced'),
    ...toRows(allowedIn(passedOn), 'passed on'),
    ...toRows({ ...allowedIn(accepted), ...mapped(UNREAD[name] ?? {}, () => 'anything') }, 'accepted'),
    ...toRows(rules.refused ?? {}, 'refused'),
  ];
  return [`## ${method} ${path}`, '', '| parameter | | allowed |', '|---|---|---|', ...rows, ''].join('\n');
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
