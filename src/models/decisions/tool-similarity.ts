import { cosine, type Events, type ToolChoiceJob, type ToolOption } from '#jobs';
import type { Engine } from '#engine-kit';
import { embedTexts } from './similarity-decisions.ts';

// Chooses the tool that a message needs, if any, with an embedding model.

/** Messages that need no tool. A tool is chosen if the message is about as close to it as to any of these. */
const PLAIN = [
  'Hello',
  'Hi, how are you?',
  'Thank you',
  'Okay, great',
  'Who are you?',
  'What can you do?',
  'What is the capital of Germany?',
  'Who wrote Don Quixote?',
  'Who discovered penicillin?',
  'What is gravity?',
  'What does DNA mean?',
  'Why do cats purr?',
  'How does a volcano work?',
  'Explain democracy',
  'What is the difference between a frog and a toad?',
  'Write a poem about the sea',
  'Tell me a joke',
  'Tell me a story',
  'Give me some advice',
  'Tell me a fact',
  'Summarize a novel',
  'How many planets are there?',
  'What is the largest animal?',
  'When did the war end?',
];

/** Questions about the subject of a tool, which do not need it. */
const questionsAbout = (name: string) => [`Who invented ${name}?`, `What is a ${name}?`, `Explain ${name}`];

/** Added to a tool's similarity: descriptions are further from a message than another message is. Measured: docs/typed-answers.md. */
const MARGIN = 0.13;

/**
 * MiniLM's tokens per word in a text of a language that it hardly knows: English has 1.0 to 1.5. Such a text must be this
 * similar to a tool, or the chat's model chooses. Measured: docs/typed-answers.md.
 */
const FOREIGN = { tokensPerWord: 1.5, similarity: 0.25 };

/**
 * Characters of a text that count: a message's end says what to do. MiniLM's context holds 512 tokens, which digits and
 * Chinese fill with one a character.
 */
const MAX_TEXT = 500;

/** Maximum number of cached vectors per engine: agents repeat the same tools. */
const MAX_VECTORS = 512;

const vectors = new WeakMap<Engine<'embedding'>, Map<string, Float32Array>>();

export async function* chooseTool(
  engine: Engine<'embedding'>,
  job: ToolChoiceJob,
  signal: AbortSignal,
  onPrefill: () => void,
): Events<'toolChoice'> {
  const { fingerprint } = engine;
  const { message, before, tools } = job;
  onPrefill();
  if (message === '') {
    yield { type: 'done', scores: [...tools.map(() => 0), 1], promptTokens: 0, fingerprint };
    return;
  }
  const known = vectors.get(engine) ?? new Map<string, Float32Array>();
  vectors.set(engine, known);
  let promptTokens = 0;
  const vectorsOf = async (texts: readonly string[]): Promise<Float32Array[]> => {
    // Another call may clear the cache while this one embeds.
    const found = texts.map((text) => known.get(text));
    const missing = texts.filter((_, index) => !found[index]);
    if (missing.length === 0) return found.flatMap((vector) => vector ?? []);
    const result = await embedTexts(engine, job, missing, signal);
    promptTokens += result.promptTokens;
    if (known.size > MAX_VECTORS) known.clear();
    const computed = result.vectors.values();
    return texts.map((text, index) => {
      const vector = found[index] ?? computed.next().value ?? new Float32Array();
      known.set(text, vector);
      return vector;
    });
  };
  const end = message.slice(-MAX_TEXT);
  const texts = before === '' ? [end] : [end, `${before} ${end}`.slice(-MAX_TEXT)];
  const embedded = await embedTexts(engine, job, texts, signal);
  promptTokens += embedded.promptTokens;
  const [alone, inContext = alone] = embedded.vectors;
  const scores = (await vectorsOf(tools.map(describe))).map((tool) => cosine(tool, inContext) + MARGIN);
  const highest = Math.max(...scores);
  if (isForeign(texts, embedded.promptTokens) && highest - MARGIN < FOREIGN.similarity) {
    yield { type: 'done', scores: null, promptTokens, fingerprint };
    return;
  }
  const best = tools[scores.indexOf(highest)];
  const plain = await vectorsOf([...PLAIN, ...(best ? questionsAbout(wordsOf(best)) : [])]);
  const nearest = Math.max(...plain.map((each) => cosine(each, alone)));
  yield { type: 'done', scores: [...scores, nearest], promptTokens, fingerprint };
}

/** @param tokens of all texts, with the two that mark the ends of each */
function isForeign(texts: readonly string[], tokens: number): boolean {
  const words = texts.join(' ').match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
  return tokens - 2 * texts.length > FOREIGN.tokensPerWord * words;
}

const wordsOf = ({ name }: ToolOption): string =>
  name.replaceAll(/[_.-]+/g, ' ').replaceAll(/(?<=\p{Ll})\p{Lu}/gu, (capital) => ` ${capital.toLowerCase()}`);

const describe = (tool: ToolOption): string =>
  `${wordsOf(tool)}: ${tool.description ?? ''}`.slice(0, MAX_TEXT);
