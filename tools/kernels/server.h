// llama.cpp's server: how its buffers are cleared, how many states of prompts it saves, how results are taken, what it drafts, which tokens the
// penalties count, how much work a grammar is, and how it writes text that is not UTF-8.
#pragma once
#include "ggml.h"

// ---- cleared buffers ----------------------------------------------------------------------------------------------------
/** `ggml_backend_buffer`, after its functions and its type. */
typedef struct {
  void *before[15];
  uint8_t *data;
  size_t size;
} buffer;
#define CLEARED_AT_ONCE 64

/** Writes only where another value is: the memory of a new KV cache is 0 already, and takes no room until it is written. */
EXPORT(clear_buffer) void clear_buffer(const buffer *cleared, int32_t value) {
  uint8_t *at = cleared->data, *const end = at + cleared->size;
  const v128_t all = wasm_i8x16_splat((int8_t)value);
  for (; end - at >= CLEARED_AT_ONCE; at += CLEARED_AT_ONCE) {
    v128_t other = wasm_i8x16_const_splat(0);
    for (int i = 0; i < CLEARED_AT_ONCE; i += 16) other |= wasm_v128_load(at + i) ^ all;
    if (!wasm_v128_any_true(other)) continue;
    for (int i = 0; i < CLEARED_AT_ONCE; i += 16) wasm_v128_store(at + i, all);
  }
  while (at < end) *at++ = (uint8_t)value;
}

// ---- saved prompt states ------------------------------------------------------------------------------------------------
/** `server_prompt_cache`: a list (previous, next, length), then its limits in bytes and in tokens. */
typedef struct {
  void *previous, *next;
  size_t length, limit_bytes, limit_tokens;
} prompt_cache;

/** llama.cpp's default, 8 GiB, with which a page has no limit. With 32-bit addresses it is 0 already. */
#if __SIZEOF_POINTER__ == 8
#define DEFAULT_LIMIT_BYTES (8ull << 30)
#else
#define DEFAULT_LIMIT_BYTES 0
#endif

/** Limit in MiB of `load_within_`; 0: none. A global of the module: the object has no memory of its own. */
extern __attribute__((address_space(1))) int32_t saved_mib;

IMPORT(original_limit_states) void original_limit_states(prompt_cache *);

/** Without a limit in bytes, that in tokens holds: as many as the context has. A limit that llama.cpp lowers stays. */
EXPORT(limit_states) void limit_states(prompt_cache *cache) {
  // Shifted before it is widened: Clang reads a global that it widens at once from memory.
  if (cache->limit_bytes == DEFAULT_LIMIT_BYTES) cache->limit_bytes = (size_t)((uint32_t)saved_mib << 10) << 10;
  original_limit_states(cache);
}

// ---- actions ------------------------------------------------------------------------------------------------------------
/** Whether the action takes a result that waits, and whether it drafts. */
extern __attribute__((address_space(1))) int32_t is_taking, is_drafting;

IMPORT(original_action) void *original_action(const char *, const char *);

/** Four characters as they lie in memory. */
#define FOUR(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
INLINE bool begins(const char *text, uint32_t four) {
  uint32_t first;
  __builtin_memcpy(&first, text, sizeof first);
  return first == four;
}

/**
 * Adds actions: `take_result` is `get_result` without a step, and `draft_result` with one that may draft; `load_drafting` is `load` of a
 * server that may draft, and `load_within_<n>` that of one whose saved states have a limit of n MiB. The name is a copy of the caller's.
 */
