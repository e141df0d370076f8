import { ratio, type Row } from '../row.ts';
import { CHAT_MODEL, EMBEDDING_MODEL, openai } from './engines.ts';
import { elapsed } from './once.ts';

/** About 20 tokens; `salt` keeps it out of the prompt cache. */
const note = (salt: string): string =>
  `Ticket ${salt}. The cups that I ordered came broken. I want my money back.`;
/** About 200 tokens. */
const mail = (salt: string): string => `Ticket ${salt}. Hello, two weeks ago I ordered a coffee machine and a
set of four cups in your shop. The parcel came on Tuesday, but one of the cups was broken, and the machine makes a loud
noise as soon as I switch it on. I have tried another socket, cleaned the tank and read the manual from the first page to
the last, without any success. Your hotline kept me waiting for forty minutes, and then the line went dead. I have been a
customer for six years and have never had such trouble before. I need the machine for a family party on Saturday, when
about twenty guests are coming to our house. Could you please send me a new one before then, or give me my money back?
If the driver comes in the morning, he can take the broken machine with him. I am at home until eleven, and my neighbour
Mrs Miller is there all day. Please let me know by mail what you are going to do. Kind regards, Paul`;

interface Question {
  type: 'predicate' | 'choice' | 'score';
  instructions: string;
  choices?: { value: string }[];
  levels?: { label: string }[];
}

const choice = (instructions: string, ...values: string[]): Question => ({
  type: 'choice',
  instructions,
  choices: values.map((value) => ({ value })),
});
const predicate = (instructions: string): Question => ({ type: 'predicate', instructions });
const score = (instructions: string, ...labels: string[]): Question => ({
  type: 'score',
  instructions,
  levels: labels.map((label) => ({ label })),
});
const QUESTIONS = [
  choice('What is this mail about?', 'delivery', 'payment', 'repair', 'praise'),
  choice('What is the sentiment of this mail?', 'positive', 'negative'),
  choice('In which language is this mail written?', 'English', 'German', 'French', 'Spanish'),
  choice('Who should answer this mail?', 'customer service', 'sales', 'the workshop'),
  predicate('The writer asks for a refund.'),
  predicate('The writer is a new customer.'),
  predicate('Something is broken.'),
  predicate('The mail names a date.'),
  score('How urgent is this mail?', 'low', 'normal', 'high'),
  score('How angry is the writer?', 'calm', 'annoyed', 'furious'),
];

async function timeDecisions(model: string, input: string, questions: Question[]): Promise<number> {
  const client = await openai();
  return elapsed(() => client.post('/decisions', { body: { model, input, questions } }));
}

const labelsOf = ({ choices, levels }: Question): string[] =>
  choices?.map(({ value }) => value) ?? levels?.map(({ label }) => label) ?? ['true', 'false'];

/** A chat that answers with an enum. */
async function timeChat(input: string, question: Question): Promise<number> {
  const client = await openai();
  const schema = {
    type: 'object',
    properties: { q1: { enum: labelsOf(question) } },
    required: ['q1'],
    additionalProperties: false,
  };
  const asked = `q1: ${question.instructions} Answer with one of: ${labelsOf(question).join(', ')}.`;
  return elapsed(() =>
    client.chat.completions.create({
      model: CHAT_MODEL,
      messages: [{ role: 'user', content: `${input}\n\n${asked}` }],
      temperature: 0,
      response_format: { type: 'json_schema', json_schema: { name: 'labels', schema, strict: true } },
    }),
  );
}

export async function decisions(rounds: number): Promise<Row[]> {
  const times: Record<string, number[]> = {};
  const add = async (name: string, timing: Promise<number>): Promise<void> => {
    (times[name] ??= []).push(await timing);
  };
  const [first] = QUESTIONS;
  if (!first) throw new Error('there are no questions');

  await timeDecisions(CHAT_MODEL, 'warm', QUESTIONS);
  await timeDecisions(EMBEDDING_MODEL, 'warm', [first]);
  await timeChat('warm', first);
  for (let round = 0; round < rounds; round++) {
    const at = round % QUESTIONS.length;
    const question = QUESTIONS.slice(at, at + 1);
    const unknown = (salt: string): Question[] =>
      QUESTIONS.map((each) => ({ ...each, instructions: `${salt} ${round}: ${each.instructions}` }));
    await add('one', timeDecisions(CHAT_MODEL, mail(`a${round}`), question));
    await add('ten', timeDecisions(CHAT_MODEL, mail(`b${round}`), QUESTIONS));
    await add('one new', timeDecisions(CHAT_MODEL, mail(`c${round}`), unknown('First').slice(at, at + 1)));
    await add('ten new', timeDecisions(CHAT_MODEL, mail(`d${round}`), unknown('Second')));
    await add('chat', timeChat(note(`f${round}`), first));
    await add('decision', timeDecisions(CHAT_MODEL, note(`g${round}`), [first]));
    await add('by embeddings', timeDecisions(EMBEDDING_MODEL, note(`h${round}`), [first]));
  }
  const side = (name: string): Record<string, number[]> => ({ [`${name}, ms`]: times[name] ?? [] });
  return [
    ratio('ten decisions about a text of 200 tokens ÷ one', side('ten'), side('one'), { atMost: 2.5 }),
    ratio('ten decisions that are asked for the first time ÷ one', side('ten new'), side('one new'), {
      atMost: 2.5,
    }),
    ratio('a chat with a schema ÷ a decision', side('chat'), side('decision'), { atLeast: 3 }),
    ratio('a chat with a schema ÷ a decision by embeddings', side('chat'), side('by embeddings'), {
      atLeast: 3,
    }),
  ];
}
