import { z } from '#base/full-zod';
import { type EngineRules, proportional, type VariantBase } from '#catalog/rules';

/** Text to speech: a voice for each name, and the tables that turn English text into phonemes. */
export interface VoiceVariant extends VariantBase {
  engine: 'voice';
  /** Backend. Only WASM. */
  backend?: 'wasm';
  /** File of each voice, by the name that requests use: its network, or its style of `network`. The first is the default. */
  voices: Record<string, string>;
  /** Network that all voices share (Kokoro). */
  network?: string;
}

export const rules: EngineRules<VoiceVariant> = {
  engine: 'voice',
  fields: {
    backend: z.literal('wasm').optional(),
    voices: z.record(z.string().regex(/^[\w-]{1,64}$/), z.string().min(1)),
    network: z.string().min(1).optional(),
  },
  kinds: () => ['speech'],
  memory: proportional(220e6, 4),
};
