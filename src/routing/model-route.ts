import type { CatalogModel, UpstreamVariant, Variant } from '../catalog/catalog.ts';
import type { UpstreamServer } from './upstream/upstream-server.ts';

/** A server, or the device by one of these variants. */
export type Leg =
  { server: UpstreamServer; variants?: undefined } | { server?: undefined; variants: string[] };

/** Who may answer for a model. */
export interface Route {
  /** In the order in which they are asked. */
  legs: Leg[];
  /** Server and device are asked at once. */
  isRace: boolean;
}

/** The variants that the page prefers, then the side that the model's route names, each in the catalog's order. */
export function modelRoute(
  { variants, route }: CatalogModel,
  prefer: readonly string[],
  serverOf: (variant: UpstreamVariant) => UpstreamServer,
): Route {
  const rank = ({ name, engine }: Variant): number => {
    const place = prefer.indexOf(name);
    if (place >= 0) return place;
    const comesLast = engine === 'upstream' ? route === 'device-first' : route === 'server-first';
    return prefer.length + Number(comesLast);
  };
  const legs: Leg[] = [];
  for (const variant of variants.toSorted((a, b) => rank(a) - rank(b))) {
    const { name, engine, optIn } = variant;
    if (optIn && !prefer.includes(name)) continue;
    const last = legs.at(-1)?.variants;
    if (engine === 'upstream') legs.push({ server: serverOf(variant) });
    else if (last) last.push(name);
    else legs.push({ variants: [name] });
  }
  const sides = new Set(legs.map(({ server }) => server === undefined));
  return { legs, isRace: route === 'race' && sides.size === 2 };
}
