import type { EngineStatus } from '../protocol/worker-control.ts';
import type { ModelDetails } from '../api/service-dependencies.ts';

/** Describes which variant answers for a model, and why; null if that is not known yet. */
export function describeModel(status: EngineStatus | null, id: string): ModelDetails | null {
  const model = status?.models.find((each) => each.id === id);
  const chosen = model?.reasons?.find((reason) => reason.chosen);
  if (!model || !chosen) return null;
  const { state, fingerprint, bytes = 0, sampling = {}, reasons = [], thinks } = model;
  const { variant, engine } = chosen;
  const known = { variant, engine, bytes, state, fingerprint, sampling, reasons };
  return { ...known, ...(thinks !== undefined && { thinks }) };
}
