export { CHUNK_BYTES } from './backends/storage-backend.ts';
export type { DownloadRate } from './download/download-rate.ts';
export { findStored } from './find-stored.ts';
export type { ModelStorage } from './model-storage.ts';
export type { VariantFiles } from './sources/variant-files.ts';
export type { StoredFile, WeightStore } from './weight-store.ts';
export { createWeights, type Weights } from './create-weights.ts';
