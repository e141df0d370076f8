import { readFile, writeFile } from 'node:fs/promises';

/** SmolLM2's template, with thoughts as Qwen3.5's has them. */
const TEMPLATE = [
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content.split('</think>')[-1] }}",
  "{{ '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}",
  "{{ '<think>\n' if enable_thinking else '<think>\n\n</think>\n\n' }}",
].join('');

const KEY = 'tokenizer.chat_template';
/** Alignment of the tensors, which follow the header. */
const ALIGNMENT = 32;

/** Copies a GGUF with a chat template that thinks instead of the file’s. */
export async function writeThinkingGguf(from: string, to: string): Promise<void> {
  const file = await readFile(from);
  const length = file.indexOf(KEY) + KEY.length + 4;
  const old = Number(file.readBigUInt64LE(length));
  // A comment fills the template up, so that the header grows by whole steps of the alignment.
  const fill = (((old - TEMPLATE.length - 4) % ALIGNMENT) + ALIGNMENT) % ALIGNMENT;
  const template = `${TEMPLATE}{#${' '.repeat(fill)}#}`;
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(template.length));
  const before = file.subarray(0, length);
  const after = file.subarray(length + 8 + old);
  await writeFile(to, Buffer.concat([before, size, Buffer.from(template), after]));
}
