/**
 * Fields that an endpoint refuses, with what to do instead: those of OpenAI's other endpoints and of other servers.
 * Ignoring one would change what the reply means.
 */

/** Constraints of vLLM, SGLang, llama.cpp's server and Ollama that are not JSON schemas. */
export const refusedConstraints = (instead: string) => {
  const reason = `Only a JSON schema can constrain a reply. ${instead}`;
  return {
    ebnf: reason,
    format: reason,
    grammar: reason,
    guided_choice: reason,
    guided_grammar: reason,
    guided_regex: reason,
    regex: reason,
    structural_tag: reason,
  };
};

/** JSON schemas under the names of other servers, where the endpoint does not take them. */
export const refusedSchemas = (instead: string) => ({
  guided_json: instead,
  json_schema: instead,
  structured_outputs: instead,
});
