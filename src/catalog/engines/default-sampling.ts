/** llama.cpp's defaults. Small models write nonsense without them. */
export const DEFAULT_SAMPLING = { topK: 40, minP: 0.05 };
