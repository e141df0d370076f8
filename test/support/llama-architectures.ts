import { llamaFunctions } from './llama-functions.ts';

const NAME_OF = 'llm_arch_name';
/** Name of the number behind the last one. */
const UNKNOWN = '(unknown)';
/** Bytes that the longest name may take. */
const MAX_NAME = 64;

/** Names of all architectures that the package's llama.cpp knows, by its own function. */
export function llamaArchitectures(): string[] {
  const { call, memory } = llamaFunctions([NAME_OF]);
  const found: string[] = [];
  for (let number = 0; ; number++) {
    const text = Buffer.from(memory.buffer, call(NAME_OF, number), MAX_NAME);
    const name = text.toString('latin1', 0, text.indexOf(0));
    if (name === UNKNOWN) return found;
    found.push(name);
  }
}
