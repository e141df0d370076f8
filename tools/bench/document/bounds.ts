/** Reasons why a goal is missed, by measurement. The page shows those of missed goals. */
export const bounds: Record<string, string> = {
  'first-token':
    'The time of the single token that both compute varies by more than the gap. The row of the time outside llama.cpp has the part that localtext adds.',
  'first-token-parts':
    'Most of it is the time of `GET /v1/models`, without any engine: the fetch, the SDK, and IndexedDB for the key and its limits (parts below). Not waiting for the two writes of the limits changed nothing (9.1 and 9.4 ms, beside 8.6 and 8.9).',
  'first-token-stopped': 'The browser first starts the service worker and runs its script.',
  'models-warm':
    'An empty answer of the service worker takes some 2 ms of it (median below), and the SDK 1 ms. The rest is the key: it is hashed and looked up in IndexedDB at each request, so that a revoked key fails at once. The catalog is read meanwhile. Keeping the key in memory would save 0.2 ms, and the catalog as much. Sending the body as a stream saves the 1 ms that Chromium needs to make a Blob of a string.',
  'models-stopped':
    'The browser first starts the service worker and runs its script. A stopped, empty service worker answers an empty request in 12 ms; reading and compiling a script of this size adds 3 to 4. Running the script took 5 to 6 more while it created all schemas of request bodies. They are now created when needed: 19.9 ms instead of 23.5.',
  'beside-load':
    "On two processors the load needs more than the one that llama.cpp leaves free: the browser compiles onnxruntime's WASM on all of them. The model is prepared in a separate worker.",
  native:
    "WebAssembly's vectors are only 128 bits wide. Native llama.cpp multiplies 8-bit blocks with AVX2 or AVX-512 (dot products of 32 to 64 bytes per instruction, repacked weights); the linked kernels multiply 16 bytes at a time.",
  batching:
    'The prefix is computed once in both cases. A step for four chats takes 2.7 times as long as for a single chat (52 and 19 ms), which saves 0.6 s over the 96 tokens of the replies. Together, each prompt costs one token more, for the copy of its state, and its batches wait for those of the others.',
  'beside-prefill':
    'llama.cpp computes a prompt in batches, and a running step cannot be interrupted. The short prompt waits until the step has ended and the long prompt is put aside.',
  'given-up':
    'A batch of texts cannot be interrupted. While another client has many requests, a batch has one text of this length, which takes longer than the short request.',
  prefill:
    'Smaller batches reuse each block of weights for fewer tokens. They allow aborts, and shorter prompts, in between.',
  turns:
    'The cached prefix is found. The remaining cost is attention over a longer context, and the template of the earlier turns.',
  interleaved:
    'Four slots keep four conversations. The states of others are saved in memory, and restored when they fit the prompt best. A state is computed again if a new conversation with a short common prefix has taken it.',
  choices:
    'The prompt is computed once, and its state is copied from slot to slot, which costs each further choice two steps of a token.',
  'embeddings-mixed':
    'Both wait for the same model, in f32 on WASM. localtext saves only padding, by batches of texts of similar length with at most 512 tokens, and calls. Two workers with one thread each are slower in f32: 15.6 s for 128 texts, while one worker with two threads takes 11.3.',
  'embeddings-mixed-int8':
    "onnxruntime's WASM kernel for 8 bits multiplies 16-bit integers, eight at a time, and is 2.6 times as fast as the one for f32. Its products are two thirds of the remaining time; softmax, layer norms, GELU and attention's own products stay in f32. On one thread, in Node, it is 2.2 times as fast as f32. One worker computes one text at a time, which keeps few threads busy. Unsorted batches of 32 take 2.2 times as long as the loop, because of their padding, so a ratio of 6 would need 2.7 times the loop's speed.",
  memory:
    'Each tab is a browser process with its own script engine and application. Five tabs that only show a file take as much (figures below).',
  'warm-start':
    "Each load also reads the stored weights a second time to verify their hash, and the model answers only once they are verified. The time of the choice of weights and of the store, before llama.cpp's worker starts, is below.",
};
