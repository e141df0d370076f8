import type OpenAI from 'openai';
import * as z from 'zod/mini';
import { MAX_VALUES } from '../src/api/body/request-body.ts';
import { chatRules } from '../src/api/chat/chat-schema.ts';
import { completionRules } from '../src/api/completions/completion-schema.ts';
import { decisionRules } from '../src/api/decisions/decision-schema.ts';
import { embeddingsRules } from '../src/api/embeddings/embeddings-request.ts';
import { DEFAULT_LIMITS as LIMITS } from '../src/database/database.ts';
import { FORMATS } from '../src/grammar/formats.ts';
import type { ModelFacts } from '../src/protocol/model-facts.ts';
import { responseRules } from '../src/api/responses/response-schema.ts';

/** docs/compatibility.md, from the schemas and tables that decide. Not part of the service itself. */

type Shape = Record<string, z.ZodMiniType>;

interface Rules {
  fields: { enforced: Shape; passedOn?: Shape; accepted: Shape };
  refused?: Record<string, string>;
}

interface Endpoint {
  path: string;
  rules: Rules;
  /** Fields of OpenAI's client that no schema names. */
  unread: Record<string, true>;
}

/** What is left of the client's parameters: its types tell when one is missing here, or is here for nothing. */
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

const ENDPOINTS: Endpoint[] = [
  {
    path: 'POST /v1/chat/completions',
    rules: chatRules,
    unread: chatUnread,
  },
  {
    path: 'POST /v1/responses',
    rules: responseRules,
    unread: responseUnread,
  },
  {
    path: 'POST /v1/completions',
    rules: completionRules,
    unread: completionUnread,
  },
  {
    path: 'POST /v1/embeddings',
    rules: embeddingsRules,
    unread: embeddingsUnread,
  },
  {
    path: 'POST /v1/decisions',
    rules: decisionRules,
    unread: {},
  },
];

const INTRODUCTION = `# Compatibility

What the service does with each parameter of OpenAI's. Written by \`node scripts/compatibility.mjs\` from the schemas that
decide; a test fails when it is stale.

- **enforced**: the service sees to it, whatever the engine.
- **passed on**: the engine does it. What the engine in charge cannot do is a 400 that names the parameter.
- **accepted**: no effect on the reply. Values of accepted fields, such as \`service_tier\`, are not validated.
- **refused**: a 400 that names the parameter, as ignoring it would change what the reply means.

Fields that are not in these tables are ignored. \`null\` means the same as leaving an optional field out. Where a value is not allowed, the answer is a 400 that names the field.

A body may have 8 MiB (of chat completions, responses and decisions, for [images](images.md), 32 MiB), ${MAX_VALUES.toLocaleString('en')} values (array elements and object members; embeddings: 300,000 token ids besides) and 200 levels of
nesting. A prompt may have 32 characters for each token of the model's context. \`metadata\` may have 16 members with keys of 64 and values of 512 characters, \`logit_bias\` 1,024 members.
A key may send ${LIMITS.requestsPerMinute} requests and ${LIMITS.tokensPerMinute.toLocaleString('en')} tokens a minute, and have ${LIMITS.inFlight} requests in flight, unless it was issued with other limits. These limits cover generation, token counts, transcriptions and decisions. Embeddings, lists and stored responses are not limited.

**Clients.** The tests run the OpenAI SDK 6 and 7, the AI SDK 6 and 7 (its default provider; of 6 also the one for compatible servers), LangChain and the OpenAI Agents SDK. Tried by hand in a page, each with \`dangerouslyAllowBrowser\`:
LlamaIndex (\`@llamaindex/openai\` 0.4: chat, stream, embeddings) and Instructor (\`@instructor-ai/instructor\` 1.7, which needs zod 3). In Instructor's modes
\`TOOLS\`, \`FUNCTIONS\` and \`JSON_SCHEMA\` a grammar holds the reply to the schema. \`JSON\` and \`MD_JSON\` send no schema that could be enforced. Programs outside the browser cannot call a page; promptfoo 0.123 evaluated prompts where a test handed its requests to one.

- Only OpenAI's SDKs read \`x-should-retry\`. LangChain repeats an error with status 500 six times by default, which takes one to two minutes, and the AI SDK twice.
  Set \`maxRetries\` to 1: an engine that stopped is loaded again at the first retry.
- The embedding model \`jade-mole-4\` takes 512 tokens a text, and LlamaIndex splits texts into chunks of 1,024 by default: set \`Settings.chunkSize\` to 256.
  With LangChain's splitters, use a \`chunkSize\` of at most 1,000 characters.

**\`seed\` and temperature 0.** The same request to the same weights and backend repeats its text where it runs alone and after the same requests. It may
differ where others run at the same time, or ran before: replies are computed together, and parts of a prompt are taken from earlier ones,
so numbers are added in another order and rounded differently. Where two tokens are almost equally likely, the text then goes another way.
Measured with four prompts of 30 tokens: in turn 8 of 8 repeats were equal, four at once 8 of 12. \`system_fingerprint\` names weights and backend.
`;

