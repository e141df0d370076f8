import type { CatalogExtension } from './parse-catalog.ts';
import type { VariantOf } from './catalog.ts';

/** Whisper tiny by OpenAI, in ONNX and 8 bits. */
const whisperTiny: VariantOf<'whisper'> = {
  engine: 'whisper',
  name: 'whisper-tiny-q8',
  license: 'MIT',
  contextLength: 448,
  files: [],
  hub: {
    repository: 'onnx-community/whisper-tiny_timestamped',
    revision: 'main',
    folder: 'whisper-tiny',
    files: [
      'config.json',
      'generation_config.json',
      'preprocessor_config.json',
      'tokenizer.json',
      'tokenizer_config.json',
      'onnx/encoder_model_quantized.onnx',
      'onnx/decoder_model_merged_quantized.onnx',
    ],
    approximateBytes: 45e6,
  },
};

/** Speech to text, for `extendCatalog()`. Not in the default catalog. */
export const speech: CatalogExtension = {
  models: [{ id: 'coral-wren-4', kind: 'transcription', created: 1795392000, variants: [whisperTiny] }],
};
