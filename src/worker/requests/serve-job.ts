import { isContextLengthError, toWireError } from '../../errors/engine-errors.ts';
import { serverError } from '../../errors/service-error.ts';
import type { WaitingStage } from '../../protocol/engine-port.ts';
import type { ChatEvent, ChatJob, EmbeddingJob, EmbeddingResult, Job, Timings } from '../../protocol/job.ts';
import { showSpan, type SpanDetail } from '../../util/user-timing.ts';
import type { LoadedModel } from '../models/loaded-model.ts';
import type { ModelManager } from '../models/model-manager.ts';
import { dropOldestTurns, MAX_TRUNCATIONS } from '../prompt/truncate-messages.ts';
import type { ChatEngine, Engine } from '../runtimes/engine.ts';

/** Why nothing has come yet; with `prefill`, the fingerprint of the variant that computes. */
export type OnStage = (stage: WaitingStage, servedBy?: string) => void;

/**
 * Waits for the model and for a slot in it, then passes the engine's events on, no faster than `send` resolves. A variant
 * that cannot do what the request asks for leaves it to the next one.
 */
export async function serveChat(
  modelManager: ModelManager,
  request: { id: string; job: ChatJob },
  signal: AbortSignal,
  onStage: OnStage,
  send: (event: ChatEvent) => Promise<void> | void,
): Promise<void> {
  for (let { job } = request; ;) {
    const passedOn = await serveOnce(modelManager, { ...request, job }, signal, onStage, send);
    if (!passedOn) return;
    job = passedOn;
  }
}

/** @returns the job for the model's next variants; null: it is done */
async function serveOnce(
  modelManager: ModelManager,
  { id, job }: { id: string; job: ChatJob },
  signal: AbortSignal,
  onStage: OnStage,
  send: (event: ChatEvent) => Promise<void> | void,
): Promise<ChatJob | null> {
  const began = performance.now();
  const { loadedModel, engine, leave } = await enter(modelManager, job, signal, onStage, chats);
  try {
    onStage('checking');
    const queueMs = performance.now() - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail);
    const onPrefill = () => onStage('prefill', engine.fingerprint);
    const events = job.truncate
      ? truncating(engine, job, signal, onPrefill)
      : engine.generate(job, signal, onPrefill);
    for await (const event of events) {
      if (event.type === 'done') showGeneration(event.timings, detail);
      await send(event.type === 'done' ? { ...event, timings: { ...event.timings, queueMs } } : event);
    }
    return null;
  } catch (error) {
    const variants = toWireError(error).passOn ? modelManager.after(job.model, loadedModel.variant, job) : [];
    await modelManager.failed(loadedModel, engine, error);
    if (variants.length === 0) throw error;
    return { ...job, variants };
  } finally {
    leave();
  }
}

/** A conversation that does not fit is tried again without its oldest turns. */
async function* truncating(
  engine: ChatEngine,
  job: ChatJob,
  signal: AbortSignal,
  onPrefill: () => void,
): AsyncGenerator<ChatEvent, void, undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return yield* engine.generate(job, signal, onPrefill);
    } catch (error) {
      if (!isContextLengthError(error) || !('messages' in job.input)) throw error;
      const share = tries < MAX_TRUNCATIONS ? error.share : 0;
      const messages = dropOldestTurns(job.input.messages, share);
      if (!messages) throw error;
      job = { ...job, input: { messages } };
    }
  }
}

/** A generation has just ended; what lies before its prefill, an engine spent on the template and on other jobs. */
function showGeneration({ prefillMs, decodeMs }: Timings, detail: SpanDetail): void {
  const now = performance.now();
  showSpan('prefill', prefillMs, detail, now - decodeMs);
  showSpan('decode', decodeMs, detail, now);
}

const chats = (engine: Engine): engine is ChatEngine => 'generate' in engine;

interface Place<E> {
  loadedModel: LoadedModel;
  engine: E;
  leave(): void;
}

/** The request enters the queue before the model is loaded, so that the queue is bounded during a load too. */
export async function enter<E extends Engine>(
  modelManager: ModelManager,
  job: Pick<Job, 'kind' | 'model' | 'variants' | 'deviceOnly'>,
  signal: AbortSignal,
  onStage: OnStage,
  fits: (engine: Engine) => engine is E,
): Promise<Place<E>> {
  const { model } = job;
  for (;;) {
    const loadedModel = modelManager.loadedModel(model, job.kind, job);
    const given = new AbortController();
    const line = loadedModel.queue.enter(AbortSignal.any([signal, given.signal]));
    const giveUp = () => {
      given.abort();
      line.then(
        (leave) => leave(),
        () => undefined,
      );
    };
    if (loadedModel.state !== 'ready') onStage('loading');
    const ready = modelManager.ready(model, signal, job);
    try {
      // The first to settle: a full queue rejects immediately, whatever the load does.
      await Promise.race([line, ready]);
      const loaded = await ready;
      if (loaded === loadedModel) {
        if (loadedModel.queue.busy) onStage('queued');
        const leave = await line;
        const { engine } = loadedModel;
        if (engine && fits(engine)) return { loadedModel, engine, leave };
        if (engine)
          throw serverError(
            'model_unavailable',
            `The model ${model} does not support this. Use a ${job.kind} model.`,
          );
      }
      // Another variant answers, or the engine crashed while this job stood in line: once more.
      giveUp();
    } catch (error) {
      ready.catch(() => undefined);
      giveUp();
      throw error;
    }
  }
}

/** Runs one embedding job. There is no line: the engine mixes the texts of all jobs into its batches. */
export async function serveEmbedding(
  modelManager: ModelManager,
  { id, job }: { id: string; job: EmbeddingJob },
  signal: AbortSignal,
  onStage: (stage: 'loading' | 'prefill') => void,
): Promise<EmbeddingResult> {
  const began = performance.now();
  let loadedModel = modelManager.loadedModel(job.model, 'embedding', job);
  for (;;) {
    if (loadedModel.state !== 'ready') onStage('loading');
    // In line before it is there: what requests stand before is not unloaded.
    const leave = await loadedModel.queue.enter(signal);
    let used: Engine | null = null;
    try {
      const loaded = await modelManager.ready(job.model, signal, job);
      if (loaded === loadedModel && loaded.engine) return await run((used = loaded.engine));
      loadedModel = loaded;
    } catch (error) {
      if (used) await modelManager.failed(loadedModel, used, error);
      throw error;
    } finally {
      leave();
    }
  }

  async function run(engine: Engine): Promise<EmbeddingResult> {
    if (!('embed' in engine)) {
      throw serverError(
        'model_unavailable',
        `The model ${job.model} does not support embeddings. Use an embedding model.`,
      );
    }
    onStage('prefill');
    const started = performance.now();
    const queueMs = started - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail, started);
    const { vectors, tokens } = await engine.embed(job, signal);
    const computeMs = performance.now() - started;
    showSpan('compute', computeMs, detail, started + computeMs);
    return {
      vectors,
      promptTokens: tokens,
      fingerprint: engine.fingerprint,
      timings: { queueMs, computeMs },
    };
  }
}
