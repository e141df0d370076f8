/** Sampling parameters. Fields that a request omits are absent, except `temperature` and `topP`. */
export interface Sampling {
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  /** Drops tokens less probable than this share of the most probable one. */
  minP?: number;
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  /** Token id → bias, -100 to 100. */
  logitBias?: Record<string, number>;
}

/** The API's name of each parameter, and its range where it is a number. */
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
 * Fields of an engine's request for each parameter. An engine that cannot do one throws: a parameter that it forgets is a
 * type error.
 */
export type EngineSampling = {
  [Parameter in keyof Sampling]-?: (value: NonNullable<Sampling[Parameter]>) => object;
};

/** Maps a seed, which has 64 bits and a sign in the API, to one of an engine's `count` seeds from 0 on. */
export const foldSeed = (seed: number, count: number): number => ((seed % count) + count) % count;

/** The fields of an engine's request, for what is given. */
export function engineFields(sampling: Sampling, fields: EngineSampling): Record<string, unknown> {
  const given = (Object.keys(SAMPLING) as (keyof Sampling)[]).map((parameter) => {
    const value = sampling[parameter];
    return value === undefined ? {} : (fields[parameter] as (given: unknown) => object)(value);
  });
  return Object.assign({}, ...given) as Record<string, unknown>;
}
