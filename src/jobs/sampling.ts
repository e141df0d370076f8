import { ServiceError, unsupported } from '#base';

/** Sampling parameters. Fields that a request omits are absent, except `temperature` and `topP`. */
export interface Sampling {
  /** 0 decodes greedily. */
  temperature: number;
  topP: number;
  /** Drops tokens less probable than this fraction of the most probable token. */
  minP?: number;
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  /** Bias (-100 to 100) by token id. */
  logitBias?: Record<string, number>;
}

interface SamplingRow {
  /** Name in the API, and in an engine's request. */
  name: string;
  range?: readonly [low: number, high: number];
  /** Value that changes nothing. */
  neutral?: unknown;
  /** Engines that lack the parameter: they refuse every value but the neutral one. */
  lacking?: readonly string[];
}

const OWN = "the browser's own model";

/**
 * Each parameter, and what engines do with it: they get it under its API name, unless they lack it or convert it
 * themselves (`engineFields`). Servers get all parameters.
 */
export const SAMPLING = {
  temperature: { name: 'temperature', range: [0, 2], neutral: 1, lacking: [OWN] },
  topP: { name: 'top_p', range: [0, 1], neutral: 1, lacking: [OWN] },
  minP: { name: 'min_p', range: [0, 1], neutral: 0, lacking: [OWN, 'web-llm'] },
  seed: { name: 'seed', lacking: [OWN] },
  presencePenalty: { name: 'presence_penalty', range: [-2, 2], neutral: 0, lacking: [OWN] },
  frequencyPenalty: { name: 'frequency_penalty', range: [-2, 2], neutral: 0, lacking: [OWN] },
  logitBias: { name: 'logit_bias', neutral: {}, lacking: [OWN] },
} as const satisfies Record<keyof Sampling, SamplingRow>;

export type SamplingName = (typeof SAMPLING)[keyof Sampling]['name'];

/** Functions from a parameter to fields of an engine's request. */
type Conversions = { [Parameter in keyof Sampling]?: (value: NonNullable<Sampling[Parameter]>) => object };

/** Maps a seed of the API (signed, 64 bits) to one of an engine's seeds, 0 to `count` - 1. */
export const foldSeed = (seed: number, count: number): number => ((seed % count) + count) % count;

/**
 * Builds the fields of an engine's request from the parameters that are set.
 * @param engine its name in errors, and in `lacking`
 * @param conversions parameters that the engine takes in another form
 * @throws ServiceError 400 that names a parameter that the engine lacks
 */
export function engineFields(
  sampling: Sampling,
  engine: string,
  conversions: Conversions,
): Record<string, unknown> {
  const built = (Object.keys(SAMPLING) as (keyof Sampling)[]).map((parameter) => {
    const value = sampling[parameter];
    if (value === undefined) return {};
    const convert = conversions[parameter] as ((given: unknown) => object) | undefined;
    if (convert) return convert(value);
    const { name, neutral, lacking = [] }: SamplingRow = SAMPLING[parameter];
    if (!lacking.includes(engine)) return { [name]: value };
    if (JSON.stringify(value) === JSON.stringify(neutral)) return {};
    const rule = `is not possible here: this model runs on ${engine}, which lacks it. Leave it out`;
    // The browser's own model comes first where it can answer; the next variant has the parameter.
    throw new ServiceError({ ...unsupported(name, rule).wire, ...(engine === OWN && { passOn: true }) });
  });
  return Object.assign({}, ...built) as Record<string, unknown>;
}
