import { describe, expect, test } from 'vitest';

import { sharedPage } from '../support/shared-page.ts';

const tab = sharedPage({}, 'amber-phoenix-4');

/** Its emoji and most of its letters are several tokens each in this model's vocabulary. */
const SCRIPTS = '😀🎉 👩‍👩‍👧 नमस्ते שלום 你好 ความรัก እንኳን';

/** Texts and tokens that a request has with and without log probabilities, whole and streamed, by the SDK. */
const tellLogprobs = (endpoint: 'chat' | 'completions', input: string, form: string | null) =>
  tab.page.evaluate(
    async ([apiKey, path, content, forced]) => {
      type Token = {
        token: string;
        bytes: number[] | null;
        top: { token: string; bytes: number[] | null }[];
      };
      const client = window.client(apiKey);
      const common = { model: 'amber-phoenix-4', temperature: 0.8, seed: 11 };
      const schema = { type: 'object', properties: { a: { const: forced } }, required: ['a'] };
      const format = { type: 'json_schema', name: 'x', schema, json_schema: { name: 'x', schema } } as const;
      const tokensOf = (
        logprobs: { token: string; bytes?: number[] | null; top_logprobs?: object[] }[] = [],
      ) =>
        logprobs.map(({ token, bytes = null, top_logprobs }) => ({
          token,
          bytes,
          top: top_logprobs as never,
        }));
      async function chat(scores: boolean, stream: boolean) {
        const events = await client.chat.completions.create({
          ...common,
          messages: [{ role: 'user', content }],
          max_completion_tokens: forced ? 60 : 24,
          ...(forced && { response_format: format }),
          ...(scores && { logprobs: true, top_logprobs: 2 }),
          stream,
        });
        const pieces =
          'choices' in events ? [{ ...events.choices[0], delta: events.choices[0]?.message }] : [];
        if (!('choices' in events))
          for await (const { choices } of events) if (choices[0]) pieces.push(choices[0] as never);
        return {
          text: pieces.map(({ delta }) => delta?.content ?? '').join(''),
          tokens: tokensOf(pieces.flatMap(({ logprobs }) => logprobs?.content ?? [])),
        };
      }
      async function completions(scores: boolean, stream: boolean) {
        const events = await client.completions.create({
          ...common,
          prompt: content,
          max_tokens: 24,
          // The model's own penalty would end the row of characters that have several tokens.
          frequency_penalty: 0,
          ...(scores && { logprobs: 2 }),
          stream,
        });
        const pieces = 'choices' in events ? events.choices : [];
        if (!('choices' in events)) for await (const { choices } of events) pieces.push(...choices);
        const names = pieces.flatMap(({ logprobs }) => logprobs?.tokens ?? []);
        const offsets = pieces.flatMap(({ logprobs }) => logprobs?.text_offset ?? []);
        const tops = pieces.flatMap(({ logprobs }) => logprobs?.top_logprobs ?? []);
        // This endpoint writes bytes into the names.
        const bytesOf = (name: string) =>
          name.startsWith('bytes:')
            ? [...name.slice(6).matchAll(/\\x(..)|[^]/gu)].flatMap(([character, hex]) =>
                hex === undefined ? [...new TextEncoder().encode(character)] : [Number.parseInt(hex, 16)],
              )
            : [...new TextEncoder().encode(name)];
        const text = pieces.map((piece) => piece.text).join('');
        return {
          text,
          tokens: names.map((token, index) => ({
            token,
            bytes: bytesOf(token),
            top: Object.keys(tops[index] ?? {}).map((name) => ({ token: name, bytes: bytesOf(name) })),
          })),
          rising: offsets.every(
            (offset, index) => offset >= (offsets[index - 1] ?? 0) && offset <= text.length,
          ),
        };
      }
      const request = { chat, completions }[path];
      // Computes the prompt: those that follow find it in the cache alike.
      await request(false, false);
      const seen: { text: string; tokens: Token[]; rising?: boolean }[] = [];
      for (const scores of [false, true])
        for (const stream of [false, true]) seen.push(await request(scores, stream));
      return seen;
    },
    [tab.key, endpoint, input, form] as const,
  );

describe.each([
  ['completions', SCRIPTS, null],
  ['completions', '😀🎉😀🎉😀🎉', null],
  ['chat', `Repeat this: ${SCRIPTS}`, null],
  ['chat', 'Go on.', '😀🎉 👩‍👧 שלום 你好'],
] as const)('log probabilities of %s after %s, in the form %s', (endpoint, input, form) => {
  test('change no text; each token has its bytes, which together are the text', async () => {
    const [plain, streamed, ...scored] = await tellLogprobs(endpoint, input, form);
    expect(plain?.text).toMatch(form === null ? /./ : new RegExp(form, 'u'));
    expect(streamed?.text).toBe(plain?.text);
    expect(scored).toHaveLength(2);
    for (const { text, tokens, rising = true } of scored) {
      expect(text).toBe(plain?.text);
      expect(rising).toBe(true);
      const bytes = Uint8Array.from(tokens.flatMap((token) => token.bytes ?? []));
      expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })).toBe(text);
      for (const { bytes: own, top } of tokens) {
        expect(own).not.toBeNull();
        expect(top.length).toBeGreaterThanOrEqual(2);
        for (const one of top) expect(one.bytes).not.toBeNull();
      }
      const parts = tokens.filter(({ token }) => token.includes(String.raw`\x`));
      if (form !== null || endpoint === 'completions') expect(parts.length).toBeGreaterThan(3);
      for (const { token } of tokens) expect(token).not.toContain('\ufffd');
    }
    expect(scored[1]?.tokens).toEqual(scored[0]?.tokens);
  });
});
