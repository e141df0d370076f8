import { commandWeights, type EngineConnection } from '../transport/engine-connection.ts';
import {
  LOAD_PATH,
  STATUS_PATH,
  WEIGHTS_PATH,
  KEEP_ALIVE_PATH,
  MAX_NAME_LENGTH,
  PROTOCOL_HEADER,
  type LoadLine,
} from '../protocol/local-paths.ts';
import { EventStream } from '../api/http/response.ts';
import {
  asServiceError,
  invalidField,
  protocolMismatch,
  requestError,
  ServiceError,
} from '../errors/service-error.ts';
import type { V1 } from '../routing/browser-v1.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { WeightsCommand } from '../protocol/weights-command.ts';

/** How long a page waits to hear of an engine's status, in milliseconds. */
const STATUS_DEADLINE_MS = 5000;

/** Answers the page library's own paths; null for every other path. */
export async function handleLocalRoute(
  request: Request,
  v1: Pick<V1, 'load' | 'status'>,
  dependencies: EngineConnection,
): Promise<Response | null> {
  const url = new URL(request.url);
  const route = ROUTES.get(url.pathname);
  if (!route) return null;
  try {
    requirePageLibrary(request, url, route.allow);
    return await route.answer(request, url, v1, dependencies);
  } catch (error) {
    return asServiceError(error).toResponse();
  }
}

async function answerWeights(request: Request, url: URL, dependencies: EngineConnection): Promise<Response> {
  const command = await readWeightsCommand(request, url);
  if (command.type !== 'add')
    return Response.json(await commandWeights(dependencies, command, request.signal));
  return streamLines(async (write, signal) => {
    const reply = await commandWeights(dependencies, command, signal, (progress) =>
      write({ type: 'progress', progress }),
    );
    if (reply.type === 'added') write(reply);
  });
}

/** 204 while no engine answers, as after a start: browsers would log a status of 500 as an error of the page. */
async function answerStatus(v1: Pick<V1, 'status'>): Promise<Response> {
  const status = await v1.status(STATUS_DEADLINE_MS);
  return status ? Response.json(status) : new Response(null, { status: 204 });
}

function streamLoad(_: Request, url: URL, v1: Pick<V1, 'load'>): Response {
  const model = readName(url, 'model');
  return streamLines(async (write, signal) => {
    await v1.load(model, { signal, onProgress: (progress) => write({ type: 'progress', progress }) });
    write({ type: 'loaded' });
  });
}

/** What `work` writes, a line each, and its error as the last line. */
function streamLines(
  work: (write: (line: LoadLine) => void, signal: AbortSignal) => Promise<void>,
): Response {
  const clientGone = new AbortController();
  const stream = new EventStream(() => clientGone.abort());
  const write = (line: LoadLine): void => stream.send(`${JSON.stringify(line)}\n`);
  void work(write, clientGone.signal)
    .catch((error: unknown) => write({ type: 'error', error: asServiceError(error).wire }))
    .finally(() => stream.end());
  return new Response(stream.body, {
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  });
}

interface Route {
  /** The one method that it answers. */
  allow: string;
  answer(
    request: Request,
    url: URL,
    v1: Pick<V1, 'load' | 'status'>,
    dependencies: EngineConnection,
  ): Response | Promise<Response>;
}

/** The page library's paths. */
const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  [KEEP_ALIVE_PATH, { allow: 'GET', answer: () => new Response(null, { status: 204 }) }],
  [LOAD_PATH, { allow: 'POST', answer: streamLoad }],
  [STATUS_PATH, { allow: 'GET', answer: (_, __, v1) => answerStatus(v1) }],
  [WEIGHTS_PATH, { allow: 'POST', answer: (request, url, _, engine) => answerWeights(request, url, engine) }],
]);

const MAX_COMMAND_BYTES = 64 * 1024;

export const isLocalPath = ({ pathname }: URL): boolean => ROUTES.has(pathname);

/**
 * Other sites can navigate here and post forms here with any method, body and form content type. They cannot set a
 * header. `<img>` and the like of this site's own pages cannot either.
 * @throws ServiceError 403, 405, or 400 `protocol_mismatch`, for what the page library did not send
 */
function requirePageLibrary(request: Request, { pathname }: URL, allow: string): void {
  const version = request.headers.get(PROTOCOL_HEADER);
  if (request.mode === 'navigate' || request.destination !== '' || version === null) {
    throw requestError(
      403,
      `${pathname} answers only the localtext page library. Use the handle of start().`,
    );
  }
  if (request.method !== allow) {
    const message = `${request.method} is not possible at ${pathname}. Use ${allow}.`;
    throw requestError(405, message, null, null, { allow });
  }
  if (version !== String(PROTOCOL_VERSION)) {
    throw new ServiceError({ ...protocolMismatch().wire, status: 400 });
  }
}

/** The value of a query parameter that names a model or a file. @throws ServiceError 400 */
function readName(url: URL, param: string): string {
  const name = url.searchParams.get(param) ?? '';
  if (name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw invalidField(param, `must have 1 to ${MAX_NAME_LENGTH} characters`);
}

/** @throws ServiceError 400, 413, 415 */
async function readWeightsCommand(request: Request, url: URL): Promise<WeightsCommand> {
  if (url.searchParams.has('import')) {
    requireType(request, 'application/octet-stream');
    return { type: 'import', name: readName(url, 'import'), blob: await request.blob() };
  }
  requireType(request, 'application/json');
  const body = new Response(await readShort(request));
  const { commandSchema } = await import('../protocol/weights-command.ts');
  const parsed = commandSchema.safeParse(await body.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  throw requestError(400, 'The body must be a command of the weight store, with its fields.');
}

function requireType(request: Request, type: string): void {
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== type) throw requestError(415, `The content type must be ${type}.`);
}

async function readShort(request: Request): Promise<Blob> {
  const message = `The body is larger than ${MAX_COMMAND_BYTES} bytes.`;
  if (Number(request.headers.get('content-length')) > MAX_COMMAND_BYTES) throw requestError(413, message);
  // The browser keeps a large blob out of memory until it is read.
  const blob = await request.blob();
  if (blob.size > MAX_COMMAND_BYTES) throw requestError(413, message);
  return blob;
}
