import type { ChatEvent, ChatJob, Timings } from '../../protocol/job.ts';
import { showSpan, type SpanDetail } from '../../protocol/user-timing.ts';
import type { ChatEngine } from '../engine.ts';
import { serverError } from '../../protocol/engine-error.ts';
import type { ModelManager, Side } from '../models/model-manager.ts';
import type { LoadedModel } from '../models/loaded-model.ts';
import { raceChats, type OnStage, type Racer } from './race-chat.ts';

interface ChatRequest {
  id: string;
  job: ChatJob;
}

/** Runs one chat, on the device and on a server at once where the model's route is a race. */
export async function* serveChat(
  modelManager: ModelManager,
  request: ChatRequest,
  signal: AbortSignal,
  onStage: OnStage,
): AsyncGenerator<ChatEvent, void, undefined> {
  const { model, deviceOnly } = request.job;
  if (deviceOnly || !(await modelManager.races(model))) {
    yield* runChat(modelManager, request, deviceOnly ? 'device' : undefined, signal, onStage);
    return;
  }
  const sides: Side[] = ['server', 'device'];
  const racers = sides.map(
    (side): Racer =>
      (...given) =>
        runChat(modelManager, request, side, ...given),
  );
  yield* raceChats(racers, signal, onStage);
}

/**
 * Waits for the model and for a slot in it, then passes the engine's events on. Where a server fails before anything was
 * sent, the next variant answers.
 */
async function* runChat(
  modelManager: ModelManager,
  { id, job }: ChatRequest,
  side: Side | undefined,
  signal: AbortSignal,
  onStage: OnStage,
): AsyncGenerator<ChatEvent, void, undefined> {
  const began = performance.now();
  let failure: unknown;
  for (;;) {
    const place = await enter(modelManager, job, side, signal, onStage).catch((error: unknown) => {
      // What the server said is told where no variant can stand in for it.
      throw signal.aborted ? error : (failure ?? error);
    });
    const { loadedModel, engine, leave } = place;
    let sent = false;
    try {
      onStage('checking');
      const queueMs = performance.now() - began;
      const detail = { requestId: id, model: job.model };
      showSpan('queue', queueMs, detail);
      const onPrefill = () => onStage('prefill', engine.fingerprint);
      for await (const event of engine.generate(job, signal, onPrefill)) {
        if (event.type === 'done') showGeneration(event.timings, detail);
        sent = true;
        yield event.type === 'done' ? { ...event, timings: { ...event.timings, queueMs } } : event;
      }
      loadedModel.circuit.succeed();
      return;
    } catch (error) {
      const another = await modelManager.failed(loadedModel, engine, error, job.model);
      if (!another || sent || signal.aborted) throw error;
      failure ??= error;
    } finally {
      leave();
    }
  }
}

/** A generation has just ended; what lies before its prefill, an engine spent on the template and on other jobs. */
function showGeneration({ prefillMs, decodeMs }: Timings, detail: SpanDetail): void {
  const now = performance.now();
  showSpan('prefill', prefillMs, detail, now - decodeMs);
  showSpan('decode', decodeMs, detail, now);
}

interface Place {
  loadedModel: LoadedModel;
  engine: ChatEngine;
  leave(): void;
}

/** A place in line is taken before the model is there, so that the line is bounded while it loads, too. */
async function enter(
  modelManager: ModelManager,
  { model }: ChatJob,
  side: Side | undefined,
  signal: AbortSignal,
  onStage: OnStage,
): Promise<Place> {
  for (;;) {
    const loadedModel = modelManager.loadedModel(model, 'chat', side);
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
    const ready = modelManager.ready(model, signal, { side });
    try {
      // The first to settle: a line that is full refuses at once, whatever the load does.
      await Promise.race([line, ready]);
      const loaded = await ready;
      if (loaded === loadedModel) {
        if (loadedModel.queue.busy) onStage('queued');
        const leave = await line;
        const { engine } = loadedModel;
        if (engine && 'generate' in engine) return { loadedModel, engine, leave };
        if (engine)
          throw serverError(
            'model_unavailable',
            `The model ${model} does not support chat. Use a chat model.`,
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
