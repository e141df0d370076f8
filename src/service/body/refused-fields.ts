/**
 * Fields that an endpoint refuses, with what to do instead: those of OpenAI's other endpoints and of other
 * servers. Ignoring one would change what the reply means.
 */

/**
 * Constraints of other servers, such as vLLM, SGLang, llama.cpp's and Ollama, that are not JSON schemas or
 * may not be.
 */
export const refusedConstraints = (instead: string) => {
  const reason = `Only a JSON schema can constrain a reply. ${instead}`;
  return {
    ebnf: reason,
    format: reason,
    grammar: reason,
    grammar_string: reason,
    guided_choice: reason,
    guided_grammar: reason,
    guided_regex: reason,
    output_format: reason,
    regex: reason,
    response_schema: reason,
    structural_tag: reason,
  };
};

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