/** Meaning and origin of each name. The type ensures that no field is missing. */
const MODEL_FIELDS: Record<keyof Required<ModelFacts>, [what: string, origin: string]> = {
  context_length: [
    'tokens of prompt and reply together',
    'OpenRouter, and LM Studio for a loaded model. vLLM: `max_model_len`; LM Studio: `max_context_length`; llama.cpp: `meta.n_ctx_train`',
  ],
  max_output_tokens: [
    'tokens of a reply, at most: what the prompt leaves of `context_length`. Chat models only',
    'OpenAI’s parameter of `/v1/responses`; LiteLLM',
  ],
  capabilities: [
    'array of `chat`, `completions`, `embeddings`, `decisions`, `transcription`, `tools`, `json_schema`, `logprobs`, `reasoning`, `vision`: what is known to work. `reasoning`, and `vision` of the browser’s own model, are known once the model is loaded. Of a server, only the kind is known',
    'an array of names in llama.cpp, Ollama and LM Studio (`/api/v0`); the words differ',
  ],
  size_bytes: [
    'bytes of all weights in the storage; absent for a server, and while only the hub knows',
    'LM Studio. llama.cpp: `meta.size`',
  ],
  loaded: [
    'whether the model is in the memory of this device; absent for a server',
    'localtext. LM Studio: `state`, `loaded_instances`; llama.cpp: `status.value`',
  ],
};

