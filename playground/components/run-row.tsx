import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { announce } from '../announce.ts';
import { problemOf } from '../problem.ts';
import { LoadCard } from './load-card.tsx';
import { ErrorText } from './error-text.tsx';
import { Button } from './button.tsx';

export interface Run<T> {
  busy: Signal<AbortController | null>;
  problem: Signal<string | null>;
  result: Signal<T | null>;
  start: () => Promise<void>;
}

/** State of a form that sends one request at a time: the next one ends it. `done` is the announcement of its result. */
export function useRun<T>(
  send: (controller: AbortController) => Promise<T>,
  done: (result: T) => string,
): Run<T> {
  const busy = useSignal<AbortController | null>(null);
  const problem = useSignal<string | null>(null);
  const result = useSignal<T | null>(null);
  const start = async (): Promise<void> => {
    busy.peek()?.abort();
    const controller = new AbortController();
    busy.value = controller;
    problem.value = null;
    try {
      const sent = await send(controller);
      if (controller.signal.aborted) return;
      result.value = sent;
      announce(done(sent));
    } catch (error) {
      if (!controller.signal.aborted) problem.value = problemOf(error);
    } finally {
      if (busy.peek() === controller) busy.value = null;
    }
  };
  useEffect(() => () => busy.peek()?.abort(), []);
  return { busy, problem, result, start };
}

interface Props {
  run: Omit<Run<unknown>, 'result'>;
  model: string;
  label: string;
  disabled: boolean;
  figures: string | null;
  /** Replaces the figures while the request runs. */
  progress?: string | null;
  /** More buttons. */
  children?: ComponentChildren;
}

/** Buttons of such a form, and the state of its request. */
export function RunRow({
  run: { busy, problem, start },
  model,
  label,
  disabled,
  figures,
  progress = null,
  children,
}: Props) {
  const line = busy.value ? progress : figures;
  const runAgain = (): void => {
    if (problem.value !== null && !disabled) void start();
  };
  return (
    <>
      <div class="row">
        <Button type="submit" look="primary" disabled={disabled || busy.value !== null}>
          {label}
        </Button>
        {children}
        {busy.value && <Button onClick={() => busy.value?.abort()}>Stop</Button>}
        {line !== null && <span class="figures">{line}</span>}
      </div>
      <LoadCard model={model} source="site" onRetry={runAgain} />
      <ErrorText alert small={false} text={problem.value} model={model} />
    </>
  );
}
