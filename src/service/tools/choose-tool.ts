import { engineLost } from '#base';
import type { ChatMessage, DecisionAnswer, DecisionJob } from '#jobs';
import type { ChatRun } from '../generation/admission.ts';
import { omitNulls, type Generation } from '../generation/generation.ts';
import type { JobSink } from '../http/job-run.ts';
import type { CallableTools } from './callable-tools.ts';

/**
 * Lets a decision choose whether a reply calls a function, and which. The reply then must call it, or gets no functions.
 * The engine knows which variant answers, and whether its model chooses itself.
 */
export async function withChosenTool(run: ChatRun, sink: Pick<JobSink<never>, 'stage'>): Promise<Generation> {
  const { generation } = run.meter;
  const { tools, inputs, partial } = generation;
  const [input] = inputs;
  if (!tools || tools.mustCall || partial !== undefined || !input || !('messages' in input))
    return generation;
  const answer = await decide(run, toQuestion(run.model.id, input.messages, tools), sink);
  if (!answer) return generation;
  const chosen = tools.functions[answer.indexOf(Math.max(...answer))];
  return { ...generation, tools: chosen ? { ...tools, functions: [chosen], mustCall: true } : null };
}

async function decide(
  run: ChatRun,
  job: DecisionJob,
  sink: Pick<JobSink<never>, 'stage'>,
): Promise<DecisionAnswer> {
  const { exchange, model, isStreamed, meter } = run;
  const { signal } = exchange.abort;
  for await (const event of exchange.run(job, model, isStreamed, `${exchange.id}-tool`)) {
    signal.throwIfAborted();
    if (event.type === 'waiting') {
      // The reply has not begun when the decision has.
      if (event.stage !== 'prefill') sink.stage(event.stage, 0);
    } else if (event.type === 'done') {
      meter.chose(event.progress.promptTokens);
      return event.progress.answers[0] ?? null;
    }
  }
  signal.throwIfAborted();
  throw engineLost();
}

/** After a tool's result the reply is text, so that the question has no input. */
function toQuestion(
  model: string,
  messages: readonly ChatMessage[],
  { functions }: CallableTools,
): DecisionJob {
  const [text = '', before = ''] = messages
    .flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    .toReversed();
  const options = functions.map(({ name, description }) => ({ label: name, ...omitNulls({ description }) }));
  return {
    kind: 'decision',
    model,
    input: { text: messages.at(-1)?.role === 'tool' ? '' : text },
    questions: [{ type: 'tool', instructions: before, options }],
  };
}
