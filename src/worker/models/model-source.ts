import { addedFilePath, addedFolder } from '../../catalog/added-models.ts';
import type { WeightFile } from '../../catalog/catalog.ts';
import type { ModelFile } from '../../model-files/gguf/inspect-model.ts';
import { startOfBlob } from '../../model-files/gguf/read-header.ts';
import { badRequest, EngineError } from '../../errors/engine-error.ts';
import { readStart } from '../../model-files/sources/read-start.ts';
import type { ModelSource } from '../../protocol/weights-command.ts';
import type { EmbeddingFacts, RemoteFile } from '../../protocol/weights-messages.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';
import { hashed } from '../../model-files/sources/hub-source.ts';
import { hashBlob } from '../../model-files/integrity/file-hash.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';
import { findHubModel } from './find-hub-model.ts';

interface CountOptions {
  signal: AbortSignal;
  onProgress(bytes: number): void;
}

/** A file of a model that is being added. */
export interface SourceFile extends ModelFile {
  phase: LoadProgress['phase'];
  /** Its place, size and hash in the store. */
  describe(options: CountOptions): Promise<WeightFile>;
  store(file: WeightFile, options: CountOptions): Promise<void>;
}

export interface OpenedSource {
  files: SourceFile[];
  /** Of an embedding model; a GGUF file has its own. */
  facts?: EmbeddingFacts;
}

export interface SourceAccess {
  store: WeightStore;
  sources: Pick<WeightSources, 'hubModels'>;
  /** Files of the page that adds them; null: it has none for that ticket. */
  takeFiles(ticket: string, signal: AbortSignal): Promise<Blob[] | null>;
}

/** @throws EngineError */
export async function openSource(
  source: ModelSource,
  { store, sources, takeFiles }: SourceAccess,
  signal: AbortSignal,
): Promise<OpenedSource> {
  switch (source.type) {
    case 'files': {
      const blobs = await takeFiles(source.ticket, signal);
      signal.throwIfAborted();
      if (blobs?.length === source.names.length)
        return { files: blobs.map((blob, index) => localFile(source.names[index] ?? '', blob, store)) };
      const message = 'The files did not come from the page that adds them. Choose them again.';
      throw badRequest(message, 'source', 'invalid_model_file');
    }
    case 'url':
      return { files: [await urlFile(source, store, signal)] };
    case 'hub': {
      const { files, facts, revision } = await findHubModel(source, sources, signal);
      const folder = facts && addedFolder(source.repository, revision);
      return { files: files.map((file) => remoteFile(file, store, signal, folder)), ...(facts && { facts }) };
    }
    default:
      throw badRequest('Unknown source of a model.', 'source', 'unsupported_value');
  }
}

async function urlFile(
  { url, sha256 }: Extract<ModelSource, { type: 'url' }>,
  store: WeightStore,
  signal: AbortSignal,
): Promise<SourceFile> {
  if (!/^https?:/.test(url)) throw badRequest(`${url} is no http or https URL.`, 'source', 'invalid_value');
  if (!/^[0-9a-f]{64}$/i.test(sha256))
    throw badRequest('`sha256` must be the SHA-256 of the file in 64 hex digits.', 'source', 'invalid_value');
  const { size } = await readStart(url, 1, signal);
  const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '');
  return remoteFile({ name, url, bytes: size, sha256: sha256.toLowerCase() }, store, signal);
}

function remoteFile(
  { name, url, bytes, sha256 }: RemoteFile,
  store: WeightStore,
  signal: AbortSignal,
  folder?: string,
): SourceFile {
  return {
    name,
    size: bytes,
    phase: 'download',
    read: async (length) => (await readStart(url, length, signal)).bytes,
    async describe() {
      const known = sha256 === null ? await hashed(url, signal) : { bytes, sha256 };
      const path = folder === undefined ? addedFilePath(known.sha256) : `${folder}/${name}`;
      return { path, ...known, url };
    },
    async store(file, options) {
      try {
        await store.file(file, options);
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'weights_corrupt')) throw error;
        const message = `${name} does not have the size or SHA-256 that was given. Check both. Nothing was stored.`;
        throw badRequest(message, 'source', 'invalid_model_file');
      }
    },
  };
}

/** Read twice, so that its hash is known before anything is written. */
function localFile(name: string, blob: Blob, store: WeightStore): SourceFile {
  let chunks: string[] = [];
  return {
    ...startOfBlob(blob),
    name,
    phase: 'copy',
    async describe({ signal, onProgress }) {
      const digest = await hashBlob(blob, signal, onProgress);
      onProgress(blob.size);
      chunks = digest.chunks;
      return { path: addedFilePath(digest.sha256), bytes: blob.size, sha256: digest.sha256 };
    },
    store: (file, options) => store.putHashed(file, chunks, blob, options),
  };
}
