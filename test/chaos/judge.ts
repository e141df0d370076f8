import type { Run } from '../browser/lifetime/site/run.ts';

export interface Circumstances {
  aborted: boolean;
  /** A service worker was stopped while it ran: a broken connection is then what its client must see. */
  serviceWorkerKilled: boolean;
  /** White space between the tokens of JSON is free, and the model not sure of it, nor of the tokens that spell it. */
  isJson: boolean;
}

/**
 * How a request ended, in a word or two.
 * @throws Error when it ended as no request may: cut off without a word, with other text, or with an unclear error.
 */
export function judge(
  run: Run,
  reference: Run,
  { aborted, serviceWorkerKilled, isJson }: Circumstances,
): string {
  const said = JSON.stringify(run);
  const essence = (text: string): string => (isJson ? text.replace(/\s+/g, '') : text);
  for (const [index, text] of Object.entries(run.text)) {
    const whole = reference.text[Number(index)] ?? '';
    if (!essence(whole).startsWith(essence(text)))
      throw new Error(`text lost, doubled or changed: ${said}; should be ${whole}`);
  }
  // The client ends an aborted stream without an error.
  if (aborted && (run.error || Object.keys(run.finish).length === 0)) return 'aborted';
  if (run.error) {
    if (run.error.code !== null) return `error ${run.error.code}`;
    if (serviceWorkerKilled) return 'connection broken';
    throw new Error(`an unclear error: ${said}`);
  }
  for (const [index, finish] of Object.entries(reference.finish)) {
    if (run.finish[Number(index)] !== finish) throw new Error(`cut off, yet it looks whole: ${said}`);
    if (essence(run.text[Number(index)] ?? '') !== essence(reference.text[Number(index)] ?? ''))
      throw new Error(`text is missing: ${said}`);
  }
  const [counted, right] = [run.usage?.completion_tokens, reference.usage?.completion_tokens];
  if (!isJson && counted !== right && run.text[0] === reference.text[0])
    throw new Error(`counted ${counted} tokens in place of ${right}: ${said}`);
  return 'answered';
}
