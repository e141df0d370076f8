import type { EmbeddingJob, EmbeddingResult } from '../protocol/job.ts';
import { showSpan } from '../protocol/user-timing.ts';
import { EngineError } from './engine-error.ts';
import type { Engine, Residency } from './residency.ts';
import type { Resident } from './resident.ts';

/** Runs one embedding job. There is no line: the engine mixes the texts of all jobs into its batches. */
export async function serveEmbedding(
  residency: Residency,
  { id, job }: { id: string; job: EmbeddingJob },
  signal: AbortSignal,
  onStage: (stage: 'loading' | 'prefill') => void,
): Promise<EmbeddingResult> {
  const began = performance.now();
  let resident = residency.resident(job.model, 'embedding');
  for (;;) {
    if (resident.state !== 'ready') onStage('loading');
    // In line before it is there: what requests stand before is not unloaded.
    const leave = await resident.queue.enter(signal);
    try {
      const loaded = await residency.ready(job.model, signal);
      if (loaded === resident && resident.engine) return await run(resident, resident.engine);
      resident = loaded;
    } finally {
      leave();
    }
  }

  async function run(at: Resident, engine: Engine): Promise<EmbeddingResult> {
    if (!('embed' in engine)) {
      throw new EngineError({
        code: 'model_unavailable',
        message: `The weights behind ${job.model} cannot embed.`,
      });
    }
    onStage('prefill');
    const started = performance.now();
    const queueMs = started - began;
    const detail = { requestId: id, model: job.model };
    showSpan('queue', queueMs, detail, started);
    try {
      const { vectors, tokens } = await engine.embed(job, signal);
      const computeMs = performance.now() - started;
      showSpan('compute', computeMs, detail, started + computeMs);
      return {
        vectors,
        promptTokens: tokens,
        fingerprint: engine.fingerprint,
        timings: { queueMs, computeMs },
      };
    } catch (error) {
      if (!signal.aborted) await residency.failed(at, engine, error);
      throw error;
    }
  }
}
