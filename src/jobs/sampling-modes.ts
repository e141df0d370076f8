import type { Sampling } from './sampling.ts';

/**
 * Sampling modes of the Prompt API, with a temperature of `/v1` that stands for each. OpenAI's default of 1 and what is
 * near it is `balanced`, the mode of a session that names none.
 */
export const SAMPLING_MODES = {
  'most-predictable': 0,
  predictable: 0.3,
  'slightly-predictable': 0.5,
  balanced: 0.7,
  'slightly-creative': 0.9,
  creative: 1.2,
  'most-creative': 1.5,
} as const;

export type SamplingMode = keyof typeof SAMPLING_MODES;

/** Modes of the standard's draft: browsers may lack those between them. */
export type DraftSamplingMode = Exclude<SamplingMode, `slightly-${string}`>;

/** The mode for a request of `/v1`. A small `top_p` leaves few tokens, as a low temperature does. */
export function samplingModeOf({ temperature, topP }: Sampling): DraftSamplingMode {
  if (temperature === 0 || topP <= 0.1) return 'most-predictable';
  if (temperature <= 0.5 || topP <= 0.5) return 'predictable';
  if (temperature <= 1) return 'balanced';
  return temperature < 1.4 ? 'creative' : 'most-creative';
}
