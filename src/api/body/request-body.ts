import { checkBodyBounds, MAX_VALUES } from './body-bounds.ts';
import type { Call } from '../http/call.ts';
import { requestError, ServiceError } from '../service-error.ts';

/** What 2,048 inputs of 512 tokens take, the largest request that a model can answer. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * The body as a JSON object. The content type is not checked, for clients that omit it.
 * @throws ServiceError 413 past MAX_BODY_BYTES; 400 for what breaks off, is not UTF-8, not JSON, not an object, or of too
 * many values.
 */
export async function readJsonObject(
  { request, trace }: Call,
  maxValues = MAX_VALUES,
): Promise<Record<string, unknown>> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const bytes = await readBytes(request).catch((error: unknown) => {
    throw error instanceof ServiceError ? error : brokeOff();
  });
  const text = decodeUtf8(bytes);
  if (text.trim() === '') {
    throw requestError(400, 'The request body is empty. Send a JSON object.');
  }
  checkBodyBounds(bytes, maxValues);
  const value = parseJson(text, request.headers.get('content-type'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const given = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;
    throw requestError(400, `The request body must be a JSON object, not ${given}.`);
  }
  const body = value as Record<string, unknown>;
  trace?.body(text, body);
  return body;
}

async function readBytes(request: Request): Promise<Uint8Array> {
  // Some browsers have no `Request.body`: there the size is known once all has been read.
  if (!request.body) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > MAX_BODY_BYTES) throw tooLarge();
    return bytes;
  }
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks, length);
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      void reader.cancel().catch(() => {});
      throw tooLarge();
    }
    chunks.push(value);
  }
}

function joined(chunks: Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw requestError(400, 'The request body is not UTF-8 text. Send JSON encoded as UTF-8, uncompressed.');
  }
}

function parseJson(text: string, contentType: string | null): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const hint =
      contentType && !/json|text\/plain/i.test(contentType)
        ? ' Its content type is not application/json either.'
        : '';
    throw requestError(400, `The request body is not valid JSON.${hint} Send a JSON object.`);
  }
}

/** No server failed: a client that repeats a 500 would send the same again. */
const brokeOff = (): ServiceError =>
  requestError(400, 'The request body ended before it was complete. Send the whole body.');

const tooLarge = (): ServiceError =>
  requestError(
    413,
    `The request body is larger than ${MAX_BODY_BYTES} bytes. Send less text in one request.`,
  );
