import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import { hasProjector } from '../../catalog/variant.ts';
import type { Engines } from '../../engines/engine.ts';
import type { EngineFacts, ModelFacts } from '../../protocol/model-facts.ts';
import { shared } from '../../util/async.ts';
import type { LoadedModel } from './loaded-model.ts';

/** Returns a function that stores an engine's facts if they have changed. Most changes of its status do not affect them. */
export function factsWriter(
  epoch: string,
  read: () => Promise<Record<string, ModelFacts>>,
  write: (facts: EngineFacts) => Promise<void>,
): () => void {
  let written = '';
  const writeChanged = shared(async () => {
    try {
      const models = await read();
      const text = JSON.stringify(models);
      if (text === written) return;
      await write({ epoch, models });
      written = text;
    } catch (error) {
      // Facts are optional: with a full storage the models answer all the same.
      console.warn('localtext: the facts for GET /v1/models cannot be stored', error);
    }
  });
  return () => void writeChanged();
}

/**
 * @param variant the one that answers, or would
 * @param bytes exact size of its weights; null: only the hub knows it
 */
export function modelFacts(
  { kind }: Pick<CatalogModel, 'kind'>,
  variant: Variant,
  bytes: number | null,
  loadedModel: Pick<LoadedModel, 'engine'> | undefined,
  engines: Engines,
): ModelFacts {
  const engine = loadedModel?.engine ?? null;
  // A device that is short of memory has loaded it with a shorter context.
  const { thinks = false, vision, contextLength = variant.contextLength } = engine?.facts ?? {};
  // Whether the browser's own model takes images is known once it is loaded.
  const sees = engine ? vision === true : hasProjector(variant);
  return {
    context_length: contextLength,
    ...(kind === 'chat' && { max_output_tokens: contextLength }),
    capabilities: [
      ...(engines[variant.engine]?.capabilities(variant, engine?.facts.chats) ?? []),
      ...(thinks ? ['reasoning' as const] : []),
      ...(sees ? ['vision' as const] : []),
    ],
    ...(bytes !== null && { size_bytes: bytes }),
    loaded: engine !== null,
  };
}
