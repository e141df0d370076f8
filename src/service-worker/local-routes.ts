import { commandWeights, type EngineConnection } from '../connection/engine-connection.ts';
import { LOAD_PATH, STATUS_PATH, WEIGHTS_PATH, type LoadLine } from '../protocol/local-paths.ts';
import { EventStream } from '../api/http/event-stream.ts';
import { asServiceError } from '../api/service-error.ts';
import type { V1 } from '../routing/browser-v1.ts';
import { isLocalPath, readName, readWeightsCommand, requirePageLibrary } from './local-request.ts';

/** How long a page waits to hear of an engine's status, in milliseconds. */
const STATUS_DEADLINE_MS = 5000;

/** Answers the page library's own paths; null for every other path. */
export async function handleLocalRoute(
  request: Request,
  v1: Pick<V1, 'load' | 'status'>,
  dependencies: EngineConnection,
): Promise<Response | null> {
  const url = new URL(request.url);
  if (!isLocalPath(url)) return null;
  try {
    requirePageLibrary(request);
    switch (url.pathname) {
      case LOAD_PATH:
        return streamLoad(readName(url, 'model'), v1);
      case STATUS_PATH:
        return await answerStatus(v1);
      case WEIGHTS_PATH:
        return await answerWeights(request, dependencies);
      default:
        return new Response(null, { status: 204 });
    }
  } catch (error) {
    return asServiceError(error).toResponse();
  }
}

async function answerWeights(request: Request, dependencies: EngineConnection): Promise<Response> {
  const command = await readWeightsCommand(request);
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

function streamLoad(model: string, v1: Pick<V1, 'load'>): Response {
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
