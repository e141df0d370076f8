/** What stands in the way where a goal is missed, by measurement: shown for those that are. */
export const bounds: Record<string, string> = {
  'first-token':
    'The single token that both compute takes longer and shorter by more than what is missing; what is ours, is in the row of the time outside llama.cpp.',
  'first-token-parts':
    'Most of it is what `GET /v1/models` takes without any engine: the fetch, the SDK, and IndexedDB for the key and its limits; the parts are below. Not to wait until the two writes of the limits are stored changed nothing (9.1 and 9.4 ms, beside 8.6 and 8.9).',
  'first-token-stopped': 'The browser starts the service worker, runs its script, and then does as above.',
  'models-warm':
    'An empty answer of the service worker (its median is below) takes some 2 ms of it, and the SDK 1 ms. The rest is the key, which is hashed and looked up in IndexedDB at each request, so that a revoked one fails at once; the catalog is read meanwhile. To keep the key in memory would save 0.2 ms, and the catalog as much. A body sent as a stream saves the 1 ms that Chromium takes to make a Blob of a string.',
  'models-stopped':
    'The browser starts the service worker, runs its script, and then does as above. An empty service worker, stopped, answers an empty request in 12 ms; to read and compile a script of this size adds 3 to 4. Running it took 5 to 6 more while it made the schemas of request bodies, which it now does when a request needs them: 23.5 ms before, 19.9 since.',
  'beside-load':
    "On two processors the load takes more than the one that llama.cpp leaves: the browser compiles onnxruntime's WASM on all of them. The model is prepared in a separate worker.",
  native:
    "WebAssembly's vectors are 128 bits wide, and its engine may not use what the processor has beyond them. Native llama.cpp multiplies 8-bit blocks with AVX2 or AVX-512 (dot products of 32 to 64 bytes an instruction, repacked weights); the kernels that are linked into the package's file do it 16 bytes at a time.",
  batching:
    'The prefix is computed once either way. A step for four chats takes 2.7 times as long as one for a single chat (52 and 19 ms), which saves 0.6 s of the 96 tokens of the replies; together, each prompt costs one token more, for the copy of its state, and its batches wait for those of the others.',
  'beside-prefill':
    'llama.cpp computes a prompt in batches, and a step under way cannot be left. The short prompt waits for the step to end, and for the long one to be put aside.',
  'given-up':
    'A batch of texts cannot be interrupted. While another client has many requests, a batch has one text of this length, which takes longer than the short one.',
  prefill:
    'Smaller batches reuse each block of weights for fewer tokens. They are what lets an abort, and shorter prompts, through.',
  turns:
    'The cached prefix is found; what remains is attention over a longer context, and the template of the earlier turns.',
  interleaved:
    'Four slots keep four conversations; the states of others are kept in memory, and moved back when they fit the prompt best. A state that a new conversation took for the little they share is computed again.',
  choices:
    'The prompt is computed once, and its state copied from slot to slot, which costs each further choice two steps of a token.',
  'embeddings-mixed':
    'Both wait for the same model, in f32 on WASM: what ours saves is padding, by batches of texts of like length with at most 512 tokens, and the calls between. Two workers of one thread each are slower in f32: 15.6 s for 128 texts, beside 11.3 of one worker with two threads.',
  'embeddings-mixed-int8':
    "onnxruntime's WASM kernel for 8 bits multiplies 16-bit integers, eight at a time, and is 2.6 times as fast as the one for f32. Its products are two thirds of what remains; softmax, layer norms, GELU and attention's own products stay in f32. On one thread, in Node, it is 2.2 times as fast as f32. One worker computes, one text at a time, which keeps few threads busy. Batches of 32 as they come take 2.2 times as long as the loop, for their padding: 6 would want 2.7 times the loop's speed.",
  memory:
    'Each tab is a process of the browser with its own script engine and the application in it, before localtext does anything: five tabs that only show a file take as much, as the figures below say.',
  'warm-start':
    "Stored weights are read a second time and hashed at each load, beside it, and answer only when they are whole. How long the choice of weights and the store take, before llama.cpp's worker is started, is below.",
};
