const ignore = (): void => undefined;

/** nlohmann::json's number for a text that is not UTF-8. */
const INVALID_UTF8 = 'json.exception.type_error.316';

/** wllama's logger. Prints nothing; the cause of one failure is only in llama.cpp's log. */
export class NativeLog {
  readonly debug = ignore;
  readonly log = ignore;
  readonly warn = ignore;
  #sawInvalidText = false;

  readonly error = (...parts: unknown[]): void => {
    this.#sawInvalidText ||= parts.some((part) => typeof part === 'string' && part.includes(INVALID_UTF8));
  };

  /** Whether a result could not be written as it is not UTF-8, since this was last asked. */
  takeInvalidText(): boolean {
    const saw = this.#sawInvalidText;
    this.#sawInvalidText = false;
    return saw;
  }
}
