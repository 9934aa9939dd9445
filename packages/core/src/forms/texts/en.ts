export const en = {
  /** What the form says after a submission, unless the operator words it. */
  thanks: 'Thank you.',
  emptyBox: 'Please check this box.',
  empty: 'Please fill out this field.',
  line: (maxLength: string) => `Please enter a single line of at most ${maxLength} characters.`,
  text: (maxLength: string) => `Please enter at most ${maxLength} characters.`,
  email: 'Please enter an email address such as ada@example.com.',
  phone: 'Please enter a phone number such as +44 20 7946 0958.',
  number: 'Please enter a number of at most 15 digits.',
  date: 'Please enter a date such as 2026-11-21.',
  option: 'Please choose one of the options.',
  box: 'Please check or uncheck this box.',
  tooLarge: 'Please shorten your answers. Together they can have at most about 32,000 characters.',
}

/** What a visitor reads about a submission. */
export type FormTexts = typeof en
