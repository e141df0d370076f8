import * as webLlm from '@mlc-ai/web-llm';

import { ClientText } from '../../../../src/chat-template/client-text.ts';
import { webLlmEngine } from '../../../../src/engines/web-llm/web-llm-engine.ts';
import type { MlcChatConfig } from '../../../../src/engines/web-llm/web-llm-files.ts';
import {
  type Pipeline,
  PipelineWatch,
  watchedEngine,
} from '../../../../src/engines/web-llm/internals/pipeline-watch.ts';

type Conversation = ReturnType<Pipeline['getConversationObject']>;
type GenerationConfig = Parameters<Pipeline['samplePrefillStep']>[3];
type Step = Awaited<ReturnType<Pipeline['samplePrefillStep']>>;
type Logprob = ReturnType<Pipeline['getTokenLogprobArray']>[number];

const chatConfig: MlcChatConfig = {
  vocab_size: 256,
  context_window_size: 400,
  sliding_window_size: -1,
  tokenizer_files: ['tokenizer.json'],
  conv_template: {
    roles: { user: '<user>', assistant: '<bot>', tool: '<tool>' },
    role_templates: { user: '{user_message}', assistant: '{assistant_message}', tool: '{tool_message}' },
    seps: ['|'],
    stop_token_ids: [0],
  },
};

const fullConfig = {
  ...chatConfig,
  conv_template: {
    ...chatConfig.conv_template,
    system_template: '<sys>{system_message}|',
    system_message: 'the default',
    render_empty_system_message: false,
    role_content_sep: ' ',
    role_empty_sep: ' ',
    system_prefix_token_ids: [1],
    stop_str: [],
  },
};

const PIECE = 16;
const STOP = 0;
const encoder = new TextEncoder();

/**
 * Replaces the package's LLMChatPipeline, which needs a GPU: every byte is a token, and `answer` makes the reply from the
 * prompt. Order, counters and the KV cache follow the package's code (0.2.86); locks, checks and streams are the package's.
 */
