import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { announce } from '../announce.ts';
import { EMBEDDING_MODEL } from '../client/models.ts';
import { Field } from '../components/field.tsx';
import { plural } from '../format.ts';
import { problemOf } from '../problem.ts';
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
  const hits = useSignal<Hit[] | null>(null);
  const problem = useSignal<string | null>(null);
  /** The latest search. An earlier one may end after it. */
  const latest = useRef(new AbortController());
  useEffect(() => {
    hits.value = null;
    return () => latest.current.abort();
  }, [embedded, hits]);
  const search = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!query.value.trim()) return;
    problem.value = null;
    latest.current.abort();
    const controller = (latest.current = new AbortController());
    const { signal } = controller;
    try {
      const asked = await embed([query.value.trim()], controller);
      if (signal.aborted) return;
      hits.value = rank(embedded, asked.vectors[0] ?? []);
      announce(`${plural(hits.value.length, 'result')}. Best: ${hits.value[0]?.text ?? ''}`);
    } catch (error) {
      if (!signal.aborted) problem.value = problemOf(error);
    }
  };
  return (
    <section class="stack">
      <h2>Search by meaning</h2>
      <form class="search-form" role="search" onSubmit={(event) => void search(event)}>
        <Field label="Query">
          {(ids) => (
            <input
              {...ids}
              class="input"
              type="search"
              dir="auto"
              placeholder="pets resting"
              value={query}
              onInput={({ currentTarget }) => (query.value = currentTarget.value)}
            />
          )}
        </Field>
        <Button type="submit">Search</Button>
      </form>
      <ErrorText alert small={false} text={problem.value} model={EMBEDDING_MODEL} />
      {hits.value && (
        <ol class="hits">
          {hits.value.map(({ text, score }, index) => (
            <li key={index}>
              <span class="figures">{score.toFixed(3)}</span>
              <span class="hit-bar" aria-hidden="true">
                <span style={{ inlineSize: `${Math.max(0, score) * 100}%` }} />
              </span>
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
