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
    const distance = countTypingErrors(typed, meant)
    if (distance >= limit || !isMostlyEqual(distance, typed, meant)) continue
    nearest = candidate
    limit = distance
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

/** Short words get fewer, because every short word is near many others. */
const maxTypingErrors = (length: number) => Math.max(Math.min(length - 1, length < 4 ? 1 : 2), Math.floor(length / 3))

/** Two errors in four characters, as in `page` for `tag`, are another word. One error is always a typing error. */
const isMostlyEqual = (distance: number, typed: string, meant: string) =>
  distance <= 1 || distance * 2 < Math.max(typed.length, meant.length)

/**
 * The distance of Damerau and Levenshtein: the number of characters that were left out, added, replaced or swapped with
 * their neighbor.
 */
function countTypingErrors(typed: string, meant: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: meant.length + 1 }, (_, index) => index)
  for (let row = 1; row <= typed.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= meant.length; column += 1) {
      const isSame = typed[row - 1] === meant[column - 1]
      const isSwapped = typed[row - 1] === meant[column - 2] && typed[row - 2] === meant[column - 1]
      const removed = (previous[column] ?? 0) + 1
      const added = (current[column - 1] ?? 0) + 1
      const replaced = (previous[column - 1] ?? 0) + (isSame ? 0 : 1)
      const swapped = isSwapped ? (beforePrevious[column - 2] ?? 0) + 1 : Infinity
      current.push(Math.min(removed, added, replaced, swapped))
    }
    beforePrevious = previous
    previous = current
  }
  return previous[meant.length] ?? 0
}
