import type { EngineClientDependencies } from '../engine-client/ask-engine.ts';
import { commandWeights, loadModel, readStatus } from '../engine-client/load-model.ts';
import {
  KEEP_ALIVE_PATH,
  LOAD_PATH,
  STATUS_PATH,
  WEIGHTS_PATH,
  type LoadLine,
} from '../protocol/local-paths.ts';
import type { WeightsCommand } from '../protocol/weights.ts';
import { asServiceError } from '../service/service-error.ts';

/** How long a page waits to hear of an engine's status, in milliseconds. */
const STATUS_DEADLINE_MS = 5000;

const paths: ReadonlySet<string> = new Set([KEEP_ALIVE_PATH, LOAD_PATH, STATUS_PATH, WEIGHTS_PATH]);

export const isLocalPath = ({ pathname }: URL): boolean => paths.has(pathname);

/** Answers the page library's own paths; null for every other path. */
export function handleLocalRoute(
  request: Request,
  dependencies: EngineClientDependencies,
): Promise<Response> | Response | null {
  const url = new URL(request.url);
  switch (url.pathname) {
    case KEEP_ALIVE_PATH:
      return new Response(null, { status: 204 });
    case LOAD_PATH:
      return streamLoad(url.searchParams.get('model') ?? '', dependencies);
    case STATUS_PATH:
      return answerStatus({ ...dependencies, deadlineMs: STATUS_DEADLINE_MS });
    case WEIGHTS_PATH:
      return answerWeights(request, url.searchParams.get('import'), dependencies);
    default:
      return null;
  }
}

async function answerWeights(
  request: Request,
  imported: string | null,
  dependencies: EngineClientDependencies,
): Promise<Response> {
  try {
    const command: WeightsCommand =
      imported === null
        ? ((await request.json()) as WeightsCommand)
        : { type: 'import', name: imported, blob: await request.blob() };
    return Response.json(await commandWeights(dependencies, command, request.signal));
  } catch (error) {
    return asServiceError(error).toResponse();
  }
}

async function answerStatus(dependencies: EngineClientDependencies): Promise<Response> {
  try {
    return Response.json(await readStatus(dependencies, AbortSignal.timeout(2 * STATUS_DEADLINE_MS)));
  } catch (error) {
    return asServiceError(error).toResponse();
  }
}

function streamLoad(model: string, dependencies: EngineClientDependencies): Response {
  const left = new AbortController();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      const write = (line: LoadLine): void => {
        if (!left.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      };
      const { signal } = left;
      loadModel(dependencies, model, {
        signal,
        onProgress: (progress) => write({ type: 'progress', progress }),
      })
        .then(
          () => write({ type: 'loaded' }),
          (error: unknown) => write({ type: 'error', error: asServiceError(error).wire }),
        )
        .then(() => !signal.aborted && controller.close())
        .catch(() => {});
    },
    cancel: () => left.abort(),
  });
  return new Response(body, {
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  });
}
