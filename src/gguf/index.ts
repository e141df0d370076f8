export { ENCODERS } from './architectures.ts';
export { FormatError, readHeader, startOfBlob } from './byte-cursor.ts';
export { checkFormat, findBrokenJson } from './check-format.ts';
export { PLACES, TOKENS_KEY, hasChatMl, type GgufTraits } from './gguf-traits.ts';
export { inspectModel, isProjector, type InspectedModel, type ModelFile } from './inspect-model.ts';
export { closeGguf, openGguf } from './open-gguf.ts';
export { readNumbers, readTexts, TENSOR_TYPES } from './read-gguf.ts';
export { readSafetensors, type SafetensorsTensor } from './read-safetensors.ts';
