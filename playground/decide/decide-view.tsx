import './decide.css';
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { chatModels } from '../client/model-facts.ts';
import { EMBEDDING_MODEL, hueOf } from '../client/models.ts';
import { edits, SelectField, TextField } from '../components/field.tsx';
import { RunRow, useRun } from '../components/run-row.tsx';
import { duration, plural } from '../format.ts';
import { AnswerCard } from './answer-card.tsx';
import { decide } from './decision-api.ts';
import { type Draft, draft, isComplete, toQuestion } from './drafts.ts';
import { EXAMPLES } from './examples.ts';
import { QuestionEditor } from './question-editor.tsx';
import { Button } from '../components/button.tsx';
import { Form } from '../components/form.tsx';
import { PageHead } from '../components/page-head.tsx';

export function DecideView() {
  const model = useSignal(EMBEDDING_MODEL);
  const text = useSignal(EXAMPLES[0].text);
  const drafts = useSignal<Draft[]>(EXAMPLES[0].questions());
  const run = useRun(
    (controller) => decide(model.value, text.value, drafts.value.map(toQuestion), controller),
    ({ questions }) => `${plural(questions.length, 'question')} answered.`,
  );
  const adder = useRef<HTMLButtonElement>(null);
  const decided = run.result.value;
  const replace = (changed: Draft): void => {
    drafts.value = drafts.value.map((each) => (each.id === changed.id ? changed : each));
  };
  const ready = text.value.trim() !== '' && drafts.value.length > 0 && drafts.value.every(isComplete);
  return (
    <div class="page" data-hue={hueOf(model.value)}>
      <PageHead title="Decide">
        Typed questions about a text, answered with probabilities. Nothing is generated.
      </PageHead>
      <div class="row" role="group" aria-label="Examples">
        <span class="small quiet" aria-hidden="true">
          Examples
        </span>
        {EXAMPLES.map(({ name, text: sample, questions }) => (
          <Button
            small
            key={name}
            disabled={run.busy.value !== null}
            onClick={() => {
              text.value = sample;
              drafts.value = questions();
              run.result.value = null;
            }}
          >
            {name}
          </Button>
        ))}
      </div>
      <Form class="card stack" onSubmit={run.start}>
        <SelectField
          label="Model"
          {...edits(model)}
          options={[EMBEDDING_MODEL, ...chatModels.value].map((id) => ({ value: id, label: id }))}
          hint={
            model.value === EMBEDDING_MODEL
              ? 'Compares the text with the choices and their descriptions.'
              : 'Scores each choice as the answer, without its description.'
          }
        />
        <TextField label="Text" rows={4} {...edits(text)} />
        {drafts.value.map((each, index) => (
          <QuestionEditor
            key={each.id}
            draft={each}
            number={index + 1}
            onChange={replace}
            onRemove={
              drafts.value.length > 1
                ? () => {
                    drafts.value = drafts.value.filter(({ id }) => id !== each.id);
                    // The button that had the focus is gone.
                    adder.current?.focus();
                  }
                : undefined
            }
          />
        ))}
        <RunRow
          run={run}
          model={model.value}
          label="Decide"
          disabled={!ready}
          figures={
            decided &&
            `${plural(decided.tokens, 'token')}${decided.ms === null ? '' : ` · ${duration(decided.ms)}`}`
          }
        >
          <Button ref={adder} onClick={() => (drafts.value = [...drafts.value, draft('choice')])}>
            Add a question
          </Button>
        </RunRow>
      </Form>
      {decided?.questions.map((question, index) => {
        const answer = decided.answers[index];
        return answer && <AnswerCard key={index} question={question} answer={answer} isFirst={index === 0} />;
      })}
    </div>
  );
}
