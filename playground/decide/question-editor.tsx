import { IconButton } from '../components/icon-button.tsx';
import { membersOf, SelectField, TextField } from '../components/field.tsx';
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
  const { type } = draft;
  const edits = membersOf({
    get value() {
      return draft;
    },
    set value(changed) {
      onChange(changed);
    },
  });
  return (
    <fieldset class="decide-question">
      <legend class="visually-hidden">Question {number}</legend>
      <div class="decide-question-head">
        <SelectField label="Type" options={TYPES} {...edits('type')} />
        <TextField label={type === 'predicate' ? 'Statement' : 'Question'} {...edits('instructions')} />
        {onRemove && <IconButton icon="close" label={`Remove question ${number}`} onClick={onRemove} />}
      </div>
      {type !== 'predicate' && (
        <TextField
          label={type === 'choice' ? 'Choices' : 'Levels, the lowest first'}
          rows={5}
          hint="One a line, at least two; a description may follow after a colon."
          {...edits('options')}
        />
      )}
    </fieldset>
  );
}
