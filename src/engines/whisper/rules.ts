import { backend, type EngineRules, proportional, type VariantBase } from '#catalog/rules';

/** Speech to text with Whisper in ONNX: an encoder, and a decoder with a cache (`decoder_model_merged`). */
export interface WhisperVariant extends VariantBase {
  engine: 'whisper';
  /** Backend. Default: WASM. */
  backend?: 'wasm' | 'webgpu';
}

export const rules: EngineRules<WhisperVariant> = {
  engine: 'whisper',
  fields: { backend: backend.optional() },
  kinds: () => ['transcription'],
  memory: proportional(260e6, 2),
};
