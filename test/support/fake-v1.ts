import { readJson } from '../../src/base/exact-json.ts';

/** What a fake `/v1` was asked. */
export interface FakeV1Request {
  messages: { role: string; content: unknown }[];
  [field: string]: unknown;
}

export interface FakeReplyOf {
  /** Pieces of the reply. */
  text?: string[];
  toolCalls?: { name: string; arguments: string }[];
  finish?: string;
  /** Status of a failed answer, with its code. */
  error?: { status: number; code?: string; message?: string };
  /** The stream never ends. */
  hangs?: boolean;
  /** The stream ends before its last line. */
  isCut?: boolean;
}

const words = (value: unknown): number => JSON.stringify(value).split(/\W+/).filter(Boolean).length;
/** A token is a word; a message takes one more. */
export const tokensOf = (messages: FakeV1Request['messages']): number =>
  messages.reduce((sum, { content }) => sum + 1 + words(content), 0);

/** The parts of a page's handle that `LanguageModel` uses, over a `/v1` with scripted replies. */
export function fakeV1(contextLength = 1000, capabilities = ['chat', 'tools']) {
  const asked: FakeV1Request[] = [];
  const replies: FakeReplyOf[] = [];
  const state = {
    aborted: 0,
    model: { state: 'ready' as string, downloadBytes: 0 },
    loads: 0,
    failsLoad: false,
    storedBytes: 0,
  };
  const json = (body: unknown, status = 200): Response => Response.json(body, { status });
  const tooLong = (): Response =>
    json({ error: { message: 'Too long.', code: 'context_length_exceeded' } }, 400);

  function stream(reply: FakeReplyOf, tokens: number, signal: AbortSignal | undefined): Response {
    const {
      text = ['one ', 'two'],
      toolCalls = [],
      finish = toolCalls.length > 0 ? 'tool_calls' : 'stop',
    } = reply;
    const calls = toolCalls.map((call, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: call,
    }));
    const chunks: object[] = [
      ...(calls.length > 0 ? [] : text).map((content) => ({
        choices: [{ delta: { content }, finish_reason: null }],
      })),
      { choices: [{ delta: calls.length > 0 ? { tool_calls: calls } : {}, finish_reason: finish }] },
      { choices: [], usage: { total_tokens: tokens + text.length } },
    ];
    const encoder = new TextEncoder();
    return new Response(
      new ReadableStream({
        start(controller) {
          if (reply.hangs)
            signal?.addEventListener('abort', () => {
              state.aborted++;
              controller.error(signal.reason);
            });
          for (const chunk of chunks)
            controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`));
          if (reply.hangs) return;
          if (!reply.isCut) controller.enqueue(encoder.encode('data: [DONE]\n\n'));
          controller.close();
        },
      }),
    );
  }

  const localtext = {
    baseURL: '/v1',
    keys: { ensure: async () => ({ id: 'k', key: 'lt_k' }) },
    status: async () => ({
      epoch: 'e',
      models: [
        {
          id: 'm',
          kind: 'chat',
          error: null,
          progress: state.model.state === 'loading' ? { phase: 'download' } : null,
          reasons: [{ variant: 'v', engine: 'wllama', chosen: true }],
          estimates: { v: { downloadBytes: state.model.downloadBytes } },
          state: state.model.state,
        },
      ],
    }),
    async ready(_model: string, { onProgress }: { onProgress(progress: object): void }) {
      state.loads++;
      if (state.model.downloadBytes > 0)
        for (const loadedBytes of [0, 1, 2].slice(state.storedBytes))
          onProgress({ phase: 'download', loadedBytes, totalBytes: 3 });
      if (state.failsLoad) throw new Error('The network is gone.');
      state.model = { state: 'ready', downloadBytes: 0 };
    },
    async fetch(
      url: string,
      { body, signal }: { body?: string; signal?: AbortSignal } = {},
    ): Promise<Response> {
      signal?.throwIfAborted();
      if (url === '/v1/models/m') return json({ context_length: contextLength, capabilities });
      if (url.startsWith('/v1/models/')) return json({ error: { message: 'No such model.' } }, 404);
      const request = readJson(body ?? '') as FakeV1Request;
      if (request.messages[0]?.role === 'tool')
        return json({ error: { message: 'No such call.', param: 'messages[0].tool_call_id' } }, 400);
      const tokens = tokensOf(request.messages);
      if (tokens > 20 * contextLength) return tooLong();
      if (url.endsWith('/input_tokens')) return json({ input_tokens: tokens });
      if (tokens >= contextLength) return tooLong();
      asked.push(request);
      const reply = replies.shift() ?? {};
      if (reply.error) return json({ error: { message: 'Refused.', ...reply.error } }, reply.error.status);
      return stream(reply, tokens, signal);
    },
  };
  return { asked, replies, state, localtext };
}
