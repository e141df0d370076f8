import type { EmbeddingJob, EmbeddingResult } from '../../protocol/job.ts';
import { showSpan } from '../../util/user-timing.ts';
import { serverError } from '../../errors/engine-error.ts';
import type { ModelManager } from '../models/model-manager.ts';
import type { Engine } from '../runtimes/engine.ts';

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
