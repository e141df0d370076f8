import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import { hasProjector } from '../../catalog/variant.ts';
import type { ModelFacts } from '../../protocol/model-facts.ts';
import type { Engines } from '../../engines/engine.ts';
import type { LoadedModel } from './loaded-model.ts';

/** @param variant the one that answers, or would. `bytes`: of its weights, exactly; null: only the hub knows. */
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
