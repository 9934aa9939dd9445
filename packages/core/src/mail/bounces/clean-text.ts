import { startOfText } from '../../kernel/values/text.ts'

const maxDetailLength = 2_000

/** A text that a mail server or a provider wrote, as PostgreSQL and JSON accept it. Line breaks and tabs stay. */
export const cleanText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]+/g, ' ')
    .trim()

/** The same for the explanation of a refusal or a bounce, of which the start is kept. */
export const cleanDetail = (text: string): string => startOfText(cleanText(text), maxDetailLength)
