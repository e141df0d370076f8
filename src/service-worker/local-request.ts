import { protocolMismatch } from '../connection/engine-connection.ts';
import {
  KEEP_ALIVE_PATH,
  LOAD_PATH,
  MAX_NAME_LENGTH,
  PROTOCOL_HEADER,
  STATUS_PATH,
  WEIGHTS_PATH,
} from '../protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { WeightsCommand } from '../protocol/weights-command.ts';
import { invalidField, requestError, ServiceError } from '../api/service-error.ts';

/** Each of the page library's paths, with the one method that it answers. */
const METHODS: ReadonlyMap<string, string> = new Map([
  [KEEP_ALIVE_PATH, 'GET'],
  [LOAD_PATH, 'POST'],
  [STATUS_PATH, 'GET'],
  [WEIGHTS_PATH, 'POST'],
]);

const MAX_COMMAND_BYTES = 64 * 1024;

export const isLocalPath = ({ pathname }: URL): boolean => METHODS.has(pathname);

/**
 * Other sites can navigate here and post forms here with any method, body and form content type. They cannot set a
 * header. `<img>` and the like of this site's own pages cannot either.
 * @throws ServiceError 403, 405, or 400 `protocol_mismatch`, for what the page library did not send
 */
export function requirePageLibrary(request: Request): void {
  const { pathname } = new URL(request.url);
  const version = request.headers.get(PROTOCOL_HEADER);
  if (request.mode === 'navigate' || request.destination !== '' || version === null) {
    throw requestError(
      403,
      `${pathname} answers only the localtext page library. Use the handle of start().`,
    );
  }
  const allow = METHODS.get(pathname) ?? '';
  if (request.method !== allow) {
    const message = `${request.method} is not possible at ${pathname}. Use ${allow}.`;
    throw requestError(405, message, null, null, { allow });
  }
  if (version !== String(PROTOCOL_VERSION)) {
    throw new ServiceError({ ...protocolMismatch().wire, status: 400 });
  }
}

/** The value of a query parameter that names a model or a file. @throws ServiceError 400 */
export function readName(url: URL, param: string): string {
  const name = url.searchParams.get(param) ?? '';
  if (name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw invalidField(param, `must have 1 to ${MAX_NAME_LENGTH} characters`);
}

/** @throws ServiceError 400, 413, 415 */
export async function readWeightsCommand(request: Request): Promise<WeightsCommand> {
  const url = new URL(request.url);
  if (url.searchParams.has('import')) {
    requireType(request, 'application/octet-stream');
    return { type: 'import', name: readName(url, 'import'), blob: await request.blob() };
  }
  requireType(request, 'application/json');
  const body = new Response(await readShort(request));
  const { commandSchema } = await import('../protocol/weights-command.ts');
  const parsed = commandSchema.safeParse(await body.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  throw requestError(
    400,
    'The body must be one of the commands `list`, `delete`, `pause`, `resume`, `cancel`, `describe`, `hub`, `add`, `rename` and `remove`, with its fields.',
  );
}

function requireType(request: Request, type: string): void {
  const given = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (given !== type) throw requestError(415, `The content type must be ${type}.`);
}

async function readShort(request: Request): Promise<Blob> {
  const message = `The body is larger than ${MAX_COMMAND_BYTES} bytes.`;
  if (Number(request.headers.get('content-length')) > MAX_COMMAND_BYTES) throw requestError(413, message);
  // The browser keeps a large blob out of memory until it is read.
  const blob = await request.blob();
  if (blob.size > MAX_COMMAND_BYTES) throw requestError(413, message);
  return blob;
}
