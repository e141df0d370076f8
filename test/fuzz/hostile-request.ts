import { SAMPLING } from '../../src/jobs/sampling.ts';
import { ALL_ENDPOINTS, documentedPath, SAMPLES } from '../../src/service/endpoints.ts';
import { Random } from '../chaos/random.ts';
import { hostileDecision } from './hostile-decision.ts';
import { hostileSchema } from './hostile-schemas.ts';
import { array, hostileValue, json, nested, poisoned, record, text, times } from './hostile-values.ts';

/** Made in the page that sends it: some are of megabytes. */
export interface HostileRequest {
  kind: string;
  method: string;
  path: string;
  /** `authorization` is the page's own key, unless it is given here. */
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | FormData | null;
}

const CHAT = '/v1/chat/completions';
const DECISIONS = '/v1/decisions';
const EMBEDDINGS = '/v1/embeddings';
/** Valid: one token, or one vector. Fields as JSON. */
const BASES = Object.fromEntries(
  SAMPLES.map(({ path, sample }) => [
    path,
    Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, JSON.stringify(value)])),
  ]),
);
const PATHS_WITH_BODY = Object.keys(BASES);
const STREAMING = new Set(SAMPLES.flatMap(({ path, streams }) => (streams ? [path] : [])));
/** What bounds the work: a value in their place that happens to be good would make it long. */
const KEPT = new Set(['max_tokens', 'max_output_tokens', 'n']);
const FIELDS = [
  ...Object.values(SAMPLING).map(({ name }) => name),
  ...'stop stream stream_options logprobs top_logprobs reasoning_effort chat_template_kwargs reasoning response_format tools tool_choice parallel_tool_calls metadata modalities user functions audio store messages model input questions prompt suffix include instructions previous_response_id text truncation encoding_format dimensions echo __proto__ constructor no_such_field'.split(
    ' ',
  ),
  '',
];
const PATHS = [
  ...ALL_ENDPOINTS.map(([, { path }]) => documentedPath(path).replace('{id}', 'x')),

  '/v1',
  '/v1/',
  '/v1/models/',
  '/v1/models/amber-phoenix-4',
  '/v1/models/%',
  '/v1/models/%2e%2e',

  `/v1/models/${'a'.repeat(100_000)}`,
  `/v1/responses/${'%2f'.repeat(30_000)}`,
  '/v1/models/__proto__',
  '/v1/responses/resp_1',
  '/v1/responses/%00',
  '/v1//models',

  '/v1/no/such/path',
  `/v1/${'a'.repeat(5000)}`,
  '/v1/chat/completions/',
  '/v1/models?limit=1e999&order=__proto__',

  '/localtext/status',
  '/localtext/keep-alive',
  '/localtext/weights',
  '/localtext/load',
  '/localtext/none',
  '/localtext/load?model=none',
  '/localtext/weights?import=..%2f..%2fa',
  '/localtext/load?model=%00',
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'get'];
const TYPES = [
  'application/json',
  'text/plain',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
  'a',
  '*/*',
];
/** Commands on names that do not exist: what is imported or deleted would be missing in the rest of the run. */
const COMMANDS = [
  '{"type":"list"}',
  '{"type":"delete","target":"none"}',
  '{"type":"pause","target":"none"}',
  '{}',
  '[]',
];

/** Bytes; the service takes half as many. Chromium itself holds up other tabs for 4 s while it passes on 188 MB. */
const MAX_BODY = 16 * 2 ** 20;

/** Characters of a tool whose prompt is computed within seconds, and of one that is refused by its length. */
const MAX_TOOL = 4000;
const MIN_REFUSED_TOOL = 300_000;

const post = (kind: string, path: string, body: string | Uint8Array<ArrayBuffer>): HostileRequest => ({
  kind,
  method: 'POST',
  path,
  headers: {},
  body: body.slice(0, MAX_BODY),
});
const baseOf = (path: string): Record<string, string> => BASES[path] ?? {};

