import './embeddings.css';
import { useSignal } from '@preact/signals';
import { EMBEDDING_MODEL } from '../client/models.ts';
import { chosenVariant, weightBytes } from '../client/model-facts.ts';
import { TextField } from '../components/field.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { announce } from '../announce.ts';
import { bytes, duration, messageOf, plural } from '../format.ts';
import { embed, type Embedded } from './embed.ts';
import { lines, texts } from './embedding-texts.ts';
import { SearchBox } from './search-box.tsx';
import { SimilarityMap } from './similarity-map.tsx';
import { MATRIX_MOST, SimilarityMatrix } from './similarity-matrix.tsx';

export function EmbeddingsView() {
  const busy = useSignal<AbortController | null>(null);
  const problem = useSignal<string | null>(null);
  const result = useSignal<Embedded | null>(null);
  const variant = chosenVariant(EMBEDDING_MODEL);

  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    const controller = new AbortController();
    busy.value = controller;
    problem.value = null;
    try {
      result.value = await embed(lines.value, controller.signal);
      announce(`${plural(lines.value.length, 'text')} embedded.`);
    } catch (error) {
      if (!controller.signal.aborted) problem.value = messageOf(error);
    } finally {
      busy.value = null;
    }
  };
  const embedded = result.value;
  return (
    <div class="page" data-hue="jade">
      <header class="page-head">
        <h1>Embeddings</h1>
        <p>
          {EMBEDDING_MODEL} turns texts into vectors: texts that mean the same lie close together.
          {variant && ` ${bytes(weightBytes(variant))} of weights.`}
        </p>
      </header>
      <form class="card stack" onSubmit={(event) => void run(event)}>
        <TextField
          label="Texts"
          rows={8}
          hint="One a line. Paste more to search through them."
          value={texts.value}
          onInput={(value) => (texts.value = value)}
        />
        <div class="row">
          <button
            type="submit"
            class="button button-primary"
            disabled={busy.value !== null || lines.value.length === 0}
          >
            Embed {plural(lines.value.length, 'text')}
          </button>
          {busy.value && (
            <button type="button" class="button" onClick={() => busy.value?.abort()}>
              Stop
            </button>
          )}
          {embedded && !busy.value && (
            <span class="figures">
              {plural(embedded.texts.length, 'vector')} of {embedded.vectors[0]?.length ?? 0} ·{' '}
              {plural(embedded.tokens, 'token')} · {duration(embedded.ms)}
            </span>
          )}
        </div>
        <LoadCard model={EMBEDDING_MODEL} />
        {problem.value !== null && (
          <p role="alert" class="error-text">
            {problem.value}
          </p>
        )}
      </form>
      {embedded && (
        <>
          <SearchBox embedded={embedded} />
          {embedded.texts.length > 2 && <SimilarityMap embedded={embedded} />}
          {embedded.texts.length <= MATRIX_MOST ? (
            <SimilarityMatrix embedded={embedded} />
          ) : (
            <p class="quiet small">The matrix is drawn for up to {MATRIX_MOST} texts.</p>
          )}
        </>
      )}
    </div>
  );
}