class FakePipeline {
  /** All that the KV cache has seen, as bytes. */
  seen: number[] = [];
  pieces = 0;
  contextWindowSize = fullConfig.context_window_size;
  decoded = 0;
  seeds: number[] = [];
  generation: GenerationConfig;
  answer: (prompt: string) => string = () => 'ok';
  /** Called before each forward pass. */
  onForward: () => void | Promise<void> = () => undefined;
  #conversation = {
    messages: [],
    function_string: '',
    use_function_calling: false,
    isTextCompletion: false,
  } as unknown as Conversation;
  #reply: number[] = [];
  #out: number[] = [];
  #message = '';
  #stopped = false;
  #finish: 'stop' | 'length' | 'abort' | undefined;
  #logprobs: Logprob[] = [];
  #completion = 0;
  #fresh = 0;

  get filledKVCacheLength(): number {
    return this.seen.length;
  }
  getConversationObject = () => this.#conversation;
  setConversation(conversation: Conversation): void {
    this.#conversation = conversation;
  }
  resetChat(): void {
    if ('reset' in this.#conversation) this.#conversation.reset();
    this.#finish = undefined;
    this.seen = [];
  }
  setSeed(seed: number): void {
    this.seeds.push(seed);
    if (seed % (2 ** 31 - 1) < 0) throw new Error('Random state is unexpectedly not strictly positive.');
  }
  stopped = () => this.#stopped;
  getFinishReason = () => this.#finish;
  getMessage = () => this.#message;
  getTokenLogprobArray = () => this.#logprobs;
  getSupportedInputKinds = () => undefined;
  getCurRoundCompletionTotalTokens = () => this.#completion;
  getCurRoundDecodingTotalTokens = () => Math.max(0, this.#completion - 1);
  getCurRoundPrefillTotalTokens = () => this.#fresh;
  getCurRoundPrefillTotalTime = () => 0.25;
  getCurRoundDecodingTotalTime = () => 0.5;
  getCurRoundPrefillTokensPerSec = () => 1;
  getCurRoundDecodingTokensPerSec = () => 1;
  getCurRoundGrammarInitTotalTime = () => 0;
  getCurRoundGrammarPerTokenTotalTime = () => 0;
  getCurRoundLatencyBreakdown = () => undefined;
  dispose(): void {}
  sync = () => Promise.resolve();

  async getInputData(): Promise<[number[][], number, unknown]> {
    const conversation = this.#conversation;
    const first = this.seen.length === 0 && !conversation.isTextCompletion;
    const prompts = conversation.isTextCompletion
      ? conversation.getPromptArrayTextCompletion()
      : first
        ? conversation.getPromptArray()
        : conversation.getPromptArrayLastRound();
    const text = [...encoder.encode(prompts.join(''))];
    if (text.length + this.seen.length > this.contextWindowSize) {
      const error = new Error(
        `Prompt tokens exceed context window size: number of prompt tokens: ${text.length}; context window size: ${fullConfig.context_window_size}\nConsider …`,
      );
      error.name = 'ContextWindowSizeExceededError';
      throw error;
    }
    return [
      [[...(first ? fullConfig.conv_template.system_prefix_token_ids : []), ...text]],
      text.length,
      null,
    ];
  }

  async embedAndForward(tokens: number[]): Promise<void> {
    await this.onForward();
    this.pieces++;
    this.seen.push(...tokens);
  }

  async prefillStep(...[text, role, name, generation]: Parameters<Pipeline['prefillStep']>): Promise<void> {
    const step = await this.samplePrefillStep(text, role, name, generation);
    this.#commit(step.tokenId);
  }

  async samplePrefillStep(
    ...[text, role, name, generation]: Parameters<Pipeline['samplePrefillStep']>
  ): Promise<Step> {
    this.#out = [];
    this.#message = '';
    this.#logprobs = [];
    this.#completion = 0;
    this.#stopped = false;
    this.generation = generation;
    const conversation = this.#conversation;
    if (conversation.isTextCompletion) conversation.prompt = String(text);
    else {
      conversation.appendMessage(role, text, name);
      conversation.appendReplyHeader('assistant' as never);
    }
    const [[tokens = []]] = await this.getInputData();
    for (let start = 0; start < tokens.length; start += PIECE)
      await this.embedAndForward(tokens.slice(start, start + PIECE));
    this.#fresh = tokens.length;
    if (generation?.response_format?.grammar === 'bad') {
      const error = new Error('Failed to initialize the grammar matcher');
      error.name = 'GrammarMatcherInitError';
      throw error;
    }
    this.#reply = [...encoder.encode(this.answer(this.prompt)), STOP];
    return { source: 'prefill', tokenId: this.#sample(), globalTokenPos: this.seen.length };
  }

  async decodeStep(): Promise<void> {
    await this.embedAndForward(this.#out.slice(-1));
    this.decoded++;
    this.#commit(this.#sample());
  }

  triggerStop(): void {
    if (this.#stopped) return;
    this.#end('abort');
  }

  /** What the model has read so far, as text. */
  get prompt(): string {
    return new TextDecoder().decode(Uint8Array.from(this.seen).filter((byte) => byte > 1));
  }

  #sample(): number {
    const token = this.#reply[this.#completion] ?? STOP;
    const { logprobs, top_logprobs: top = 0 } = this.generation ?? {};
    if (logprobs && (top ?? 0) > 0) {
      const entry = {
        token: String.fromCharCode(token),
        bytes: [token],
        logprob: this.#completion === 0 ? -Infinity : -0.5,
      };
      this.#logprobs.push({ ...entry, top_logprobs: Array.from({ length: top ?? 0 }, () => entry) });
    }
    return token;
  }

  #commit(token: number): void {
    this.#completion++;
    if (token === STOP) this.#end('stop');
    else this.#out.push(token);
    this.#message = new TextDecoder().decode(Uint8Array.from(this.#out));
    if (this.#out.length >= (this.generation?.max_tokens ?? Infinity)) this.#end('length');
    else if (this.seen.length === fullConfig.context_window_size) this.#end('length');
  }

  #end(reason: 'stop' | 'length' | 'abort'): void {
    const first = !this.#stopped;
    this.#stopped = true;
    this.#finish = reason;
    if (first && !this.#conversation.isTextCompletion) this.#conversation.finishReply(this.#message);
  }
}

/** web-llm's own engine over a fake pipeline, and our adapter over both. `contextLength`: as loaded. */
export function fakeWebLlm(replyPrefix?: string, contextLength = 400) {
  const pipeline = new FakePipeline();
  const watch = new PipelineWatch();
  const engine = watchedEngine(webLlm, watch, { logLevel: 'SILENT' });
  const lock = {
    held: false,
    acquire(): Promise<void> {
      if (lock.held) throw new Error('the lock was still held');
      lock.held = true;
      return Promise.resolve();
    },
    release(): Promise<void> {
      lock.held = false;
      return Promise.resolve();
    },
  };
  const map = (name: string) => Reflect.get(engine, name) as Map<string, unknown>;
  map('loadedModelIdToLock').set('fake', lock);
  map('loadedModelIdToModelType').set('fake', webLlm.ModelType.LLM);
  Object.defineProperty(engine, 'getLLMStates', { value: () => ['fake', pipeline, fullConfig] });
  const device = new EventTarget();
  const lost = new Promise((resolve) => device.addEventListener('lost', resolve));
  const chat = webLlmEngine({
    engine,
    watch,
    chatConfig,
    clientText: new ClientText([]),
    fingerprint: 'fake',
    contextLength,
    lost,
    ...(replyPrefix !== undefined && { replyPrefix }),
  });
  return { chat, pipeline, lock, loseDevice: () => device.dispatchEvent(new Event('lost')) };
}
