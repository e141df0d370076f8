/**
 * Compares the offsets that the kernels use with those in the module's code.
 * @param bodyOf code of a function by its name
 * @throws Error naming the fields that moved
 */
export declare function checkStructs(bits: 32 | 64, bodyOf: (name: string) => Uint8Array): void;
/** The object's functions, by the name of the function that each replaces. */
export declare const REPLACED: {
    readonly ggml_compute_forward_mul_mat: 'mul_mat';
    readonly ggml_compute_forward_flash_attn_ext_f16_one_chunk: 'flash';
    readonly "server_prompt_cache::update()": 'limit_states';
    readonly wllama_action: 'action';
    readonly "server_context::start_loop()": 'run_step';
    readonly "llama_vocab::tokenize": 'tokenize';
    readonly "nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped": 'write_text';
    readonly validate_utf8: 'whole_text';
};
