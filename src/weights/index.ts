export { createWeights, type Weights } from './create-weights.ts';
export { openBackend, readCached } from './backends/open-backend.ts';
export { openWeightsFolder } from './backends/opfs-backend.ts';
export {
  CHUNK_BYTES,
  pathNote,
  readChunk,
  readSmallFile,
  type StoredPath,
} from './backends/storage-backend.ts';
export { DownloadRate } from './download/download-rate.ts';
export { hashBlob, recordName } from './integrity/integrity-record.ts';
export { exportDescription, importFile, type ImportExportDependencies } from './model-import-export.ts';
export { ModelStorage } from './model-storage.ts';
export type { RemoteFile, RepositorySource } from './sources/hub-source.ts';
export { readStart } from './sources/read-start.ts';
export { WeightSources } from './sources/weight-sources.ts';
export { freeBytes } from './storage-estimate.ts';
export { WeightStore, type StoredFile } from './weight-store.ts';
