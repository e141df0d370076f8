import { IconButton } from '../components/icon-button.tsx';
import { SelectField, TextField } from '../components/field.tsx';
import type { Draft } from './drafts.ts';

const TYPES = [
  { value: 'choice', label: 'Choice' },
  { value: 'score', label: 'Score' },
  { value: 'predicate', label: 'True or false' },
] as const;

interface Props {
  draft: Draft;
  number: number;
  onChange: (draft: Draft) => void;
  /** Absent for the only question. */
  onRemove?: (() => void) | undefined;
}

export function QuestionEditor({ draft, number, onChange, onRemove }: Props) {
  const { type, instructions, options } = draft;
  return (
    <fieldset class="decide-question">
      <legend class="visually-hidden">Question {number}</legend>
      <div class="decide-question-head">
        <SelectField
          label="Type"
          value={type}
          options={TYPES}
          onChange={(value) => onChange({ ...draft, type: value })}
        />
        <TextField
          label={type === 'predicate' ? 'Statement' : 'Question'}
          value={instructions}
          onInput={(value) => onChange({ ...draft, instructions: value })}
        />
        {onRemove && <IconButton icon="close" label={`Remove question ${number}`} onClick={onRemove} />}
      </div>
      {type !== 'predicate' && (
        <TextField
          label={type === 'choice' ? 'Choices' : 'Levels, the lowest first'}
          rows={4}
          hint="One a line; a description may follow after a colon."
          value={options}
          onInput={(value) => onChange({ ...draft, options: value })}
        />
      )}
    </fieldset>
  );
}
