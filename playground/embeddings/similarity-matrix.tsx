import { useSignal } from '@preact/signals';
import type { Embedded } from './embed.ts';
import { dot } from './vector.ts';

export const MATRIX_MOST = 24;

/** A table, so that it can be read without the shades. */
export function SimilarityMatrix({ embedded: { texts, vectors } }: { embedded: Embedded }) {
  const active = useSignal<{ row: number; column: number } | null>(null);
  const pair = active.value;
  return (
    <section class="stack">
      <h2>Similarity</h2>
      <p class="small quiet" aria-hidden="true">
        {pair
          ? `“${texts[pair.row] ?? ''}” and “${texts[pair.column] ?? ''}”`
          : 'Cosine of each two texts: 1 is the same meaning.'}
      </p>
      <div class="matrix-scroller" tabIndex={0} role="region" aria-label="Similarity matrix">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">
                <span class="visually-hidden">Text</span>
              </th>
              {texts.map((text, index) => (
                <th scope="col" key={index} title={text}>
                  {index + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {texts.map((text, row) => (
              <tr key={row}>
                <th scope="row" title={text}>
                  <span class="figures">{row + 1}</span> <bdi>{text}</bdi>
                </th>
                {vectors.map((vector, column) => {
                  const value = dot(vectors[row] ?? [], vector);
                  return (
                    <td
                      key={column}
                      style={{ '--share': `${Math.round(Math.max(0, value) * 100)}%` }}
                      onPointerEnter={() => (active.value = { row, column })}
                      onPointerLeave={() => (active.value = null)}
                    >
                      {value.toFixed(2)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
