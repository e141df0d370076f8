import { inTurn, ratio, type Row } from '../row.ts';
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
  const [first] = QUESTIONS;
  if (!first) throw new Error('there are no questions');
  const ask = (salt: string, round: number, questions: Question[]): Promise<number> =>
    timeDecisions(CHAT_MODEL, mail(`${salt}${round}`), questions);
  const unknown = (salt: string, round: number): Question[] =>
    QUESTIONS.map((each) => ({ ...each, instructions: `${salt} ${round}: ${each.instructions}` }));
  const oneOf = (questions: Question[], round: number): Question[] => {
    const at = round % questions.length;
    return questions.slice(at, at + 1);
  };
  await timeDecisions(CHAT_MODEL, 'warm', QUESTIONS);
  await timeDecisions(EMBEDDING_MODEL, 'warm', [first]);
  await timeChat('warm', first);
  const known = await inTurn(rounds, {
    'ten, ms': (round) => ask('b', round, QUESTIONS),
    'one, ms': (round) => ask('a', round, oneOf(QUESTIONS, round)),
  });
  const asked = await inTurn(rounds, {
    'ten new, ms': (round) => ask('d', round, unknown('Second', round)),
    'one new, ms': (round) => ask('c', round, oneOf(unknown('First', round), round)),
  });
  const {
    'chat, ms': chat,
    'decision, ms': decision,
    'by embeddings, ms': byEmbeddings,
  } = await inTurn(rounds, {
    'chat, ms': (round) => timeChat(note(`f${round}`), first),
    'decision, ms': (round) => timeDecisions(CHAT_MODEL, note(`g${round}`), [first]),
    'by embeddings, ms': (round) => timeDecisions(EMBEDDING_MODEL, note(`h${round}`), [first]),
  });
  return [
    ratio('ten decisions about a text of 200 tokens ÷ one', known, { atMost: 1.3 }),
    ratio('ten decisions that are asked for the first time ÷ one', asked, { atMost: 2.5 }),
    ratio(
      'a chat with a schema ÷ a decision',
      { 'chat, ms': chat, 'decision, ms': decision },
      { atLeast: 3 },
    ),
    ratio(
      'a chat with a schema ÷ a decision by embeddings',
      { 'chat, ms': chat, 'by embeddings, ms': byEmbeddings },
      { atLeast: 3 },
    ),
  ];
}