EXPORT(action) void *action(char *name, const char *request) {
  is_taking = begins(name, FOUR('t', 'a', 'k', 'e'));
  is_drafting = begins(name, FOUR('d', 'r', 'a', 'f'));
  if (is_taking || is_drafting) {
    name += is_taking ? sizeof "take" - sizeof "get" : sizeof "draft" - sizeof "get";
    name[0] = 'g', name[1] = 'e', name[2] = 't';
  } else if (begins(name, FOUR('l', 'o', 'a', 'd')) && name[4] == '_') {
    is_drafting = name[5] == 'd';
    if (!is_drafting) {
      int32_t mib = 0;
      for (const char *at = name + sizeof "load_within_" - 1; *at; at++) mib = mib * 10 + (*at - '0');
      saved_mib = mib;
    }
    name[4] = 0;
  }
  return original_action(name, request);
}

/** Of the 64-bit build, the compiler has removed the parameter: there is one server. */
#if __SIZEOF_POINTER__ == 8
#define SERVER void
#define THE_SERVER
#else
#define SERVER void *server
#define THE_SERVER server
#endif

IMPORT(original_run_step) void original_run_step(SERVER);

/** A step computes a token for every slot; a result that waits needs none. */
EXPORT(run_step) void run_step(SERVER) {
  if (!is_taking) original_run_step(THE_SERVER);
}

// ---- drafts -------------------------------------------------------------------------------------------------------------
/** `COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE`: tokens that followed the last ones earlier in the prompt or reply. */
#define NGRAM_SIMPLE 6
/** As many tokens are drafted as were found: a column of a step takes a third of the time of a step of its own. */
#define LEAST_FOUND 2
#define MOST_FOUND 11
/** So many more must be found after a draft that was all wrong, until one is right. */
#define MORE_FOUND 3
/** Bytes of `common_params_speculative` in which its n-gram parameters lie. */
#define SEARCHED 2048

/** `common_params_speculative_ngram_map`: how many tokens are looked up and drafted, and after how many hits. */
typedef struct {
  uint16_t looked_up, drafted, hits;
} ngram_map;
INLINE bool is_default(const ngram_map *map) { return map->looked_up == 12 && map->drafted == 48 && map->hits == 1; }

/** `common_params_speculative`, which begins with a vector of types: one, none (0), by default. */
typedef struct {
  int32_t *types;
} speculation;

/** Of the 64-bit build, the compiler has removed the result. */
#if __SIZEOF_POINTER__ == 8
#define ASSIGNED void
#define RETURN_ASSIGNED(to)
#else
#define ASSIGNED speculation *
#define RETURN_ASSIGNED(to) return to;
#endif

IMPORT(original_assign_speculation) ASSIGNED original_assign_speculation(speculation *, const speculation *);

/** `std::vector` of tokens. */
typedef struct {
  const int32_t *first, *end, *room;
} tokens;
/** `common_speculative_draft_params`, of each slot; `text` lacks the last token. */
typedef struct {
  bool is_wanted;
  int32_t most, position, last;
  const tokens *text;
  tokens *result;
} draft_parameters;
typedef struct {
  draft_parameters *first, *end;
} all_parameters;

__attribute__((import_module("env"), import_name("void std::vector<int, std::...>::__assign_with_size<int*, int*>")))
void assign_tokens(tokens *, const int32_t *, const int32_t *, ptrdiff_t);

/** A load copies its parameters. wllama has none for drafts without a model. Of the n-gram maps, the first is used. */
EXPORT(assign_speculation) ASSIGNED assign_speculation(speculation *to, const speculation *from) {
  original_assign_speculation(to, from);
  if (is_drafting && to->types && to->types[0] == 0)
    for (size_t at = 0; at < SEARCHED; at += 2) {
      ngram_map *const maps = (ngram_map *)((uint8_t *)to + at);
      if (!is_default(maps) || !is_default(maps + 1)) continue;
      maps->looked_up = LEAST_FOUND;
      maps->drafted = MOST_FOUND;
      to->types[0] = NGRAM_SIMPLE;
      break;
    }
  RETURN_ASSIGNED(to)
}

/** Of the last step that might draft: the number of tokens before it, whether it did, and how many more had to be found. */
extern __attribute__((address_space(1))) int32_t last_size, has_drafted, more_found;

