import { ggufOnHub } from './hub-variants.ts';
import type { CatalogExtension } from './parse-catalog.ts';
import type { VariantOf } from './catalog.ts';
import { filesIn } from './variant.ts';

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

/** Lexicon, tagger and reader of unknown words of hibari-tts: American English as phonemes. */
const american = filesIn('hibari', {
  'onnx/unknown-words.onnx': [2975020, 'd3cfd8122c5f172a98c8de38268bf1213ee09f2c2ae4df6e055fc6532590fe76'],
  'unknown-words.json': [2273, 'b462e6e5dbdf0e7346c732385d0dd844f612f1770871441c56932bff4ca75d8c'],
  'lexicon-gold.gzip': [719352, '63ae94f8ef0e906d5b24fe9b59ffcbd1529aca5686a774610e43973cbaa86ad2'],
  'lexicon-silver.gzip': [682530, 'c4c2546ebf1eb07010331e7ef785a431aa17ba8e7bfb6b4af8d654ee96a71fd3'],
  'tagger.gzip': [1240667, 'd2da7502284bbbe45d49e0b7ce3ce67bdab82254150f4317f1b8559b4d38d0eb'],
  'special-cases.json': [32450, 'ddf3a3da07bdcf5144270ea4530191d8580fb4fd6f5ae93296e87916e795659a'],
  'written-forms.json': [6769, 'd478ff05404bc43ac3e0468e306674e51085f1b1afc94cdef7c7ea4fb0d56bd8'],
  'vocabulary.json': [1144, '70abefbe8a1c8865e43e0a43bbdc25b91a33e4aa053479d443ccf23e20a59e5d'],
});

/** An American voice by hibari-tts, 8 bits. */
const hibari: VariantOf<'voice'> = {
  engine: 'voice',
  name: 'hibari-heart-int8',
  license: 'Apache-2.0',
  contextLength: 4096,
  voices: { heart: 'hibari/onnx/heart.onnx' },
  files: [
    ...american,
    ...filesIn('hibari', {
      'onnx/heart.onnx': [7936868, '5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8'],
    }),
  ],
};

/** Hashes of the styles of Kokoro's American voices. */
const styles = {
  heart: 'd583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b',
  bella: 'f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b',
  nicole: 'cd2191ab31b914ed7b318416b0e4440fdf392ddad9106a060819aa600a64f59a',
  alloy: 'c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45',
  nova: '18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f',
  echo: '3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3',
  onyx: 'da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6',
  michael: '1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1',
  fenrir: 'c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43',
  puck: 'fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0',
};
const styleFile = (name: string): string => `kokoro/voices/${name}.bin`;

/** Kokoro 82M, 8 bits, with ten American voices. It needs ten times the work of the other, so pages ask for it by name. */
const kokoro: VariantOf<'voice'> = {
  engine: 'voice',
  name: 'kokoro-82m-int8',
  license: 'Apache-2.0',
  contextLength: 4096,
  optIn: true,
  network: 'kokoro/onnx/kokoro.onnx',
  voices: Object.fromEntries(Object.keys(styles).map((name) => [name, styleFile(name)])),
  files: [
    ...american,
    {
      path: 'kokoro/onnx/kokoro.onnx',
      bytes: 92361271,
      sha256: '6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb',
    },
    ...Object.entries(styles).map(([name, sha256]) => ({ path: styleFile(name), bytes: 522240, sha256 })),
  ],
};

/** Text to speech, for `extendCatalog()`. Not in the default catalog. */
export const voices: CatalogExtension = {
  models: [{ id: 'silver-lark-4', kind: 'speech', created: 1795824000, variants: [hibari, kokoro] }],
};

/** SmolVLM-Instruct by Hugging Face in 8 bits, with its projector, from llama.cpp's repositories. */
function smolVlm(
  size: '256M' | '500M',
  approximateBytes: number,
  fields: Partial<VariantOf<'wllama'>>,
): VariantOf<'wllama'> {
  const model = `SmolVLM-${size}-Instruct-Q8_0.gguf`;
  const projector = `mmproj-${model}`;
  const folder = `smolvlm-${size.toLowerCase()}-instruct`;
  const repository = `ggml-org/SmolVLM-${size}-Instruct-GGUF`;
  const files = [model, projector];
  const hub = { repository, revision: 'main', folder, files, projector, approximateBytes };
  return ggufOnHub(`${folder}-q8_0`, hub, fields);
}

/** Chat about images, for `extendCatalog()`. Not in the default catalog. */
export const vision: CatalogExtension = {
  models: [
    {
      id: 'opal-lynx-4',
      kind: 'chat',
      created: 1795392000,
      variants: [
        smolVlm('500M', 0.55e9, { kvValues: 32 * 5 * (64 + 64), needs: { cores: 6 } }),
        smolVlm('256M', 0.28e9, { kvValues: 30 * 3 * (64 + 64) }),
      ],
    },
  ],
};
