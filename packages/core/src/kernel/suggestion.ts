import { distance } from 'fastest-levenshtein'

/** Longer words get no suggestion, because the comparison takes quadratic time. */
const maxWordLength = 100

/**
 * Returns the candidate that a mistyped word most likely means, or undefined if none is near. A candidate that differs
 * only by case or separators (`first_name` for `firstName`) comes first, then the one with the fewest typing errors.
 */
export function suggestNear(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > maxWordLength) return undefined
  const typed = normalize(word)
  let nearest: string | undefined
  let limit = maxTypingErrors(typed.length) + 1
  for (const candidate of candidates) {
    if (candidate.length > maxWordLength) continue
    const meant = normalize(candidate)
    const errors = countTypingErrors(typed, meant)
    if (errors >= limit || !isMostlyEqual(errors, typed, meant)) continue
    nearest = candidate
    limit = errors
  }
  return nearest
}

/** Appends ` (did you mean "…"?)` to a message about an unknown name, if a candidate is near. */
export function withSuggestion(message: string, word: string, candidates: Iterable<string>): string {
  const near = suggestNear(word, candidates)
  return near === undefined ? message : `${message} (did you mean "${near}"?)`
}

/** Only so many words of one request get a suggestion, because the client chooses how many unknown words it sends. */
const maxSuggestions = 5

/** Returns the message about each of several unknown names, the first of them with a suggestion. */
export function suggestForEach(message: string, words: readonly string[], candidates: readonly string[]): string[] {
  return words.map((word, index) => (index < maxSuggestions ? withSuggestion(message, word, candidates) : message))
}

const normalize = (word: string) => word.toLowerCase().replace(/[_\- ]/g, '')

/** Two swapped characters are one typing error, but two steps of the edit distance. */
function countTypingErrors(typed: string, meant: string): number {
  const errors = distance(typed, meant)
  return errors === 2 && sortCharacters(typed) === sortCharacters(meant) ? 1 : errors
}

const sortCharacters = (word: string) => word.split('').toSorted().join('')

/** Short words get fewer, because every short word is near many others. */
const maxTypingErrors = (length: number) => Math.max(Math.min(length - 1, length < 4 ? 1 : 2), Math.floor(length / 3))

/** Two errors in four characters, as in `page` for `tag`, are another word. One error is always a typing error. */
const isMostlyEqual = (errors: number, typed: string, meant: string) =>
  errors <= 1 || errors * 2 < Math.max(typed.length, meant.length)
