import type { Catalog } from '../catalog/catalog.ts';
import type { EngineClientDependencies } from '../engine-client/ask-engine.ts';
import { readStatus } from '../engine-client/load-model.ts';
import type { ModelDescription } from '../service/service-dependencies.ts';

/** A model can be told of without its engine: nothing waits longer for one. */
const PATIENCE_MS = 500;

/** What the engine says of its choice for a model; null where none answers at once, or it has not chosen yet. */
export async function describeModel(
  engine: EngineClientDependencies,
  { models }: Catalog,
  id: string,
): Promise<ModelDescription | null> {
  try {
    const dependencies = { ...engine, deadlineMs: PATIENCE_MS };
    const status = await readStatus(dependencies, AbortSignal.timeout(2 * PATIENCE_MS));
    const model = status?.models.find((each) => each.id === id);
    const chosen = model?.reasons?.find((reason) => reason.chosen);
    if (!model || !chosen) return null;
    const variants = models.find((each) => each.id === id)?.variants ?? [];
    const variant = variants.find(({ name }) => name === chosen.variant);
    return {
      variant: chosen.variant,
      engine: chosen.engine,
      bytes: (variant?.files ?? []).reduce(
        (sum, { bytes }) => sum + bytes,
        variant?.hub?.approximateBytes ?? 0,
      ),
      state: model.state,
      fingerprint: model.fingerprint,
      reasons: (model.reasons ?? []).map(({ variant: name, chosen: taken, reason }) => ({
        variant: name,
        chosen: taken,
        reason,
      })),
    };
  } catch {
    return null;
  }
}
