/** Ways to answer one question about one text, over /v1. */

export interface Task {
  task: string;
  question: {
    type: 'predicate' | 'choice' | 'score';
    instructions: string;
    choices?: { value: string; description?: string }[];
    levels?: { label: string; description?: string }[];
  };
  /** Texts by their label. */
  texts: Record<string, string[]>;
}

export interface Method {
  name: string;
  ask(task: Task, text: string): { path: string; body: Record<string, unknown> };
  read(task: Task, json: unknown): Judged;
}

/** `confidence`: the probability of the label; null: the method gives none. */
export interface Judged {
  label: string;
  confidence: number | null;
}

const decisions = (name: string, model: string): Method => ({
  name,
  ask: ({ question }, input) => ({ path: '/v1/decisions', body: { model, input, questions: [question] } }),
  read({ texts }, json) {
    const { answers } = json as {
      answers: { probability?: number; probabilities?: { probability: number }[] }[];
    };
    const { probability: isTrue = 0, probabilities } = answers[0] ?? {};
    const shares = probabilities?.map(({ probability }) => probability) ?? [isTrue, 1 - isTrue];
    const confidence = Math.max(...shares);
    return { label: Object.keys(texts)[shares.indexOf(confidence)] ?? '', confidence };
  },
});

const chat = (name: string, model: string): Method => ({
  name,
  ask({ question, texts }, text) {
    const labels = Object.keys(texts);
    const schema = {
      type: 'object',
      properties: { label: { enum: labels } },
      required: ['label'],
      additionalProperties: false,
    };
    const rule =
      question.type === 'predicate' ? `True or false: ${question.instructions}` : question.instructions;
    const content = `${text}\n\n${rule} Answer with one of: ${labels.join(', ')}.`;
    return {
      path: '/v1/chat/completions',
      body: {
        model,
        messages: [{ role: 'user', content }],
        temperature: 0,
        response_format: { type: 'json_schema', json_schema: { name: 'label', schema, strict: true } },
      },
    };
  },
  read(_, json) {
    const { choices } = json as { choices: { message: { content: string } }[] };
    const { label } = JSON.parse(choices[0]?.message.content ?? '{}') as { label: string };
    return { label, confidence: null };
  },
});

export const METHODS: readonly Method[] = [
  decisions('decisions', 'amber-phoenix-4'),
  decisions('embeddings', 'jade-mole-4'),
  chat('chat with a schema', 'amber-phoenix-4'),
];
