/**
 * Fields that an endpoint refuses, with what to do instead: those of OpenAI's other endpoints and of other
 * servers. Ignoring one would change what the reply means.
 */

/**
 * Constraints of other servers, such as vLLM, SGLang, llama.cpp's and Ollama, that are not JSON schemas or
 * may not be.
 */
const CONSTRAINTS =
  'ebnf format grammar grammar_string guided_choice guided_grammar guided_regex output_format regex response_schema structural_tag';

export const refusedConstraints = (instead: string): Record<string, string> =>
  Object.fromEntries(
    CONSTRAINTS.split(' ').map((name) => [name, `Only a JSON schema can constrain a reply. ${instead}`]),
  );

/** JSON schemas under the names of other servers, for endpoints that do not take them. */
export const refusedSchemas = (instead: string) => ({
  guided_json: instead,
  json_schema: instead,
  structured_outputs: instead,
});

/** Fields of other servers that limit the reply, and fields that clients send by mistake. */
export const refusedSlips = (tokens: string, system: string) => ({
  max_new_tokens: tokens,
  n_predict: tokens,
  num_predict: tokens,
  stop_sequences: 'Use `stop`.',
  system,
  extra_body: 'Send its fields in the body itself.',
});
