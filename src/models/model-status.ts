import { weightBytes, type CatalogModel } from '#catalog';
import { omitNulls, serverError, toWireError, type ServiceError } from '#base';
import { idleStatus, type ModelStatus, type VariantEstimate, type VariantReason } from '#protocol';
import type { LoadedModel } from './loaded-model.ts';
import type { Plan } from './variant-choice.ts';

/** What is known of variants beyond their plan and state, by name. */
export interface VariantDetails {
  /** Notes on how a variant runs, appended to the reason for its selection. */
  notes?: ReadonlyMap<string, string>;
  estimates?: ReadonlyMap<string, VariantEstimate>;
}

/** @param loadedModels the model's variants that were loaded or tried, in order of preference */
export function modelStatus(
  { id, kind, variants }: CatalogModel,
  plan: Plan | undefined,
  loadedModels: readonly LoadedModel[],
  { notes, estimates }: VariantDetails,
): ModelStatus {
  const shown = loadedModels.find(({ state }) => state !== 'failed') ?? loadedModels.at(-1);
  const [first] = plan?.candidates ?? [];
  return {
    ...idleStatus(id, kind),
    ...(shown && loadedStatus(id, shown)),
    ...(first && { bytes: weightBytes(shown?.variant ?? first) }),
    reasons: reasonsAfterLoad(plan?.reasons ?? [], shown, loadedModels).map((each) => {
      const note = each.chosen ? notes?.get(each.variant) : undefined;
      return note === undefined ? each : { ...each, reason: `${each.reason}; ${note}` };
    }),
    estimates: Object.fromEntries(
      variants.flatMap(({ name }) => {
        const estimate = estimates?.get(name);
        return estimate ? [[name, estimate]] : [];
      }),
    ),
  };
}

/** Status fields that depend on the loaded model. */
function loadedStatus(id: string, loadedModel: LoadedModel): Partial<ModelStatus> {
  const { variant, state, engine, progress, queue, error, files, unloadedFor } = loadedModel;
  const thinks = engine?.traits.thinks;
  return {
    state,
    fingerprint: engine?.fingerprint ?? null,
    progress: progress && { model: id, ...progress },
    queued: queue.queued,
    running: queue.running,
    error: error ? toWireError(error).message : null,
    ...(error !== null && { errorCode: toWireError(error).code ?? 'server_error' }),
    ...('sampling' in variant && { sampling: variant.sampling }),
    ...omitNulls({ unloadedFor, thinks }),
    ...(files.size > 0 && { files: Object.fromEntries(files) }),
  };
}

/** Adjusts the reasons if a later variant than planned was loaded. */
function reasonsAfterLoad(
  planned: VariantReason[],
  shown: LoadedModel | undefined,
  loadedModels: readonly LoadedModel[],
): VariantReason[] {
  const first = planned.find(({ chosen }) => chosen);
  if (shown?.state !== 'ready' || !first) return planned;
  const { name, engine } = shown.variant;
  if (first.variant === name && !first.endedTab) return planned;
  const error = loadedModels.find(({ variant }) => variant.name === first.variant)?.error;
  const reason = error ? `could not be loaded: ${toWireError(error).message}` : 'could not be loaded';
  const others = planned.filter(({ variant }) => variant !== name);
  return [
    { variant: name, engine, chosen: true, reason: 'the first that could be loaded' },
    ...others.map((each) => (each.chosen ? { ...each, chosen: false, reason } : each)),
  ];
}

/** @param deviceOnly whether the request, or its key, is limited to variants that run on this device */
export function noVariant(id: string, reasons: readonly VariantReason[], deviceOnly = false): ServiceError {
  const why = reasons.map(({ variant, reason }) => `${variant}: ${reason}`).join('; ');
  const way = why
    ? 'Use another model.'
    : 'If a server runs it, build the service worker with localtext({ servers: true }), or use another model.';
  const message = deviceOnly
    ? `The request or its key is limited to this device, which can run no variant of ${id}: ${why || 'only servers run it'}. Use another model, or send the request without the limit.`
    : `This device can run no variant of ${id}: ${why || 'the catalog names none'}. ${way}`;
  return serverError('model_unavailable', message);
}
