import * as engines from '#engines/rules';
import type { EngineRules } from './engine-rules.ts';

type Engines = typeof engines;

/** Variant of one engine: `VariantOf<'upstream'>`. */
export type VariantOf<E extends keyof Engines> = Engines[E]['rules'] extends EngineRules<infer V> ? V : never;

/** Weights for one engine, or a server. */
export type Variant = { [E in keyof Engines]: VariantOf<E> }[keyof Engines];

/** Rules of all engines that a catalog may name. */
export const ENGINE_RULES: Readonly<Record<string, EngineRules>> = Object.fromEntries(
  Object.entries(engines).map(([engine, { rules }]) => [engine, rules]),
);

/** Rules of a variant's engine; undefined for an engine of another package. */
export const rulesOf = ({ engine }: { engine: string }): EngineRules | undefined => ENGINE_RULES[engine];