function modelsSection(): string {
  const rows = Object.entries(MODEL_FIELDS).map(
    ([name, [what, origin]]) => `| \`${name}\` | ${what} | ${origin} |`,
  );
  return [
    '## GET /v1/models, GET /v1/models/{id}',
    '',
    'Beside OpenAI’s `id`, `object`, `created` and `owned_by`, a model has these fields. They describe the variant that would',
    'answer here: its weights on this device, or its server. A fact that is not known is absent: before the first page of the site',
    'has chosen the variants, a model has only its kind in `capabilities`. Reading them starts no engine and fetches nothing.',
    '`GET /v1/models/{id}` also has `localtext`: the variant, and why it was chosen.',
    '',
    '| field | what it is | whose name |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

export function compatibilityDocument(): string {
  return [
    INTRODUCTION,
    modelsSection(),
    ...ENDPOINTS.map(section),
    TOOLS,
    COMPLETIONS,
    SCHEMAS,
    STORED,
    HEADERS,
    SPEECH,
  ].join('\n');
}

const TOOLS = `## Tools

Functions are called by the model, and run by the client. Tools of other types (\`custom\`, \`web_search\`, \`mcp\`) cannot run here. They are left out, and
the response header \`localtext-warning\` names them; a request is refused if no function is left, or if \`tool_choice\` requires another tool.
Legacy \`functions\`, \`function_call\` and messages of role \`function\` are translated: the answer has \`function_call\`, and one call at most.
A history may have calls of functions only: one of another type is a 400. With a named function, the \`finish_reason\` is \`stop\`, as OpenAI's is; other calls have \`tool_calls\`. A function with empty \`properties\` takes no arguments.
`;

const COMPLETIONS = `## Completions

\`best_of\` generates as many choices and returns the \`n\` with the highest log probability a token; not with \`stream\`. \`max_tokens\` 0 generates nothing and
counts the prompt. An empty \`prompt\` begins with the model's first token. \`echo\` with \`logprobs\` scores the prompt,
and so does \`echo\` of token ids: llama.cpp generates the prompt token by token under a grammar, as slowly as a reply. Text is then split as the
model splits it, which may differ from its tokenizer; token ids are scored as they are. The models of web-llm and of servers do not score prompts, and web-llm
takes no token ids.
Log probabilities change no text. A token that holds part of a character is named by its bytes (\`bytes:\\xf0\\x9f\`; \`\\xf0\\x9f\` on the other endpoints,
which have \`bytes\`), has the \`text_offset\` of that character, and comes with the token that completes it. \`top_logprobs\` includes the token itself.
The token that ends a reply has an entry, too, with an empty text.
`;

const SCHEMAS = `## JSON schemas

Schemas of \`response_format\`, \`text.format\` and of tools' \`parameters\` become grammars on the device, so replies cannot break these keywords
(draft 2020-12). With \`strict\`, what cannot be enforced is a 400 that names the place; the rules of OpenAI's strict mode hold, too. Without it, such a keyword
is left out, and \`localtext-warning\` names it. Upstream servers and the browser's own model get the schema as it is.

| keywords | |
|---|---|
| \`type\`, \`enum\`, \`const\` | enforced |
| \`$ref\`, \`$defs\`, \`definitions\` | enforced within the schema: recursion, percent-encoding, \`$anchor\` and relative \`$id\` included |
| \`$dynamicRef\`, \`$recursiveRef\` | enforced where one place has the anchor |
| \`allOf\`, \`anyOf\`, keywords beside them or beside \`$ref\` | enforced |
| \`oneOf\` | enforced, where branches that overlap can be negated |
| \`not\`, \`if\`, \`then\`, \`else\` | enforced for schemas of \`type\`, \`enum\`, \`const\`, \`pattern\`, bounds, \`required\`, \`properties\`, \`items\`, \`anyOf\`, \`allOf\`, \`not\`, \`$ref\` |
| \`properties\`, \`required\`, \`additionalProperties\`, \`patternProperties\`, \`propertyNames\` | enforced. Members come in their order; others follow only where \`additionalProperties\` or no \`properties\` allow them |
| \`minProperties\`, \`maxProperties\` | enforced; the former up to one above the named members |
| \`dependentRequired\`, \`dependentSchemas\`, \`unevaluatedProperties\`, \`unevaluatedItems\` | enforced |
| \`items\` (a list as in draft 7, too), \`additionalItems\`, \`prefixItems\`, \`minItems\`, \`maxItems\`, \`contains\`, \`minContains\` | enforced; \`maxItems\` as 1,024 at most |
| \`uniqueItems\` | enforced for elements of an \`enum\`, which keep its order |
| \`minLength\`, \`maxLength\` | enforced; the latter as 4,096 at most, and less with some patterns |
| \`pattern\` | enforced, but for \`\\b\`, look-behind, back-references and look-ahead within repetitions |
| \`format\` | enforced: ${Object.keys(FORMATS)
  .map((format) => `\`${format}\``)
  .join(
    ', ',
  )} and their synonyms; of numbers \`int32\`, \`uint8\` and the like. Another one must have a \`pattern\` |
| \`minimum\`, \`maximum\`, \`exclusiveMinimum\`, \`exclusiveMaximum\`, \`multipleOf\` | enforced for numbers of up to 15 digits; \`multipleOf\` up to 10,000, zeros at its end aside |
| \`maxContains\` | cannot be enforced |
| \`title\`, \`description\`, \`default\`, \`examples\` and unknown keywords | no effect |
`;

