import type { EngineClientDependencies } from '../tabs/client/call-engine.ts';
import { readStatus } from '../tabs/client/load-model.ts';
import type { ModelDescription } from '../service/service-dependencies.ts';

/** The description is optional, so it waits for the engine no longer than this. */
const ENGINE_TIMEOUT_MS = 500;

/** The engine's choice of a variant; null if no engine answers in time, or it has not chosen yet. */
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
    const { state, fingerprint, bytes = 0, sampling = {}, reasons = [], thinks } = model;
    const { variant, engine: name } = chosen;
    const base = { variant, engine: name, bytes, state, fingerprint, sampling, reasons };
    return thinks === undefined ? base : { ...base, thinks };
  } catch {
    return null;
  }
}
