import { UNDECIDED, type DecisionJob } from '#jobs';
import type { ModelManager } from '#models';
import { JobPaused } from '#scheduling';
import { serveJob, type JobRequest, type JobSink } from './serve-job.ts';

/** Chooses a tool with the model that the chat's variant names. Without one, or if it fails, the chat's model chooses. */
export async function serveToolChoice(
  modelManager: ModelManager,
  request: JobRequest<'decision'>,
  signal: AbortSignal,
  sink: JobSink<'decision'>,
): Promise<void> {
  const { job } = request;
  if (modelManager.loadedModel(job.model, 'decision', job).state !== 'ready') sink.onStage('loading');
  const { variant } = await modelManager.ready(job.model, signal, job);
  const chooser = 'toolChooser' in variant ? variant.toolChooser : undefined;
  try {
    if (chooser !== undefined)
      return await serveJob(modelManager, { ...request, job: forModel(job, chooser) }, signal, sink);
  } catch (error) {
    signal.throwIfAborted();
    // The requester asks again.
    if (error instanceof JobPaused) throw error;
    console.warn(`localtext: ${String(chooser)} could not choose a tool`, error);
  }
  await sink.send({ type: 'done', progress: UNDECIDED, fingerprint: variant.name });
}

/** The variants of the chat's model do not limit those of the other. */
function forModel(job: DecisionJob, model: string): DecisionJob {
  const { variants: _, ...others } = job;
  return { ...others, model };
}
