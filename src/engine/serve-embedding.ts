import type { EmbeddingJob, EmbeddingResult } from '../protocol/job.ts';
import { EngineError } from './engine-error.ts';
import type { Residency } from './residency.ts';

/** Runs one embedding job. There is no line: the engine mixes the texts of all jobs into its batches. */
export async function serveEmbedding(
  residency: Residency,
  job: EmbeddingJob,
  signal: AbortSignal,
  onStage: (stage: 'loading') => void,
): Promise<EmbeddingResult> {
  const began = performance.now();
  if (residency.resident(job.model, 'embedding').state !== 'ready') onStage('loading');
  const resident = await residency.ready(job.model, signal);
  const { engine } = resident;
  if (!engine || !('embed' in engine)) {
    throw new EngineError({
      code: 'model_unavailable',
      message: `The weights behind ${job.model} cannot embed.`,
    });
  }
  const leave = await resident.queue.enter(signal);
  const started = performance.now();
  try {
    const { vectors, tokens } = await engine.embed(job, signal);
    return {
      vectors,
      promptTokens: tokens,
      fingerprint: engine.fingerprint,
      timings: { queueMs: started - began, computeMs: performance.now() - started },
    };
  } catch (error) {
    if (!signal.aborted) await residency.failed(resident, engine, error);
    throw error;
  } finally {
    leave();
  }
}
