/**
 * APIs of the engines' helper workers, by name. A helper worker runs the engine worker's script, but imports only its
 * own API: the engines' rules take 40 ms of processor time to compile and evaluate.
 */
export const HELPERS: Readonly<Record<string, () => Promise<object>>> = {
  grammar: async () => (await import('#grammar')).grammarWorker,
  template: async () => (await import('#chat-template')).templateWorker,
  image: async () => (await import('./pictures/image-worker.ts')).imageWorker,
  sound: async () => (await import('./sound/sound-worker.ts')).soundWorker,
  onnx: async () => (await import('./transformers/onnx-worker.ts')).onnxWorker,
  tokenizer: async () => (await import('./onnx/tokenizer-worker.ts')).tokenizerWorker,
  voice: async () => (await import('./voice/voice-worker.ts')).voiceWorker,
  whisper: async () => (await import('./whisper/whisper-worker.ts')).whisperWorker,
};
