import './decide.css';
import { useSignal } from '@preact/signals';
import { announce } from '../announce.ts';
import { chatModels } from '../client/model-facts.ts';
import { EMBEDDING_MODEL, hueOf } from '../client/models.ts';
import { SelectField, TextField } from '../components/field.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { duration, messageOf, plural } from '../format.ts';
import { AnswerCard } from './answer-card.tsx';
import { decide, type Decided } from './decision-api.ts';
import { type Draft, draft, isComplete, toQuestion } from './drafts.ts';
import { EXAMPLES } from './examples.ts';
import { QuestionEditor } from './question-editor.tsx';

export function DecideView() {
  const model = useSignal(EMBEDDING_MODEL);
  const text = useSignal(EXAMPLES[0].text);
  const drafts = useSignal<Draft[]>(EXAMPLES[0].questions());
  const busy = useSignal<AbortController | null>(null);
  const problem = useSignal<string | null>(null);
  const result = useSignal<Decided | null>(null);
  const decided = result.value;

  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    const controller = new AbortController();
    busy.value = controller;
    problem.value = null;
    try {
      const questions = drafts.value.map(toQuestion);
      result.value = await decide(model.value, text.value, questions, controller.signal);
      announce(`${plural(questions.length, 'question')} answered.`);
    } catch (error) {
      if (!controller.signal.aborted) problem.value = messageOf(error);
    } finally {
      busy.value = null;
    }
  };
  const replace = (changed: Draft): void => {
    drafts.value = drafts.value.map((each) => (each.id === changed.id ? changed : each));
  };
  const ready = text.value.trim() !== '' && drafts.value.length > 0 && drafts.value.every(isComplete);
  return (
    <div class="page" data-hue={hueOf(model.value)}>
      <header class="page-head">
        <h1>Decide</h1>
        <p>Typed questions about a text, answered with probabilities. Nothing is generated.</p>
      </header>
      <div class="row" role="group" aria-label="Examples">
        {EXAMPLES.map(({ name, text: sample, questions }) => (
          <button
            type="button"
            class="button button-small"
            key={name}
            onClick={() => {
              text.value = sample;
              drafts.value = questions();
              result.value = null;
            }}
          >
            {name}
          </button>
        ))}
      </div>
      <form class="card stack" onSubmit={(event) => void run(event)}>
        <SelectField
          label="Model"
          value={model.value}
          options={[EMBEDDING_MODEL, ...chatModels.value].map((id) => ({ value: id, label: id }))}
          hint={
            model.value === EMBEDDING_MODEL
              ? 'Compares the text with the choices and their descriptions.'
              : ''
          }
          onChange={(id) => (model.value = id)}
        />
        <TextField label="Text" rows={4} value={text.value} onInput={(value) => (text.value = value)} />
        {drafts.value.map((each, index) => (
          <QuestionEditor
            key={each.id}
            draft={each}
            number={index + 1}
            onChange={replace}
            onRemove={
              drafts.value.length > 1
                ? () => (drafts.value = drafts.value.filter(({ id }) => id !== each.id))
                : undefined
            }
          />
        ))}
        <div class="row">
          <button type="submit" class="button button-primary" disabled={busy.value !== null || !ready}>
            Decide
          </button>
          <button
            type="button"
            class="button"
            onClick={() => (drafts.value = [...drafts.value, draft('choice')])}
          >
            Add a question
          </button>
          {busy.value && (
            <button type="button" class="button" onClick={() => busy.value?.abort()}>
              Stop
            </button>
          )}
          {decided && !busy.value && (
            <span class="figures">
              {plural(decided.tokens, 'token')} · {duration(decided.ms)}
            </span>
          )}
        </div>
        <LoadCard model={model.value} />
        {problem.value !== null && (
          <p role="alert" class="error-text">
            {problem.value}
          </p>
        )}
      </form>
      {decided?.questions.map((question, index) => {
        const answer = decided.answers[index];
        return answer && <AnswerCard key={index} question={question} answer={answer} />;
      })}
    </div>
  );
}
