import { hasProjector, type CatalogModel, type Variant } from '#catalog';
import type { Engine, Engines } from '#engine-kit';
import type { ModelFacts } from '#protocol';
import { shared } from '#base';

/** Creates a function that stores the models' facts if they have changed. Most status changes do not affect them. */
export function factsWriter(
  read: () => Promise<Record<string, ModelFacts>>,
  write: (models: Record<string, ModelFacts>) => Promise<void>,
): () => void {
  let written = '';
  const writeChanged = shared(async () => {
    try {
      const models = await read();
      const text = JSON.stringify(models);
      if (text === written) return;
      await write(models);
      written = text;
    } catch (error) {
      // Facts are optional: models also answer if the storage is full.
      console.warn('localtext: the facts for GET /v1/models cannot be stored', error);
    }
  });
  return () => void writeChanged();
}

/**
 * Collects a model's facts for `GET /v1/models`.
 * @param variant the variant that answers, or would
 * @param bytes exact size of its weights; null if only the hub knows it
 */
export function modelFacts(
  { kind }: Pick<CatalogModel, 'kind'>,
  variant: Variant,
  bytes: number | null,
  engine: Engine | null,
  engines: Engines,
): ModelFacts {
  // If memory is short, the model was loaded with a shorter context.
  const { thinks = false, vision, contextLength = variant.contextLength } = engine?.traits ?? {};
  // Before the load, only a projector shows that a model takes images.
  const sees = engine ? vision === true : hasProjector(variant);
  return {
    context_length: contextLength,
    ...(kind === 'chat' && { max_output_tokens: contextLength }),
    capabilities: [
      ...(engines[variant.engine]?.capabilities(variant, engine?.traits.chats) ?? []),
      ...(thinks ? ['reasoning' as const] : []),
      ...(sees ? ['vision' as const] : []),
    ],
    ...(bytes !== null && { size_bytes: bytes }),
    loaded: engine !== null,
  };
}
