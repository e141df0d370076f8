import { preferenceOf, type CatalogModel, type Variant, type VariantOf } from '#catalog';
import type { UpstreamServer } from './upstream/upstream-server.ts';

/** A server, or variants of the device, that may answer for a model. */
export type Target =
  { server: UpstreamServer; variants?: undefined } | { server?: undefined; variants: string[] };

/**
 * The targets of a model in the order in which they are asked: the variants that the page prefers, then the
 * side that the model's route names, each in the catalog's order.
 */
export function modelTargets(
  { variants, route }: CatalogModel,
  prefer: readonly string[],
  serverOf: (variant: VariantOf<'upstream'>) => UpstreamServer,
): Target[] {
  const rank = (variant: Variant): number => {
    const place = preferenceOf(variant, prefer);
    const last = variant.engine === 'upstream' ? 'device-first' : 'server-first';
    return place + Number(place === prefer.length && route === last);
  };
  const targets: Target[] = [];
  for (const variant of variants.toSorted((a, b) => rank(a) - rank(b))) {
    const { name, engine, optIn } = variant;
    if (optIn && !prefer.includes(name)) continue;
    const last = targets.at(-1)?.variants;
    if (engine === 'upstream') targets.push({ server: serverOf(variant) });
    else if (last) last.push(name);
    else targets.push({ variants: [name] });
  }
  return targets;
}
