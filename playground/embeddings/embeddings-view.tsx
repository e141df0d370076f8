import './embeddings.css';
import { EMBEDDING_MODEL } from '../client/models.ts';
import { edits, TextField } from '../components/field.tsx';
import { Form } from '../components/form.tsx';
import { PageHead } from '../components/page-head.tsx';
import { RunRow, useRun } from '../components/run-row.tsx';
import { count, duration, plural } from '../format.ts';
import { embed } from './embed.ts';
import { SearchBox } from './search-box.tsx';
import { SimilarityMap } from './similarity-map.tsx';
import { MATRIX_MOST, SimilarityMatrix } from './similarity-matrix.tsx';
import { computed, useSignal } from '@preact/signals';
import { preference } from '../preferences.ts';

export function EmbeddingsView() {
  const done = useSignal(0);
  const run = useRun(
    (controller) => {
      done.value = 0;
      return embed(lines.value, controller, (embedded) => (done.value = embedded));
    },
    ({ texts: embedded }) => `${plural(embedded.length, 'text')} embedded.`,
  );
  const embedded = run.result.value;
  const hasTable = embedded !== null && embedded.texts.length <= MATRIX_MOST;
  return (
    <div class="page" data-hue="jade">
      <PageHead title="Embeddings">
        {EMBEDDING_MODEL} turns texts into vectors: texts that mean the same lie close together.
      </PageHead>
      <Form class="card stack" onSubmit={run.start}>
        <TextField
          label="Texts"
          rows={8}
          hint="One a line. Paste more to search through them."
          {...edits(texts)}
        />
        <RunRow
          run={run}
          model={EMBEDDING_MODEL}
          label={`Embed ${plural(lines.value.length, 'text')}`}
          disabled={lines.value.length === 0}
          progress={done.value > 0 ? `${count(done.value)} embedded` : null}
          figures={
            embedded &&
            `${plural(embedded.texts.length, 'vector')} of ${embedded.vectors[0]?.length ?? 0} · ${plural(embedded.tokens, 'token')}${embedded.ms === null ? '' : ` · ${duration(embedded.ms)}`}`
          }
        />
      </Form>
      {embedded && (
        <>
          <SearchBox embedded={embedded} />
          {embedded.texts.length > 2 && <SimilarityMap embedded={embedded} hasTable={hasTable} />}
          {hasTable ? (
            <SimilarityMatrix embedded={embedded} />
          ) : (
            <p class="quiet small">The matrix is drawn for up to {MATRIX_MOST} texts.</p>
          )}
        </>
      )}
    </div>
  );
}

const EXAMPLE = `A cat sleeps on the warm windowsill.
The kitten naps in the sun.
A dog runs across the wet grass.
Bread is baked from flour, water and yeast.
How do I make a loaf at home?
The train to Vienna leaves at noon.
Trains depart for Austria every day.`;

const texts = preference('embedding-texts', EXAMPLE);

const lines = computed(() =>
  texts.value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== ''),
);
