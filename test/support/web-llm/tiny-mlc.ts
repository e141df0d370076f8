const chatConfig = {
  vocab_size: 4,
  context_window_size: 2048,
  sliding_window_size: -1,
  attention_sink_size: -1,
  tokenizer_files: ['tokenizer.json'],
  conv_template: {
    system_template: '',
    system_message: '',
    roles: { user: 'u', assistant: 'a' },
    seps: ['|'],
    stop_str: [],
    stop_token_ids: [0],
  },
};
const tokenizer = {
  version: '1.0',
  model: { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [] },
  added_tokens: [],
};
const tensorCache = {
  metadata: {},
  records: [{ dataPath: 'params_shard_0.bin', nbytes: 4, format: 'raw-shard', records: [] }],
};

/** Texts of an MLC repository's files, by their names: web-llm takes them, and a library is what they lack. */
export const tinyMlc: Record<string, string> = {
  'mlc-chat-config.json': JSON.stringify(chatConfig),
  'tensor-cache.json': JSON.stringify(tensorCache),
  'params_shard_0.bin': 'abcd',
  'tokenizer.json': JSON.stringify(tokenizer),
};
