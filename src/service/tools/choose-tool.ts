import { omitNulls } from '#base';
import type { ChatMessage, ToolChoiceJob } from '#jobs';
import type { ModelEntry } from '#protocol';
import type { ChatRun } from '../generation/admission.ts';
import { type Generation } from '../generation/generation.ts';
import type { AnswerSink } from '../http/job-run.ts';
import { runJob } from '../http/exchange.ts';
import type { CallableTools } from './callable-tools.ts';

/**
 * Lets a job choose whether a reply calls a function, and which. The reply then must call it, or gets no functions.
 * The engine knows which variant answers, and whether its model chooses itself.
 */
export async function withChosenTool(
  run: ChatRun,
  tools: CallableTools,
  sink: Pick<AnswerSink<never>, 'stage'>,
): Promise<Generation> {
  const { model, meter } = run;
  const { generation } = meter;
  const { inputs, partial } = generation;
  const [input] = inputs;
  if (tools.mustCall || partial !== undefined || !input || !('messages' in input)) return generation;
  if (choosesItself(model)) return generation;
  const scores = await choose(run, toJob(model.id, input.messages, tools), sink);
  if (!scores) return generation;
  const chosen = tools.functions[scores.indexOf(Math.max(...scores))];
  return { ...generation, tools: chosen ? { ...tools, functions: [chosen], mustCall: true } : null };
}

/** Whether no variant of the model has a chooser. Those of the default catalog are not known here. */
function choosesItself({ catalogModel }: ModelEntry): boolean {
  const { variants = [] } = catalogModel ?? {};
  return variants.length > 0 && !variants.some((variant) => 'toolChooser' in variant);
}

/** @returns scores of the tools and of no tool; null: the chat's model chooses */
async function choose(
  run: ChatRun,
  job: ToolChoiceJob,
  sink: Pick<AnswerSink<never>, 'stage'>,
): Promise<number[] | null> {
  const { exchange, model, isStreamed, meter } = run;
  const { signal } = exchange.abort;
  for await (const event of runJob(exchange, job, model, isStreamed, `${exchange.id}-tool`)) {
    signal.throwIfAborted();
    if (event.type === 'stage') {
      // The reply has not begun when the choice has.
      if (event.stage !== 'prefill') sink.stage(event.stage, 0);
    } else {
      meter.chose(event.promptTokens);
      return event.scores;
    }
  }
  signal.throwIfAborted();
  return null;
}

/** After a tool's result the reply is text, so that there is no message. */
function toJob(model: string, messages: readonly ChatMessage[], { functions }: CallableTools): ToolChoiceJob {
  const [text = '', before = ''] = messages
    .flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    .toReversed();
  return {
    kind: 'toolChoice',
    model,
    message: messages.at(-1)?.role === 'tool' ? '' : text,
    before,
    tools: functions.map(({ name, description }) => ({ name, ...omitNulls({ description }) })),
  };
}
