import type { ChatEvent, ChatJob, Job, Timings } from '../../protocol/job.ts';
import { showSpan, type SpanDetail } from '../../util/user-timing.ts';
import type { ChatEngine, Engine } from '../runtimes/engine.ts';
import { serverError } from '../../errors/engine-error.ts';
import type { WaitingStage } from '../../protocol/engine-port.ts';
import type { ModelManager } from '../models/model-manager.ts';
import type { LoadedModel } from '../models/loaded-model.ts';

/** Why nothing has come yet; with `prefill`, the fingerprint of the variant that computes. */
export type OnStage = (stage: WaitingStage, servedBy?: string) => void;

/** Waits for the model and for a slot in it, then passes the engine's events on, no faster than `send` resolves. */
export async function serveChat(
  modelManager: ModelManager,
  { id, job }: { id: string; job: ChatJob },
  signal: AbortSignal,
  onStage: OnStage,
  send: (event: ChatEvent) => Promise<void> | void,
): Promise<void> {
  const began = performance.now();
  const { loadedModel, engine, leave } = await enter(modelManager, job, signal, onStage, chats);
  try {
    onStage('checking');
    const queueMs = performance.now() - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail);
    const onPrefill = () => onStage('prefill', engine.fingerprint);
    for await (const event of engine.generate(job, signal, onPrefill)) {
      if (event.type === 'done') showGeneration(event.timings, detail);
      await send(event.type === 'done' ? { ...event, timings: { ...event.timings, queueMs } } : event);
    }
  } catch (error) {
    await modelManager.failed(loadedModel, engine, error);
    throw error;
  } finally {
    leave();
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
