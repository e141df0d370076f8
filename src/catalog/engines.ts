import * as engines from '#engines/rules';
import type { EngineRules } from './engine-rules.ts';

type Engines = typeof engines;

/** Weights for one engine, or a server. */
export type Variant = {
  [E in keyof Engines]: Engines[E]['rules'] extends EngineRules<infer V> ? V : never;
}[keyof Engines];

/** Variant of one engine: `VariantOf<'upstream'>`. */
export type VariantOf<E extends Variant['engine']> = Extract<Variant, { engine: E }>;

/** Rules of all engines that a catalog may name. */
export const ENGINE_RULES: Readonly<Record<string, EngineRules>> = Object.fromEntries(
  Object.values(engines).map(({ rules }) => [rules.engine, rules]),
);

/** Rules of a variant's engine; undefined for an engine of another package. */
export const rulesOf = ({ engine }: { engine: string }): EngineRules | undefined => ENGINE_RULES[engine];
