/**
 * Whole characters and escapes, also invalid ones, such as `\u` in the path `C:\users` of a server's reply. The first half
 * of a surrogate pair waits for the second.
 */
const COMPLETE =
  /(?:[^"\\]+|\\u(?!d[89ab])[\da-f]{4}|\\ud[89ab][\da-f]{2}(?!\\?$|\\u[\da-f]{0,3}$)|\\u(?=[\da-f]{0,3}[^\da-f])|\\[^u]){1,1000}/iy;

/**
 * The part of a JSON string that can be decoded now, up to its closing quote. More may follow.
 * @param json without the opening quote
 */
export function completeIn(json: string): string {
  COMPLETE.lastIndex = 0;
  let end = 0;
  while (COMPLETE.test(json)) end = COMPLETE.lastIndex;
  return json.slice(0, end);
}