const STORED = `## Stored responses

A response with \`store\` (the default) is kept for 30 days for its key, and so is its request. Of more than 10,000 responses or 64 million characters of one key, the oldest are deleted. One that does not fit has \`store: false\`.
A streamed response that fails, or whose client leaves, is kept as far as it came, with the status \`failed\` or \`incomplete\`: a stop does not end a conversation.

| request | answer |
|---|---|
| \`GET /v1/responses/{id}\` | the response; with \`?stream=true\` its events, each text in one piece, from the one after \`starting_after\` on |
| \`DELETE /v1/responses/{id}\` | \`{"id", "object": "response", "deleted": true}\` |
| \`GET /v1/responses/{id}/input_items\` | a page of its request's items: \`limit\` (1 to 100, 20 by default), \`order\` (\`desc\` by default), \`after\` (the id of an item) |

The next request may refer to it by \`previous_response_id\`, and to each of its items, of the answer or of the request, by
\`{"type": "item_reference", "id": …}\`, where \`type\` may be absent. An unknown id is a 404. The AI SDK's default provider sends such references
at every turn. An app that keeps its chats longer than responses are kept sets \`providerOptions: { openai: { store: false } }\`, or uses
\`openai.chat(id)\`: both send the whole conversation.
\`POST /v1/responses/{id}/cancel\` and \`POST /v1/responses/compact\` are a 404: no response runs in the background, and none is compacted.
`;

const HEADERS = `## Response headers

| header | sent with |
|---|---|
| \`x-request-id\` | every answer: the request's own \`x-request-id\`, or a new id |
| \`openai-processing-ms\` | every answer to a valid key: milliseconds until the headers |
| \`x-ratelimit-limit-requests\`, \`x-ratelimit-remaining-requests\`, \`x-ratelimit-reset-requests\`, and the same with \`-tokens\` | answers to requests that count against the key's limits |
| \`retry-after\`, \`retry-after-ms\` | 429, and errors that pass once some time has passed |
| \`x-should-retry: false\` | a 500 that a retry would meet again |
| \`localtext-served-by\` | replies: the variant that answers |
| \`localtext-warning\` | answers to requests of which parts were not followed |
| \`server-timing\` | replies: \`queue\`, \`prefill\`, \`decode\` or \`compute\`, and \`total\`, in milliseconds |
`;

const SPEECH = `## POST /v1/audio/transcriptions, POST /v1/audio/translations

Forms with a file of sound, for sites that add a speech model. Their fields are in [speech.md](speech.md#requests).
`;

function section({ path, rules, unread }: Endpoint): string {
  const { enforced, passedOn = {}, accepted } = rules.fields;
  const rows = [
    ...shapeRows(enforced, 'enforced'),
    ...shapeRows(passedOn, 'passed on'),
    ...shapeRows(accepted, 'accepted'),
    ...Object.keys(unread).map((name) => row(name, 'accepted', 'anything')),
    ...refusedRows(rules.refused ?? {}),
  ];
  return [`## ${path}`, '', '| parameter | | allowed |', '|---|---|---|', ...rows, ''].join('\n');
}

/** Fields that are refused for the same reason share a row. */
function refusedRows(refused: Record<string, string>): string[] {
  const names = new Map<string, string[]>();
  for (const [name, reason] of Object.entries(refused))
    names.set(reason, [...(names.get(reason) ?? []), name]);
  return [...names].map(([reason, those]) => row(those.join('`, `'), 'refused', reason));
}

function shapeRows(shape: Shape, effect: string): string[] {
  const { properties = {}, required = [] } = z.toJSONSchema(z.object(shape), {
    unrepresentable: 'any',
    io: 'input',
  });
  return Object.entries(properties).map(([name, schema]) =>
    row(name, effect, `${allowed(schema)}${required.includes(name) ? '; required' : ''}`),
  );
}

const row = (name: string, effect: string, what: string): string =>
  `| \`${name}\` | ${effect} | ${what.replaceAll('|', String.raw`\|`)} |`;

type JsonSchema = z.core.JSONSchema._JSONSchema;

const isNotNull = (schema: JsonSchema): boolean => typeof schema === 'boolean' || schema.type !== 'null';

/** A schema in a few words, without `null`: alternatives of the same words are told once. */
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
