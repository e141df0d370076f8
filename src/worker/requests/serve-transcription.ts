import type { TranscriptionEvent, TranscriptionJob } from '../../protocol/job.ts';
import { showSpan } from '../../util/user-timing.ts';
import type { ModelManager } from '../models/model-manager.ts';
import type { Engine, TranscriptionEngine } from '../runtimes/engine.ts';
import { enter, type OnStage } from './serve-job.ts';

const transcribes = (engine: Engine): engine is TranscriptionEngine => 'transcribe' in engine;

/** Waits for the model and for its turn, then passes the engine's events on, no faster than `send` resolves. */
export async function serveTranscription(
  modelManager: ModelManager,
  { id, job }: { id: string; job: TranscriptionJob },
  signal: AbortSignal,
  onStage: OnStage,
  send: (event: TranscriptionEvent) => Promise<void> | void,
): Promise<void> {
  // Before a model is loaded for them.
  (await import('../runtimes/whisper/form-fields.ts')).parseFields(job.fields);
  const began = performance.now();
  const { loadedModel, engine, leave } = await enter(modelManager, job, signal, onStage, transcribes);
  try {
    onStage('checking');
    const queueMs = performance.now() - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail);
    for await (const event of engine.transcribe(job, signal)) {
      if (event.type === 'accepted') onStage('prefill', engine.fingerprint);
      if (event.type === 'done') showSpan('compute', event.timings.computeMs, detail);
      await send(event.type === 'done' ? { ...event, timings: { ...event.timings, queueMs } } : event);
    }
  } catch (error) {
    await modelManager.failed(loadedModel, engine, error);
    throw error;
  } finally {
    leave();
  }
}
