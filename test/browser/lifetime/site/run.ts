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

/**
 * Parameters of a chat, of embeddings when there is an `input`, of a transcription when there is a `clip`, or of a response
 * that is stored when there is a `prompt`.
 */
export interface Body {
  model?: string;
  messages?: OpenAI.ChatCompletionMessageParam[];
  input?: string | string[];
  /** URL of a file of sound. */
  clip?: string;
  prompt?: string;
  stream?: boolean;
  [parameter: string]: unknown;
}

/** Makes a request with the client, as an application would, and keeps `run` up to date. */
export async function makeRun(client: OpenAI, body: Body, run: Run, signal: AbortSignal): Promise<void> {
  try {
    if (body.clip !== undefined) {
      const file = new File([await (await fetch(body.clip)).blob()], 'clip.ogg');
      const model = body.model ?? '';
      const { text } = await client.audio.transcriptions.create({ file, model }, { signal });
      run.text[0] = text;
      run.finish[0] = 'stop';
    } else if (body.prompt !== undefined) {
      const { prompt: input, model = 'amber-phoenix-4', max_tokens: limit } = body;
      const max_output_tokens = Number(limit);
      const sent = { model, input, temperature: 0, store: true, max_output_tokens };
      const made = await client.responses.create(sent, { signal });
      run.text[0] = made.output_text;
      run.finish[0] = made.status ?? '';
      run.stored = (made as { store?: boolean }).store ? made.id : null;
    } else if (body.input === undefined) await chat(client, body, run, signal);
    else {
      const { data } = await client.embeddings.create(
        { model: 'jade-mole-4', input: body.input },
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

async function chat(client: OpenAI, body: Body, run: Run, signal: AbortSignal): Promise<void> {
  const parameters = { model: 'amber-phoenix-4', temperature: 0, messages: [], ...body };
  if (body.stream === false) {
    const reply = await client.chat.completions.create({ ...parameters, stream: false }, { signal });
    for (const { index, message, finish_reason: finish } of reply.choices) {
      run.text[index] = message.content ?? '';
      run.finish[index] = finish;
    }
    run.usage = reply.usage ?? null;
    return;
  }
  const streamed = { ...parameters, stream: true as const, stream_options: { include_usage: true } };
  for await (const chunk of await client.chat.completions.create(streamed, { signal })) {
    run.usage = chunk.usage ?? run.usage;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      if (delta.content) {
        run.text[index] = (run.text[index] ?? '') + delta.content;
        run.deltas++;
        run.deltaTimes.push(performance.now());
      }
      if (finish) run.finish[index] = finish;
    }
  }
}
