import type { ChatUsage, TokenLogprob } from '../../protocol/job.ts';
import type { StreamFormat } from '../generation/answer-format.ts';
import type { FinishReason } from '../generation/reply.ts';
import type { ServiceError } from '../service-error.ts';
import type { OutputItem, ResponseObject, ResponseState } from './response-object.ts';
import { ResponseOutput, type Unnumbered } from './response-output.ts';

export interface ResponseEventsOptions {
  /** The response as it stands. */
  render(state: ResponseState): ResponseObject;
  /** Keeps it, where that is wanted; resolves to the response as kept. */
  keep(state: ResponseState): Promise<ResponseObject>;
}

/** The typed events of one streamed response. */
export class ResponseEvents implements StreamFormat {
  readonly #options: ResponseEventsOptions;
  readonly #output = new ResponseOutput();
  #sequence = 0;
  #begun = false;
  #cutOff = false;

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
  }

  begin(): string {
    this.#begun = true;
    const response = this.#render('in_progress', null);
    return this.#write([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  text(_: number, text: string, logprobs: readonly TokenLogprob[]): string {
    return this.#write(this.#output.text(text, logprobs));
  }

  call(_: number, __: number, id: string, name: string): string {
    return this.#write(this.#output.call(id, name));
  }

  callArguments(_: number, __: number, text: string): string {
    return this.#write(this.#output.callArguments(text));
  }

  finish(_: number, reason: FinishReason): string {
    this.#cutOff = reason === 'length';
    const empty = this.#output.items.length === 0 ? this.text(0, '', []) : '';
    return empty + this.#write(this.#output.close(this.#cutOff ? 'incomplete' : 'completed'));
  }

  async end(usage: ChatUsage): Promise<string> {
    const status = this.#cutOff ? 'incomplete' : 'completed';
    const response = (await this.#options.keep(this.#state(status, usage))) as never;
    return this.#write([{ type: `response.${status}`, response }]);
  }

  /** The SDKs throw at an `error` in an event's data, and take the rest of a stream for a whole reply without it. */
  failure(failure: ServiceError, usage: ChatUsage): string {
    const { message, param, code } = failure.wire;
    const state = { ...this.#state('failed', usage), error: { code: 'server_error' as const, message } };
    const response = this.#options.render(state) as never;
    const begin = this.#begun ? '' : this.begin();
    const failed = this.#write([{ type: 'response.failed', response }]);
    return begin + failed + this.#write([{ type: 'error', message, param, code, ...failure.toJSON() }]);
  }

  #render(status: ResponseState['status'], usage: ChatUsage | null) {
    // The client's types count `output_text` in, which is put together by the client itself.
    return this.#options.render(this.#state(status, usage)) as never;
  }

  #state(status: ResponseState['status'], usage: ChatUsage | null): ResponseState {
    const output: OutputItem[] = this.#output.items;
    return { status, output, usage, error: null };
  }

  #write(events: Iterable<Unnumbered>): string {
    let text = '';
    for (const event of events) {
      text += `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: this.#sequence })}\n\n`;
      this.#sequence += 1;
    }
    return text;
  }
}
