import type { HubModel } from '../../protocol/weights-messages.ts';
import { chooseHubModel, type HubModelSource } from '../../model-files/sources/hub-models.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';

/** The model that a source names, with its facts where they are in files beside it. @throws EngineError */
export async function findHubModel(
  source: HubModelSource,
  sources: Pick<WeightSources, 'hubModels'>,
  signal: AbortSignal,
): Promise<HubModel> {
  const model = chooseHubModel(source, await sources.hubModels(source, signal));
  if (model.kind === 'chat') return model;
  const { readEmbeddingFacts } = await import('./embedding-facts.ts');
  return { ...model, facts: await readEmbeddingFacts(source.repository, model, signal) };
}
