import type { EngineClientDependencies } from '../tabs/client/call-engine.ts';
import { readStatus } from '../tabs/client/load-model.ts';
import type { ModelDescription } from '../service/service-dependencies.ts';

/** A model can be told of without its engine: nothing waits longer for one. */
const ENGINE_TIMEOUT_MS = 500;

/** What the engine says of its choice for a model; null where none answers at once, or it has not chosen yet. */
export async function describeModel(
  engine: EngineClientDependencies,
  id: string,
): Promise<ModelDescription | null> {
  try {
    const dependencies = { ...engine, deadlineMs: ENGINE_TIMEOUT_MS };
    const status = await readStatus(dependencies, AbortSignal.timeout(2 * ENGINE_TIMEOUT_MS));
    const model = status?.models.find((each) => each.id === id);
    const chosen = model?.reasons?.find((reason) => reason.chosen);
    if (!model || !chosen) return null;
    const { state, fingerprint, bytes = 0, sampling = {}, reasons = [] } = model;
    const { variant, engine: name } = chosen;
    return { variant, engine: name, bytes, state, fingerprint, sampling, reasons };
  } catch {
    return null;
  }
}
