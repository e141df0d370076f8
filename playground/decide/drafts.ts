import type { Question } from './decision-api.ts';

/** A question as it is edited. */
export interface Draft {
  id: number;
  type: Question['type'];
  instructions: string;
  /** Choices or levels: one a line, a description after a colon. */
  options: string;
}

let lastId = 0;

export const draft = (type: Draft['type'], instructions = '', options = ''): Draft => ({
  id: ++lastId,
  type,
  instructions,
  options,
});

interface Option {
  label: string;
  description?: string;
}

const optionsOf = ({ options }: Draft): Option[] =>
  options
    .split('\n')
    .map((line) => {
      const [label = '', ...description] = line.split(':');
      const text = description.join(':').trim();
      return { label: label.trim(), ...(text && { description: text }) };
    })
    .filter(({ label }) => label !== '');

export const isComplete = (given: Draft): boolean =>
  given.instructions.trim() !== '' && (given.type === 'predicate' || optionsOf(given).length > 1);

export function toQuestion(given: Draft): Question {
  const { type, instructions } = given;
  if (type === 'predicate') return { type, instructions };
  const options = optionsOf(given);
  if (type === 'score') return { type, instructions, levels: options };
  return { type, instructions, choices: options.map(({ label, ...rest }) => ({ value: label, ...rest })) };
}
