import {
  type z,
  describe,
  invalidField,
  requestError,
  ServiceError,
  findExcess,
  abortable,
  placeOfFault,
  readJson,
  restoreExact,
  readStream,
  type Places,
} from '#base';
import { takeTurn } from '#browser';
import type { Exchange } from '../http/exchange.ts';
import { schemaError, WITH_RULES } from './schema-issues.ts';

/** Array elements and object members of one body: validation costs about a microsecond for each. */
const MAX_VALUES = 50_000;
/** Maximum choices of one request, over all of its prompts. */
export const MAX_CHOICES = 128;

const TOOL: Places = { parameters: true, function: { parameters: true } };
const TOOLS: Places = { '*': { ...TOOL, tools: { '*': TOOL } } };
const DATA: Places = { '*': { data: true } };

/** JSON Schemas, data and metadata in requests, which keep the texts of numbers and the order of names. */
const EXACT: Places = {
  tools: TOOLS,
  functions: { '*': { parameters: true } },
  response_format: { schema: true, value: true, json_schema: { schema: true } },
  guided_json: true,
  json_schema: true,
  structured_outputs: { json: true },
  text: { format: { schema: true } },
  input: { '*': { tools: TOOLS, content: DATA, output: DATA } },
  metadata: true,
  questions: { '*': { instructions: DATA } },
};

/** Reads a quoted name; null: no field of the API has such a name. */
function fieldName(quoted: Uint8Array): string | null {
  if (quoted.length > 64) return null;
  return /^"([a-z]\w*)"$/i.exec(new TextDecoder().decode(quoted))?.[1] ?? null;
}

function exceededBy(field: string | null, bound: string) {
  const rule = `${bound}. Send less in one request`;
  return field === null
    ? requestError(400, `The request body ${rule}.`, 'invalid_value')
    : invalidField(field, rule);
}

const LARGE_BODY_BYTES = 256 * 1024;

/** Size of 2,048 inputs of 512 tokens, the largest request that a model can answer. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/**
 * Limit for bodies whose `data:` URLs may hold images: an image of 20 MB takes 27 MB. The model's context
 * bounds the text.
 */
export const MAX_IMAGE_BODY_BYTES = 32 * 1024 * 1024;

/** Time limit for reading a body. An endless body would count as a request in flight forever. */
const MAX_BODY_MS = 120_000;

/** Limits of the body that an endpoint reads. */
interface BodyBounds {
  /** Allowed content types. A missing content type counts as the empty string. */
  types: RegExp;
  /** Rule for error messages: "must be JSON …". */
  typeRule: string;
  maxBytes: number;
  /** Advice in the error for a body that is too large. */
  remedy: string;
}

/** `fetch()` sends a text as text/plain, and bytes without a type. */
const JSON_TYPES = /^($|application\/([\w.-]+\+)?json\b|text\/plain\b)/i;

/** A body that is a JSON object: as text, and parsed. */
interface JsonBody {
  text: string;
  body: Record<string, unknown>;
}

/**
 * Reads the body as a JSON object.
 * @throws ServiceError 413 past `maxBytes`; 400 for another content type, and for a body that breaks off, is
 *   not UTF-8, not JSON or not an object, or has too many values
 */
export async function readJsonObject(
  exchange: Exchange,
  maxValues = MAX_VALUES,
  maxBytes = MAX_BODY_BYTES,
): Promise<JsonBody> {
  const typeRule = 'must be JSON with the content type application/json';
  const remedy = 'Send less in one request';
  const bytes = await readBytes(exchange, { types: JSON_TYPES, typeRule, maxBytes, remedy });
  // Each step of a large body takes as long as all of many requests.
  const nextStep = async () => bytes.length > LARGE_BODY_BYTES && takeTurn();
  await takeTurn();
  const text = decodeUtf8(bytes);
  await nextStep();
  if (text.trim() === '') throw requestError(400, 'The request body is empty. Send a JSON object.');
  const excess = findExcess(bytes, maxValues);
  if (excess) throw exceededBy(fieldName(excess.key), excess.rule);
  await nextStep();
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw requestError(400, `The request body must be a JSON object, not ${describe(value)}.`);
  const body = value as Record<string, unknown>;
  await nextStep();
  restoreExact(text, body, EXACT);
  exchange.trace.body(text, body);
  await nextStep();
  return { text, body };
}

/**
 * @throws ServiceError 400 for another content type, before anything is read; 413 past `maxBytes`; 400 for a
 *   body that breaks off; the signal's reason when aborted
 */
export async function readBytes(
  { request, abort }: Exchange,
  { types, typeRule, maxBytes, remedy }: BodyBounds,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signal } = abort;
  const type = request.headers.get('content-type') ?? '';
  if (!types.test(type.trim())) {
    const fault =
      type === '' ? 'has no content type' : `is of the type ${JSON.stringify(type.slice(0, 100))}`;
    throw requestError(400, `The request body ${fault}: it ${typeRule}.`);
  }
  const tooLarge = (): ServiceError =>
    requestError(413, `The request body is larger than ${maxBytes} bytes. ${remedy}.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge();
  const timer = setTimeout(() => abort.abort(brokeOff()), MAX_BODY_MS);
  return read(request, maxBytes, tooLarge, signal)
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : brokeOff();
    })
    .finally(() => clearTimeout(timer));
}

async function read(
  request: Request,
  maxBytes: number,
  tooLarge: () => ServiceError,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  // Some browsers lack `Request.body`: the size is known only after the whole body has been read.
  if (!request.body) {
    const bytes = new Uint8Array(await abortable(request.arrayBuffer(), signal));
    if (bytes.length > maxBytes) throw tooLarge();
    return bytes;
  }
  return readStream(request.body, maxBytes, tooLarge, signal);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw requestError(400, 'The request body is not UTF-8 text. Send JSON encoded as UTF-8, uncompressed.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { line, column } = placeOfFault(text);
    const message = `The request body is not valid JSON at line ${line}, column ${column}. Send a JSON object.`;
    throw requestError(400, message);
  }
}

/** Error for a body that broke off. Status 400, because clients retry a 500 and would send the same again. */
function brokeOff(): ServiceError {
  const message = `The request body broke off before it was complete, or took over ${MAX_BODY_MS / 1000} s.`;
  return requestError(400, message);
}

/** Rules for the body of a route. */
export interface BodyRules<Schema extends z.ZodMiniType> {
  schema: Schema;
  /** Fields that would change the reply and are not supported, and what to do instead. */
  refused?: Record<string, string>;
  /** Maximum array elements and object members. Default: `MAX_VALUES`. */
  maxValues?: number;
  /** Default: `MAX_BODY_BYTES`. */
  maxBytes?: number;
  /** Runs before the schema. @throws ServiceError 400 */
  precheck?(body: Record<string, unknown>): void;
}

/** @throws ServiceError 400 that names the field. */
export function parseBody<Schema extends z.ZodMiniType>(
  { schema, refused = {}, precheck }: BodyRules<Schema>,
  { text, body }: JsonBody,
): z.output<Schema> {
  for (const [param, reason] of Object.entries(refused)) {
    if (Object.hasOwn(body, param) && !isEmpty(body[param]))
      throw requestError(400, `\`${param}\` cannot be used here. ${reason}`, 'unsupported_value', param);
  }
  precheck?.(body);
  const parsed = schema.safeParse(body, WITH_RULES);
  if (!parsed.success) throw schemaError(parsed.error, readJson(text));
  return parsed.data;
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === false || value === '' || (Array.isArray(value) && value.length === 0);