/**
 * Drafts what followed the longest run of tokens like the last ones; of the same length, the latest. Drafted tokens have no log
 * probabilities, and several replies fill a step without drafts: the step says whether to draft.
 */
EXPORT(draft) void draft(void *drafter, all_parameters *all) {
  (void)drafter;
  for (draft_parameters *each = all->first; is_drafting && each < all->end; each++) {
    if (!each->is_wanted) continue;
    const int32_t *const text = each->text->first;
    const int32_t size = (int32_t)(each->text->end - text), added = size - last_size;
    // More than a token is added where a drafted one was right; another number where a reply begins.
    if (added != 1) more_found = 0;
    else if (has_drafted) more_found = MORE_FOUND;
    int32_t longest = LEAST_FOUND - 1 + more_found, next = size;
    for (int32_t at = size - 1; at > 0 && longest < MOST_FOUND; at--) {
      if (text[at - 1] != each->last) continue;
      const int32_t most = size - at < MOST_FOUND ? size - at : MOST_FOUND;
      int32_t found = 1;
      while (found < most && at > found && text[at - 1 - found] == text[size - found]) found++;
      if (found > longest) next = at, longest = found;
    }
    last_size = size;
    has_drafted = next < size;
    if (has_drafted) assign_tokens(each->result, text + next, text + next + longest, longest);
  }
}

// ---- prompts ------------------------------------------------------------------------------------------------------------
IMPORT(original_tokenize)
int32_t original_tokenize(const void *, const uint8_t *, int32_t, int32_t *, int32_t, int32_t, int32_t);

/** Bytes of U+FDEF and U+FDEE, noncharacters. */
#define BARE_BYTES 6

/** Whether a text begins with what says that no token is put before it. */
INLINE bool is_bare(const uint8_t *text, int32_t size) {
  return size >= BARE_BYTES && text[0] == 0xef && text[1] == 0xb7 && text[2] == 0xaf && text[3] == 0xef && text[4] == 0xb7 &&
         text[5] == 0xae;
}

EXPORT(tokenize)
int32_t tokenize(const void *vocab, const uint8_t *text, int32_t size, int32_t *tokens, int32_t most, int32_t special, int32_t parse) {
  if (is_bare(text, size)) text += BARE_BYTES, size -= BARE_BYTES, special = 0;
  return original_tokenize(vocab, text, size, tokens, most, special, parse);
}

// ---- penalties ----------------------------------------------------------------------------------------------------------
IMPORT(original_accept_token) void original_accept_token(void *, int32_t, int32_t);

/** Penalties count the tokens of the reply, as OpenAI documents. The original counts those of the prompt, too. */
EXPORT(accept_token) void accept_token(void *sampler, int32_t token, int32_t is_generated) {
  if (is_generated) original_accept_token(sampler, token, is_generated);
}

/** A long `std::string`: the highest bit of the last byte is set. A short one has its bytes in place of the pointer. */
typedef struct {
  const uint8_t *data;
  size_t size, capacity;
} string;
#define LONG ((size_t)1 << (8 * sizeof(size_t) - 1))

INLINE bool is_long(const string *text) { return (text->capacity & LONG) != 0; }
INLINE size_t size_of(const string *text) {
  return is_long(text) ? text->size : ((const uint8_t *)text)[sizeof(string) - 1];
}

// ---- grammars -----------------------------------------------------------------------------------------------------------
/** `std::vector` of what its user knows. */
typedef struct {
  uint8_t *first, *end, *room;
} vector;
/** `llama_grammar`, as far as its stacks: the ways in which it reads the text so far. */
typedef struct {
  const void *const *vocab;
  vector rules, stacks;
} grammar;

