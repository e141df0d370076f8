/** Path of SmolLM2's file among the stored weights. */
export const GGUF = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';
