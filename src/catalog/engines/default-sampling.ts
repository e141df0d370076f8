/** llama.cpp's own defaults: small models write nonsense without them. */
export const DEFAULT_SAMPLING = { topK: 40, minP: 0.05 };
