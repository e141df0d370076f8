import { type CatalogModel, maySee, type Variant } from '../../catalog/catalog.ts';
import type { Capability, ModelFacts } from '../../protocol/model-facts.ts';
import type { Engine } from '../runtimes/engine.ts';
import type { LoadedModel } from './loaded-model.ts';

/** What every model can do that this kind of engine runs. */
const CAPABILITIES: Record<Variant['engine'], Capability[]> = {
  wllama: ['chat', 'tools', 'json_schema', 'logprobs'],
  'web-llm': ['chat', 'tools', 'json_schema', 'logprobs'],
  transformers: ['embeddings'],
  whisper: ['transcription'],
  'built-in': ['chat', 'json_schema'],
  upstream: [],
};

/** Capabilities of a model without a chat template. */
const COMPLETIONS: Capability[] = ['completions', 'logprobs'];

function cannotChat(variant: Variant, engine: Engine | null): boolean {
  if (engine?.facts.chats !== undefined) return !engine.facts.chats;
  return variant.engine === 'wllama' && variant.completionsOnly === true;
}

/** @param variant the one that answers, or would. `bytes`: of its weights, exactly; null: only the hub knows. */
export function modelFacts(
  { kind }: Pick<CatalogModel, 'kind'>,
  variant: Variant,
  bytes: number | null,
  loadedModel: Pick<LoadedModel, 'engine'> | undefined,
): ModelFacts {
  const engine = loadedModel?.engine ?? null;
  // A device that is short of memory has loaded it with a shorter context.
  const { thinks = false, vision, contextLength = variant.contextLength } = engine?.facts ?? {};
  const sees = engine ? vision === true : maySee(variant);
  return {
    context_length: contextLength,
    ...(kind === 'chat' && { max_output_tokens: contextLength }),
    capabilities: [
      ...(cannotChat(variant, engine) ? COMPLETIONS : CAPABILITIES[variant.engine]),
      ...(thinks ? ['reasoning' as const] : []),
      ...(sees ? ['vision' as const] : []),
    ],
    ...(bytes !== null && { size_bytes: bytes }),
    loaded: engine !== null,
  };
}
