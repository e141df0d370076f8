import { env, PreTrainedModel, type Tensor } from '@huggingface/transformers';

import { hasThreads, processors } from '../../device/threads.ts';
import type { EngineContext } from '../../engine.ts';
import { serverError } from '../../../protocol/engine-error.ts';
import { whenThreadBlocked } from '../../worker/blocked-worker.ts';
import { SCRIPT, startFailure, WASM } from './runtime-files.ts';
import { serveBlob } from './weight-files.ts';

export type Outputs = Record<string, Tensor>;

/** The parts of onnxruntime-web's session that are used here; transformers.js includes the package. */
interface Session {
  run(...input: unknown[]): Promise<object>;
  release?(): Promise<void>;
}
interface SessionClass {
  create(...input: unknown[]): Promise<Session>;
}

const FAILURE = Symbol('failure');
const failureOf = (value: object): unknown => (value as { [FAILURE]?: unknown })[FAILURE];

/** An ONNX model whose output is its input. */
const IDENTITY =
  'CAgSCWxvY2FsdGV4dDpAChIKAXgSAXkiCElkZW50aXR5OgASCGlkZW50aXR5Wg8KAXgSCgoICAESBAoCCAFiDwoBeRIKCggIARIECgIIAUIECgAQEQ==';

let guarded: Promise<void> | null = null;

/**
 * Starts the runtime, from our own origin, and keeps one model's failure from being all others'. transformers.js puts
 * each load of a session, and each run, behind the promise of the one before: once one rejects, all later ones do,
 * with its error. So here neither rejects; what failed comes as a value, distinguished by `sessionsOf` and `run`.
 */
export async function startRuntime(context: EngineContext): Promise<void> {
  configure(context);
  guarded ??= guard();
  const started = new AbortController();
  try {
    await Promise.race([guarded, whenThreadBlocked(context.wasm(SCRIPT), started.signal)]);
  } catch (error) {
    guarded = null;
    throw await startFailure(error, context);
  } finally {
    started.abort();
  }
}

function configure(context: EngineContext): void {
  const { wasm } = env.backends.onnx;
  if (!wasm) throw serverError('model_load_failed', 'This browser cannot run WASM.');
  wasm.wasmPaths = {
    mjs: context.wasm(SCRIPT),
    wasm: context.wasm(WASM),
  };
  wasm.numThreads = hasThreads() ? processors() : 1;
  env.useWasmCache = false;
  env.useBrowserCache = false;
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
}

/** The session class is not exported: it is taken from a session of the smallest possible model. */
async function guard(): Promise<void> {
  const bytes = Uint8Array.from(atob(IDENTITY), (char) => char.charCodeAt(0));
  const stop = serveBlob('localtext-identity', 'onnx/model.onnx', new Blob([bytes]));
  try {
    const model = await PreTrainedModel.from_pretrained('localtext-identity', {
      config: { model_type: 'custom' } as never,
      device: 'wasm',
      dtype: 'fp32',
    });
    const [session] = Object.values(model.sessions) as Session[];
    if (!session) throw new Error('transformers.js keeps no session');
    guardCreate(session.constructor as unknown as SessionClass);
    await session.release?.();
  } finally {
    stop();
  }
}

function guardCreate(sessions: SessionClass): void {
  const create = sessions.create.bind(sessions);
  sessions.create = async (...input) => {
    try {
      const session = await create(...input);
      guardRun(session);
      return session;
    } catch (error) {
      return { [FAILURE]: error, run: () => Promise.resolve({ [FAILURE]: error }) };
    }
  };
}

function guardRun(session: Session): void {
  const original = session.run.bind(session);
  session.run = async (...input) => {
    try {
      return await original(...input);
    } catch (error) {
      return { [FAILURE]: error };
    }
  };
}

/** @throws what a session of the model failed to load with */
export async function checkSessions(model: PreTrainedModel): Promise<void> {
  const sessions = Object.values(model.sessions) as Session[];
  const failed = sessions.find((session) => failureOf(session) !== undefined);
  if (!failed) return;
  await model.dispose();
  throw failureOf(failed);
}

/** Runs a model. @throws what the runtime failed with */
export async function run(model: PreTrainedModel, inputs: Record<string, unknown>): Promise<Outputs> {
  const outputs = (await model(inputs)) as Outputs;
  const failure = failureOf(outputs);
  if (failure !== undefined) throw failure;
  return outputs;
}
