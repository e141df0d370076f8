import { writeJson, invalidField, unsupported, omitNulls } from '#base';

import { decisionCharactersOf, type ChatImage, type DecisionJob, type DecisionQuestion } from '#jobs';
import type { DecisionBody, ItemBody, QuestionBody } from './decision-schema.ts';

/**
 * Converts the input to one text, which all questions are about. Unless it is a single user message, the text
 * is a transcript.
 * @throws ServiceError 400
 */
export function toDecisionInput(input: DecisionBody['input']): DecisionJob['input'] {
  if (typeof input === 'string') return { text: input.toWellFormed() };
  checkCalls(input);
  const [only] = input;
  const isPlain = input.length === 1 && only && 'role' in only && only.role === 'user';
  const text = new InputText();
  for (const [index, item] of input.entries()) text.addItem(item, `input[${index}]`, isPlain === true);
  if (text.text.trim() === '' && text.images.length === 0)
    throw invalidField('input', 'must have a text or an image');
  return { text: text.text.toWellFormed(), ...(text.images.length > 0 && { images: text.images }) };
}

/** @throws ServiceError 400 for an output without the call that it answers */
function checkCalls(items: readonly ItemBody[]): void {
  const calls = new Map<string, string>();
  for (const [index, item] of items.entries()) {
    if (!('call_id' in item)) continue;
    if ('output' in item) {
      if (calls.get(item.call_id) === item.type) continue;
      throw invalidField(`input[${index}].call_id`, 'must be the id of a call before it, of the same type');
    }
    calls.set(item.call_id, `${item.type}_output`);
  }
}

type Content = Extract<ItemBody, { role: unknown }>['content'];
type Part = Exclude<Content, string>[number];

/** Collects the texts and the images of the input. */
class InputText {
  text = '';
  readonly images: ChatImage[] = [];

  addItem(item: ItemBody, at: string, isPlain: boolean): void {
    if (this.text !== '') this.text += '\n';
    if ('role' in item) {
      if (!isPlain) this.text += `${item.role}: `;
      this.#addContent(item.content, `${at}.content`, partsOf(item.role));
    } else if ('output' in item) {
      this.text += 'tool: ';
      this.#addContent(item.output, `${at}.output`, OUTPUT_PARTS);
    } else {
      this.text += `assistant calls ${item.name}(${'arguments' in item ? item.arguments : item.input})`;
    }
  }

  #addContent(content: Content, at: string, allowed: readonly Part['type'][]): void {
    if (typeof content === 'string') {
      this.text += content;
      return;
    }
    for (const [index, part] of content.entries()) {
      const param = `${at}[${index}]`;
      if (!allowed.includes(part.type))
        throw unsupported(`${param}.type`, `must be ${allowed.map((type) => `"${type}"`).join(' or ')} here`);
      if (part.type === 'input_image') {
        const { image_url: url, detail } = part;
        this.images.push({ at: this.text.length, url, param, ...omitNulls({ detail }) });
      } else this.text += (index > 0 ? '\n' : '') + textOf(part);
    }
  }
}

const OUTPUT_PARTS = ['input_text', 'input_image'] as const;

function partsOf(role: 'user' | 'developer' | 'system' | 'assistant'): readonly Part['type'][] {
  if (role === 'user') return ['input_text', 'input_image', 'input_json'];
  return role === 'assistant' ? ['output_text', 'refusal'] : ['input_text'];
}

function textOf(part: Exclude<Part, { type: 'input_image' }>): string {
  if ('text' in part) return part.text;
  return 'refusal' in part ? part.refusal : writeJson(part.data);
}

/** Choices and levels of all questions: each may take a step of the model. */
const MAX_OPTIONS = 2000;
/** Instructions, labels and descriptions of all questions. */
const MAX_QUESTION_CHARACTERS = 100_000;
/** Labels of all questions: a chat model may compute a step for each short word that some of them share. */
const MAX_ALL_LABEL_CHARACTERS = 20_000;

/** @throws ServiceError 400 */
export function toDecisionQuestions(bodies: readonly QuestionBody[]): DecisionQuestion[] {
  const questions = bodies.map((question, index): DecisionQuestion => {
    const at = `questions[${index}]`;
    const instructions = toInstructions(question.instructions, `${at}.instructions`);
    return { type: question.type, instructions, options: toOptions(question, at) };
  });
  const options = questions.flatMap((each) => each.options);
  const labelCharacters = options.reduce((sum, { label }) => sum + label.length, 0);
  const characters = decisionCharactersOf({ input: { text: '' }, questions });
  refuseMore(options.length, MAX_OPTIONS, 'choices and levels');
  refuseMore(labelCharacters, MAX_ALL_LABEL_CHARACTERS, 'characters of choices and levels');
  refuseMore(characters, MAX_QUESTION_CHARACTERS, 'characters');
  return questions;
}

function refuseMore(count: number, most: number, what: string): void {
  if (count <= most) return;
  const rule = `must have at most ${most} ${what} in all, but has ${count}. Send several requests`;
  throw invalidField('questions', rule);
}

function toInstructions(instructions: QuestionBody['instructions'], at: string): string {
  const text =
    typeof instructions === 'string'
      ? instructions
      : instructions
          .map((part, index) => {
            if (part.type === 'input_image')
              throw unsupported(`${at}[${index}]`, 'cannot be an image. Put images into `input`');
            return textOf(part);
          })
          .join('\n');
  if (text.trim() === '') throw invalidField(at, 'must not be empty');
  return text.toWellFormed();
}

function toOptions(question: QuestionBody, at: string): DecisionQuestion['options'] {
  if (question.type === 'predicate') return [];
  const isChoice = question.type === 'choice';
  const options = isChoice
    ? question.choices
    : question.levels.map((level) => ({ ...level, value: level.label }));
  const seen = new Set<string>();
  return options.map(({ value, description }, index) => {
    const label = String(value).toWellFormed();
    if (seen.has(label)) {
      const param = isChoice ? `${at}.choices[${index}].value` : `${at}.levels[${index}].label`;
      throw invalidField(param, 'must differ from the others of its question, also as a text');
    }
    seen.add(label);
    return { label, ...(description && { description: description.toWellFormed() }) };
  });
}
