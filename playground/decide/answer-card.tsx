import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { ShareBar } from '../components/share-bar.tsx';
import type { Answer, Question } from './decision-api.ts';

interface Props {
  question: Question;
  answer: Answer;
  isFirst: boolean;
}

/** Probabilities of one question's answers, as bars. The first card scrolls into view: the form is often as high as the window. */
export function AnswerCard({ question, answer, isFirst }: Props) {
  const id = useId();
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (isFirst) card.current?.scrollIntoView({ block: 'nearest' });
  }, [answer, isFirst]);
  const rows = rowsOf(answer);
  const best = Math.max(...rows.map(({ probability }) => probability));
  return (
    <section class="card stack decide-answer" aria-labelledby={id} ref={card}>
      <h2 class="decide-asked" id={id}>
        {question.instructions}
      </h2>
      {answer.type === 'refusal' && <p>The model declined to answer.</p>}
      <ul class="decide-bars">
        {rows.map(({ label, probability }) => (
          <li key={label} class={probability === best ? 'decide-best' : ''}>
            <span>{label}</span>
            <ShareBar share={probability} />
            <span class="figures">{percent(probability)} %</span>
          </li>
        ))}
      </ul>
      {answer.score !== undefined && (
        <p class="figures">
          on average level {(answer.score + 1).toFixed(1)} of {rows.length}
        </p>
      )}
    </section>
  );
}

const percent = (share: number): string | number =>
  share > 0 && share < 0.005 ? '< 1' : Math.round(share * 100);

function rowsOf({ probability, probabilities = [] }: Answer): { label: string; probability: number }[] {
  if (probability !== undefined)
    return [
      { label: 'true', probability },
      { label: 'false', probability: 1 - probability },
    ];
  return probabilities.map(({ label, value, probability: share }) => ({
    label: label ?? String(value),
    probability: share,
  }));
}
