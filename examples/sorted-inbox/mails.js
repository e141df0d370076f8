/** Each folder with its description and hand-sorted mails. */
export const FOLDERS = {
  orders: {
    description: 'Parcels, shipping, delivery dates and tracking of orders',
    mails: [
      'My parcel should have come on Monday. Where is it?',
      'Can you tell me the tracking number of order 4711?',
      'The courier left the box with a neighbour I do not know.',
      'Please ship both lamps together, if that is still possible.',
      'When will the blue jacket be delivered?',
      'My new address is 5 Mill Lane: please send the package there.',
    ],
  },
  payments: {
    description: 'Invoices, charges, cards, prices and refunds',
    mails: [
      'I was charged twice this month. Please return one of the payments.',
      'Could you send the invoice with our VAT number on it?',
      'My credit card was declined, although it is valid.',
      'The discount code was not taken off the price.',
      'How do I change the bank account for the monthly fee?',
      'Please refund the 20 euros for the cancelled course.',
    ],
  },
  technical: {
    description: 'Errors, crashes, login and bugs of the app or website',
    mails: [
      'The app crashes as soon as I open the settings.',
      'I cannot log in: the password reset link is invalid.',
      'Your website shows error 500 on the search page.',
      'Since the update, the buttons no longer react on my phone.',
      'The export to PDF produces an empty file.',
      'The sync between my laptop and the tablet has stopped working.',
    ],
  },
  jobs: {
    description: 'Job applications, resumes, careers and interviews',
    mails: [
      'Attached you find my resume for the position of baker.',
      'I would like to apply for the internship in your design team.',
      'Thank you for the interview yesterday. I enjoyed meeting the team.',
      'Are you still looking for a driver on weekends?',
      'Is the position of accountant still open, and is remote work possible?',
      'My former employer will gladly confirm my experience as a nurse.',
    ],
  },
};
