import { type Draft, draft } from './drafts.ts';

interface Example {
  name: string;
  text: string;
  questions(): Draft[];
}

const TOPIC = `sports: Games, athletes, teams and matches
politics: Governments, elections, parties and laws
technology: Computers, software, phones and the internet
food: Cooking, recipes, meals and restaurants`;

const URGENCY = `low: No answer is needed soon
normal: An answer within some days is fine
high: An answer is needed today
critical: An emergency that cannot wait a minute`;

const TOOL = `weather: Weather forecast and temperature
calendar: Appointments and meetings
translator: Translate words into another language
music: Play songs and albums`;

export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    name: 'Review',
    text: 'The battery died after a week, and nobody answers my mails. I regret buying it.',
    questions: () => [
      draft(
        'choice',
        'What is the sentiment of this review?',
        'positive: The writer is happy\nnegative: The writer is unhappy',
      ),
    ],
  },
  {
    name: 'Topic',
    text: 'Fry the onions in butter until they are golden, then add the mushrooms and a glass of white wine.',
    questions: () => [
      draft('choice', 'What is the topic of this text?', TOPIC),
      draft('predicate', 'This text is a recipe.'),
    ],
  },
  {
    name: 'Message',
    text: 'The whole site is down and we lose thousands every minute. Help immediately!',
    questions: () => [
      draft('score', 'How urgent is this message?', URGENCY),
      draft('predicate', 'The writer asks for help.'),
    ],
  },
  {
    name: 'Tool',
    text: 'How do you say good morning in Japanese?',
    questions: () => [draft('choice', 'Which tool is needed for this request?', TOOL)],
  },
];
