const ELEMENTS = ['0', '[]', '{}', '""', 'null', '{"start":0,"end":1,"text":"a"}'];

/** Answers of servers by the kind of job, where `*` stands for an array of any elements. */
const ANSWERS = {
  chat: [
    '{"choices":*}',
    '{"choices":[{"delta":{"content":"a"},"logprobs":{"content":*}}]}',
    '{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":0,"top_logprobs":*}]}}]}',
    '{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":0,"bytes":*}]}}]}',
    '{"choices":[{"text":"a","logprobs":{"tokens":*,"top_logprobs":*}}]}',
    '{"choices":[],"usage":*}',
  ],
  embedding: ['{"data":*}', '{"data":[{"embedding":*}]}', '{"data":[{"embedding":[1,2]}],"usage":*}'],
  rerank: ['{"results":*}', '{"results":[{"index":0,"relevance_score":1}],"usage":*}'],
  transcription: ['{"text":"a","segments":*}', '{"text":"a","segments":[],"words":*}'],
  decision: [
    '{"answers":*}',
    '{"answers":[{"type":"choice","probabilities":*}]}',
    '{"answers":[{"type":"predicate","probability":1}],"other":*}',
  ],
};

type AnswerKind = keyof typeof ANSWERS;
export const ANSWER_KINDS = Object.keys(ANSWERS) as AnswerKind[];

/** JSON texts of about `size` characters, in each of which an array has many elements: a name of each, and a function that makes it. */
export function wrongArrays(kind: AnswerKind, size: number): [string, () => string][] {
  return ANSWERS[kind].flatMap((answer) =>
    ELEMENTS.map((element): [string, () => string] => {
      const make = (): string => {
        const arrays = answer.split('*').length - 1;
        const count = Math.max(1, Math.floor((size - answer.length) / arrays / (element.length + 1)) - 1);
        return answer.replaceAll('*', `[${`${element},`.repeat(count)}${element}]`);
      };
      return [`${answer}, * of ${element}`, make];
    }),
  );
}
