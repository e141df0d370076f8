import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import type { VariantReason } from '../../protocol/worker-control.ts';
import type { Device } from '../device/device.ts';
import { chooseVariant, type VariantState } from './variant-choice.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';

export interface Plan {
  /** Variants that this device can run and whose weights can be fetched, best first. */
  candidates: Variant[];
  /** Why the first was chosen, and why each one before it was skipped. */
  reasons: VariantReason[];
}

/** Which of a model's variants to try, in which order; `faults` of those that have failed for good, by name. */
export type PlanVariants = (model: CatalogModel, faults: ReadonlyMap<string, string>) => Promise<Plan>;

/** Orders a model's variants by what the device can do and where its weights are available. */
export function variantPlanner(
  device: Promise<Device>,
  sources: Pick<WeightSources, 'fault' | 'missingBytes'>,
  prefer: readonly string[] = [],
): PlanVariants {
  return async (model, faults) => {
    const states: Record<string, VariantState> = {};
    for (const variant of model.variants) {
      const fault = faults.get(variant.name);
      states[variant.name] =
        fault === undefined ? { missingBytes: await sources.missingBytes(variant) } : { fault };
    }
    const asked = new Set<string>();
    const candidates: Variant[] = [];
    let reasons: VariantReason[] | null = null;
    for (;;) {
      const choice = chooseVariant(model, await device, prefer, states);
      const { variant } = choice;
      if (!variant) return { candidates, reasons: reasons ?? choice.reasons };
      // Asked only now: no request to a hub or for a manifest for what the device cannot run.
      if (!asked.has(variant.name)) {
        asked.add(variant.name);
        const fault = await sources.fault(variant);
        if (fault !== undefined) states[variant.name] = { fault };
        continue;
      }
      candidates.push(variant);
      reasons ??= choice.reasons;
      states[variant.name] = { fault: 'comes before' };
    }
  };
}
