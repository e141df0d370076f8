import { serverError, ServiceError } from '#base';
import type { DecisionJob, Events } from '#jobs';
import { runs, type Engine } from '#engine-kit';
import { decideByLabels, type ScoringEngine } from './label-decisions.ts';
import { decideBySimilarity } from './similarity-decisions.ts';

export { chooseTool } from './tool-similarity.ts';

/** Answers all questions of a job. @throws ServiceError, with `passOn` if the engine cannot score answers */
export async function* decide(
  engine: Engine<'chat' | 'embedding'>,
  job: DecisionJob,
  signal: AbortSignal,
  onPrefill: () => void,
): Events<'decision'> {
  const { fingerprint } = engine;
  onPrefill();
  const progress = scores(engine)
    ? yield* decideByLabels(engine, job, signal)
    : await decideBySimilarity(embeddingOf(engine), job, signal);
  yield { type: 'done', progress, fingerprint };
}

const scores = (engine: Engine): engine is ScoringEngine => engine.score !== undefined;

function embeddingOf(engine: Engine): Engine<'embedding'> {
  if (runs(engine, 'embedding')) return engine;
  const message = `The engine behind ${engine.fingerprint} cannot score answers. Use an embedding model, or a model with a variant for WASM.`;
  const { wire } = serverError('model_unavailable', message);
  throw new ServiceError({ ...wire, passOn: true });
}