const KINDS: Record<string, { weight: number; make(random: Random, kind: string): HostileRequest }> = {
  valid: {
    weight: 3,
    make(random, kind) {
      const path = random.pick(PATHS_WITH_BODY);
      const stream = STREAMING.has(path) && random.below(2) === 0;
      return post(kind, path, json({ ...baseOf(path), ...(stream ? { stream: 'true' } : {}) }));
    },
  },
  'path and method': {
    weight: 22,
    make(random, kind) {
      const method = random.pick(METHODS);
      const bodiless = ['GET', 'HEAD', 'get'].includes(method);
      return {
        kind,
        method,
        path: random.pick(PATHS),
        headers:
          random.below(2) === 0 ? {} : { 'localtext-protocol': random.pick(['1', '2', '3', '4', 'x']) },
        body: bodiless ? null : random.pick(COMMANDS),
      };
    },
  },
  'broken body': {
    weight: 18,
    make(random, kind) {
      const path = random.pick(PATHS_WITH_BODY);
      const whole = json(baseOf(path));
      const cut = whole.slice(0, random.below(whole.length));
      const bytes = Uint8Array.from({ length: 1 + random.below(200) }, () => random.below(256));
      const wide = Uint8Array.from([0xff, 0xfe, ...[...whole].flatMap((each) => [each.charCodeAt(0), 0])]);
      const others = [
        '',
        ' ',
        'null',
        '1',
        '"a"',
        '[]',
        '{}',
        `${whole}${whole}`,
        `\u{FEFF}${whole}x`,
        'NaN',
        '{"a":1,}',
      ];
      return post(kind, path, random.pick<string | Uint8Array<ArrayBuffer>>([cut, bytes, wide, ...others]));
    },
  },
  'one field': {
    weight: 32,
    make(random, kind) {
      // Where the field is one that is not read, the request is good: vectors are sooner there than tokens.
      const path = random.pick([...PATHS_WITH_BODY, EMBEDDINGS, EMBEDDINGS]);
      const base = baseOf(path);
      const name = random.pick([...FIELDS, ...Object.keys(base).filter((field) => !KEPT.has(field))]);
      return post(`${kind} ${name}`, path, json({ ...base, [name]: hostileValue(random) }));
    },
  },
  'in a message': {
    weight: 6,
    make(random, kind) {
      const role = random.pick(['user', 'assistant', 'tool', 'system', 'developer', 'x']);
      const field = random.pick(['content', 'tool_calls', 'name', 'tool_call_id', '__proto__']);
      const message = `{"role":"${role}","content":"Hi","${field}":${hostileValue(random)}}`;
      const messages = `[${times(message.length < 500 ? message : '{"role":"user","content":"Hi"}', 1 + random.below(3))},${message}]`;
      return post(kind, CHAT, json({ ...baseOf(CHAT), messages }));
    },
  },
  structure: {
    weight: 5,
    make(random, kind) {
      const make = random.pick([array, record, nested, (from: Random) => poisoned(from, nested(from))]);
      return post(kind, random.pick(PATHS_WITH_BODY), make(random));
    },
  },
  schema: {
    weight: 4,
    make(random, kind) {
      const schema = JSON.stringify(hostileSchema(random));
      const format = `{"type":"json_schema","json_schema":{"name":"a","strict":${random.below(2) === 0},"schema":${schema}}}`;
      return post(kind, CHAT, json({ ...baseOf(CHAT), response_format: format }));
    },
  },
  tools: {
    weight: 3,
    make(random, kind) {
      const tool = (): string => {
        const name = random.below(4) === 0 ? text(random) : '"f"';
        return `{"type":"function","function":{"name":${name},"parameters":${JSON.stringify(hostileSchema(random, true))}}}`;
      };
      let one = tool();
      while (one.length > MAX_TOOL && one.length < MIN_REFUSED_TOOL) one = tool();
      const count = random.pick([1, 2, 129]);
      const tools = `[${times(one, one.length < 500_000 ? count : 1)}]`;
      const choice = random.pick([
        '"auto"',
        '"required"',
        '{"type":"function","function":{"name":"f"}}',
        '{"type":"x"}',
      ]);
      return post(kind, CHAT, json({ ...baseOf(CHAT), tools, tool_choice: choice }));
    },
  },
  decision: {
    weight: 4,
    make(random) {
      const { kind, body } = hostileDecision(random);
      return post(kind, DECISIONS, body);
    },
  },
  'long prompt': {
    weight: 2,
    make(random, kind) {
      // None that fits: it would be computed.
      const long = JSON.stringify(
        random.pick(['word ', 'a b ', '\n1', '好']).repeat(random.pick([40_000, 400_000, 1_500_000])),
      );
      const path = random.pick(PATHS_WITH_BODY);
      const field = { messages: `[{"role":"user","content":${long}}]`, prompt: long, input: long };
      const base = baseOf(path);
      return post(
        kind,
        path,
        json(Object.fromEntries(Object.entries({ ...base, ...field }).filter(([name]) => name in base))),
      );
    },
  },
  headers: {
    weight: 6,
    make(random, kind) {
      // Most are good in all but a header: a vector is sooner there than a token.
      const path = EMBEDDINGS;
      const authorization = random.pick([
        '',
        'Bearer',
        'Bearer lt_x',
        `Bearer ${'a'.repeat(10_000)}`,
        'Basic YTpi',
        'bearer  é',
      ]);
      const header = random.pick(['authorization', 'content-type', 'x-request-id', 'accept', 'range']);
      const value = random.pick(['', 'a'.repeat(5000), 'é', '*/*;q=0.1', 'bytes=5-1', '__proto__', ...TYPES]);
      const headers = header === 'authorization' ? { authorization } : { [header]: value };
      return { ...post(kind, path, json(baseOf(path))), headers };
    },
  },
};

const WEIGHT = Object.values(KINDS).reduce((sum, { weight }) => sum + weight, 0);

/** The same for the same seed and index, whatever came before. @param only of this kind */
export function hostileRequest(seed: number, index: number, only?: string): HostileRequest {
  const random = new Random(Math.imul(seed, 0x9e3779b1) + Math.imul(index, 0x85ebca6b));
  if (only !== undefined && KINDS[only]) return KINDS[only].make(random, only);
  let at = random.below(WEIGHT);
  for (const [kind, { weight, make }] of Object.entries(KINDS)) {
    if (at < weight) return make(random, kind);
    at -= weight;
  }
  throw new Error('weights do not add up');
}
