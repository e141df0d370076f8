import type OpenAI from 'openai';

/** One request as its page saw it. Plain data. */
export interface Run {
  /** Text by choice. */
  text: Record<number, string>;
  finish: Record<number, string>;
  deltas: number;
  /** Time of each delta, in milliseconds of the page's own clock. */
  deltaTimes: number[];
  usage: OpenAI.CompletionUsage | null;
  /** Id of a response that says that it was stored. */
  stored: string | null;
  error: { kind: string; message: string; code: string | null; status: number | null } | null;
  ended: boolean;
  /** Milliseconds of the page's own clock. */
  startedAt: number;
  endedAt: number | null;
}

/** Parameters of a chat, of embeddings with an `input`, of a transcription with a `clip`, or of another endpoint with a `path`. */
export interface Body {
  model?: string;
  messages?: OpenAI.ChatCompletionMessageParam[];
  input?: string | (string | OpenAI.ChatCompletionMessageParam)[];
  /** Endpoint below `/v1` that gets the other parameters, and answers in one piece. */
  path?: string;
  /** URL of a file of sound. */
  clip?: string;
  stream?: boolean;
  [parameter: string]: unknown;
}

interface RunOptions {
  signal: AbortSignal;
  onDelta(): void;
}

/** Makes a request with the client, as an application would, and keeps `run` up to date. */
export async function makeRun(client: OpenAI, body: Body, run: Run, options: RunOptions): Promise<void> {
  const { signal } = options;
  try {
    if (body.clip !== undefined) {
      const file = new File([await (await fetch(body.clip)).blob()], 'clip.ogg');
      const model = body.model ?? '';
      const { text } = await client.audio.transcriptions.create({ file, model }, { signal });
      run.text[0] = text;
      run.finish[0] = 'stop';
    } else if (body.path !== undefined) {
      const { path, ...parameters } = body;
      await post(client, path, parameters, run, signal);
    } else if (body.input === undefined) await chat(client, body, run, options);
    else {
      const { data } = await client.embeddings.create(
        { model: 'jade-mole-4', input: [body.input].flat().filter((text) => typeof text === 'string') },
        { signal },
      );
      run.text[0] = JSON.stringify(data.map(({ embedding }) => embedding.slice(0, 4)));
      run.finish[0] = 'stop';
    }
  } catch (error) {
    const { message, code, status } = error as Error & { code?: string; status?: number };
    const kind = (error as Error).constructor.name;
    run.error = { kind, message, code: code ?? null, status: status ?? null };
  } finally {
    run.ended = true;
    run.endedAt = performance.now();
  }
}

interface Answer {
  choices?: { text: string; finish_reason: string }[];
  output?: { content: { text: string }[] }[];
  answers?: { choice: string }[];
  status?: string;
  id?: string;
  store?: boolean;
}

async function post(
  client: OpenAI,
  path: string,
  parameters: Omit<Body, 'path' | 'clip'>,
  run: Run,
  signal: AbortSignal,
): Promise<void> {
  const body = { model: 'amber-phoenix-4', ...parameters };
  const answer = await client.post<Answer>(path, { body, signal });
  const { choices, output, answers, status, id, store } = answer;
  run.text[0] = choices?.[0]?.text ?? output?.[0]?.content[0]?.text ?? answers?.[0]?.choice ?? '';
  run.finish[0] = choices?.[0]?.finish_reason ?? status ?? 'stop';
  run.stored = store && id !== undefined ? id : null;
}

async function chat(client: OpenAI, body: Body, run: Run, { signal, onDelta }: RunOptions): Promise<void> {
  const parameters = { model: 'amber-phoenix-4', temperature: 0, messages: [], ...body };
  if (body.stream === false) {
    const reply = await client.chat.completions.create({ ...parameters, stream: false }, { signal });
    for (const { index, message, finish_reason: finish } of reply.choices) {
      run.text[index] = message.content ?? argumentsOf(message.tool_calls?.[0]);
      run.finish[index] = finish;
    }
    run.usage = reply.usage ?? null;
    return;
  }
  const streamed = { ...parameters, stream: true as const, stream_options: { include_usage: true } };
  for await (const chunk of await client.chat.completions.create(streamed, { signal })) {
    run.usage = chunk.usage ?? run.usage;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      const text = delta.content ?? argumentsOf(delta.tool_calls?.[0]);
      if (text) {
        run.text[index] = (run.text[index] ?? '') + text;
        run.deltas++;
        run.deltaTimes.push(performance.now());
        onDelta();
      }
      if (finish) run.finish[index] = finish;
    }
  }
}

const argumentsOf = (call: object | undefined): string =>
  (call as { function?: { arguments?: string } } | undefined)?.function?.arguments ?? '';