/** Stacks that a token of a reply leaves, unless there were more before it, or one place of the grammar has more alternatives. */
#define MOST_STACKS 768
/**
 * Further alternatives of all places that are followed while a token is read: for each of its bytes, or one for each stack if that is
 * more, and for all of it. An object of 250 optional members has 250 in each space, and 4,000 in a line break and 15 spaces: lower
 * bounds leave out members.
 */
#define MOST_READ_A_BYTE 512
#define MOST_READ 4096
/** The same while tokens are compared with the grammar. */
#define MOST_COMPARED 262144
/** How many may still be followed, the most of one place, and whether one is followed. */
extern __attribute__((address_space(1))) int32_t alternatives_left, widest, is_inner;

__attribute__((import_module("env"), import_name("operator delete"))) void release(void *);

INLINE int32_t stacks_in(const vector *stacks) { return (int32_t)((size_t)(stacks->end - stacks->first) / sizeof(vector)); }

/** Leaves out the last stacks. Each leads to texts of the grammar: the others allow fewer texts, and no wrong one. */
ALONE void cut(vector *stacks, int32_t kept) {
  while (stacks_in(stacks) > kept) {
    stacks->end -= sizeof(vector);
    release(((vector *)stacks->end)->first);
  }
}

INLINE void follow(int32_t alternatives) {
  alternatives_left = alternatives;
  is_inner = 0;
}

IMPORT(original_init_grammar)
void *original_init_grammar(const void *, const char *, const char *, int32_t, const char **, size_t, const int32_t *, size_t);

EXPORT(init_grammar)
void *init_grammar(const void *vocab, const char *text, const char *root, int32_t lazy, const char **patterns, size_t count,
                   const int32_t *tokens, size_t most) {
  follow(MOST_COMPARED);
  return original_init_grammar(vocab, text, root, lazy, patterns, count, tokens, most);
}

IMPORT(original_advance_stack) void original_advance_stack(const void *, const void *, vector *);

/**
 * Where a text can be read in several ways, each has stacks, and those of nested brackets multiply. The original calls itself for
 * alternatives that begin with a rule: they are of one place, and are neither counted twice nor cut.
 */
EXPORT(advance_stack) void advance_stack(const void *rules, const void *stack, vector *stacks) {
  if (is_inner) {
    original_advance_stack(rules, stack, stacks);
    return;
  }
  const int32_t before = stacks_in(stacks);
  is_inner = 1;
  original_advance_stack(rules, stack, stacks);
  is_inner = 0;
  const int32_t made = stacks_in(stacks) - before;
  if (made < 2) return;
  if (alternatives_left <= 0) {
    cut(stacks, before + 1);
    return;
  }
  alternatives_left -= made - 1;
  if (made > widest) widest = made;
}

/** `llama_sampler` of a grammar; of its context, what comes before the grammar is left out. */
typedef struct {
  const void *functions;
  const struct {
    size_t before[7];
    const grammar *grammar;
  } *context;
} grammar_sampler;
/** `llama_token_data_array`. */
typedef struct {
  struct {
    int32_t id;
    float logit, probability;
  } *data;
  size_t size;
} candidates;

__attribute__((import_module("env"), import_name("llama_vocab::is_eog"))) int32_t is_end(const void *, int32_t);
__attribute__((import_module("env"), import_name("llama_vocab::impl::token_to_piece")))
int32_t text_of(const void *, int32_t, uint8_t *, int32_t, int32_t, int32_t);

IMPORT(original_apply_grammar) void original_apply_grammar(const grammar_sampler *, candidates *);

/** A token whose text a reply does not show, such as a control token, is none of a grammar's text, either. */
EXPORT(apply_grammar) void apply_grammar(const grammar_sampler *sampler, candidates *tokens) {
  follow(MOST_COMPARED);
  original_apply_grammar(sampler, tokens);
  const grammar *const of = sampler->context->grammar;
  for (size_t i = 0; of && i < tokens->size; i++) {
    const int32_t id = tokens->data[i].id;
    if (tokens->data[i].logit == -__builtin_inff() || text_of(*of->vocab, id, NULL, 0, 0, 0) != 0) continue;
    if (!is_end(of->vocab, id)) tokens->data[i].logit = -__builtin_inff();
  }
}

