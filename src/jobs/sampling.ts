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

/** API name of each parameter, and the range of numbers. */
export const SAMPLING = {
  temperature: { name: 'temperature', range: [0, 2] },
  topP: { name: 'top_p', range: [0, 1] },
  minP: { name: 'min_p', range: [0, 1] },
  seed: { name: 'seed' },
  presencePenalty: { name: 'presence_penalty', range: [-2, 2] },
  frequencyPenalty: { name: 'frequency_penalty', range: [-2, 2] },
  logitBias: { name: 'logit_bias' },
} as const satisfies Record<keyof Sampling, { name: string; range?: readonly [low: number, high: number] }>;

export type SamplingName = (typeof SAMPLING)[keyof Sampling]['name'];

/**
 * Functions from each parameter to fields of an engine's request. All are required, so that a missing parameter is
 * a type error. A function throws if the engine does not support its parameter.
 */
export type EngineSampling = {
  [Parameter in keyof Sampling]-?: (value: NonNullable<Sampling[Parameter]>) => object;
};

/** Maps a seed of the API (signed, 64 bits) to one of an engine's seeds, 0 to `count` - 1. */
export const foldSeed = (seed: number, count: number): number => ((seed % count) + count) % count;

/** Builds the fields of an engine's request from the parameters that are set. */
export function engineFields(sampling: Sampling, fields: EngineSampling): Record<string, unknown> {
  const built = (Object.keys(SAMPLING) as (keyof Sampling)[]).map((parameter) => {
    const value = sampling[parameter];
    return value === undefined ? {} : (fields[parameter] as (value: unknown) => object)(value);
  });
  return Object.assign({}, ...built) as Record<string, unknown>;
}
