import type { Call } from './call.ts';
import { invalidRequest, ServiceError } from './service-error.ts';

/** Most bytes of a request body: more than any context holds, and little enough to be read at once. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * The body as a JSON object. Whatever content type it claims is not asked: clients that forget it are served.
 * @throws ServiceError 413 past MAX_BODY_BYTES; 400 for what is not UTF-8, not JSON or not an object.
 */
export async function readJsonObject({ request, trace }: Call): Promise<Record<string, unknown>> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const text = decodeUtf8(await readBytes(request));
  if (text.trim() === '') {
    throw invalidRequest(null, 'The request body is empty. Send a JSON object.');
  }
  const value = parseJson(text, request.headers.get('content-type'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const given = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;
    throw invalidRequest(null, `The request body must be a JSON object, not ${given}.`);
  }
  const body = value as Record<string, unknown>;
  trace?.body(text, body);
  return body;
}

async function readBytes(request: Request): Promise<Uint8Array[]> {
  // Some browsers have no `Request.body`: there the size is known once all has been read.
  if (!request.body) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > MAX_BODY_BYTES) throw tooLarge();
    return [bytes];
  }
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks;
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      void reader.cancel().catch(() => {});
      throw tooLarge();
    }
    chunks.push(value);
  }
}

function decodeUtf8(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
  } catch {
    throw invalidRequest(
      null,
      'The request body is not UTF-8 text. Send JSON encoded as UTF-8, uncompressed.',
    );
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
    throw invalidRequest(null, `The request body is not valid JSON.${hint} Send a JSON object.`);
  }
}

function tooLarge(): ServiceError {
  return new ServiceError({
    status: 413,
    type: 'invalid_request_error',
    code: null,
    param: null,
    message: `The request body is larger than ${MAX_BODY_BYTES} bytes. Send less text in one request.`,
  });
}
