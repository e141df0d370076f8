/**
 * Refuses an option that does not exist, by its name: a misspelt one would be ignored.
 * @param path of the options, for the message
 * @throws TypeError
 */
export function checkNames(options: object, names: readonly string[], path = ''): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`\`${path}${unknown}\` is unknown. Use ${names.join(', ')}.`);
}