IMPORT(original_accept_grammar) void original_accept_grammar(grammar *, int32_t, const string *);

/** The original compares each stack that is left with all others: thousands take a second. */
EXPORT(accept_grammar) void accept_grammar(grammar *of, int32_t token, const string *piece) {
  const int32_t before = stacks_in(&of->stacks);
  const int32_t a_byte = before > MOST_READ_A_BYTE ? before : MOST_READ_A_BYTE;
  const int32_t bytes = (int32_t)size_of(piece);
  follow(bytes > MOST_READ / a_byte ? MOST_READ : bytes * a_byte);
  widest = MOST_STACKS;
  original_accept_grammar(of, token, piece);
  cut(&of->stacks, before > widest ? before : widest);
}

// ---- texts --------------------------------------------------------------------------------------------------------------
INLINE const uint8_t *bytes_of(const string *text) { return is_long(text) ? text->data : (const uint8_t *)text; }

INLINE bool is_between(uint8_t byte, uint8_t first, uint8_t last) { return byte >= first && byte <= last; }

/** U+FDD0 to U+FDDF, noncharacters: two of them stand for a byte that is not a part of a character. */
#define ESCAPE_0 0xef
#define ESCAPE_1 0xb7
#define ESCAPE_2 0x90

/** Bytes of the character at `at`; 0 where there is none, or one that stands for a byte. */
ALONE size_t character(const uint8_t *at, size_t left) {
  const uint8_t first = at[0];
  if (first < 0x80) return 1;
  const size_t size = is_between(first, 0xc2, 0xdf) ? 2 : is_between(first, 0xe0, 0xef) ? 3 : is_between(first, 0xf0, 0xf4) ? 4 : 0;
  if (size == 0 || size > left) return 0;
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!is_between(at[1], least, most)) return 0;
  for (size_t i = 2; i < size; i++)
    if (!is_between(at[i], 0x80, 0xbf)) return 0;
  if (first == ESCAPE_0 && at[1] == ESCAPE_1 && is_between(at[2], ESCAPE_2, ESCAPE_2 + 15)) return 0;
  return size;
}

/** Bytes from the start that are characters. */
ALONE size_t characters(const uint8_t *at, size_t size) {
  size_t whole = 0;
  for (size_t next; whole < size && (next = character(at + whole, size - whole)); whole += next) {}
  return whole;
}

IMPORT(original_write_text) void original_write_text(void *, const string *, int32_t);

INLINE void write_part(void *serializer, const uint8_t *bytes, size_t size, int32_t ascii) {
  const string part = {bytes, size, LONG | size};
  original_write_text(serializer, &part, ascii);
}

/** Writes a text as JSON. The original throws where it is not UTF-8; here each such byte is escaped. */
EXPORT(write_text) void write_text(void *serializer, const string *text, int32_t ascii) {
  const uint8_t *at = bytes_of(text);
  size_t left = size_of(text), whole = characters(at, left);
  if (whole == left) {
    original_write_text(serializer, text, ascii);
    return;
  }
  while (left > 0) {
    if (whole > 0) write_part(serializer, at, whole, ascii);
    at += whole, left -= whole;
    if (left == 0) break;
    const uint8_t escaped[6] = {ESCAPE_0, ESCAPE_1, ESCAPE_2 | at[0] >> 4, ESCAPE_0, ESCAPE_1, ESCAPE_2 | (at[0] & 15)};
    write_part(serializer, escaped, sizeof(escaped), ascii);
    at++, left--;
    whole = characters(at, left);
  }
}

/** Takes the place of `validate_utf8`, by which a token that ends within a character is held back without its scores. */
EXPORT(whole_text) size_t whole_text(const string *text) { return size_of(text); }
