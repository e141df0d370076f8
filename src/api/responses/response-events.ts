import type { ChatUsage } from '../../protocol/job.ts';
import type { ChoiceEvent, StreamEncoder } from '../generation/answer-format.ts';
import type { ServiceError } from '../service-error.ts';
import type { OutputItem, ResponseObject, ResponseState } from './response-object.ts';
import { ResponseOutput, type Unnumbered } from './response-output.ts';

export interface ResponseEventsOptions {
  /** The response as it stands. */
  render(state: ResponseState): ResponseObject;
  /** Stores it if `store` is true; resolves to the response as stored. */
  keep(state: ResponseState): Promise<ResponseObject>;
}

/** The typed events of one streamed response. */
export class ResponseEvents implements StreamEncoder {
  readonly #options: ResponseEventsOptions;
  readonly #output = new ResponseOutput();
  #sequence = 0;
  #begun = false;
  #status: 'completed' | 'incomplete' = 'completed';

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
  }

  encode(event: ChoiceEvent): string {
    switch (event.type) {
      case 'accepted':
        return this.#begin();
      case 'text':
        return this.#write(this.#output.text(event.text, event.logprobs));
      case 'reasoning':
        return this.#write(this.#output.reasoning(event.text));
      case 'call':
        return this.#write(this.#output.call(event.id, event.name));
      case 'arguments':
        return this.#write(this.#output.callArguments(event.text));
      case 'finished': {
        this.#status = event.reason === 'length' ? 'incomplete' : 'completed';
        const empty = this.#output.hasAnswer ? '' : this.#write(this.#output.text('', []));
        return empty + this.#write(this.#output.close(this.#status));
      }
    }
  }

  async end(usage: ChatUsage): Promise<string> {
    const response = (await this.#options.keep(this.#state(this.#status, usage))) as never;
    return this.#write([{ type: `response.${this.#status}`, response }]);
  }

  /** The SDKs throw at an `error` in an event's data. Without it they take what has come for the whole reply. */
  failure(failure: ServiceError, usage: ChatUsage): string {
    const { message, param, code } = failure.wire;
    const state = { ...this.#state('failed', usage), error: { code: 'server_error' as const, message } };
    const response = this.#options.render(state) as never;
    const begin = this.#begun ? '' : this.#begin();
    const failed = this.#write([{ type: 'response.failed', response }]);
    return begin + failed + this.#write([{ type: 'error', message, param, code, ...failure.toJSON() }]);
  }

  #begin(): string {
    this.#begun = true;
    // The client's types include `output_text`, which the client itself computes.
    const response = this.#options.render(this.#state('in_progress', null)) as never;
    return this.#write([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  #state(status: ResponseState['status'], usage: ChatUsage | null): ResponseState {
    const output: OutputItem[] = this.#output.items;
    return { status, output, usage, error: null };
  }

  #write(events: Iterable<Unnumbered>): string {
    let text = '';
    for (const event of events) {
      text += `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: this.#sequence })}\n\n`;
      this.#sequence++;
    }
    return text;
  }
}
