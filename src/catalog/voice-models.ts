import type { VoiceVariant } from './catalog.ts';
import type { CatalogExtension } from './parse-catalog.ts';

/** An American voice by hibari-tts, 8 bits, with its lexicon and its reader of unknown words. */
const hibari: VoiceVariant = {
  engine: 'voice',
  name: 'hibari-heart-int8',
  license: 'Apache-2.0',
  contextLength: 4096,
  voices: { heart: 'hibari/onnx/heart.onnx' },
  files: [
    {
      path: 'hibari/onnx/heart.onnx',
      bytes: 7936868,
      sha256: '5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8',
    },
    {
      path: 'hibari/onnx/unknown-words.onnx',
      bytes: 2975020,
      sha256: 'd3cfd8122c5f172a98c8de38268bf1213ee09f2c2ae4df6e055fc6532590fe76',
    },
    {
      path: 'hibari/unknown-words.json',
      bytes: 2273,
      sha256: 'b462e6e5dbdf0e7346c732385d0dd844f612f1770871441c56932bff4ca75d8c',
    },
    {
      path: 'hibari/lexicon-gold.gzip',
      bytes: 719352,
      sha256: '63ae94f8ef0e906d5b24fe9b59ffcbd1529aca5686a774610e43973cbaa86ad2',
    },
    {
      path: 'hibari/lexicon-silver.gzip',
      bytes: 682530,
      sha256: 'c4c2546ebf1eb07010331e7ef785a431aa17ba8e7bfb6b4af8d654ee96a71fd3',
    },
    {
      path: 'hibari/tagger.gzip',
      bytes: 1240667,
      sha256: 'd2da7502284bbbe45d49e0b7ce3ce67bdab82254150f4317f1b8559b4d38d0eb',
    },
    {
      path: 'hibari/special-cases.json',
      bytes: 32450,
      sha256: 'ddf3a3da07bdcf5144270ea4530191d8580fb4fd6f5ae93296e87916e795659a',
    },
    {
      path: 'hibari/written-forms.json',
      bytes: 6769,
      sha256: 'd478ff05404bc43ac3e0468e306674e51085f1b1afc94cdef7c7ea4fb0d56bd8',
    },
    {
      path: 'hibari/vocabulary.json',
      bytes: 1144,
      sha256: '70abefbe8a1c8865e43e0a43bbdc25b91a33e4aa053479d443ccf23e20a59e5d',
    },
  ],
};

/** Text to speech, for `extendCatalog()`. Not in the default catalog. */
export const voices: CatalogExtension = {
  models: [{ id: 'silver-lark-4', kind: 'speech', created: 1795824000, variants: [hibari] }],
};
