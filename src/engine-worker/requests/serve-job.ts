import { toWireError, serverError, abortable, showSpan, type SpanDetail } from '#base';
import {
  answers,
  completeTimings,
  KINDS,
  withJobFields,
  type Timings,
  type EventOf,
  type JobOf,
  type Kind,
  type ModelOf,
} from '#jobs';
import type { Origin, StageDetails, Stage } from '#protocol';
import type { ModelManager } from '#models';
import type { Engine } from '#engine-kit';
import { JobPaused, createLease, type Claim } from '#scheduling';
import { leaseOptions, jobRules } from './job-rules.ts';

/** Reports the waiting stage and the details known so far. */
export type OnStage = (stage: Stage, details?: StageDetails) => void;

export interface JobSink<K extends Kind> {
  onStage: OnStage;
  /** Takes the next event. The engine pauses until the promise resolves. */
  send(event: EventOf<K>): Promise<void> | void;
}

export interface JobRequest<K extends Kind> {
  id: string;
  job: JobOf<K>;
  imageOrigins: readonly string[];
  origin?: Origin;
  pauses?: number;
}

/**
 * Waits for the model and for a slot, then forwards the engine's events. If a variant cannot do what the request
 * asks for, the next variant runs the job.
 */
export async function serveJob<K extends Kind>(
  modelManager: ModelManager,
  request: JobRequest<K>,
  signal: AbortSignal,
  sink: JobSink<K>,
): Promise<void> {
  const { prepare, otherwise } = jobRules<K>(request.job.kind);
  const { onStage } = sink;
  let job = prepare ? await prepare({ ...request, models: modelManager, onStage }, signal) : request.job;
  try {
    while (job) {
      const variants = await serveOnce(modelManager, { ...request, job }, signal, sink);
      if (!variants) return;
      job = withJobFields(job, { variants });
    }
  } catch (error) {
    // The requester of a paused job asks again.
    if (!otherwise || signal.aborted || error instanceof JobPaused) throw error;
    console.warn(`localtext: a job of kind ${request.job.kind} failed`, error);
  }
  if (otherwise) await sink.send(otherwise);
}

/** Runs the job on one variant. @returns later variants to run the job on instead; null if it is done */
async function serveOnce<K extends Kind>(
  modelManager: ModelManager,
  { id, job, origin, pauses = 0 }: JobRequest<K>,
  signal: AbortSignal,
  sink: JobSink<K>,
): Promise<string[] | null> {
  const began = performance.now();
  const lease = createLease(leaseOptions(job, origin, pauses));
  const until = AbortSignal.any([signal, lease.over]);
  const { loadedModel, engine, leave } = await enterQueue(
    modelManager,
    job,
    until,
    sink.onStage,
    lease.claim,
  );
  const { variant } = loadedModel;
  const { crashGuard } = modelManager;
  try {
    crashGuard.onJob(variant, 'begun');
    sink.onStage('checking');
    const queueMs = performance.now() - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail);
    let hasBegun = false;
    const ofClient = withJobFields(job, { client: lease.claim.client });
    for await (const event of await startJob(engine, ofClient, until, sink.onStage)) {
      if (!hasBegun && event.type !== 'accepted') {
        hasBegun = true;
        crashGuard.onJob(variant, 'answering');
      }
      if (event.type === 'done') {
        const computeMs = performance.now() - began - queueMs;
        showTimings(completeTimings(event, queueMs, computeMs), detail);
      }
      await lease.whileUnread(abortable(Promise.resolve(sink.send(event)), until), loadedModel.queue);
      if (event.type === 'delta') lease.endPart();
    }
    return null;
  } catch (error) {
    const mayPassOn = !until.aborted && toWireError(error).passOn;
    const variants = mayPassOn ? modelManager.after(job.model, variant, job) : [];
    await modelManager.failed(loadedModel, engine, error);
    until.throwIfAborted();
    if (variants.length === 0) throw error;
    return variants;
  } finally {
    leave();
    if (loadedModel.queue.running === 0) crashGuard.onJob(variant, 'idle');
  }
}

/** Adapts the job to the engine, and starts it. @throws ServiceError 400 */
async function startJob<K extends Kind>(
  engine: Engine<ModelOf<K>>,
  job: JobOf<K>,
  signal: AbortSignal,
  onStage: OnStage,
): Promise<AsyncIterable<EventOf<K>>> {
  const { run, compile } = jobRules<K>(job.kind);
  const compiled = (await compile?.(engine, job, signal)) ?? { job };
  if (compiled.loosened) onStage('checking', { loosened: compiled.loosened });
  return run(engine, compiled.job, signal, () => onStage('prefill', { servedBy: engine.fingerprint }));
}

/** Shows a job's spans in the User Timing API, counted back from its end, which is now. */
function showTimings({ computeMs, prefillMs, decodeMs }: Timings, detail: SpanDetail): void {
  const now = performance.now();
  if (computeMs !== undefined) showSpan('compute', computeMs, detail, now);
  if (prefillMs !== undefined) showSpan('prefill', prefillMs, detail, now - (decodeMs ?? 0));
  if (decodeMs !== undefined) showSpan('decode', decodeMs, detail, now);
}

/**
 * Waits for a slot and a loaded model. Queues before the load, as this bounds the queue during a load, too, and a
 * model with queued requests is never unloaded.
 */
async function enterQueue<K extends Kind>(
  modelManager: ModelManager,
  job: JobOf<K>,
  signal: AbortSignal,
  onStage: OnStage,
  claim: Claim,
) {
  const { model, kind } = job;
  const optional = jobRules<K>(kind).otherwise !== undefined;
  for (;;) {
    const loadedModel = modelManager.loadedModel(model, kind, job);
    const abandoned = new AbortController();
    const either = AbortSignal.any([signal, abandoned.signal]);
    const queued = loadedModel.queue.enter(either, claim);
    const giveUp = () => {
      abandoned.abort();
      queued.then(
        (leave) => leave(),
        () => undefined,
      );
    };
    if (loadedModel.state !== 'ready') onStage('loading');
    const ready = modelManager.ready(model, either, job, optional);
    try {
      // A full queue rejects immediately, without waiting for the load.
      await Promise.race([queued, ready]);
      const loaded = await ready;
      if (loaded === loadedModel) {
        if (loadedModel.queue.busy) onStage('queued');
        const leave = await queued;
        const { engine } = loadedModel;
        if (engine && canRun(engine, kind)) return { loadedModel, engine, leave };
        if (engine) throw unsuitable(model, kind);
      }
      // Another variant was loaded, or the engine crashed while this job waited. Queue again.
      giveUp();
    } catch (error) {
      ready.catch(() => undefined);
      giveUp();
      throw error;
    }
  }
}

const canRun = <K extends Kind>(engine: Engine, kind: K): engine is Engine<ModelOf<K>> =>
  answers(engine.kind, kind);

const unsuitable = (model: string, kind: Kind) =>
  serverError(
    'model_unavailable',
    `The model ${model} does not support this. Use ${KINDS[kind].noun} model.`,
  );
