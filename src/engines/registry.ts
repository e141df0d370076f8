import type { Variant } from '#catalog';
import { builtIn } from './built-in/plugin.ts';
import type { EnginePlugin } from '#engine-kit';
import { llamaCpp } from './llama-cpp/plugin.ts';
import { transformers } from './onnx/plugin.ts';
import { voice } from './voice/plugin.ts';
import { webLlm } from './web-llm/plugin.ts';
import { whisper } from './whisper/plugin.ts';

type DeviceEngine = Exclude<Variant['engine'], 'upstream'>;

/** The engines of this package. An engine's code is imported when its first variant loads. */
export const ENGINES: { [E in DeviceEngine]: EnginePlugin<Extract<Variant, { engine: E }>> } = {
  wllama: llamaCpp,
  transformers,
  whisper,
  voice,
  'web-llm': webLlm,
  'built-in': builtIn,
};
