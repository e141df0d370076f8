import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { EMBEDDING_MODEL } from '../client/models.ts';
import { edits, TextField } from '../components/field.tsx';
import { Form } from '../components/form.tsx';
import { useRun } from '../components/run-row.tsx';
import { ShareBar } from '../components/share-bar.tsx';
import { plural } from '../format.ts';
import { embed, type Embedded } from './embed.ts';
import { dot } from './vector.ts';
import { ErrorText } from '../components/error-text.tsx';
import { Button } from '../components/button.tsx';

interface Hit {
  text: string;
  score: number;
}

const SHOWN = 10;

/** Search by meaning over the texts that are embedded. */
export function SearchBox({ embedded }: { embedded: Embedded }) {
  const query = useSignal('');
  const {
    busy,
    problem,
    result: hits,
    start,
  } = useRun(
    async (controller) => {
      const { vectors } = await embed([query.value.trim()], controller);
      return rank(embedded, vectors[0] ?? []);
    },
    (found) => `${plural(found.length, 'result')}. Best: ${found[0]?.text ?? ''}`,
  );
  useEffect(() => {
    hits.value = null;
    return () => busy.peek()?.abort();
  }, [embedded]);
  return (
    <section class="stack">
      <h2>Search by meaning</h2>
      <Form class="search-form" role="search" onSubmit={start}>
        <TextField label="Query" type="search" placeholder="pets resting" {...edits(query)} />
        <Button type="submit" disabled={!query.value.trim()}>
          Search
        </Button>
      </Form>
      <ErrorText alert small={false} text={problem.value} model={EMBEDDING_MODEL} />
      {hits.value && (
        <ol class="hits">
          {hits.value.map(({ text, score }, index) => (
            <li key={index}>
              <span class="figures">{score.toFixed(3)}</span>
              <ShareBar share={Math.max(0, score)} />
              <span dir="auto">{text}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function rank({ texts, vectors }: Embedded, query: number[]): Hit[] {
  return vectors
    .map((vector, index) => ({ text: texts[index] ?? '', score: dot(vector, query) }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, SHOWN);
}
